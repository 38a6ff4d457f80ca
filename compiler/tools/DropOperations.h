//===- DropOperations.h - shrink a module that shows a fault ----------------------------===//
#pragma once
namespace pantile {
void registerDropOperations();
}
