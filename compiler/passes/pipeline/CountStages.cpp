//===- CountStages.cpp - increment and wrap stage indices instead of dividing --------------===//
// Needs: loops carry a count of their iterations: stage index = count mod depth, and the phase is
//        the parity of count / depth.
// Gives: where the depth is no power of two, loops carry the stage index and the number of wraps;
//        the index is incremented, and set to zero where it reaches the depth.
// How:   only for a carried value that grows by one per copy of the body (a loop may be unrolled),
//        and of which only these two are computed.
//        Their initial values are divided once, before the loop. So the address of the first
//        mbarrier wait of an iteration is ready at its start.
//===------------------------------------------------------------------------------------===//
#include "ir/FindOps.h"
#include "ir/Numbers.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"
#include "passes/pipeline/Channels.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_COUNTSTAGES
#include "passes/Passes.h.inc"
namespace {

/// A carried iteration count, and the divisions of it by the depth of a circular buffer.
struct IterationCount {
  /// A division of the count after `later` copies of the body: the stage index, or how often it
  /// has wrapped, whose parity is the phase.
  struct Division {
    Operation *op;
    unsigned later;
  };

  unsigned position = 0; ///< among the carried values
  int64_t depth = 0;     ///< stages of the circular buffer
  unsigned copies = 1;   ///< of the body: the count grows by as much
  SmallVector<Division> divisions;
};

/// The value to which `value` adds one; null if it does not.
Value oneBefore(Value value) {
  auto add = value.getDefiningOp<arith::AddIOp>();
  if (add && matchPattern(add.getRhs(), m_One()))
    return add.getLhs();
  return add && matchPattern(add.getLhs(), m_One()) ? add.getRhs() : Value();
}

/// The values from `count` to the one before `next`, each of which is one more than the last; none
/// if `next` does not follow so.
SmallVector<Value> countsUpTo(Value next, BlockArgument count) {
  SmallVector<Value> counts;
  for (Value at = oneBefore(next); at; at = oneBefore(at)) {
    counts.push_back(at);
    if (at == count)
      return SmallVector<Value>(llvm::reverse(counts));
  }
  return {};
}

/// The constant divisor, if it is no power of two; else 0: a power of two needs a mask and a shift.
int64_t depthOf(Operation *division) {
  APInt number;
  const bool isKnown = isa<arith::RemUIOp, arith::DivUIOp>(division) &&
                       matchPattern(division->getOperand(1), m_ConstantInt(&number));
  return isKnown && !number.isPowerOf2() ? number.getZExtValue() : 0;
}

/// Adds the divisions of `value` to `found`; false if the body computes anything else of it than
/// these and `next`.
bool addDivisions(IterationCount &found, Value value, Value next, unsigned later) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (user == next.getDefiningOp())
      return true;
    const int64_t depth = depthOf(user);
    if (depth == 0 || user->getOperand(0) != value || (found.depth != 0 && depth != found.depth))
      return false;
    found.depth = depth;
    found.divisions.push_back({user, later});
    return true;
  });
}

/// A carried value that grows by one per copy of the body, and of which the body only computes
/// divisions.
std::optional<IterationCount> findCount(scf::ForOp loop) {
  for (auto [i, count] : llvm::enumerate(loop.getRegionIterArgs())) {
    Value next = loop.getYieldedValues()[i];
    const SmallVector<Value> counts = countsUpTo(next, count);
    if (!count.getType().isInteger(32) || counts.empty())
      continue;
    IterationCount found{static_cast<unsigned>(i), 0, static_cast<unsigned>(counts.size()), {}};
    bool isCounted = true;
    for (auto [later, value] : llvm::enumerate(counts))
      isCounted &=
          addDivisions(found, value, later + 1 < counts.size() ? counts[later + 1] : next, later);
    auto isIndex = [](const auto &division) { return isa<arith::RemUIOp>(division.op); };
    if (isCounted && llvm::any_of(found.divisions, isIndex))
      return found;
  }
  return std::nullopt;
}

/// Makes `loop` carry the index and the number of wraps, and increment these instead of dividing.
void replaceDivisions(scf::ForOp loop, const IterationCount &count) {
  OpBuilder before(loop);
  Location loc = loop.getLoc();
  Value first = loop.getInitArgs()[count.position];
  Numbers n(before, loc);
  Value depth = n.of(count.depth);
  const SmallVector<Value> inits{n.rem(first, depth), n.div(first, depth)};
  carryValues(loop, inits, [&](OpBuilder &b, ArrayRef<BlockArgument> carried) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(carried[0].getOwner());
    SmallVector<StageCount> counts{{carried[0], carried[1]}};
    for (unsigned copy = 0; copy < count.copies; ++copy)
      counts.push_back(nextStage(b, loc, counts.back(), static_cast<int>(count.depth)));
    for (const auto &[division, later] : count.divisions) {
      const bool isIndex = isa<arith::RemUIOp>(division);
      division->getResult(0).replaceAllUsesWith(isIndex ? counts[later].index
                                                        : counts[later].wraps);
      division->erase();
    }
    return SmallVector<Value>{counts.back().index, counts.back().wraps};
  });
}

struct CountStagesPass : impl::CountStagesBase<CountStagesPass> {
  void runOnOperation() override {
    bool changed = false;
    for (scf::ForOp loop : opsIn<scf::ForOp>(getOperation()))
      if (auto count = findCount(loop)) {
        replaceDivisions(loop, *count);
        changed = true;
      }
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace pantile
