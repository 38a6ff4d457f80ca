//===- TritonNames.cpp - see TritonNames.h --------------------------------------------------===//
#include "ir/TritonNames.h"
#include "ir/Tile.h"
#include "llvm/ADT/StringSwitch.h"

namespace pantile {

std::optional<llvm::StringRef> rowOfTritonNames(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<llvm::StringRef>>(name)
#define TRITON_NAME(ours, theirs) .Case(ours, llvm::StringRef(theirs))
#include "ir/TritonNames.def"
#undef TRITON_NAME
      .Default(std::nullopt);
}

/// An atomic that only reads is listed as a load, for readers that look for writes.
static bool onlyReads(mlir::Operation *op) {
  auto atomic = llvm::dyn_cast<AtomicRmwOp>(op);
  return atomic && (atomic.getKind() == RmwKind::Load || atomic.getKind() == RmwKind::Poll);
}

std::string tritonName(mlir::Operation *op) {
  if (onlyReads(op))
    return "tt.load";
  llvm::StringRef name = op->getName().getStringRef();
  std::string theirs = rowOfTritonNames(name).value_or(name).str();
  if (theirs.front() == '*')
    theirs.replace(0, 1, tritonName(op->getParentOp()));
  return theirs;
}

} // namespace pantile
