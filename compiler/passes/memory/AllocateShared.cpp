//===- AllocateShared.cpp - assign offsets in shared memory ------------------------===//
// Needs: no later pass reserves shared memory.
// Gives: `offset` of every nv.alloc, `nv.scratch` of every operation that works through scratch
//        memory, `shared_bytes` of `nv.launch`.
// How:   SharedAllocations.h. InsertBarriers orders reservations that use the same bytes at
//        different times. To save such barriers, small scratch gets bytes of its own where shared
//        memory is plentiful; scratch in loops gets them wherever as many CTAs still fit an SM.
//===-------------------------------------------------------------------------------===//
#include "analysis/LoopChannels.h"
#include "analysis/SharedAllocations.h"
#include "ir/Launch.h"
#include "ir/Machine.h"
#include "ir/Tile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "passes/Passes.h"
#include "support/Target.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_ALLOCATESHARED
#include "passes/Passes.h.inc"
namespace {

/// Makes the smallest scratch live throughout the kernel, `most` bytes in all.
void separateSmallScratch(MutableArrayRef<SharedAllocation> smallestLast, int64_t most,
                          bool inLoopsAlone) {
  for (SharedAllocation &next : llvm::reverse(smallestLast)) {
    if (isa<nv::BufferOpInterface>(next.op) || (inLoopsAlone && !loopAround(next.op)))
      continue;
    most -= static_cast<int64_t>(llvm::alignTo(next.bytes, next.alignment));
    if (most < 0)
      return;
    next.liveThroughout();
  }
}

struct AllocateSharedPass : impl::AllocateSharedBase<AllocateSharedPass> {
  void runOnOperation() override {
    std::vector<SharedAllocation> all = sharedAllocations(getOperation());
    Builder builder(&getContext());
    const OccupancyThresholds &limits = machineOf(getOperation()).occupancy;
    int64_t total = placeAll(all);
    std::vector<SharedAllocation> apart = all;
    separateSmallScratch(apart, limits.scratchApart,
                         /*inLoopsAlone=*/total > limits.plentyOfShared);
    const int64_t totalApart = placeAll(apart);
    if (total <= limits.plentyOfShared || blocksOf(totalApart) == blocksOf(total)) {
      all = apart;
      total = totalApart;
    }
    for (const SharedAllocation &next : all)
      if (auto alloc = dyn_cast<nv::BufferOpInterface>(next.op))
        alloc.setOffset(static_cast<uint32_t>(next.offset));
      else
        next.op->setAttr(names::scratch,
                         builder.getI32IntegerAttr(static_cast<int32_t>(next.offset)));
    Launch launch = Launch::of(getOperation());
    launch.sharedBytes = total;
    launch.storeOn(getOperation());
  }

private:
  /// How many blocks have room for as many bytes each.
  int64_t blocksOf(int64_t bytes) {
    auto target = Target::parse(std::string_view(moduleTarget(getOperation())));
    return target ? target->machine().ctasByShared(bytes) : 0;
  }
};
} // namespace
} // namespace pantile
