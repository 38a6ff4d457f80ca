//===- StreamKLoop.cpp - the rules for splitting a loop's iterations over CTAs ------------===//
// Needs: see StreamKLoop.h.
// Gives: findStreamKLoop, planStreamK, advanceOf.
// How:   the rules:
//        1. The kernel has one MMA, and its loop is a part of the program itself.
//        2. The number of iterations fits a signed integer of 32 bits, and is the same for all
//        programs.
//        3. Operations before the loop have no effects, so that several CTAs can execute them.
//        4. The loop carries one sum in fp32 or int32, which begins at zero, so that partial tiles add up to
//        it: the accumulator of the MMA, or a tile that each iteration adds to and does not use
//        otherwise. Everything else that it carries grows by the same amount in each iteration and is
//        not used after the loop. So each work range can begin with its value.
//        5. An iteration has no effects but loads and the MMA.
//        6. TMA can load for each work range. Its coordinates then follow from the loop's counter,
//        which is begin + number * step for the number of an iteration
//        (AffineAnalysis::countIterationsOf).
//===--------------------------------------------------------------------------------------===//
#include "analysis/StreamKLoop.h"
#include "analysis/MmaWaits.h"
#include "analysis/MotionLegality.h"
#include "analysis/Programs.h"
#include "ir/FindOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace pantile {
namespace {

/// Whether `op` itself has effects, other than by what is in its regions.
bool hasEffect(Operation *op) {
  return op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>() &&
         !isMemoryEffectFree(op);
}

class Finder {
public:
  Finder(func::FuncOp kernel, Refusal &refusal)
      : kernel(kernel), body(programBody(kernel)), refusal(refusal) {}

  std::optional<StreamKLoop> find() {
    if (!findLoop() || !mayRunTwice() || !carriesOneSum() || !isFreeOfEffects())
      return std::nullopt;
    return found;
  }

private:
  bool refuse(Operation *at, const Twine &reason, Operation *culprit = nullptr) {
    refusal = {at, culprit, reason.str()};
    return false;
  }

  bool findLoop() {
    auto mmas = opsIn<nv::AsyncMmaOpInterface>(kernel);
    if (mmas.size() != 1)
      return refuse(kernel, "the kernel has " + Twine(mmas.size()) + " dots, not one");
    found.mma = mmas[0];
    found.loop = dyn_cast<scf::ForOp>(found.mma->getParentOp());
    if (!found.loop || found.loop->getBlock() != &body)
      return refuse(found.mma, "its loop stands in another one, or under a condition");
    return hasCountableIterations() ||
           refuse(found.loop, "its iterations cannot be counted in 32 bits");
  }

  /// There are at most (2^32 - 2) / step + 1 of them, and fewer than 2^31 where a signed counter begins
  /// at no negative number.
  bool hasCountableIterations() {
    scf::ForOp loop = found.loop;
    APInt step, begin;
    if (!loop.getInductionVar().getType().isInteger(32) ||
        !matchPattern(loop.getStep(), m_ConstantInt(&step)) || !step.isStrictlyPositive())
      return false;
    const bool isHalf = !loop.getUnsignedCmp() &&
                        matchPattern(loop.getLowerBound(), m_ConstantInt(&begin)) &&
                        begin.isNonNegative();
    return isHalf || step.ugt(2);
  }

  bool mayRunTwice() {
    for (Operation &op : llvm::make_range(body.begin(), found.loop->getIterator())) {
      auto isBound = [](Operation *inner) {
        return !isa<LoadOp, nv::AllocOp>(inner) && hasEffect(inner);
      };
      if (Operation *culprit = findOp(&op, isBound))
        return refuse(found.loop,
                      "operations before it have effects, and several CTAs would execute them",
                      culprit);
    }
    return areBoundsCommon() || refuse(found.loop, "its bounds depend on the program");
  }

  /// What computes them in the program itself moves before it where MakePersistent runs.
  bool areBoundsCommon() {
    scf::ForOp loop = found.loop;
    bool areCommon = true;
    traceBack({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}, [&](Value next) {
      if (isKernelArgument(next) || next.getParentBlock() != &body)
        return false;
      Operation *op = next.getDefiningOp();
      areCommon &= !programLoop(kernel) && op && op->getNumRegions() == 0 && isPure(op) &&
                   !isa<ProgramIdOp>(op);
      return areCommon;
    });
    return areCommon;
  }

  /// Whether each iteration adds to value `index`, and nothing else depends on it.
  bool isSum(unsigned index) {
    scf::ForOp loop = found.loop;
    BlockArgument sofar = loop.getRegionIterArg(index);
    Value begin = loop.getInitArgs()[index];
    if (!matchPattern(begin, m_AnyZeroFloat()) && !matchPattern(begin, m_Zero()))
      return false;
    if (carriedAccumulatorOf(found.mma) == sofar)
      return true;
    Operation *next = loop.getYieldedValues()[index].getDefiningOp();
    return isa<RankedTensorType>(sofar.getType()) &&
           isa_and_nonnull<arith::AddFOp, arith::AddIOp>(next) && next->hasOneUse() &&
           sofar.hasOneUse() && *sofar.user_begin() == next;
  }

  bool carriesOneSum() {
    scf::ForOp loop = found.loop;
    SmallVector<unsigned> sums;
    for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i)
      if (isSum(i))
        sums.push_back(i);
      else if (!advanceOf(loop, i))
        return refuse(loop,
                      "a value that it carries is neither a sum that begins at zero nor grows by "
                      "the same amount in each iteration",
                      loop.getYieldedValues()[i].getDefiningOp());
      else if (!loop.getResult(i).use_empty())
        return refuse(loop, "more than its sum is used after it", *loop.getResult(i).user_begin());
    if (sums.size() != 1)
      return refuse(loop, "it carries " + Twine(sums.size()) + " sums that begin at zero, not one");
    found.sum = sums[0];
    const Type element = elementTypeOf(loop.getRegionIterArg(found.sum).getType());
    return element.isF32() || element.isInteger(32) ||
           refuse(loop, "its sum is of neither fp32 nor int32");
  }

  bool isFreeOfEffects() {
    Operation *culprit = findOp(found.loop, [](Operation *op) {
      return hasEffect(op) && !leavesSharedMemory(op) &&
             !isa<nv::LocalStoreOp, nv::RoundBufferOp, nv::AllocOp, nv::DeallocOp,
                  nv::FenceAsyncOp>(op);
    });
    return !culprit || refuse(found.loop, "it does more than load and multiply", culprit);
  }

  func::FuncOp kernel;
  Block &body;
  Refusal &refusal;
  StreamKLoop found;
};

} // namespace

std::optional<StreamKLoop> findStreamKLoop(func::FuncOp kernel, Refusal &refusal) {
  return Finder(kernel, refusal).find();
}

std::optional<ProducerPlan> planStreamK(func::FuncOp kernel, ProducerChoices choices,
                                        Refusal &refusal) {
  const std::optional<StreamKLoop> found = findStreamKLoop(kernel, refusal);
  if (!found)
    return std::nullopt;
  AffineAnalysis affine;
  affine.countIterationsOf(found->loop);
  auto plan = planProducer(kernel, affine, nv::ProgramMap::StreamK, choices, refusal);
  if (!plan)
    refusal.reason = "in a work range, " + refusal.reason;
  return plan;
}

Value advanceOf(scf::ForOp loop, unsigned index) {
  Value argument = loop.getRegionIterArg(index);
  Operation *next = loop.getYieldedValues()[index].getDefiningOp();
  if (!isa_and_nonnull<AddPtrOp, arith::AddIOp>(next))
    return {};
  Value step = next->getOperand(0) == argument   ? next->getOperand(1)
               : next->getOperand(1) == argument ? next->getOperand(0)
                                                 : Value();
  if (!step || !loop.isDefinedOutsideOfLoop(step))
    return {};
  const Type type = elementTypeOf(step.getType());
  return isa<AddPtrOp>(next) || type.isInteger(32) || type.isInteger(64) ? step : Value();
}

} // namespace pantile
