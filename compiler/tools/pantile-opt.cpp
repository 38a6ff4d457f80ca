//===- pantile-opt.cpp - runs passes over the text of a stage ---------------------------===//
// Needs: tile IR, at any stage.
// Gives: the IR after the passes of the command line.
//===-----------------------------------------------------------------------------------===//
#include "RegisterAll.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  pantile::registerDialects(registry);
  pantile::registerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "tile IR optimizer\n", registry));
}
