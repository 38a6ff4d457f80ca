//===- SumByMma.cpp - tensor cores sum what was widened from 16 bits ----------------------------===//
// Needs: AssignLayouts ran.
// Gives: `by_mma` on sums of fp32 elements that were widened from fp16 or bf16, beside dots on
//        tensor cores.
// How:   a dot with ones sums the four elements that each of four neighbouring lanes holds of a row.
//        It takes the elements as they were before they were widened, so neither conversions nor
//        shuffles are left. The layout must be that of an MMA's fragments: the two lightest bits of
//        the lane run along the sum, and no other, and a thread has four elements of it.
//===------------------------------------------------------------------------------------------===//
#include "analysis/AxisBits.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "support/Target.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_SUMBYMMA
#include "passes/Passes.h.inc"
namespace {

bool isOnTensorCores(DotOp dot) { return dot.getMma() && dot.getMma()->getKind() != MmaKind::Fma; }

bool hasFragments(const LinearLayout &layout, int axis) {
  const AxisBits bits = AxisBits::of(layout, axis);
  return bits.mask(AxisBits::Lane) == 0b11 &&
         llvm::popcount(static_cast<unsigned>(bits.mask(AxisBits::Reg))) >= 2;
}

bool maySumByMma(ReduceOp reduce, const Target &target) {
  if (!reduce.isSum() || !elementTypeOf(reduce.getSrcs()[0].getType()).isF32())
    return false;
  auto wide = reduce.getSrcs()[0].getDefiningOp<arith::ExtFOp>();
  auto tile = dyn_cast<RankedTensorType>(reduce.getSrcs()[0].getType());
  if (!wide || !tile || llvm::none_of(reduce->getBlock()->getOps<DotOp>(), isOnTensorCores))
    return false;
  const Type narrow = elementTypeOf(wide.getIn().getType());
  return ((narrow.isF16() && target.hasMmaSync()) || (narrow.isBF16() && target.hasBf16Mma())) &&
         hasFragments(layoutOf(tile), static_cast<int>(reduce.getAxis()));
}

struct SumByMmaPass : impl::SumByMmaBase<SumByMmaPass> {
  void runOnOperation() override {
    const auto target = Target::parse(moduleTarget(getOperation()));
    if (!target)
      return;
    getOperation().walk([&](ReduceOp reduce) {
      if (maySumByMma(reduce, *target))
        reduce.setByMma(true);
    });
  }
};
} // namespace
} // namespace pantile
