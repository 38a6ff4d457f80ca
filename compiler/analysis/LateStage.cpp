//===- LateStage.cpp - see LateStage.h ----------------------------------------------------===//
#include "analysis/LateStage.h"
#include "analysis/BufferReaders.h"
#include "analysis/MmaWaits.h"
#include "analysis/MotionLegality.h"
#include "analysis/RegisterBudget.h"
#include "ir/FindOps.h"
#include "ir/Registers.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace pantile {

bool LateStage::find() { return sortMmas() && sortOthers() && findStageSelection(); }

llvm::SetVector<Value> LateStage::lefts() const {
  llvm::SetVector<Value> found;
  for (nv::AsyncMmaOpInterface mma : mmas)
    found.insert(mma.getLhs());
  return found;
}

bool LateStage::isLastConversion(Operation *op) const {
  auto isLate = [&](Operation *user) { return late.contains(user); };
  return op->hasTrait<OpTrait::Elementwise>() && !op->use_empty() &&
         llvm::all_of(op->getUsers(), isLate) &&
         llvm::any_of(
             mmas, [&](nv::AsyncMmaOpInterface mma) { return mma.getLhs() == op->getResult(0); });
}

//===- MMAs --------------------------------------------------------------------------------===//

bool LateStage::sortMmas() {
  for (auto [mma, wait] : waitedMmas(loop)) {
    Value held = mma.getHeldRegisters();
    const bool isComputed = held && held.getDefiningOp() && !loop.isDefinedOutsideOfLoop(held);
    if (isComputed && addLate(mma, wait))
      continue;
    if (!mmas.empty())
      return false;
    early.push_back(mma);
    if (!firstWait || wait->isBeforeInBlock(firstWait))
      firstWait = wait;
  }
  return !early.empty() && !mmas.empty() && early.back()->isBeforeInBlock(firstWait) &&
         llvm::none_of(mmas, [&](nv::AsyncMmaOpInterface mma) {
           return rescale.contains(mma.getHeldRegisters().getDefiningOp());
         });
}

/// The only use of `value`; null if there are more, or none.
static OpOperand *onlyUse(Value value) { return value.hasOneUse() ? &*value.use_begin() : nullptr; }

/// The operand by which `mma` adds to an accumulator: its own, or, if it starts from zero, that of
/// the addition `use` of its result.
static OpOperand &addendOperand(nv::AsyncMmaOpInterface mma, OpOperand &use) {
  auto add = dyn_cast<arith::AddFOp>(use.getOwner());
  if (add && matchPattern(mma.getAcc(), m_AnyZeroFloat()))
    return add->getOpOperand(1 - use.getOperandNumber());
  auto isAcc = [&](OpOperand &operand) { return operand.get() == mma.getAcc(); };
  return *llvm::find_if(mma->getOpOperands(), isAcc);
}

/// Adds `mma` to stage 1. False, and nothing is changed, if it does not add to a carried
/// accumulator.
bool LateStage::addLate(nv::AsyncMmaOpInterface mma, nv::MmaWaitOpInterface wait) {
  OpOperand *use = onlyUse(wait->getResult(0));
  if (!use || use->getOwner()->getBlock() != loop.getBody())
    return false;
  OpOperand &addend = addendOperand(mma, *use);
  auto add = dyn_cast<arith::AddFOp>(addend.getOwner());
  use = add ? onlyUse(add) : use;
  if (!use || use->getOwner() != loop.getBody()->getTerminator() ||
      !findRescale(addend, loop.getRegionIterArg(use->getOperandNumber())))
    return false;
  mmas.push_back(mma);
  late.insert(mma);
  if (add) {
    additions[mma] = add;
    late.insert(add);
  }
  return true;
}

/// Collects the operations from `accumulator` to `addend`. False if anything else reads the
/// accumulator, or what is computed from it.
bool LateStage::findRescale(OpOperand &addend, Value accumulator) {
  llvm::SetVector<Operation *> found;
  SmallVector<Value> work{accumulator};
  while (!work.empty())
    for (OpOperand &use : work.pop_back_val().getUses()) {
      Operation *op = use.getOwner();
      if (&use == &addend)
        continue;
      if (op->getParentOp() != loop || op->getNumResults() != 1 ||
          isa<nv::AsyncMmaOpInterface>(op) || !hasNoEffects(op))
        return false;
      if (found.insert(op))
        work.push_back(op->getResult(0));
    }
  if (addend.get() != accumulator && !found.contains(addend.get().getDefiningOp()))
    return false;
  rescale.insert(found.begin(), found.end());
  return true;
}

//===- barriers and effects ----------------------------------------------------------------===//

bool LateStage::sortOthers() {
  if (!mayOverlapStages(loop))
    return false;
  llvm::DenseSet<Value> readByThreads;
  for (Operation &op : *loop.getBody())
    if (Value barriers = barriersOfRead(&op))
      readByThreads.insert(barriers);
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (auto filled = dyn_cast<nv::MbarrierWaitOp>(op)) {
      const bool isLate = early.back()->isBeforeInBlock(&op) &&
                          !readByThreads.contains(stageOf(filled.getBarrier()).buffer);
      if (!filled->isBeforeInBlock(mmas.front()))
        return false;
      (isLate ? lateBarriers : earlyBarriers).push_back(filled);
      if (isLate)
        late.insert(&op);
    } else if (auto wait = dyn_cast<nv::MmaWaitOpInterface>(op)) {
      auto mma = wait.getValues()[0].getDefiningOp<nv::AsyncMmaOpInterface>();
      if (!mma)
        return false;
      if (contains(mma))
        late.insert(&op);
    } else if (isa<nv::ReleaseOp>(op) && mmas.front()->isBeforeInBlock(&op)) {
      late.insert(&op);
    }
  }
  return !earlyBarriers.empty();
}

//===- buffers -----------------------------------------------------------------------------===//

/// Whether the circular buffer that `mma` reads has too few stages, where stage 0 waits, or may
/// wait, for its stages.
bool LateStage::lacksRoom(nv::AsyncMmaOpInterface mma) {
  if (!lacksStagesToOverlap(mma))
    return false;
  Value barriers = barriersOf(stageOf(mma.getRhs()).buffer);
  auto guards = [&](nv::MbarrierWaitOp wait) {
    return stageOf(wait.getBarrier()).buffer == barriers;
  };
  return !barriers || llvm::any_of(earlyBarriers, guards) || llvm::none_of(lateBarriers, guards);
}

/// Collects the selection of stages, from integers that stage 0 computes as well. With late mbarrier
/// waits it begins at arguments of the body: stage index and phase are computed from the same one.
bool LateStage::findStageSelection() {
  SmallVector<Value> roots;
  for (Operation *op : late)
    if (auto mma = dyn_cast<nv::AsyncMmaOpInterface>(op))
      roots.push_back(mma.getRhs());
    else if (isa<nv::ReleaseOp, nv::MbarrierWaitOp>(op))
      roots.append(op->operand_begin(), op->operand_end());
  bool isSelection = true;
  traceBack(roots, [&](Value value) {
    if (loop.isDefinedOutsideOfLoop(value))
      return false;
    Operation *op = value.getDefiningOp();
    if (value.getType().isIntOrIndex() && (!op || lateBarriers.empty()))
      return false;
    isSelection &= op && isStageSelection(op);
    if (isSelection)
      selection.insert(op);
    return isSelection;
  });
  return isSelection &&
         llvm::none_of(mmas, [&](nv::AsyncMmaOpInterface mma) { return lacksRoom(mma); });
}

//===- registers ---------------------------------------------------------------------------===//

bool LateStage::fitsRegisters(const MachineModel &machine, int warps) const {
  int64_t registers =
      rescale.empty() ? machine.registers.overheadOfOverlap : machine.registers.overheadOfRescaling;
  for (nv::AsyncMmaOpInterface mma : early)
    registers += nextInFlight(mma) ? 0 : registersOf(mma.getResult());
  for (nv::AsyncMmaOpInterface mma : mmas) {
    const bool hasAddend = additionOf(mma) != nullptr; // in registers of its own
    registers += (hasAddend ? 2 : 1) * registersOf(mma.getResult());
  }
  for (Value left : lefts())
    registers += registersOf(left);
  return registers <= RegisterBudget{machine, warps}.consumer(/*ctas=*/1);
}

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
