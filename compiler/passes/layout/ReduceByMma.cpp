//===- ReduceByMma.cpp - compute row sums of a dot's left operand by an MMA ---------------===//
// Needs: SelectMma ran; layouts are not assigned.
// Gives: for a running sum `s = s * f + sum(x)` in a loop, where `x` is the left operand of a dot,
//        widened to fp32, such as the rounded weights of attention: an MMA of that operand and a
//        tile of ones computes the sum. Without it each thread converts and adds every element.
// How:   legality and cost, in this one place.
//        1. `x` is A, extended from 16 bits. So the products with one are exact.
//        2. The sum is along K, and a dot in the same MLIR block reads A as its left operand, by an
//           asynchronous MMA of several warp groups, all along M. The MMA with ones takes as long
//           to read A as a wider one. One warp group would wait for it; of several, another one
//           computes meanwhile.
//        3. A is computed in the loop, elementwise: the MMAs read it from registers.
//        4. Nothing in the loop reads `s`, so the MMA can be waited for late.
//        Tensor cores truncate when they accumulate. So each MMA starts from zero, and fp32
//        additions accumulate its results. All columns of a result are equal, so the total is
//        their maximum.
//===--------------------------------------------------------------------------------------===//
#include "ir/AsyncMma.h"
#include "ir/Remarks.h"
#include "passes/Passes.h"
#include "passes/layout/RunningSum.h"
#include "support/MachineModel.h"
#include "support/Target.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_REDUCEBYMMA
#include "passes/Passes.h.inc"
namespace {

/// The tile that `sum` adds up, before its extension from 16 bits; null if there is none.
Value narrowSource(const RunningSum &sum) {
  ReduceOp reduce = sum.reduce;
  auto wide = reduce.getSrcs()[0].getDefiningOp<arith::ExtFOp>();
  if (!wide || reduce.getAxis() != 1)
    return {};
  auto tile = dyn_cast<RankedTensorType>(wide.getIn().getType());
  const bool isSupported = tile && tile.getRank() == 2 && elementTypeOf(wide.getType()).isF32() &&
                           (tile.getElementType().isF16() || tile.getElementType().isBF16());
  return isSupported ? wide.getIn() : Value();
}

/// The dot in `block` that reads `left` from registers, by asynchronous MMAs; null if there is
/// none.
DotOp dotOfRegisters(Block *block, Value left, const Target &target) {
  Operation *source = left.getDefiningOp();
  if (!target.hasAsyncMma() || !source || source->getBlock() != block ||
      !source->hasTrait<OpTrait::Elementwise>())
    return {};
  for (OpOperand &use : left.getUses())
    if (auto dot = dyn_cast<DotOp>(use.getOwner());
        dot && dot->getBlock() == block && dot.getLhs() == left && isAsync(dot.getMmaAttr()) &&
        dot.getMmaAttr().getWarpsN() == 1 &&
        dot.getMmaAttr().getWarpsM() > InstructionSet::warpsOfGroup)
      return dot;
  return {};
}

Value maximumOfColumns(OpBuilder &b, Value parts, Type type) {
  Location loc = parts.getLoc();
  auto reduce = ReduceOp::create(b, loc, TypeRange{type}, ValueRange{parts}, /*axis=*/1);
  const Type element = elementTypeOf(parts.getType());
  Block &block = reduce.getCombine().emplaceBlock();
  block.addArguments({element, element}, {loc, loc});
  OpBuilder inner = OpBuilder::atBlockBegin(&block);
  Value most = arith::MaximumFOp::create(inner, loc, block.getArgument(0), block.getArgument(1));
  YieldOp::create(inner, loc, most);
  return reduce.getResult(0);
}

/// The row sums of `dot`'s left operand in each column of the narrowest MMA.
DotOp sumByMma(IRRewriter &rewriter, DotOp dot) {
  const int64_t columns = InstructionSet::wgmmaFewest;
  rewriter.setInsertionPointAfter(dot);
  Location loc = dot.getLoc();
  const RankedTensorType left = dot.getLhs().getType();
  const MmaAttr mma = dot.getMmaAttr();
  const Type fp32 = rewriter.getF32Type();
  auto ones = RankedTensorType::get({left.getDimSize(1), columns}, left.getElementType());
  auto sums = RankedTensorType::get({left.getDimSize(0), columns}, fp32);
  auto one = DenseElementsAttr::get(ones, rewriter.getFloatAttr(left.getElementType(), 1.0));
  Value right = arith::ConstantOp::create(rewriter, loc, one);
  Value zero = arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(sums));
  auto instruction = MmaAttr::get(rewriter.getContext(), mma.getKind(), mma.getM(), columns,
                                  mma.getK(), mma.getWarpsM(), /*warpsN=*/1);
  return DotOp::create(rewriter, loc, dot.getLhs(), right, zero, Precision::Tf32,
                       /*maxImprecise=*/0, instruction);
}

scf::ForOp reduceByMma(IRRewriter &rewriter, scf::ForOp loop, const RunningSum &sum, DotOp dot) {
  remarkApplied(dot.getLoc(), Technique::TensorCores)
      << "another MMA, with ones, computes the row sums of the left operand";
  Value own = sumByMma(rewriter, dot);
  auto type = cast<RankedTensorType>(own.getType());
  rewriter.setInsertionPoint(loop);
  Value start = broadcastRows(rewriter, loop.getInitArgs()[sum.position], /*axis=*/1, type);
  const Type rows = loop.getResultTypes()[sum.position];
  auto total = [&](OpBuilder &b, Value parts) { return maximumOfColumns(b, parts, rows); };
  return carryPartialSums(rewriter, loop, sum, {start, own, total});
}

struct ReduceByMmaPass : impl::ReduceByMmaBase<ReduceByMmaPass> {
  void runOnOperation() override {
    auto target = Target::parse(moduleTarget(getOperation()));
    SmallVector<scf::ForOp> loops;
    getOperation().walk<WalkOrder::PreOrder>([&](scf::ForOp loop) { loops.push_back(loop); });
    bool changed = false;
    IRRewriter rewriter(&getContext());
    for (scf::ForOp loop : loops)
      for (unsigned i = 0; target && i < loop.getNumRegionIterArgs(); ++i)
        if (auto sum = findRunningSum(loop, i))
          if (Value left = narrowSource(*sum))
            if (DotOp dot = dotOfRegisters(loop.getBody(), left, *target)) {
              loop = reduceByMma(rewriter, loop, *sum, dot);
              changed = true;
            }
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace pantile
