//===- SpillToShared.cpp - room in shared memory for rows that fill the registers --------------===//
// Needs: shared memory is allocated.
// Gives: `parked` of `nv.launch`, and as many bytes more in its `shared_bytes`.
// How:   a row that is held over a reduction, such as a softmax's, may leave no register for
//        anything else. The assembler would spill most of it to local memory, which passes through
//        the caches that the rows of other blocks stream through. Shared memory lies idle then: one
//        such block fills an SM. So half of what is held waits there.
//===--------------------------------------------------------------------------------------===//
#include "ir/Launch.h"
#include "mlir/Analysis/Liveness.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "support/Target.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_SPILLTOSHARED
#include "passes/Passes.h.inc"
namespace {

/// Words of fp32 tiles that a thread holds over `reduction`.
int64_t wordsOver(Operation *reduction, const Liveness &liveness) {
  int64_t words = 0;
  for (Value value : liveness.getLiveness(reduction->getBlock())->currentlyLiveValues(reduction)) {
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    if (tile && tile.getElementType().isF32() && value.getDefiningOp() &&
        value.getDefiningOp() != reduction && !liveness.isDeadAfter(value, reduction))
      words += layoutOf(tile).numPresentRegs();
  }
  return words;
}

/// The most 32-bit registers held over a reduction of a kernel that is one straight line, else 0. What
/// an MMA adds to must be in registers before its fence; spilled values return where they are used.
int64_t mostWords(func::FuncOp kernel) {
  const Liveness liveness(kernel);
  int64_t most = 0;
  for (Operation &op : kernel.getBody().front())
    if (isa<ReduceOp, ScanOp>(op))
      most = std::max(most, wordsOver(&op, liveness));
    else if (op.getNumRegions() > 0 || isa<nv::AsyncMmaOpInterface>(op))
      return 0;
  return most;
}

struct ParkRowsPass : impl::SpillToSharedBase<ParkRowsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto kernels = llvm::to_vector(module.getOps<func::FuncOp>());
    const auto target = Target::parse(moduleTarget(module));
    Launch launch = Launch::of(module);
    if (kernels.size() != 1 || !target || launch.producerWarps != 0)
      return;
    const int64_t threads = 32 * moduleInt(module, names::numWarps, 4);
    const int64_t registers = target->machine().registersOfThread(threads);
    const int64_t words = mostWords(kernels[0]);
    if (words + target->machine().registers.overheadWithoutMma <= registers)
      return;
    const int64_t offset = llvm::alignTo(launch.sharedBytes, 128);
    const int64_t stageBytes = 4 * threads;
    const int64_t depth = std::min(words / 2, (target->maxSharedBytes() - offset) / stageBytes);
    if (depth <= 0)
      return;
    launch.parked = {static_cast<int32_t>(offset), static_cast<int32_t>(depth)};
    launch.sharedBytes = offset + depth * stageBytes;
    launch.storeOn(module);
  }
};
} // namespace
} // namespace pantile
