//===- AllocateShared.cpp - places in shared memory --------------------------------------===//
// Needs: nothing reserves shared memory later.
// Gives: `offset` of every nv.alloc, `nv.scratch` of every operation that works through scratch,
//        `shared_bytes` of `nv.launch`.
// How:   operations are numbered in program order; a buffer lives from its alloc to its dealloc,
//        scratch during its one operation, but what TMA or other blocks read from there
//        on, and in the loops around, throughout. Largest first, each takes the lowest place that
//        is free for all its life (first fit). What shares bytes over time is ordered by InsertBarriers;
//        so where shared memory is plentiful, small scratch shares its bytes with nobody; that of
//        loops does so wherever as many blocks have room then.
//===------------------------------------------------------------------------------------===//
#include "analysis/Residency.h"
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
  int begin, end; ///< first and last operation of its life
  int64_t offset = 0;

  bool meets(const Reservation &other) const { return begin <= other.end && other.begin <= end; }
};

/// The outermost loop around `op`, or itself.
int firstOf(Operation *op, const llvm::DenseMap<Operation *, int> &number) {
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
          {op, ringBytes(alloc.getType()), sharedLayoutOf(alloc.getType()).alignment(), at, end});
    } else if (int64_t bytes = scratchBytes(op)) {
      const bool stays = isa<nv::TmaStoreOp, nv::ClusterGatherOp>(op);
      all.push_back({op, bytes, scratchAlignment(op), stays ? firstOf(op, number) : at,
                     stays ? std::numeric_limits<int>::max() : at});
    }
  });
  return all;
}

/// The lowest aligned offset where `next` meets none of `placed`.
int64_t lowestFree(const Reservation &next, ArrayRef<Reservation> placed) {
  SmallVector<const Reservation *> neighbours;
  for (const Reservation &other : placed)
    if (next.meets(other))
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

/// Lets the smallest scratch live throughout, `most` bytes in all.
void keepSmallScratch(MutableArrayRef<Reservation> smallestLast, int64_t most, bool inLoopsAlone) {
  for (Reservation &next : llvm::reverse(smallestLast)) {
    if (isa<nv::AllocOp>(next.op) || (inLoopsAlone && !isInLoop(next.op)))
      continue;
    most -= static_cast<int64_t>(llvm::alignTo(next.bytes, next.alignment));
    if (most < 0)
      return;
    next.begin = 0, next.end = std::numeric_limits<int>::max();
  }
}

/// Places all, largest first; returns the bytes in use.
int64_t place(MutableArrayRef<Reservation> all) {
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
    int64_t total = place(all);
    SmallVector<Reservation> apart = all;
    keepSmallScratch(apart, limits.scratchApart, /*inLoopsAlone=*/total > limits.plentyOfShared);
    const int64_t totalApart = place(apart);
    if (total <= limits.plentyOfShared || blocksOf(totalApart) == blocksOf(total)) {
      all = apart;
      total = totalApart;
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
  /// How many blocks have room for as many bytes each.
  int64_t blocksOf(int64_t bytes) {
    auto target = Target::parse(std::string_view(moduleTarget(getOperation())));
    return target ? target->machine().ctasByShared(bytes) : 0;
  }
};
} // namespace
} // namespace pantile
