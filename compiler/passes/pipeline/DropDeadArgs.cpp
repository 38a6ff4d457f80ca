//===- DropDeadArgs.cpp - remove dead loop-carried values --------------------------------===//
// Needs: nothing.
// Gives: every iter arg of an scf.for is used by an operation with effects, is yielded to a live
//        arg, or is a used result.
// How:   mark live values backwards from effects, inner regions and used results; repeat over the
//        loop's yield until nothing changes; rebuild the loop with the live args alone.
//===------------------------------------------------------------------------------------===//
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/pipeline/DeadArgs.h"

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
  OpBuilder builder(loop);
  SmallVector<Value> inits, yields;
  for (unsigned i : live.set_bits()) {
    inits.push_back(loop.getInitArgs()[i]);
    yields.push_back(loop.getYieldedValues()[i]);
  }
  auto smaller =
      scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
                         loop.getStep(), inits, nullptr, loop.getUnsignedCmp());
  smaller->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  if (!smaller.getBody()->empty())
    smaller.getBody()->getTerminator()->erase();
  Operation *yield = loop.getBody()->getTerminator();
  for (unsigned i = 0, kept = 0; i < live.size(); ++i) {
    // A dead arg is only read by operations that are dead as well; its init replaces it until they
    // are erased.
    loop.getRegionIterArg(i).replaceAllUsesWith(live.test(i) ? smaller.getRegionIterArg(kept)
                                                             : loop.getInitArgs()[i]);
    if (live.test(i))
      loop.getResult(i).replaceAllUsesWith(smaller.getResult(kept++));
  }
  loop.getInductionVar().replaceAllUsesWith(smaller.getInductionVar());
  for (auto [i, index] : llvm::enumerate(live.set_bits()))
    yields[i] = yield->getOperand(index);
  yield->erase();
  smaller.getBody()->getOperations().splice(smaller.getBody()->end(),
                                            loop.getBody()->getOperations());
  builder.setInsertionPointToEnd(smaller.getBody());
  scf::YieldOp::create(builder, loop.getLoc(), yields);
  loop.erase();
  SmallVector<Operation *> ops;
  for (Operation &op : smaller.getBody()->without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

struct DropDeadArgsPass : impl::DropDeadArgsBase<DropDeadArgsPass> {
  void runOnOperation() override {
    if (!dropDeadArgs(*getOperation().getBody()))
      markAllAnalysesPreserved();
  }
};
} // namespace

bool dropDeadArgs(Block &body) {
  SmallVector<scf::ForOp> loops;
  body.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  bool changed = false;
  for (scf::ForOp loop : loops)
    if (auto live = liveArgs(loop); !live.all()) {
      eraseArgs(loop, live);
      changed = true;
    }
  return changed;
}
} // namespace pantile
