//===- MmaSync.h - one mma.sync instruction ---------------------------------------------------===//
#pragma once
#include "lower/Lowering.h"

namespace pantile::lower {

/// "f16" for the assembler; empty when no tensor core multiplies it.
llvm::StringRef mmaTypeName(mlir::Type type);

/// One mma.sync on words; `acc` is four accumulators.
class MmaSync {
public:
  MmaSync(Lowering &l, mlir::Type lhs, mlir::Type rhs, mlir::Type acc, int m, int n, int k);
  Values operator()(ValueList a, ValueList b, ValueList acc);

private:
  Lowering &l;
  llvm::Type *accType;
  bool packed;
  int words;
  std::string text, constraints;
};

} // namespace pantile::lower
