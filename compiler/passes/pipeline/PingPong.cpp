//===- PingPong.cpp - order the MMAs of consumer warp groups (ping-pong) --------------------===//
// Needs: OverlapIterations ran: the MMAs of an iteration are issued together.
// Gives: in loops of more than two MMAs, such as the gradients of attention, a warp group issues
//        its MMAs after the warp group before it has issued its own. So one group multiplies while
//        another computes elements. The narrowest MMAs, such as row sums, do not count.
//        (FlashAttention-3, arXiv:2407.08608, section 3.1, does so in
//        the forward pass too. Option `pairs` does it in its loops of two MMAs, of which some gain
//        and some lose, so that it is left to a tuner.)
// How:   a group waits for its named barrier before the first MMA of an iteration, and arrives at
//        that of the next group after the last MMA. Before all such loops of the kernel the last
//        group arrives for the first one, and after them the first group waits once more, so that
//        arrivals and waits match. In between, that arrival serves all loops and all programs of a
//        persistent kernel: a group that arrived again for each loop might do so before the first
//        group has waited. The groups must not synchronise otherwise in the loop: a group would wait
//        for one that waits for it. So barriers for code before the loop stay before it.
//===------------------------------------------------------------------------------------===//
#include "analysis/Scratch.h"
#include "analysis/StagedLoad.h"
#include "ir/FindOps.h"
#include "ir/Launch.h"
#include "ir/Remarks.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "support/MachineModel.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_PINGPONG
#include "passes/Passes.h.inc"
namespace {
/// Whether `op` synchronises all threads, or warps of several groups.
bool synchronisesGroups(Operation *op) {
  return isa<nv::BarrierOp, BarrierOp, nv::LocalStoreOp, nv::CopyAsyncOp, nv::WaitOp,
             nv::ProducerOp>(op) ||
         (scratchBytes(op) > 0 && !scratchIsPerWarp(op));
}

/// The MMAs of the body if all are issued before the first wait, and at least `fewest` are not of
/// the narrowest.
SmallVector<nv::AsyncMmaOpInterface> mmasIssuedTogether(scf::ForOp loop, size_t fewest) {
  auto mmas = llvm::to_vector(loop.getBody()->getOps<nv::AsyncMmaOpInterface>());
  auto waits = loop.getBody()->getOps<nv::MmaWaitOpInterface>();
  const size_t wide = llvm::count_if(mmas, [](nv::AsyncMmaOpInterface mma) {
    return mma.getMma().getN() > InstructionSet::wgmmaFewest;
  });
  if (wide < fewest || waits.empty() || (*waits.begin())->isBeforeInBlock(mmas.back()))
    return {};
  return mmas;
}

/// Orders the groups in `loop`; false where it stays as it is.
bool orderGroups(scf::ForOp loop, size_t fewest) {
  const SmallVector<nv::AsyncMmaOpInterface> mmas = mmasIssuedTogether(loop, fewest);
  if (mmas.empty() || loop.getBody()->getOps<nv::MbarrierWaitOp>().empty() ||
      findOp(loop, synchronisesGroups))
    return false;
  const Location loc = loop.getLoc();
  OpBuilder b(mmas.front());
  nv::PingPongWaitOp::create(b, loc, /*last=*/false);
  b.setInsertionPointAfter(mmas.back());
  nv::PingPongArriveOp::create(b, loc, /*first=*/false);
  remarkApplied(loc, Technique::WarpSpecialisation)
      << "consumer warp groups alternate (ping-pong): one issues MMAs while another computes";
  return true;
}

/// Lets the first group begin in the first of `loops`, and end after the last one.
void bracket(func::FuncOp kernel, ArrayRef<scf::ForOp> loops) {
  auto isEarlier = [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); };
  const auto outermost = llvm::map_to_vector(loops, [&](scf::ForOp loop) {
    return kernel.getBody().front().findAncestorOpInBlock(*loop);
  });
  OpBuilder b(*llvm::min_element(outermost, isEarlier));
  nv::PingPongArriveOp::create(b, kernel.getLoc(), /*first=*/true);
  b.setInsertionPointAfter(*llvm::max_element(outermost, isEarlier));
  nv::PingPongWaitOp::create(b, kernel.getLoc(), /*last=*/true);
}

struct PingPongPass : impl::PingPongBase<PingPongPass> {
  using PingPongBase::PingPongBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (moduleInt(module, names::numWarps, 4) < 2 * InstructionSet::warpsOfGroup ||
        Launch::of(module).producerWarps == 0)
      return;
    for (auto kernel : module.getOps<func::FuncOp>()) {
      SmallVector<scf::ForOp> ordered;
      for (scf::ForOp loop : opsIn<scf::ForOp>(kernel))
        if (orderGroups(loop, pairs ? 2 : 3))
          ordered.push_back(loop);
      if (!ordered.empty())
        bracket(kernel, ordered);
    }
  }
};
} // namespace
} // namespace pantile
