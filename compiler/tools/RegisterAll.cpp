//===- RegisterAll.cpp - registration of all dialects and passes ------------------------===//
#include "RegisterAll.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

void pantile::registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<TileDialect, nv::NvDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect, mlir::scf::SCFDialect>();
}

void pantile::registerPasses() {
  registerPantilePasses();
  mlir::registerTransformsPasses();
}
