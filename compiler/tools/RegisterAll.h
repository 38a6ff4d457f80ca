//===- RegisterAll.h - every dialect and pass that the tools know -----------------------===//
#pragma once
namespace mlir {
class DialectRegistry;
}

namespace pantile {
void registerDialects(mlir::DialectRegistry &registry);
void registerPasses();
} // namespace pantile
