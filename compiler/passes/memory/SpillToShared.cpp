//===- SpillToShared.cpp - spill half of a row that fills the registers to shared memory ---===//
// Needs: shared memory is allocated.
// Gives: `spills` of `nv.launch`: how many 32-bit registers per thread are spilled, and where;
//        their bytes are added to `shared_bytes`.
// How:   A row that is live across a reduction, such as a softmax's, may leave no registers for
//        anything else. ptxas would spill most of it to local memory, which competes for the caches
//        with the rows that other CTAs stream. One such CTA fills the registers of an SM and leaves
//        most of the shared memory unused. So half of the live registers are spilled there.
//===---------------------------------------------------------------------------------------===//
#include "analysis/Programs.h"
#include "ir/Launch.h"
#include "mlir/Analysis/Liveness.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "support/Target.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_SPILLTOSHARED
#include "passes/Passes.h.inc"
namespace {

/// Registers per thread of the fp32 tiles that are live across `reduction`.
int64_t registersAcross(Operation *reduction, const Liveness &liveness) {
  int64_t registers = 0;
  for (Value value : liveness.getLiveness(reduction->getBlock())->currentlyLiveValues(reduction)) {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    if (tile && tile.getElementType().isF32() && value.getDefiningOp() &&
        value.getDefiningOp() != reduction && !liveness.isDeadAfter(value, reduction))
      registers += layoutOf(tile).numPresentRegs();
  }
  return registers;
}

/// The most 32-bit registers that are live across a reduction of a kernel without control flow and
/// without MMAs, else 0: accumulators must be in registers before the fence of their MMA, and
/// spilled values are reloaded where they are used.
int64_t mostRegisters(func::FuncOp kernel) {
  const Liveness liveness(kernel);
  int64_t most = 0;
  for (Operation &op : kernel.getBody().front())
    if (isa<ReduceOp, ScanOp>(op))
      most = std::max(most, registersAcross(&op, liveness));
    else if (op.getNumRegions() > 0 || isa<nv::AsyncMmaOpInterface>(op))
      return 0;
  return most;
}

struct SpillToSharedPass : impl::SpillToSharedBase<SpillToSharedPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp kernel = onlyFunction(module);
    const auto target = Target::parse(moduleTarget(module));
    Launch launch = Launch::of(module);
    if (!kernel || !target || launch.producerWarps != 0)
      return markAllAnalysesPreserved();
    const int64_t threads = 32 * moduleInt(module, names::numWarps, 4);
    const int64_t registers = target->machine().registersOfThread(threads);
    const int64_t live = mostRegisters(kernel);
    if (live + target->machine().registers.overheadWithoutMma <= registers)
      return markAllAnalysesPreserved();
    const int64_t offset = llvm::alignTo(launch.sharedBytes, 128);
    const int64_t bytesOfRegister = 4 * threads;
    const int64_t spilled =
        std::min(live / 2, (target->maxSharedBytes() - offset) / bytesOfRegister);
    if (spilled <= 0)
      return;
    launch.spills = {static_cast<int32_t>(offset), static_cast<int32_t>(spilled)};
    launch.sharedBytes = offset + spilled * bytesOfRegister;
    launch.storeOn(module);
  }
};
} // namespace
} // namespace pantile
