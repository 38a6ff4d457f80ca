//===- pantile-reduce.cpp - shrinks tile IR that shows a fault --------------------------===//
// Needs: tile IR, and a script that exits with 1 as long as its argument shows the fault.
// Gives: a smaller module for which it still does.
//===-----------------------------------------------------------------------------------===//
#include "RegisterAll.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  pantile::registerDialects(registry);
  pantile::registerPasses();
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}
