//===- DebugLocations.h - MLIR locations as LLVM debug locations ----------------------------===//
// Needs: FileLineCol, CallSite, Name and Fused locations.
// Gives: debug locations that become `.loc` lines in PTX, and nothing else of DWARF.
// How:   one DISubprogram per kernel, and one per file that calls were inlined from.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/Location.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/DIBuilder.h"

namespace pantile::lower {

class DebugLocations {
public:
  explicit DebugLocations(llvm::Module &module);
  /// The location of the function's own code; later of() calls belong to this function.
  llvm::DebugLoc startFunction(llvm::Function *function, mlir::Location loc);
  llvm::DebugLoc of(mlir::Location loc);
  void finish();

private:
  llvm::DILocation *make(mlir::Location loc, llvm::DILocation *inlinedAt);
  llvm::DIFile *file(llvm::StringRef path);
  llvm::DISubprogram *subprogram(llvm::StringRef name, llvm::DIFile *file, unsigned line);

  llvm::Module &module;
  llvm::DIBuilder builder;
  llvm::DICompileUnit *unit = nullptr;
  llvm::DISubprogram *current = nullptr;
  llvm::StringMap<llvm::DISubprogram *> inlined;
  llvm::DenseMap<mlir::Location, llvm::DILocation *> known;
};

} // namespace pantile::lower
