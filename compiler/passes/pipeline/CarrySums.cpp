//===- CarrySums.cpp - a product that stays under way into the next iteration -------------===//
// Needs: ExpandPipeline ran: the right operands stand in rings, filled by asynchronous copies.
// Gives: in a loop `s = first(..); acc = second(f(s), .., g(acc))`, as attention is, the second
//        product is waited for when the next iteration's first one has started, so that the tensor
//        cores go on while the threads meet and choose slots.
// How:   the wait for the first product becomes one for both, since the assembler puts products one
//        after the other if sums of one are read while another is under way; one stands behind the
//        loop. Only where all that looks at the sum comes later. Copies into the slot that the
//        second product still read then follow that wait and a barrier, since every thread's
//        product must have ended. Loops that a producer feeds have OverlapProducts.
//===------------------------------------------------------------------------------------===//
#include "ir/Remarks.h"
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/pipeline/StagedLoad.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_CARRYSUMS
#include "passes/Passes.h.inc"
namespace {

class Carrier {
public:
  explicit Carrier(scf::ForOp loop) : loop(loop), yield(loop.getBody()->getTerminator()) {}

  bool find() { return findProducts() && readsRing() && findSum() && hasOnlyCopies(); }

  void run() {
    Location loc = wait.getLoc();
    OpBuilder b(firstWait);
    auto both = nv::WgmmaWaitOp::create(b, loc, TypeRange{first.getType(), sum.getType()},
                                        ValueRange{first.getResult(), sum}, 0);
    firstWait.getResult(0).replaceAllUsesWith(both.getResult(0));
    firstWait.erase();
    sum.replaceAllUsesExcept(both.getResult(1), both);
    copyBehind(both);
    yield->setOperand(position, second.getResult());
    wait.erase();
    b.setInsertionPointAfter(loop);
    Value result = loop.getResult(position);
    auto last = nv::WgmmaWaitOp::create(b, loc, sum.getType(), result, 0);
    result.replaceAllUsesExcept(last.getResult(0), last);
  }

private:
  /// In their order, with the group that they are one of.
  void copyBehind(nv::WgmmaWaitOp both) {
    if (copies.empty())
      return;
    OpBuilder b(both);
    b.setInsertionPointAfter(both);
    Operation *last = nv::BarrierOp::create(b, both.getLoc());
    for (Operation *op : copies)
      if (op->isBeforeInBlock(last)) {
        op->moveAfter(last);
        last = op;
      }
  }

  /// Two, each with a wait for it alone; the second's goes straight to the next iteration.
  bool findProducts() {
    SmallVector<nv::WgmmaOp> products;
    loop.walk([&](nv::WgmmaOp product) { products.push_back(product); });
    if (products.size() != 2 || products[0]->getParentOp() != loop ||
        products[1]->getParentOp() != loop)
      return false;
    first = products[0];
    second = products[1];
    firstWait = waitOf(first);
    wait = waitOf(second);
    if (!firstWait || !wait || !firstWait->isBeforeInBlock(second))
      return false;
    Value result = wait.getResult(0);
    if (!result.hasOneUse() || result.use_begin()->getOwner() != yield)
      return false;
    position = result.use_begin()->getOperandNumber();
    sum = loop.getRegionIterArg(position);
    return true;
  }

  static nv::WgmmaWaitOp waitOf(nv::WgmmaOp product) {
    auto wait = product->hasOneUse() ? dyn_cast<nv::WgmmaWaitOp>(*product->user_begin())
                                     : nv::WgmmaWaitOp();
    const bool isPlain = wait && wait->getBlock() == product->getBlock() &&
                         wait.getPending() == 0 && wait.getValues().size() == 1 &&
                         !product->hasAttr(names::maxImprecise) &&
                         !product.getAcc().getType().getElementType().isF16();
    return isPlain ? wait : nv::WgmmaWaitOp();
  }

  /// Registers on the left, a slot on the right.
  bool readsRing() {
    Value buffer = second.getRhs();
    while (Operation *op = buffer.getDefiningOp()) {
      if (auto alloc = dyn_cast<nv::AllocOp>(op))
        return alloc->hasAttr(names::ring) && isa<RankedTensorType>(second.getLhs().getType());
      buffer = op->getOperand(0);
    }
    return false;
  }

  bool findSum() {
    return llvm::all_of(sum.getUsers(), [&](Operation *user) {
      Operation *inBody = loop.getBody()->findAncestorOpInBlock(*user);
      return inBody && firstWait->isBeforeInBlock(inBody) && user != yield;
    });
  }

  /// Nothing else changes shared memory; the copies come behind the first product.
  bool hasOnlyCopies() {
    for (Operation &op : *loop.getBody()) {
      if (isa<nv::LocalStoreOp, nv::MbarrierWaitOp, nv::ReleaseOp>(op))
        return false;
      if (isa<nv::CopyAsyncOp, nv::CommitOp>(op))
        copies.push_back(&op);
    }
    return copies.empty() || first->isBeforeInBlock(copies.front());
  }

  scf::ForOp loop;
  Operation *yield;
  SmallVector<Operation *> copies;
  nv::WgmmaOp first, second;
  nv::WgmmaWaitOp firstWait, wait;
  unsigned position = 0;
  BlockArgument sum;
};

struct CarrySumsPass : impl::CarrySumsBase<CarrySumsPass> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      Carrier carrier(loop);
      if (!carrier.find())
        continue;
      remarkApplied(loop.getLoc(), Technique::Pipelining)
          << "the second product of an iteration ends beside the first of the next";
      carrier.run();
    }
  }
};
} // namespace
} // namespace pantile
