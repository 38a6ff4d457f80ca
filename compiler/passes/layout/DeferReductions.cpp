//===- DeferReductions.cpp - reduce running sums of rows across threads after the loop ---===//
// Needs: AssignLayouts ran; loops before software pipelining.
// Gives: for `s = s * f + sum(x)` (or without a factor) in a loop with dots, whose `s` has no other
//        use in the loop, such as the row sums of an online softmax: each thread accumulates its
//        own elements of a row. The threads of a row are reduced once, after the loop.
// How:   The reduced dimension is split into runs of bits that registers hold and runs that lanes
//        or warps hold. A reshape to these runs moves nothing, and only the registers' runs are
//        reduced in the loop. The loop carries as many registers as before, since all threads of a
//        row held its sum. The initial value must be zero, or the reduction of partial sums in this
//        layout, as an earlier loop of this form leaves it.
//===-------------------------------------------------------------------------------------===//
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"
#include "passes/layout/RunningSum.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_DEFERREDUCTIONS
#include "passes/Passes.h.inc"
namespace {

/// How a reduction is split in two steps.
struct TwoStepReduction {
  SmallVector<int64_t> shape;   ///< of the operand, with the reduced dimension as runs
  SmallVector<int> ofRegisters; ///< dimensions of `shape` that registers hold, the last one first
  RankedTensorType partial;     ///< the result of the first step
};

/// None where no row is distributed over threads, or where registers and threads share bits.
std::optional<TwoStepReduction> splitInSteps(ReduceOp reduce) {
  auto tile = dyn_cast<RankedTensorType>(reduce.getSrcs()[0].getType());
  if (!tile || !tile.getEncoding() || tile.getRank() != 2)
    return std::nullopt;
  const LinearLayout layout = layoutOf(tile);
  if (!layout.fillsHull())
    return std::nullopt;
  const int axis = reduce.getAxis();
  int64_t ofThreads = 0;
  for (const auto *bases : {&layout.lane(), &layout.warp()})
    for (const LinearLayout::Coord &basis : *bases)
      ofThreads |= basis[axis];
  const bool overlaps = llvm::any_of(layout.reg(), [&](const LinearLayout::Coord &basis) {
    return (basis[axis] & ofThreads) != 0;
  });
  if (ofThreads == 0 || overlaps)
    return std::nullopt;
  TwoStepReduction split;
  LinearLayout left = layout;
  auto addRuns = [&](int64_t extent) {
    bool wasOfThreads = false;
    for (int64_t bit = extent >> 1; bit > 0; bit >>= 1) {
      const bool isOfThreads = (ofThreads & bit) != 0;
      if (bit == extent >> 1 || isOfThreads != wasOfThreads) {
        if (!isOfThreads)
          split.ofRegisters.insert(split.ofRegisters.begin(), static_cast<int>(split.shape.size()));
        split.shape.push_back(1);
      }
      split.shape.back() *= 2;
      wasOfThreads = isOfThreads;
    }
  };
  for (int dim = 0; dim < 2; ++dim)
    if (dim == axis)
      addRuns(tile.getShape()[dim]);
    else
      split.shape.push_back(tile.getShape()[dim]);
  left = left.reshape(split.shape);
  for (int dim : split.ofRegisters)
    left = left.removeDim(dim);
  SmallVector<int64_t> shape(tile.getShape());
  shape[axis] = int64_t(1) << llvm::popcount(static_cast<uint64_t>(ofThreads));
  split.partial =
      withLayout(RankedTensorType::get(shape, tile.getElementType()), left.reshape(shape));
  // Each thread holds the factors of its rows, and the second step gives the layout of the result.
  auto result = cast<RankedTensorType>(reduce.getResult(0).getType());
  if (!(layoutOf(split.partial).removeDim(axis) == layoutOf(result)))
    return std::nullopt;
  return split;
}

ReduceOp reduceLike(OpBuilder &b, ReduceOp like, Value source, int axis, RankedTensorType type) {
  auto reduce = ReduceOp::create(b, like.getLoc(), TypeRange{type}, ValueRange{source}, axis);
  IRMapping mapping;
  like.getCombine().cloneInto(&reduce.getCombine(), mapping);
  return reduce;
}

/// The partial sums: each thread adds up its own elements.
Value reduceOwn(OpBuilder &b, ReduceOp reduce, const TwoStepReduction &split) {
  auto tile = cast<RankedTensorType>(reduce.getSrcs()[0].getType());
  Location loc = reduce.getLoc();
  auto typeOf = [&](const LinearLayout &layout) {
    return withLayout(RankedTensorType::get(layout.shape(), tile.getElementType()), layout);
  };
  LinearLayout layout = layoutOf(tile).reshape(split.shape);
  Value part = ReshapeOp::create(b, loc, typeOf(layout), reduce.getSrcs()[0]);
  for (int dim : split.ofRegisters) {
    layout = layout.removeDim(dim);
    part = reduceLike(b, reduce, part, dim, typeOf(layout)).getResult(0);
  }
  return part.getType() == split.partial ? part : ReshapeOp::create(b, loc, split.partial, part);
}

class Deferral {
public:
  explicit Deferral(IRRewriter &rewriter) : rewriter(rewriter) {}

  void run(scf::ForOp loop) {
    for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i)
      if (auto sum = findRunningSum(loop, i))
        if (auto split = splitInSteps(sum->reduce))
          if (Value start = startOf(loop.getInitArgs()[i], sum->reduce.getAxis(), *split))
            loop = defer(loop, *sum, *split, start);
  }

private:
  /// The initial values of the partial sums; null where they are unknown. They are looked up in the
  /// IR, since a loop that carries several sums is replaced once per sum.
  Value startOf(Value init, int axis, const TwoStepReduction &split) {
    rewriter.setInsertionPointAfterValue(init);
    if (matchPattern(init, m_AnyZeroFloat()))
      return arith::ConstantOp::create(rewriter, init.getLoc(),
                                       rewriter.getZeroAttr(split.partial));
    auto total = init.getDefiningOp<ReduceOp>();
    const bool isOfParts = total && isSum(total) && static_cast<int>(total.getAxis()) == axis &&
                           total.getSrcs()[0].getType() == split.partial;
    return isOfParts ? total.getSrcs()[0] : Value();
  }

  scf::ForOp defer(scf::ForOp loop, RunningSum sum, const TwoStepReduction &split, Value start) {
    rewriter.setInsertionPoint(sum.next);
    Value own = reduceOwn(rewriter, sum.reduce, split);
    auto type = cast<RankedTensorType>(sum.reduce.getResult(0).getType());
    auto total = [&](OpBuilder &b, Value parts) {
      return reduceLike(b, sum.reduce, parts, sum.reduce.getAxis(), type).getResult(0);
    };
    return carryPartialSums(rewriter, loop, sum, {start, own, total});
  }

  IRRewriter &rewriter;
};

struct DeferReductionsPass : impl::DeferReductionsBase<DeferReductionsPass> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
      if (!loop.getBody()->getOps<DotOp>().empty())
        loops.push_back(loop);
    });
    IRRewriter rewriter(&getContext());
    Deferral deferral(rewriter);
    for (scf::ForOp loop : loops)
      deferral.run(loop);
  }
};
} // namespace
} // namespace pantile
