//===- MmaWaits.cpp - see MmaWaits.h ------------------------------------------------------===//
#include "analysis/MmaWaits.h"
#include "analysis/MotionLegality.h"
#include "ir/FindOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace pantile {

nv::AsyncMmaOpInterface nextInFlight(nv::AsyncMmaOpInterface mma) {
  auto next = mma->hasOneUse() ? dyn_cast<nv::AsyncMmaOpInterface>(*mma->user_begin())
                               : nv::AsyncMmaOpInterface();
  return next && next.getAcc() == mma.getResult() && next->getBlock() == mma->getBlock()
             ? next
             : nv::AsyncMmaOpInterface();
}

nv::MmaWaitOpInterface waitOf(nv::AsyncMmaOpInterface mma) {
  while (nv::AsyncMmaOpInterface next = nextInFlight(mma))
    mma = next;
  auto wait = mma->hasOneUse() ? dyn_cast<nv::MmaWaitOpInterface>(*mma->user_begin())
                               : nv::MmaWaitOpInterface();
  const bool isAlone = wait && wait->getBlock() == mma->getBlock() && wait.getValues().size() == 1;
  return isAlone ? wait : nv::MmaWaitOpInterface();
}

/// The wait for `mma`, if the accumulators stay in their registers, so that it may be moved later.
static nv::MmaWaitOpInterface movableWaitOf(nv::AsyncMmaOpInterface mma) {
  return mma.isWaitedForAtOnce() ? nv::MmaWaitOpInterface() : waitOf(mma);
}

BlockArgument carriedAccumulatorOf(nv::AsyncMmaOpInterface mma) {
  auto loop = dyn_cast<scf::ForOp>(mma->getParentOp());
  auto accumulator = dyn_cast<BlockArgument>(mma.getAcc());
  nv::MmaWaitOpInterface wait = waitOf(mma);
  if (!loop || !accumulator || !wait || accumulator.getOwner() != loop.getBody() ||
      !accumulator.hasOneUse() || !wait->hasOneUse())
    return {};
  return loop.getTiedLoopYieldedValue(accumulator) == &*wait->use_begin() ? accumulator
                                                                          : BlockArgument();
}

std::optional<unsigned> WaitedMma::carriedAs() const {
  Value result = nv::MmaWaitOpInterface(wait)->getResult(0);
  if (!result.hasOneUse())
    return std::nullopt;
  OpOperand &use = *result.use_begin();
  const bool isYielded =
      isa<scf::YieldOp>(use.getOwner()) && use.getOwner()->getBlock() == result.getParentBlock();
  return isYielded ? std::optional(use.getOperandNumber()) : std::nullopt;
}

SmallVector<WaitedMma> waitedMmas(scf::ForOp loop) {
  SmallVector<WaitedMma> mmas;
  loop.walk([&](nv::AsyncMmaOpInterface mma) { mmas.push_back({mma, movableWaitOf(mma)}); });
  auto isOfBody = [&](WaitedMma each) { return each.wait && each.mma->getParentOp() == loop; };
  return llvm::all_of(mmas, isOfBody) ? mmas : SmallVector<WaitedMma>();
}

nv::AsyncMmaOpInterface loneAccumulation(scf::ForOp loop) {
  const SmallVector<WaitedMma> mmas = waitedMmas(loop);
  const bool isLone = mmas.size() == 1 && carriedAccumulatorOf(mmas.front().mma);
  return isLone ? mmas.front().mma : nv::AsyncMmaOpInterface();
}

//===- over the back edge ------------------------------------------------------------------===//

/// Whether the result of `op` has registers of its own: others may be views, or folded to an operand,
/// and a wait returns those of its MMA.
static bool makesRegisters(Operation *op) {
  return (!hasNoEffects(op) && !isa<nv::MmaWaitOpInterface>(op)) ||
         isa<arith::TruncFOp, arith::ExtFOp, arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp,
             arith::FPToUIOp, math::ExpOp, math::Exp2Op, nv::RoundTf32Op>(op);
}

/// Whether `source` may be in the registers of `operand`.
static bool mayBeView(Value source, Value operand) {
  const Type of = elementTypeOf(source.getType()), other = elementTypeOf(operand.getType());
  return other.isIntOrFloat() && storageBits(of) == storageBits(other);
}

bool keepsRegisters(scf::ForOp loop, nv::AsyncMmaOpInterface mma, Operation *wait) {
  Value left = mma.getHeldRegisters();
  if (!left)
    return true;
  llvm::SetVector<Value> sources;
  sources.insert(left);
  for (size_t i = 0; i < sources.size(); ++i) {
    Value source = sources[i];
    if (loop.isDefinedOutsideOfLoop(source))
      continue;
    Operation *maker = source.getDefiningOp();
    if (!maker || maker->getBlock() != wait->getBlock() || !wait->isBeforeInBlock(maker))
      return false;
    if (makesRegisters(maker))
      continue;
    for (Value operand : maker->getOperands())
      if (mayBeView(source, operand))
        sources.insert(operand);
  }
  return true;
}

/// Whether all that reads `accumulator` in `loop` comes after `wait`, and the loop does not pass it
/// on.
static bool isReadAfter(scf::ForOp loop, BlockArgument accumulator, Operation *wait) {
  return llvm::all_of(accumulator.getUsers(), [&](Operation *user) {
    Operation *inBody = loop.getBody()->findAncestorOpInBlock(*user);
    return inBody && wait->isBeforeInBlock(inBody) && inBody != loop.getBody()->getTerminator();
  });
}

SmallVector<nv::AsyncMmaOpInterface> carriedMmas(scf::ForOp loop) {
  const SmallVector<WaitedMma> mmas = waitedMmas(loop);
  SmallVector<nv::AsyncMmaOpInterface> carried;
  for (const WaitedMma &each : llvm::drop_begin(mmas, mmas.empty() ? 0 : 1)) {
    const std::optional<unsigned> position = each.carriedAs();
    if (!position)
      continue;
    Operation *firstWait = nv::MmaWaitOpInterface(mmas.front().wait);
    if (!nv::AsyncMmaOpInterface(each.mma).getHeldRegisters() ||
        !keepsRegisters(loop, each.mma, firstWait) ||
        !isReadAfter(loop, loop.getRegionIterArg(*position), firstWait))
      return {};
    carried.push_back(each.mma);
  }
  return carried.size() > 1 || mmas.size() == 2 ? carried : SmallVector<nv::AsyncMmaOpInterface>();
}

} // namespace pantile
