//===- PingPong.cpp - groups of warps that start their products in turn ------------===//
// Needs: OverlapIterations ran: the products of an iteration start together.
// Gives: in loops of several products, as the gradients of attention are, a group of four warps
//        starts its products when the group before it has started its own. So the tensor cores
//        work for one group while another computes elements, instead of for all of them, and then
//        for none (FlashAttention-3, arXiv:2407.08608, section 3.1, has it for attention itself,
//        whose two products were slower in turn).
// How:   A group takes its turn in front of the first product of an iteration and passes it on
//        behind the last one. In front of the loop the last group passes a turn to the first,
//        which takes what is left of it behind the loop, so as many are taken as are passed. The
//        groups must not meet in the loop otherwise: who waits for all would wait for his turn. So
//        barriers for what stands in front of the loop must stand there, too.
//===------------------------------------------------------------------------------------===//
#include "analysis/Scratch.h"
#include "analysis/StagedLoad.h"
#include "ir/Launch.h"
#include "ir/Remarks.h"
#include "ir/Tile.h"
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
/// All threads, or warps of several groups.
bool letsGroupsMeet(Operation *op) {
  return isa<nv::BarrierOp, BarrierOp, nv::LocalStoreOp, nv::CopyAsyncOp, nv::WaitOp,
             nv::ProducerOp>(op) ||
         (scratchBytes(op) > 0 && !scratchIsPerWarp(op));
}

/// The products of the body if there are more than two, and all start before one is waited for.
SmallVector<nv::AsyncMmaOpInterface> productsTogether(scf::ForOp loop) {
  auto products = llvm::to_vector(loop.getBody()->getOps<nv::AsyncMmaOpInterface>());
  auto waits = loop.getBody()->getOps<nv::MmaWaitOpInterface>();
  if (products.size() <= 2 || waits.empty() || (*waits.begin())->isBeforeInBlock(products.back()))
    return {};
  return products;
}

void alternate(scf::ForOp loop) {
  const SmallVector<nv::AsyncMmaOpInterface> products = productsTogether(loop);
  if (products.empty() || loop.getBody()->getOps<nv::MbarrierWaitOp>().empty() ||
      loop.walk([](Operation *op) {
            return letsGroupsMeet(op) ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted())
    return;
  const Location loc = loop.getLoc();
  OpBuilder b(loop);
  nv::PingPongArriveOp::create(b, loc, /*first=*/true);
  b.setInsertionPoint(products.front());
  nv::PingPongWaitOp::create(b, loc, /*last=*/false);
  b.setInsertionPointAfter(products.back());
  nv::PingPongArriveOp::create(b, loc, /*first=*/false);
  b.setInsertionPointAfter(loop);
  nv::PingPongWaitOp::create(b, loc, /*last=*/true);
  remarkApplied(loc, Technique::WarpSpecialisation)
      << "groups of four warps start their products in turn";
}

struct AlternateGroupsPass : impl::PingPongBase<AlternateGroupsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (moduleInt(module, names::numWarps, 4) < 2 * InstructionSet::warpsOfGroup ||
        Launch::of(module).producerWarps == 0)
      return;
    SmallVector<scf::ForOp> loops;
    module.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      alternate(loop);
  }
};
} // namespace
} // namespace pantile
