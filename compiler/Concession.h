//===- Concession.h - what a kernel can go without for shared memory ----------------------===//
// Needs: a kernel that AllocateShared has run on.
// Gives: the list by which Compilation compiles again where a kernel does not fit
//        (docs/decisions/concessions-to-shared-memory.md).
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "Pipeline.h"
#include "ir/Remarks.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace pantile {

/// One thing that a kernel can go without.
struct Concession {
  std::string reason;
  Technique technique;
  bool Concessions::*taken;
  bool mayHelp; ///< the kernel has it
};

/// All of them, in the order in which they are tried: first what a launch of Triton has not, then what keeps
/// operands and results in shared memory. Passes choose what fits by estimates; each row is for what they
/// have no access to before AllocateShared has run.
std::vector<Concession> concessionsOf(mlir::ModuleOp module, bool isPersistent);

} // namespace pantile
