//===- LateStage.cpp - see LateStage.h ----------------------------------------------------===//
#include "passes/pipeline/LateStage.h"
#include "analysis/MmaWaits.h"
#include "ir/Machine.h"

using namespace mlir;

namespace pantile {

bool LateStage::find() { return sortMmas() && sortOthers() && findChoice(); }

bool LateStage::isLastConversion(Operation *op) const {
  auto isLate = [&](Operation *user) { return late.contains(user); };
  return op->hasTrait<OpTrait::Elementwise>() && !op->use_empty() &&
         llvm::all_of(op->getUsers(), isLate) &&
         llvm::any_of(
             mmas, [&](nv::AsyncMmaOpInterface mma) { return mma.getLhs() == op->getResult(0); });
}

//===- MMAs --------------------------------------------------------------------------------===//

bool LateStage::sortMmas() {
  for (auto mma : loop.getBody()->getOps<nv::AsyncMmaOpInterface>()) {
    nv::MmaWaitOpInterface wait = movableWaitOf(mma);
    if (!wait)
      return false;
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

/// False, and nothing changed, if `mma` does not add to a value that the loop carries.
bool LateStage::addLate(nv::AsyncMmaOpInterface mma, nv::MmaWaitOpInterface wait) {
  Value result = wait->getResult(0);
  if (!result.hasOneUse() || result.use_begin()->getOwner() != loop.getBody()->getTerminator())
    return false;
  const unsigned position = result.use_begin()->getOperandNumber();
  if (!findRescale(mma, loop.getRegionIterArg(position)))
    return false;
  positions[mma] = position;
  mmas.push_back(mma);
  late.insert(mma);
  return true;
}

/// Follows `accumulator` to `mma`; nothing else reads it, or what becomes of it.
bool LateStage::findRescale(nv::AsyncMmaOpInterface mma, Value accumulator) {
  llvm::SetVector<Operation *> found;
  SmallVector<Value> work{accumulator};
  while (!work.empty())
    for (OpOperand &use : work.pop_back_val().getUses()) {
      Operation *op = use.getOwner();
      if (op == mma && use.get() == mma.getAcc())
        continue;
      if (op->getParentOp() != loop || op->getNumRegions() != 0 || op->getNumResults() != 1 ||
          isa<nv::AsyncMmaOpInterface>(op) || !isMemoryEffectFree(op) ||
          op->hasTrait<OpTrait::IsTerminator>())
        return false;
      if (found.insert(op))
        work.push_back(op->getResult(0));
    }
  if (mma.getAcc() != accumulator && !found.contains(mma.getAcc().getDefiningOp()))
    return false;
  rescale.insert(found.begin(), found.end());
  return true;
}

//===- barriers and effects ----------------------------------------------------------------===//

bool LateStage::sortOthers() {
  for (Operation &op : loop.getBody()->without_terminator()) {
    auto wait = dyn_cast<nv::MmaWaitOpInterface>(op);
    auto mma = wait ? wait.getValues()[0].getDefiningOp<nv::AsyncMmaOpInterface>()
                    : nv::AsyncMmaOpInterface();
    auto load = dyn_cast<LoadOp>(op);
    if (auto filled = dyn_cast<nv::MbarrierWaitOp>(op)) {
      const bool isLate = early.back()->isBeforeInBlock(&op);
      if (filled.getEmpty() || !filled->isBeforeInBlock(mmas.front()))
        return false;
      (isLate ? lateBarriers : earlyBarriers).push_back(filled);
      if (isLate)
        late.insert(&op);
    } else if (isa<nv::ReleaseOp>(op)) {
      if (mmas.front()->isBeforeInBlock(&op))
        late.insert(&op);
    } else if (mma && contains(mma)) {
      late.insert(&op);
    } else if (load ? load.getIsVolatile() || load.getCache() == CacheModifier::Cv
                    : !mma && !isa<nv::AsyncMmaOpInterface>(op) && !isMemoryEffectFree(&op)) {
      return false;
    }
  }
  return !earlyBarriers.empty();
}

//===- buffers -----------------------------------------------------------------------------===//

/// What `stage` is a stage of.
static Value circularBufferOf(Value selected) {
  auto op = selected.getDefiningOp<nv::SelectStageOp>();
  return op ? op->getOperand(0) : selected;
}

/// Whether stage 0 waits for the buffer that `mma` reads, or may, and no third one could be filled.
bool LateStage::lacksRoom(nv::AsyncMmaOpInterface mma) {
  Value view = mma.getRhs(), barriers;
  while (auto trans = view.getDefiningOp<nv::BufferTransOp>())
    view = trans.getBuffer();
  Value buffers = circularBufferOf(view);
  if (buffers == view || cast<nv::BufferType>(buffers.getType()).getDepth() >=
                             machineOf(loop).occupancy.stagesOfOverlap)
    return false;
  for (Operation *user : buffers.getUsers())
    if (auto selected = dyn_cast<nv::SelectStageOp>(user))
      for (Operation *writer : selected->getUsers())
        if (auto copy = dyn_cast<nv::TmaLoadOp>(writer); copy && copy.getBuffer() == selected)
          barriers = circularBufferOf(copy.getBarrier());
  auto guards = [&](nv::MbarrierWaitOp wait) {
    return circularBufferOf(wait.getBarrier()) == barriers;
  };
  return !barriers || llvm::any_of(earlyBarriers, guards) || llvm::none_of(lateBarriers, guards);
}

/// Integers that stage 0 computes as well are carried; those that late barriers go by are computed
/// from what the body's own arguments were, as a phase and an index come from one of them.
bool LateStage::findChoice() {
  SmallVector<Value> work;
  for (Operation *op : late)
    if (auto mma = dyn_cast<nv::AsyncMmaOpInterface>(op))
      work.push_back(mma.getRhs());
    else if (isa<nv::ReleaseOp, nv::MbarrierWaitOp>(op))
      work.append(op->operand_begin(), op->operand_end());
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (loop.isDefinedOutsideOfLoop(value))
      continue;
    Operation *op = value.getDefiningOp();
    if (value.getType().isIntOrIndex() && (!op || lateBarriers.empty())) {
      leaves.insert(value);
      continue;
    }
    if (!op || !isMemoryEffectFree(op) || op->getNumRegions() != 0 ||
        llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>))
      return false;
    if (choice.insert(op))
      work.append(op->operand_begin(), op->operand_end());
  }
  return llvm::none_of(mmas, [&](nv::AsyncMmaOpInterface mma) { return lacksRoom(mma); });
}

} // namespace pantile
