//===- DropOperations.h - shrink a module while a script still finds its fault ----------===//
#pragma once
namespace pantile {
void registerDropOperations();
}
