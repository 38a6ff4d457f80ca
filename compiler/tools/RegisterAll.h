//===- RegisterAll.h - registration of all dialects and passes --------------------------===//
#pragma once
namespace mlir {
class DialectRegistry;
}

namespace pantile {
void registerDialects(mlir::DialectRegistry &registry);
void registerPasses();
} // namespace pantile
