//===- MemoryOrder.cpp - see MemoryOrder.h ------------------------------------------------===//
#include "analysis/MemoryOrder.h"
#include "analysis/AffineAccess.h"
#include "support/MachineModel.h"

using namespace mlir;

namespace pantile {

AxisInfo::PerDim memoryRuns(const AxisInfoAnalysis &axes, Value ptr) {
  AxisInfo::PerDim runs = axes.of(ptr).contiguity;
  if (llvm::any_of(runs, [](int64_t run) { return run > 1; }))
    return runs;
  const std::optional<AffineTile> form = AffineAnalysis().tile(ptr);
  if (!form || form->wrappedDim < 0 || form->coefficients[form->wrappedDim].constant() != 1)
    return runs;
  // A short cycle breaks between any lanes.
  const int64_t extent = cast<RankedTensorType>(ptr.getType()).getDimSize(form->wrappedDim);
  if (form->modulus.constant().value_or(extent) >= InstructionSet::warpThreads)
    runs[form->wrappedDim] = extent;
  return runs;
}

} // namespace pantile
