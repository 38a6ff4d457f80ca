//===- pantile-reduce.cpp - shrinks tile IR that shows a fault --------------------------===//
// Needs: tile IR, and a script that exits with 1 as long as the file it is given shows the fault.
// Gives: a smaller module for which it still does:
//          pantile-reduce failing.mlir -drop-operations=test=script
//===-----------------------------------------------------------------------------------===//
#include "DropOperations.h"
#include "RegisterAll.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  pantile::registerDialects(registry);
  pantile::registerPasses();
  pantile::registerDropOperations();
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}
