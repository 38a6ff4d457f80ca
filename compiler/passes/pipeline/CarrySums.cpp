//===- CarrySums.cpp - a product that stays under way into the next iteration -------------===//
// Needs: ExpandPipeline ran; ScheduleLoops marked the loop, and gave its rings a slot more than
//        copies and one iteration's products have.
// Gives: in a loop `s = first(..); acc = second(f(s), .., g(acc))`, as attention is, the second
//        product is waited for when the next iteration's first one has started, so that the tensor
//        cores go on while the threads meet and choose slots.
// How:   the wait for the first product becomes one for both, since the assembler puts products one
//        after the other if sums of one are read while another is under way; one stands behind the
//        loop. A slot is written again by copies that follow a meeting of all threads after that
//        wait: this is what the slot more is for. Loops that a producer feeds have OverlapProducts.
//===------------------------------------------------------------------------------------===//
#include "ir/Remarks.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/pipeline/CarriedSum.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_CARRYSUMS
#include "passes/Passes.h.inc"
namespace {

nv::WgmmaWaitOp plainWaitOf(nv::WgmmaOp product) {
  auto wait =
      product->hasOneUse() ? dyn_cast<nv::WgmmaWaitOp>(*product->user_begin()) : nv::WgmmaWaitOp();
  const bool isPlain = wait && wait->getBlock() == product->getBlock() && wait.getPending() == 0 &&
                       wait.getValues().size() == 1 && !product->hasAttr(names::maxImprecise) &&
                       !product.getAcc().getType().getElementType().isF16();
  return isPlain ? wait : nv::WgmmaWaitOp();
}

void carry(scf::ForOp loop, CarriedSum &carried) {
  Location loc = carried.secondWait.getLoc();
  BlockArgument sum = loop.getRegionIterArg(carried.position);
  OpBuilder b(carried.firstWait);
  auto both = nv::WgmmaWaitOp::create(b, loc, TypeRange{carried.first.getType(), sum.getType()},
                                      ValueRange{carried.first.getResult(), sum}, 0);
  carried.firstWait.getResult(0).replaceAllUsesWith(both.getResult(0));
  carried.firstWait.erase();
  sum.replaceAllUsesExcept(both.getResult(1), both);
  loop.getBody()->getTerminator()->setOperand(carried.position, carried.second.getResult());
  carried.secondWait.erase();
  b.setInsertionPointAfter(loop);
  Value result = loop.getResult(carried.position);
  auto last = nv::WgmmaWaitOp::create(b, loc, sum.getType(), result, 0);
  result.replaceAllUsesExcept(last.getResult(0), last);
}

struct CarrySumsPass : impl::CarrySumsBase<CarrySumsPass> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (loop->removeAttr(names::carriesSum))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      auto carried = findCarriedSum(loop);
      if (!carried)
        continue;
      remarkApplied(loop.getLoc(), Technique::Pipelining)
          << "the second product of an iteration ends beside the first of the next";
      carry(loop, *carried);
    }
  }
};
} // namespace

std::optional<CarriedSum> findCarriedSum(scf::ForOp loop) {
  SmallVector<nv::WgmmaOp> products;
  loop.walk([&](nv::WgmmaOp product) { products.push_back(product); });
  if (products.size() != 2 || products[0]->getParentOp() != loop ||
      products[1]->getParentOp() != loop)
    return std::nullopt;
  CarriedSum found{products[0], products[1], plainWaitOf(products[0]), plainWaitOf(products[1]), 0};
  Operation *yield = loop.getBody()->getTerminator();
  if (!found.firstWait || !found.secondWait || !found.firstWait->isBeforeInBlock(found.second) ||
      !isa<RankedTensorType>(found.second.getLhs().getType()))
    return std::nullopt;
  Value result = found.secondWait.getResult(0);
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

} // namespace pantile
