//===- AllocateShared.cpp - assign offsets in shared memory ------------------------===//
// Needs: no later pass reserves shared memory.
// Gives: `offset` of every nv.alloc, `nv.scratch` of every operation that works through scratch
//        memory, `shared_bytes` of `nv.launch`.
// How:   Operations are numbered in program order. A buffer is live from its alloc to its dealloc,
//        scratch during its one operation. Scratch that TMA or other CTAs of the cluster read is
//        live from there to the end of the kernel; in a loop, from the start of the outermost loop.
//        First fit: the largest reservation comes first, and each gets the lowest offset that is
//        free while it is live. InsertBarriers orders reservations that use the same bytes at
//        different times. To save such barriers, small scratch gets bytes of its own where shared
//        memory is plentiful; scratch in loops gets them wherever as many CTAs still fit an SM.
//===-------------------------------------------------------------------------------===//
#include "analysis/CtasPerSm.h"
#include "analysis/Scratch.h"
#include "ir/Launch.h"
#include "ir/Machine.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include <limits>

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_ALLOCATESHARED
#include "passes/Passes.h.inc"
namespace {

struct Reservation {
  Operation *op;
  int64_t bytes, alignment;
  int begin, end; ///< the first and the last operation during which it is live
  int64_t offset = 0;

  /// Whether both are live at some time.
  bool interferes(const Reservation &other) const {
    return begin <= other.end && other.begin <= end;
  }
};

/// The number of the outermost loop around `op`, or of `op` outside of loops.
int outermostLoop(Operation *op, const llvm::DenseMap<Operation *, int> &number) {
  int first = number.at(op);
  for (; !isa<func::FuncOp>(op); op = op->getParentOp())
    if (isa<scf::ForOp, scf::WhileOp>(op))
      first = number.at(op);
  return first;
}

SmallVector<Reservation> collect(ModuleOp module) {
  llvm::DenseMap<Operation *, int> number;
  module.walk<WalkOrder::PreOrder>(
      [&](Operation *op) { number.insert({op, static_cast<int>(number.size())}); });
  SmallVector<Reservation> all;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    int at = number[op];
    if (auto alloc = dyn_cast<nv::AllocOp>(op)) {
      int end = number[&op->getBlock()->back()];
      for (Operation *user : op->getUsers())
        if (isa<nv::DeallocOp>(user))
          end = number[user];
      all.push_back(
          {op, bufferBytes(alloc.getType()), sharedLayoutOf(alloc.getType()).alignment(), at, end});
    } else if (int64_t bytes = scratchBytes(op)) {
      const bool isReadLater = isa<nv::TmaStoreOp, nv::ClusterGatherOp>(op);
      all.push_back({op, bytes, scratchAlignment(op), isReadLater ? outermostLoop(op, number) : at,
                     isReadLater ? std::numeric_limits<int>::max() : at});
    }
  });
  return all;
}

/// The lowest aligned offset at which `next` overlaps none of `placed` that interferes with it.
int64_t lowestFree(const Reservation &next, ArrayRef<Reservation> placed) {
  SmallVector<const Reservation *> neighbours;
  for (const Reservation &other : placed)
    if (next.interferes(other))
      neighbours.push_back(&other);
  llvm::sort(neighbours, [](auto *a, auto *b) { return a->offset < b->offset; });
  int64_t offset = 0;
  for (const Reservation *other : neighbours) {
    if (offset + next.bytes <= other->offset)
      break;
    offset = std::max(
        offset, static_cast<int64_t>(llvm::alignTo(other->offset + other->bytes, next.alignment)));
  }
  return offset;
}

bool isInLoop(Operation *op) {
  return op->getParentOfType<scf::ForOp>() || op->getParentOfType<scf::WhileOp>();
}

/// Makes the smallest scratch live throughout the kernel, `most` bytes in all.
void separateSmallScratch(MutableArrayRef<Reservation> smallestLast, int64_t most,
                          bool inLoopsAlone) {
  for (Reservation &next : llvm::reverse(smallestLast)) {
    if (isa<nv::AllocOp>(next.op) || (inLoopsAlone && !isInLoop(next.op)))
      continue;
    most -= static_cast<int64_t>(llvm::alignTo(next.bytes, next.alignment));
    if (most < 0)
      return;
    next.begin = 0, next.end = std::numeric_limits<int>::max();
  }
}

/// Assigns all offsets, the largest reservation first; returns the bytes in use.
int64_t assignOffsets(MutableArrayRef<Reservation> all) {
  int64_t total = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].offset = lowestFree(all[i], all.take_front(i));
    total = std::max(total, all[i].offset + all[i].bytes);
  }
  return total;
}

struct AllocateSharedPass : impl::AllocateSharedBase<AllocateSharedPass> {
  void runOnOperation() override {
    SmallVector<Reservation> all = collect(getOperation());
    llvm::stable_sort(all, [](auto &a, auto &b) { return a.bytes > b.bytes; });
    Builder builder(&getContext());
    const OccupancyThresholds &limits = machineOf(getOperation()).occupancy;
    int64_t total = assignOffsets(all);
    SmallVector<Reservation> separate = all;
    separateSmallScratch(separate, limits.scratchApart,
                         /*inLoopsAlone=*/total > limits.plentyOfShared);
    const int64_t totalSeparate = assignOffsets(separate);
    if (total <= limits.plentyOfShared || ctasPerSm(totalSeparate) == ctasPerSm(total)) {
      all = separate;
      total = totalSeparate;
    }
    for (const Reservation &next : all)
      if (auto alloc = dyn_cast<nv::AllocOp>(next.op))
        alloc.setOffset(static_cast<int32_t>(next.offset));
      else
        next.op->setAttr(names::scratch,
                         builder.getI32IntegerAttr(static_cast<int32_t>(next.offset)));
    Launch launch = Launch::of(getOperation());
    launch.sharedBytes = total;
    launch.storeOn(getOperation());
  }

private:
  /// How many CTAs that use `bytes` of shared memory each fit an SM.
  int64_t ctasPerSm(int64_t bytes) {
    auto target = Target::parse(std::string_view(moduleTarget(getOperation())));
    return target ? target->machine().ctasByShared(bytes) : 0;
  }
};
} // namespace
} // namespace pantile
