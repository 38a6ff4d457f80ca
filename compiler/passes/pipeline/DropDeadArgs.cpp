//===- DropDeadArgs.cpp - remove dead loop-carried values --------------------------------===//
// Needs: nothing.
// Gives: every iter arg of an scf.for is used by an operation with effects, is yielded to a live
//        arg, or is a used result.
// How:   mark live values backwards from effects, inner regions and used results; repeat over the
//        loop's yield until nothing changes; rebuild the loop with the live args alone.
//===------------------------------------------------------------------------------------===//
#include "ir/FindOps.h"
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/Passes.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_DROPDEADARGS
#include "passes/Passes.h.inc"
namespace {

/// Indices of the iter args of `loop` that are live.
llvm::SmallBitVector liveArgs(scf::ForOp loop) {
  llvm::SmallBitVector live(loop.getNumRegionIterArgs());
  llvm::DenseSet<Operation *> seen;
  SmallVector<Value> work;
  auto markOp = [&](Operation *op) {
    if (!seen.insert(op).second)
      return;
    op->walk([&](Operation *inner) { work.append(inner->operand_begin(), inner->operand_end()); });
  };
  auto markArg = [&](unsigned index) {
    if (live.test(index))
      return;
    live.set(index);
    work.push_back(loop.getYieldedValues()[index]);
  };
  for (Operation &op : loop.getBody()->without_terminator())
    if (!isMemoryEffectFree(&op))
      markOp(&op);
  for (auto [index, result] : llvm::enumerate(loop.getResults()))
    if (!result.use_empty())
      markArg(index);
  while (!work.empty()) {
    Value value = work.pop_back_val();
    auto arg = dyn_cast<BlockArgument>(value);
    if (arg && arg.getOwner() == loop.getBody() && arg.getArgNumber() >= loop.getNumInductionVars())
      markArg(arg.getArgNumber() - loop.getNumInductionVars());
    else if (Operation *op = value.getDefiningOp(); op && loop->isProperAncestor(op))
      markOp(loop.getBody()->findAncestorOpInBlock(*op));
  }
  return live;
}

void eraseArgs(scf::ForOp loop, const llvm::SmallBitVector &live) {
  auto kept = [&](ValueRange values) {
    return llvm::map_to_vector(live.set_bits(), [&](unsigned i) -> Value { return values[i]; });
  };
  IRRewriter rewriter(loop);
  auto smaller = scf::ForOp::create(
      rewriter, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(), loop.getStep(),
      kept(loop.getInitArgs()), [](OpBuilder &, Location, Value, ValueRange) {},
      loop.getUnsignedCmp());
  smaller->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  // A dead arg is only read by operations that are dead as well; its init replaces it until they
  // are erased.
  SmallVector<Value> arguments{smaller.getInductionVar()};
  llvm::append_range(arguments, loop.getInitArgs());
  for (auto [i, number] : llvm::enumerate(live.set_bits())) {
    arguments[number + 1] = smaller.getRegionIterArg(i);
    loop.getResult(number).replaceAllUsesWith(smaller.getResult(i));
  }
  Operation *yield = loop.getBody()->getTerminator();
  yield->setOperands(kept(yield->getOperands()));
  rewriter.mergeBlocks(loop.getBody(), smaller.getBody(), arguments);
  loop.erase();
  for (Operation *op = yield->getPrevNode(); op;) {
    Operation *before = op->getPrevNode();
    if (isOpTriviallyDead(op))
      op->erase();
    op = before;
  }
}

struct DropDeadArgsPass : impl::DropDeadArgsBase<DropDeadArgsPass> {
  void runOnOperation() override {
    bool changed = false;
    for (scf::ForOp loop : opsIn<scf::ForOp>(getOperation()))
      if (auto live = liveArgs(loop); !live.all()) {
        eraseArgs(loop, live);
        changed = true;
      }
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace pantile
