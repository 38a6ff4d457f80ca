//===- StreamKCost.cpp - what splitting a loop over CTAs costs and saves -------------------===//
// Gives: see StreamKCost.h.
//===--------------------------------------------------------------------------------------===//
#include "analysis/StreamKCost.h"
#include "analysis/EngineCycles.h"
#include "analysis/HostExpression.h"
#include "ir/Machine.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include <cmath>
#include <utility>

using namespace mlir;

namespace pantile {
namespace {

/// `dividend / divisor`, rounded down.
struct Quotient {
  Polynomial dividend;
  int64_t divisor = 1;
};

/// `value` as a quotient of a sum by a constant, as `cdiv` computes it; over 1 if it is none.
Quotient quotientOf(Value value, AffineAnalysis &affine) {
  auto quotient = value.getDefiningOp<arith::DivSIOp>();
  APInt divisor;
  if (quotient && matchPattern(quotient.getRhs(), m_ConstantInt(&divisor)) &&
      divisor.isStrictlyPositive())
    return {affine.scalar(quotient.getLhs()), divisor.getSExtValue()};
  return {affine.scalar(value), 1};
}

/// The iterations of `loop`: ceil((x / d - begin) / step) is (x + d (step - 1 - begin)) / (d step), both
/// rounded down. None where the arguments do not determine them.
std::optional<Quotient> iterationsOf(scf::ForOp loop, AffineAnalysis &affine) {
  APInt step;
  if (!matchPattern(loop.getStep(), m_ConstantInt(&step)) || !step.isStrictlyPositive())
    return std::nullopt;
  const Quotient end = quotientOf(loop.getUpperBound(), affine);
  const Polynomial begin = affine.scalar(loop.getLowerBound());
  const Polynomial dividend =
      end.dividend + Polynomial(end.divisor) * (Polynomial(step.getSExtValue() - 1) - begin);
  if (!dividend.isValid() || !affine.isHostValue(dividend))
    return std::nullopt;
  return Quotient{dividend, end.divisor * step.getSExtValue()};
}

} // namespace

int64_t partialTileBytes(const StreamKLoop &found) {
  scf::ForOp loop = found.loop;
  const int64_t threads = InstructionSet::warpThreads * moduleInt(loop, names::numWarps, 4);
  return 4 * threads * layoutOf(loop.getRegionIterArg(found.sum).getType()).numRegs();
}

double iterationCycles(const StreamKLoop &found, int64_t ctasPerSm) {
  return static_cast<double>(ctasPerSm *
                             std::max<int64_t>(busiestEngine(found.loop, {}).cycles, 1));
}

int64_t leastGain(const StreamKLoop &found, int64_t ctasPerSm) {
  const MemoryThresholds &costs = machineOf(found.loop).memory;
  const double cyclesOfPartial =
      2.0 * static_cast<double>(partialTileBytes(found)) / costs.partialBytesPerCycle +
      costs.flagCycles;
  return static_cast<int64_t>(std::ceil(cyclesOfPartial / iterationCycles(found, ctasPerSm)));
}

nv::StreamKEstimateAttr estimateStreamK(func::FuncOp kernel, const StreamKLoop &found,
                                        int64_t ctasPerSm) {
  AffineAnalysis affine;
  const std::optional<Quotient> iterations = iterationsOf(found.loop, affine);
  if (!iterations)
    return {};
  Builder b(kernel.getContext());
  const AffineExpr dividend = hostExpr(b, kernel, affine, iterations->dividend, 1);
  EngineCycles ofSm = engineCycles(found.loop, {});
  const int64_t ofL2 = std::llround(std::exchange(ofSm.at(nv::Limiter::L2), 0));
  return nv::StreamKEstimateAttr::get(
      b.getContext(), AffineMap::get(0, kernel.getNumArguments(), dividend), iterations->divisor,
      std::max<int64_t>(ofSm.busiest().cycles, 1), ofL2, leastGain(found, ctasPerSm),
      partialTileBytes(found));
}

} // namespace pantile
