//===- OverlapIterations.cpp - overlap the last MMAs of an iteration with the next one ---===//
// Needs: DeferWaits ran: MMAs are issued when their operands are there; a producer fills the
//        buffers.
// Gives: in a loop whose iterations have a late stage (LateStage.h), such as attention and its
//        gradients, that stage runs one iteration later. Its MMAs are issued after those of the
//        next iteration, so the tensor cores are busy while the values between the stages are
//        computed.
// How:   loop rotation. The first iteration is peeled, and the last late stage follows the loop;
//        both are under the condition that the loop has an iteration. The loop carries what the
//        late stage of the iteration before reads: left operands, and the integers that select
//        stages. Accumulators are rescaled before the late MMAs, after those of the iteration
//        before. Stages are waited for and released in the same order, so the producer does not
//        change. No MMA is in flight over the back edge.
//===------------------------------------------------------------------------------------===//
#include "passes/pipeline/OverlapIterations.h"
#include "analysis/MmaWaits.h"
#include "analysis/RegisterBudget.h"
#include "ir/Registers.h"
#include "ir/Remarks.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"
#include "passes/pipeline/LateStage.h"
#include "passes/pipeline/PeeledLoop.h"
#include "support/Target.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_OVERLAPITERATIONS
#include "passes/Passes.h.inc"
namespace {

class LoopRotator {
public:
  explicit LoopRotator(LateStage &stage)
      : stage(stage), loop(stage.loop), b(loop), loc(loop.getLoc()) {}

  void run() {
    scf::IfOp branch = branchOfIterations(b, loop);
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), loop.getLowerBound());
    mapping.map(loop.getRegionIterArgs(), loop.getInitArgs());
    cloneEarly(mapping, Part::Issue);
    cloneEarly(mapping, Part::Rest);
    cloneLast(mapping);
    scf::ForOp rest = makeLoop(carriedValues(mapping));
    scf::YieldOp::create(b, loc, finish(rest));
    loop.replaceAllUsesWith(branch.getResults());
    loop.erase();
  }

private:
  unsigned count() { return loop.getNumRegionIterArgs(); }

  bool isLast(Operation *op) { return stage.rescale.contains(op) || stage.isLastConversion(op); }

  /// Clones stage 0, up to the first wait for its MMAs or from there on.
  enum class Part { Issue, Rest };
  void cloneEarly(IRMapping &mapping, Part part) {
    for (Operation &op : loop.getBody()->without_terminator()) {
      const bool isIssue = op.isBeforeInBlock(stage.firstWait);
      if (isIssue == (part == Part::Issue) && !stage.contains(&op) && !isLast(&op))
        b.clone(op, mapping);
    }
  }

  /// Clones what must follow the late MMAs of the iteration before, in the order of the body.
  void cloneLast(IRMapping &mapping) {
    for (Operation &op : loop.getBody()->without_terminator())
      if (isLast(&op))
        b.clone(op, mapping);
  }

  /// What the next iteration of the rotated loop needs: the carried values with accumulators
  /// rescaled, the left operands, and the leaves of the selection of stages.
  SmallVector<Value> carriedValues(IRMapping &mapping) {
    SmallVector<Value> values;
    for (Value value : loop.getYieldedValues())
      values.push_back(mapping.lookupOrDefault(value));
    for (nv::AsyncMmaOpInterface mma : stage.mmas)
      values[stage.positionOf(mma)] = mapping.lookupOrDefault(stage.addendOf(mma));
    for (Value left : stage.lefts())
      values.push_back(mapping.lookup(left));
    for (Value leaf : stage.leaves)
      values.push_back(mapping.lookup(leaf));
    return values;
  }

  /// Issues the late MMAs of the iteration that passed on `carried`.
  IRMapping issueLate(ValueRange carried) {
    IRMapping mapping;
    ValueRange own = carried.drop_front(count());
    const llvm::SetVector<Value> lefts = stage.lefts();
    for (auto [left, value] : llvm::zip(lefts, own))
      mapping.map(left, value);
    for (auto [leaf, value] : llvm::zip(stage.leaves, own.drop_front(lefts.size())))
      mapping.map(leaf, value);
    for (nv::AsyncMmaOpInterface mma : stage.mmas)
      mapping.map(stage.addendOf(mma), carried[stage.positionOf(mma)]);
    for (Operation &op : loop.getBody()->without_terminator())
      if (stage.selection.contains(&op))
        b.clone(op, mapping);
    for (Operation *op : stage.late)
      if (isa<nv::MbarrierWaitOp>(op))
        b.clone(*op, mapping);
    for (nv::AsyncMmaOpInterface mma : stage.mmas)
      b.clone(*mma, mapping);
    return mapping;
  }

  /// Waits for the late MMAs and releases their stages; gives the accumulators, in the order of the
  /// MMAs.
  SmallVector<Value> completeLate(IRMapping &mapping) {
    SmallVector<Value> accumulators;
    for (nv::AsyncMmaOpInterface mma : stage.mmas)
      accumulators.push_back(b.clone(*waitOf(mma), mapping)->getResult(0));
    for (auto [mma, accumulator] : llvm::zip(stage.mmas, accumulators))
      if (arith::AddFOp add = stage.additionOf(mma))
        accumulator = b.clone(*add, mapping)->getResult(0);
    for (Operation *op : stage.late)
      if (isa<nv::ReleaseOp>(op))
        b.clone(*op, mapping);
    return accumulators;
  }

  scf::ForOp makeLoop(ValueRange carried) {
    scf::ForOp rest = loopOverRest(b, loop, carried);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(rest.getBody());
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), rest.getInductionVar());
    ValueRange args = rest.getRegionIterArgs();
    mapping.map(loop.getRegionIterArgs(), args.take_front(count()));
    cloneEarly(mapping, Part::Issue);
    IRMapping before = issueLate(args);
    cloneEarly(mapping, Part::Rest);
    settle(mapping);
    for (auto [mma, accumulator] : llvm::zip(stage.mmas, completeLate(before)))
      mapping.map(loop.getRegionIterArg(stage.positionOf(mma)), accumulator);
    cloneLast(mapping);
    scf::YieldOp::create(b, loc, carriedValues(mapping));
    return rest;
  }

  SmallVector<Value> finish(scf::ForOp rest) {
    IRMapping mapping = issueLate(rest.getResults());
    SmallVector<Value> results(rest.getResults().take_front(count()));
    for (auto [mma, accumulator] : llvm::zip(stage.mmas, completeLate(mapping)))
      results[stage.positionOf(mma)] = accumulator;
    return results;
  }

  /// Whether `value` is computed from a left operand or from what that is converted from.
  bool comesFromLeft(Value value) {
    llvm::DenseSet<Value> sources, seen;
    for (nv::AsyncMmaOpInterface mma : stage.mmas) {
      sources.insert(mma.getLhs());
      sources.insert_range(mma.getLhs().getDefiningOp()->getOperands());
    }
    SmallVector<Value> work{value};
    while (!work.empty()) {
      Value next = work.pop_back_val();
      if (sources.contains(next))
        return true;
      Operation *op = next.getDefiningOp();
      if (op && op->getParentOp() == loop && seen.insert(next).second)
        work.append(op->operand_begin(), op->operand_end());
    }
    return false;
  }

  /// Keeps ptxas from moving the wait for the late MMAs above the computation of left operands:
  /// settles the carried values that depend on these or, if there are none, the source of the last
  /// operand.
  void settle(IRMapping &mapping) {
    auto isFp32 = [](Value value) {
      auto tile = dyn_cast<RankedTensorType>(value.getType());
      return tile && tile.getElementType().isF32();
    };
    bool isHeld = false;
    for (Value value : loop.getYieldedValues())
      if (isFp32(value) && !stage.contains(value.getDefiningOp()) && comesFromLeft(value)) {
        nv::SettleOp::create(b, loc, mapping.lookupOrDefault(value));
        isHeld = true;
      }
    Operation *last = stage.mmas.back().getLhs().getDefiningOp();
    if (!isHeld && stage.isLastConversion(last) && last->getNumOperands() == 1 &&
        isFp32(last->getOperand(0)))
      nv::SettleOp::create(b, loc, mapping.lookupOrDefault(last->getOperand(0)));
  }

  LateStage &stage;
  scf::ForOp loop;
  OpBuilder b;
  Location loc;
};

/// Whether registers suffice: accumulators of both stages and left operands are live at once, and
/// the left operands of the next iteration before their conversion. Rescaling takes registers of
/// its own.
bool fitsRegisters(const LateStage &stage, const MachineModel &machine, int warps) {
  int64_t registers = stage.rescale.empty() ? machine.registers.overheadOfOverlap
                                            : machine.registers.overheadOfRescaling;
  for (nv::AsyncMmaOpInterface mma : stage.early)
    registers += registersOf(mma.getResult());
  for (nv::AsyncMmaOpInterface mma : stage.mmas) {
    const bool hasAddend = stage.additionOf(mma) != nullptr; // in registers of its own
    registers += (hasAddend ? 2 : 1) * registersOf(mma.getResult());
  }
  for (Value left : stage.lefts())
    registers += registersOf(left);
  return registers <= RegisterBudget{machine, warps}.consumer(/*ctas=*/1);
}

struct OverlapIterationsPass : impl::OverlapIterationsBase<OverlapIterationsPass> {
  using OverlapIterationsBase::OverlapIterationsBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = Target::parse(moduleTarget(module));
    const int warps = moduleInt(module, names::numWarps, 4);
    if (!target || !target->hasAsyncMma())
      return;
    SmallVector<scf::ForOp> loops;
    module.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      LateStage stage(loop);
      if (!stage.find() || (!rescaled && !stage.rescale.empty()))
        continue;
      if (!fitsRegisters(stage, target->machine(), warps)) {
        if (isLast)
          remarkMissed(loop.getLoc(), Technique::Pipelining)
              << "MMAs of two iterations are not in flight together: accumulators and left "
                 "operands take too many registers";
        continue;
      }
      remarkApplied(loop.getLoc(), Technique::Pipelining)
          << "the last MMAs of an iteration are in flight together with the first of the next";
      LoopRotator(stage).run();
    }
  }
};
} // namespace

bool hasRegistersForOverlap(scf::ForOp loop, const Target &target, int warps) {
  int64_t registers = target.machine().registers.overheadOfOverlap, early = 0, late = 0;
  for (auto mma : loop.getBody()->getOps<nv::AsyncMmaOpInterface>()) {
    registers += registersOf(mma.getResult());
    if (matchPattern(mma.getAcc(), m_AnyZeroFloat())) {
      ++early;
    } else {
      ++late;
      registers += registersOf(mma.getLhs());
    }
  }
  const RegisterBudget budget{target.machine(), warps};
  return early >= 2 && late > 0 && registers <= budget.consumer(1);
}

} // namespace pantile
