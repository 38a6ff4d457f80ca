//===- MemoryOrder.cpp - see MemoryOrder.h ------------------------------------------------===//
#include "analysis/MemoryOrder.h"
#include "analysis/AffineAccess.h"
#include "ir/FindOps.h"
#include "support/MachineModel.h"

using namespace mlir;

namespace pantile {

/// Whether `ptr` is computed from an index that wraps around or is limited; less work than its form.
static bool mayBreak(Value ptr) {
  bool isFound = false;
  SmallVector<Value> roots{ptr};
  while (!roots.empty() && !isFound)
    traceBack(roots.pop_back_val(), [&](Value value) {
      Operation *op = value.getDefiningOp();
      if (scf::ForOp loop = loopThatCarries(value))
        roots.push_back(loop.getTiedLoopInit(cast<BlockArgument>(value))->get());
      isFound |= isa_and_nonnull<arith::RemSIOp, arith::SelectOp, arith::MinSIOp>(op);
      return op && !isFound && !isa<LoadOp>(op);
    });
  return isFound;
}

AxisInfo::PerDim memoryRuns(const AxisInfoAnalysis &axes, Value ptr) {
  AxisInfo::PerDim runs = axes.of(ptr).contiguity;
  if (llvm::any_of(runs, [](int64_t run) { return run > 1; }) || !mayBreak(ptr))
    return runs;
  const std::optional<AffineTile> form = AffineAnalysis().tile(ptr);
  if (!form || form->wrappedDim < 0 || form->coefficients[form->wrappedDim].constant() != 1)
    return runs;
  // A short cycle breaks between any lanes.
  const int64_t lanes = InstructionSet::warpThreads;
  if (form->modulus.constant().value_or(lanes) >= lanes)
    runs[form->wrappedDim] = cast<RankedTensorType>(ptr.getType()).getDimSize(form->wrappedDim);
  return runs;
}

} // namespace pantile
