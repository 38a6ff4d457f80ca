//===- LowerTmaStore.cpp - TMA stores and TMA reductions --------------------------===//
// Needs: separate scratch for each warp, which nothing else uses until nv.tma_store_wait.
// Gives: for each piece of a warp (layout/WarpBoxes.h) stmatrix or vector stores into the scratch,
//        and one cp.async.bulk.tensor per panel (cp.reduce.async.bulk.tensor if it adds), issued by
//        one lane.
// How:   The scratch holds `pieces` pieces. Each piece is a bulk group; those of a sum that the scratch
//        holds are one, with one fence, since an MMA in flight hides TMA's start. For each group:
//        1. It is written after TMA has read the one that was there before.
//        2. Every lane fences its writes for the async proxy, and also what it may have acquired from
//        other programs (PTX ISA, "Async proxy").
//        3. The warp synchronises.
//        4. One lane issues the store. elect.sync chooses it: it is always the same one, which ptxas
//        can see. With a condition on the lane, ptxas would loop over the lanes.
//        Lanes that issued no store do not wait.
//===-----------------------------------------------------------------------------------===//
#include "analysis/Programs.h"
#include "ir/FindOps.h"
#include "layout/WarpBoxes.h"
#include "lower/Matrices.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {

void wait(Lowering &l, const std::string &what) {
  l.assembly(l.b.getVoidTy(), "cp.async.bulk.wait_group" + what + ";", "~{memory}", {});
}

/// Whether `kernel` may order its stores after what other programs did.
bool acquires(Operation *kernel) {
  return findOp(kernel, [](Operation *op) {
    auto atomic = dyn_cast<AtomicRmwOp>(op);
    const bool isSum = atomic && atomic.getSem() == MemSemantic::Relaxed && atomic->use_empty();
    return synchronises(op) && !isSum && !isa<AssertOp, PrintOp>(op);
  });
}

class TmaStoreLowering {
public:
  TmaStoreLowering(Lowering &l, nv::TmaStoreOp op, const WarpBoxes &boxes, int64_t scratch)
      : l(l), op(op), boxes(boxes), layout(l.layout(op.getValue().getType())) {
    const int64_t ofWarp = op.getPieces() * boxes.shared.bytes();
    llvm::Value *own =
        l.b.CreateMul(l.uniformWarp(), l.b.getInt32(static_cast<uint32_t>(ofWarp)), "", true, true);
    base = l.b.CreateAdd(own, l.b.getInt32(static_cast<uint32_t>(scratch)), "", true, true);
    fence = acquires(op->getParentOfType<func::FuncOp>())
                ? llvm::Intrinsic::nvvm_fence_proxy_async
                : llvm::Intrinsic::nvvm_fence_proxy_async_shared_cta;
    isElected = l.b.CreateExtractValue(
        l.b.CreateIntrinsic(llvm::Intrinsic::nvvm_elect_sync, {l.b.getInt32(-1)}), 1);
  }

  void store() {
    const size_t pieces = op.getPieces(), together = op.getAdds() ? pieces : 1;
    ValueList values = l.get(op.getValue());
    for (size_t first = 0; first < boxes.regs.size(); first += together) {
      wait(l, ".read " + std::to_string(pieces - together));
      l.warpBarrier();
      const auto group = llvm::seq(first, std::min(first + together, boxes.regs.size()));
      for (size_t i : group)
        storeTile(l, pick(values, boxes.regs[i]), placeOf(i), boxes.shared, boxes.layout);
      l.b.CreateIntrinsic(l.b.getVoidTy(), fence, {});
      l.warpBarrier();
      for (size_t i : group)
        issueStore(placeOf(i), boxes.starts[i]);
      l.assembly(l.b.getVoidTy(), "@$0 cp.async.bulk.commit_group;", "b,~{memory}", {isElected});
    }
  }

private:
  llvm::Value *number(int64_t value) { return l.b.getInt32(static_cast<uint32_t>(value)); }

  /// The scratch of piece `i`.
  llvm::Value *placeOf(size_t i) {
    const int64_t offset = static_cast<int64_t>(i % op.getPieces()) * boxes.shared.bytes();
    return l.b.CreateAdd(base, number(offset), "", true, true);
  }

  /// Coordinate along a dimension of the tile of this warp's piece that starts at `start`.
  llvm::Value *coordinate(size_t i, int dim, int64_t start) {
    SmallVector<int64_t> ofWarp;
    for (const LinearLayout::Coord &basis : layout.warp())
      ofWarp.push_back(basis[dim]);
    llvm::Value *first =
        l.b.CreateAdd(l.scalar(op.getCoords()[i]), l.linear({}, ofWarp, /*uniform=*/true));
    return l.b.CreateAdd(first, number(start));
  }

  /// Issues the copies of a piece, one per panel.
  void issueStore(llvm::Value *place, const LinearLayout::Coord &start) {
    const int fast = static_cast<int>(op.getFast());
    const size_t rank = op.getCoords().size();
    std::string coords, constraints = "l,r,b";
    for (size_t i = 0; i < rank; ++i) {
      coords += (i ? ", $" : "$") + std::to_string(3 + i);
      constraints += ",r";
    }
    const bool adds = op.getAdds();
    const std::string asmString = std::string("@$2 cp.") + (adds ? "reduce.async" : "async") +
                                  ".bulk.tensor." + std::to_string(rank) + "d.global.shared::cta" +
                                  (adds ? ".add.tile" : "") + ".bulk_group [$0, {" + coords +
                                  "}], [$1];";
    for (int64_t panel = 0; panel < boxes.shared.panels(); ++panel) {
      llvm::Value *from = l.b.CreateAdd(place, number(panel * boxes.shared.panelBytes()));
      Values operands{l.scalar(op.getMap()), l.sharedAddress(from), isElected};
      operands.push_back(coordinate(0, fast, start[fast] + panel * boxes.fastSize()));
      operands.push_back(coordinate(1, 1 - fast, start[1 - fast]));
      for (Value further : op.getCoords().drop_front(2))
        operands.push_back(l.scalar(further));
      l.assembly(l.b.getVoidTy(), asmString, constraints + ",~{memory}", operands);
    }
  }

  Lowering &l;
  nv::TmaStoreOp op;
  const WarpBoxes &boxes;
  const LinearLayout &layout;
  llvm::Value *base, *isElected;
  llvm::Intrinsic::ID fence;
};

LogicalResult lowerTmaStore(Lowering &l, nv::TmaStoreOp op) {
  auto scratch = l.scratch(op);
  if (failed(scratch))
    return failure();
  const Type type = op.getValue().getType();
  auto boxes =
      warpBoxes(l.layout(type), storageBits(elementTypeOf(type)), static_cast<int>(op.getFast()));
  if (!boxes)
    return op.emitError("the warps do not hold boxes of the tile");
  TmaStoreLowering(l, op, *boxes, *scratch).store();
  return success();
}

/// Waits until TMA has read shared memory; the end of the grid waits for the writes.
LogicalResult lowerTmaStoreWait(Lowering &l, nv::TmaStoreWaitOp) {
  wait(l, ".read 0");
  return success();
}
} // namespace

void lower::addTmaStore(Handlers &h) {
  h.add<nv::TmaStoreOp>(lowerTmaStore);
  h.add<nv::TmaStoreWaitOp>(lowerTmaStoreWait);
}
