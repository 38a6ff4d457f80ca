//===- CarryAccumulators.cpp - a product that stays under way into the next iteration -------------===//
// Needs: ExpandPipeline ran; ScheduleLoops marked the loop, and gave its circular buffers a stage more than
//        copies and one iteration's products have.
// Gives: in a loop `s = first(..); acc = second(f(s), .., g(acc))`, as attention is, the second
//        product is waited for when the next iteration's first one has started, so that the tensor
//        cores go on while the threads meet and choose stages.
// How:   the wait for the first product becomes one for both, since the assembler puts products one
//        after the other if sums of one are read while another is under way; one stands behind the
//        loop. A stage is written again by copies that follow a meeting of all threads after that
//        wait: this is what the stage more is for. Loops with a producer have OverlapIterations.
//===------------------------------------------------------------------------------------===//
#include "analysis/MmaWaits.h"
#include "ir/Remarks.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/mma/LeaveInFlight.h"
#include "passes/pipeline/CarriedAccumulator.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_CARRYACCUMULATORS
#include "passes/Passes.h.inc"
namespace {

void carry(scf::ForOp loop, CarriedAccumulator &carried) {
  BlockArgument sum = loop.getRegionIterArg(carried.position);
  OpBuilder b(carried.firstWait);
  nv::MmaWaitOpInterface both = carried.first.createWait(
      b, carried.secondWait.getLoc(), ValueRange{carried.first.getResult(), sum});
  carried.firstWait->getResult(0).replaceAllUsesWith(both->getResult(0));
  carried.firstWait.erase();
  sum.replaceAllUsesExcept(both->getResult(1), both);
  leaveInFlight(loop, {carried.second});
}

struct CarrySumsPass : impl::CarryAccumulatorsBase<CarrySumsPass> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (loop->hasAttr(names::carriesAccumulator))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      auto carried = findCarriedAccumulator(loop);
      if (!carried)
        continue;
      remarkApplied(loop.getLoc(), Technique::Pipelining)
          << "the second product of an iteration ends beside the first of the next";
      carry(loop, *carried);
      loop->removeAttr(names::carriesAccumulator);
    }
  }
};
} // namespace

/// Whether the registers that `product` reads are not written before the next iteration has waited for
/// it, which is at `wait` or earlier: their tile is made after that, or before the loop.
static bool keepsRegisters(scf::ForOp loop, nv::AsyncMmaOpInterface product,
                           nv::MmaWaitOpInterface wait) {
  Value left = product.getHeldRegisters();
  if (!left || loop.isDefinedOutsideOfLoop(left))
    return true;
  Operation *maker = left.getDefiningOp();
  return maker && maker->getBlock() == wait->getBlock() && wait->isBeforeInBlock(maker);
}

std::optional<CarriedAccumulator> findCarriedAccumulator(scf::ForOp loop) {
  SmallVector<nv::AsyncMmaOpInterface> products;
  loop.walk([&](nv::AsyncMmaOpInterface product) { products.push_back(product); });
  if (products.size() != 2 || products[0]->getParentOp() != loop ||
      products[1]->getParentOp() != loop)
    return std::nullopt;
  CarriedAccumulator found{products[0], products[1], movableWaitOf(products[0]),
                           movableWaitOf(products[1]), 0};
  Operation *yield = loop.getBody()->getTerminator();
  if (!found.firstWait || !found.secondWait || !found.firstWait->isBeforeInBlock(found.second) ||
      !found.second.getHeldRegisters() || !keepsRegisters(loop, found.second, found.firstWait))
    return std::nullopt;
  Value result = found.secondWait->getResult(0);
  if (!result.hasOneUse() || result.use_begin()->getOwner() != yield)
    return std::nullopt;
  found.position = result.use_begin()->getOperandNumber();
  const bool isLeftAlone =
      llvm::all_of(loop.getRegionIterArg(found.position).getUsers(), [&](Operation *user) {
        Operation *inBody = loop.getBody()->findAncestorOpInBlock(*user);
        return inBody && found.firstWait->isBeforeInBlock(inBody) && user != yield;
      });
  return isLeftAlone ? std::optional(found) : std::nullopt;
}

SmallVector<nv::AsyncMmaOpInterface> findAddedSums(scf::ForOp loop) {
  SmallVector<nv::AsyncMmaOpInterface> products, added;
  loop.walk([&](nv::AsyncMmaOpInterface product) { products.push_back(product); });
  for (nv::AsyncMmaOpInterface product : products) {
    if (product->getParentOp() != loop || !movableWaitOf(product))
      return {};
    if (!isa<BlockArgument>(product.getAcc()))
      continue;
    if (!carriedAccumulatorOf(product) || !product.getHeldRegisters() ||
        !keepsRegisters(loop, product, movableWaitOf(products.front())))
      return {};
    added.push_back(product);
  }
  const bool isChained = added.size() > 1 && added.size() < products.size() &&
                         !isa<BlockArgument>(products.front().getAcc());
  return isChained ? added : SmallVector<nv::AsyncMmaOpInterface>();
}

void carryAddedSums(scf::ForOp loop) {
  const SmallVector<nv::AsyncMmaOpInterface> added = findAddedSums(loop);
  if (added.empty())
    return;
  leaveInFlight(loop, added);
  remarkApplied(loop.getLoc(), Technique::Pipelining)
      << "the last products of an iteration end beside the first of the next";
}

} // namespace pantile
