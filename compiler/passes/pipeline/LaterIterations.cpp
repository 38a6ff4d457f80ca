//===- LaterIterations.cpp - see LaterIterations.h ----------------------------------------===//
#include "passes/pipeline/LaterIterations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace pantile {
namespace {

Value number(OpBuilder &b, scf::ForOp loop, const APInt &value) {
  return arith::ConstantOp::create(b, loop.getLoc(),
                                   b.getIntegerAttr(loop.getStep().getType(), value));
}

Value compare(OpBuilder &b, scf::ForOp loop, arith::CmpIPredicate predicate, Value x, Value y) {
  return b.createOrFold<arith::CmpIOp>(loop.getLoc(), predicate, x, y);
}

arith::CmpIPredicate orderOf(scf::ForOp loop) {
  return loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
}

/// The induction variable at `distance` from the first iteration, if it is constant and in range.
std::optional<APInt> knownCounter(scf::ForOp loop, Value distance) {
  APInt first, offset;
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&first)) ||
      !matchPattern(distance, m_ConstantInt(&offset)))
    return std::nullopt;
  const bool isSigned = !loop.getUnsignedCmp();
  bool overflows = false;
  const APInt counter =
      isSigned ? first.sadd_ov(offset, overflows) : first.uadd_ov(offset, overflows);
  overflows |= isSigned && offset.isNegative(); // beyond the largest signed number
  return overflows ? std::nullopt : std::optional(counter);
}

/// Whether the remaining difference and `distance` are not negative as signed numbers. LLVM infers
/// more about a signed induction variable from a signed comparison.
bool staysSigned(scf::ForOp loop, Value distance) {
  APInt first, offset;
  return !loop.getUnsignedCmp() && matchPattern(loop.getLowerBound(), m_ConstantInt(&first)) &&
         matchPattern(distance, m_ConstantInt(&offset)) && first.isNonNegative() &&
         offset.isNonNegative();
}

} // namespace

Value distanceOf(OpBuilder &b, scf::ForOp loop, int iterations) {
  const Location loc = loop.getLoc();
  Value step = loop.getStep();
  const unsigned width = step.getType().getIntOrFloatBitWidth();
  const APInt largest = APInt::getMaxValue(width), factor(width, iterations);
  if (iterations == 0)
    return number(b, loop, APInt::getZero(width));
  if (iterations == 1)
    return step;
  Value fits =
      compare(b, loop, arith::CmpIPredicate::ule, step, number(b, loop, largest.udiv(factor)));
  Value product = b.createOrFold<arith::MulIOp>(loc, step, number(b, loop, factor));
  return b.createOrFold<arith::SelectOp>(loc, fits, product, number(b, loop, largest));
}

Value hasIterations(OpBuilder &b, scf::ForOp loop) {
  return compare(b, loop, orderOf(loop), loop.getLowerBound(), loop.getUpperBound());
}

Value existsAfter(OpBuilder &b, scf::ForOp loop, Value counter, Value distance) {
  Value left = b.createOrFold<arith::SubIOp>(loop.getLoc(), loop.getUpperBound(), counter);
  auto greater =
      staysSigned(loop, distance) ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::ugt;
  return compare(b, loop, greater, left, distance);
}

Value existsFromStart(OpBuilder &b, scf::ForOp loop, Value distance) {
  if (auto counter = knownCounter(loop, distance))
    return compare(b, loop, orderOf(loop), number(b, loop, *counter), loop.getUpperBound());
  Value any = hasIterations(b, loop);
  if (matchPattern(distance, m_Zero()))
    return any;
  return b.createOrFold<arith::AndIOp>(loop.getLoc(), any,
                                       existsAfter(b, loop, loop.getLowerBound(), distance));
}

} // namespace pantile
