//===- RemoveUnreachable.cpp - remove bodies of `while` and `if` that are never entered -----===//
// Needs: nothing.
// Gives: no scf.while whose body, and no scf.if whose branch, constants show to be unreachable:
//        MLIR's remove-dead-values ends with an access violation at such bodies.
// How:   sparse conditional constant propagation (MLIR's dataflow analyses) says which blocks are
//        reached. A `while` without a body tests its condition once; an `if` is its other branch.
//===----------------------------------------------------------------------------------------===//
#include "ir/FindOps.h"
#include "mlir/Analysis/DataFlow/ConstantPropagationAnalysis.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/Passes.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_REMOVEUNREACHABLE
#include "passes/Passes.h.inc"
namespace {

/// Moves the operations of `block` before `op`; its terminator, which is erased, has the results.
void replaceByBlock(RewriterBase &rewriter, Operation *op, Block *block, ValueRange arguments,
                    llvm::function_ref<ValueRange(Operation *)> resultsOf) {
  Operation *terminator = block->getTerminator();
  rewriter.inlineBlockBefore(block, op, arguments);
  rewriter.replaceOp(op, resultsOf(terminator));
  rewriter.eraseOp(terminator);
}

void remove(scf::WhileOp loop) {
  IRRewriter rewriter(loop);
  replaceByBlock(rewriter, loop, loop.getBeforeBody(), loop.getInits(),
                 [](Operation *condition) { return cast<scf::ConditionOp>(condition).getArgs(); });
}

/// Only one branch is reached.
void removeOther(scf::IfOp branch, Region &reached) {
  IRRewriter rewriter(branch);
  if (reached.empty())
    return rewriter.eraseOp(branch);
  replaceByBlock(rewriter, branch, &reached.front(), {},
                 [](Operation *yield) { return yield->getOperands(); });
}

struct RemoveUnreachablePass : impl::RemoveUnreachableBase<RemoveUnreachablePass> {
  void runOnOperation() override {
    if (!containsOp<scf::WhileOp, scf::IfOp>(getOperation()))
      return markAllAnalysesPreserved();
    DataFlowSolver solver;
    solver.load<dataflow::DeadCodeAnalysis>();
    solver.load<dataflow::SparseConstantPropagation>();
    if (failed(solver.initializeAndRun(getOperation())))
      return signalPassFailure();
    // A block is found by its first operation, so all are looked up before anything changes.
    llvm::DenseSet<Region *> reached;
    getOperation().walk([&](Operation *op) {
      for (Region &region : op->getRegions())
        if (!region.empty() && isLive(solver, region.front()))
          reached.insert(&region);
    });
    getOperation().walk([&](Operation *op) {
      if (!reached.contains(op->getParentRegion())) // goes with what is around it
        return;
      if (auto loop = dyn_cast<scf::WhileOp>(op); loop && !reached.contains(&loop.getAfter()))
        remove(loop);
      else if (auto branch = dyn_cast<scf::IfOp>(op))
        removeOneOf(branch, reached);
    });
  }

private:
  static bool isLive(DataFlowSolver &solver, Block &block) {
    auto *state = solver.lookupState<dataflow::Executable>(solver.getProgramPointBefore(&block));
    return state && state->isLive();
  }

  /// Removes the branch that is not reached, if one is not.
  static void removeOneOf(scf::IfOp branch, const llvm::DenseSet<Region *> &reached) {
    Region &then = branch.getThenRegion(), &otherwise = branch.getElseRegion();
    if (!reached.contains(&then))
      removeOther(branch, otherwise);
    else if (!otherwise.empty() && !reached.contains(&otherwise))
      removeOther(branch, then);
  }
};
} // namespace
} // namespace pantile
