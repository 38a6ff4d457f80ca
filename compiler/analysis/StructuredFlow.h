//===- StructuredFlow.h - forward data-flow analysis over structured control flow ---------===//
// Needs: a `State` with `bool join(const State &)`, which says whether it has changed.
// Gives: a walk that visits each operation with the state before it, and may insert operations.
// How:   1. The branches of an `if` begin with the state before it, and their ends are joined.
//        2. A loop is visited as a trial, in which nothing may be inserted, until the state before
//        an iteration is stable; then once more. A `while` is left from the end of its condition.
//        3. Other operations with regions count as one operation.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace pantile {

template <typename State> class StructuredFlow {
public:
  virtual ~StructuredFlow() = default;

  void visit(mlir::Region &region, State &state) {
    for (mlir::Block &block : region)
      for (mlir::Operation &op : llvm::make_early_inc_range(block)) {
        const bool hasRegions = op.getNumRegions() != 0;
        visitOp(&op, state);
        if (hasRegions)
          visitRegions(&op, state);
      }
  }

protected:
  /// The effect of `op` itself, without that of its regions. May erase it if it has none.
  virtual void visitOp(mlir::Operation *op, State &state) = 0;

  /// `state` after control enters or leaves a region: each value of `from` becomes that of `to` at
  /// the same position. Values within `left`, if that is not null, are no longer visible.
  virtual State across(const State &state, mlir::ValueRange /*from*/, mlir::ValueRange /*to*/,
                       mlir::Operation * /*left*/) {
    return state;
  }

  void visitRegions(mlir::Operation *op, State &state) {
    if (auto loop = mlir::dyn_cast<mlir::scf::ForOp>(op))
      visitFor(loop, state);
    else if (auto loop = mlir::dyn_cast<mlir::scf::WhileOp>(op))
      visitWhile(loop, state);
    else if (auto branch = mlir::dyn_cast<mlir::scf::IfOp>(op))
      visitBranches(branch, state);
  }

  bool isTrial = false;

private:
  State end(mlir::Region &region, State state) {
    visit(region, state);
    return state;
  }

  /// Visits `body` until `entry` is stable, and then once more; gives the state after it.
  State iterate(State &entry, llvm::function_ref<State()> body,
                llvm::function_ref<State(const State &)> backEdge) {
    const bool outer = std::exchange(isTrial, true);
    while (entry.join(backEdge(body()))) {
    }
    isTrial = outer;
    return body();
  }

  void visitFor(mlir::scf::ForOp loop, State &state) {
    const mlir::ValueRange inits = loop.getInitArgs(), arguments = loop.getRegionIterArgs();
    State entry = across(state, inits, arguments, nullptr);
    auto leave = [&](const State &inside, mlir::ValueRange to) {
      return across(inside, loop.getYieldedValues(), to, loop);
    };
    const State last = iterate(
        entry, [&] { return end(loop.getRegion(), entry); },
        [&](const State &inside) { return leave(inside, arguments); });
    state = across(state, inits, loop.getResults(), nullptr);
    state.join(leave(last, loop.getResults()));
  }

  void visitWhile(mlir::scf::WhileOp loop, State &state) {
    State exit;
    auto body = [&] {
      exit = end(loop.getBefore(), state);
      return end(loop.getAfter(), exit);
    };
    iterate(state, body, [&](const State &inside) { return across(inside, {}, {}, loop); });
    state = across(exit, {}, {}, loop);
  }

  void visitBranches(mlir::scf::IfOp branch, State &state) {
    State merged = branch.getElseRegion().empty() ? state : State();
    for (mlir::Region &region : branch->getRegions())
      if (!region.empty())
        merged.join(across(end(region, state), {}, {}, branch));
    state = merged;
  }
};

} // namespace pantile
