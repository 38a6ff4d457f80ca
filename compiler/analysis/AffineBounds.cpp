//===- AffineBounds.cpp - lower and upper bounds of polynomials --------------------===//
// Needs: see AffineAccess.h.
// Gives: AffineAnalysis::isNonNegative, upperBound, isComputedIn32Bits.
// How:   A polynomial with positive coefficients is bounded by the bounds of its leaves. The bound
//        of a leaf follows from its operation: program ids are bounded by the grid, an induction
//        variable by the loop's end, a quotient by its dividend. Only non-negative values have an
//        upper bound here.
//===-------------------------------------------------------------------------------===//
#include "analysis/AffineAccess.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace pantile {

bool AffineAnalysis::isNonNegative(const Polynomial &polynomial, llvm::SetVector<Value> &assumed) {
  return hasOnlyPositiveTerms(polynomial, assumed) ||
         hasOnlyPositiveTerms(withoutWaysToLast(polynomial, assumed), assumed);
}

bool AffineAnalysis::hasOnlyPositiveTerms(const Polynomial &polynomial,
                                          llvm::SetVector<Value> &assumed) {
  return llvm::all_of(polynomial.products(), [&](const auto &term) {
    return term.second > 0 && llvm::all_of(term.first, [&](unsigned leaf) {
             return isNonNegative(leaves[leaf], assumed);
           });
  });
}

/// What `leaf` is known to be below: the number of programs, or the end of the loop that it counts.
SmallVector<Polynomial> AffineAnalysis::endsOf(Value leaf) {
  SmallVector<Polynomial> ends;
  std::optional<unsigned> axis;
  if (auto id = leaf.getDefiningOp<ProgramIdOp>())
    axis = id.getAxis();
  else if (auto at = leaf.getDefiningOp<nv::ProgramAtOp>())
    axis = at.getAxis();
  for (auto [number, other] : llvm::enumerate(leaves))
    if (auto programs = other.getDefiningOp<NumProgramsOp>();
        programs && axis == programs.getAxis())
      ends.push_back(Polynomial::of(number));
  auto arg = dyn_cast<BlockArgument>(leaf);
  auto loop = arg ? dyn_cast<scf::ForOp>(arg.getOwner()->getParentOp()) : scf::ForOp();
  if (loop && arg == loop.getInductionVar() && !loop.getUnsignedCmp() &&
      constantOf(loop.getStep()).value_or(0) > 0 && !isCounterOfCounted(arg))
    ends.push_back(scalar(loop.getUpperBound()));
  return ends;
}

/// Removes multiples of `n - 1 - i`, where `i` is below `n`: they are not negative.
Polynomial AffineAnalysis::withoutWaysToLast(Polynomial polynomial,
                                             llvm::SetVector<Value> &assumed) {
  for (unsigned index = 0, count = leaves.size(); index < count; ++index) {
    if (!polynomial.uses(index))
      continue;
    const Polynomial i = Polynomial::of(index);
    for (const Polynomial &end : endsOf(leaves[index])) {
      Polynomial rest;
      const Polynomial factor = Polynomial(0) - polynomial.dividedBy(i, rest);
      if (hasOnlyPositiveTerms(factor, assumed))
        polynomial = polynomial - factor * (end - Polynomial(1) - i);
    }
  }
  return polynomial;
}

/// Whether this is max(x, m) + c with m + c >= 0, as the length of a range from m is computed.
static bool isPartOfMaximum(arith::AddIOp op) {
  auto most = op.getLhs().getDefiningOp<arith::MaxSIOp>();
  const auto least = most ? constantOf(most.getRhs()) : std::nullopt;
  const auto added = constantOf(op.getRhs());
  return least && added && *least + *added >= 0;
}

bool AffineAnalysis::isNonNegative(Value value, llvm::SetVector<Value> &assumed) {
  if (auto constant = constantOf(value))
    return *constant >= 0;
  if (isKernelArgument(value))
    return assumed.insert(value), true;
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(arg.getOwner()->getParentOp());
    if (isCounterOfCounted(arg))
      return isNonNegative(loop.getLowerBound(), assumed);
    return loop && arg == loop.getInductionVar() && !loop.getUnsignedCmp() &&
           isNonNegative(scalar(loop.getLowerBound()), assumed) &&
           constantOf(loop.getStep()).value_or(0) > 0;
  }
  auto both = [&](auto op) {
    return isNonNegative(op.getLhs(), assumed) && isNonNegative(op.getRhs(), assumed);
  };
  auto either = [&](auto op) {
    return isNonNegative(op.getLhs(), assumed) || isNonNegative(op.getRhs(), assumed);
  };
  // Non-negative values are, as unsigned ones, those below half of the range. A minimum, `&`
  // and a remainder are at most their operands (a remainder also below its divisor), so one is
  // enough; `|` and a maximum have the highest bit if one of theirs has it.
  return llvm::TypeSwitch<Operation *, bool>(value.getDefiningOp())
      .Case<ProgramIdOp, NumProgramsOp, nv::ProgramAtOp>([](auto) { return true; })
      .Case([&](arith::AddIOp op) { return both(op) || isPartOfMaximum(op); })
      .Case<arith::MulIOp, arith::MinSIOp>(both)
      .Case<arith::MaxSIOp, arith::MinUIOp, arith::AndIOp, arith::RemUIOp>(either)
      .Case<arith::MaxUIOp, arith::OrIOp, arith::XOrIOp>(both)
      .Case([&](arith::DivUIOp op) { return isNonNegative(op.getLhs(), assumed); })
      .Case<arith::ShRSIOp, arith::ShRUIOp>(
          [&](auto op) { return isNonNegative(op.getLhs(), assumed); })
      .Case([&](arith::SelectOp op) {
        return isNonNegative(op.getTrueValue(), assumed) &&
               isNonNegative(op.getFalseValue(), assumed);
      })
      .Case([&](arith::DivSIOp op) {
        return constantOf(op.getRhs()).value_or(1) > 0 && isNonNegative(op.getLhs(), assumed);
      })
      .Case([&](arith::RemSIOp op) { return isNonNegative(op.getLhs(), assumed); })
      .Case<arith::ExtSIOp, arith::IndexCastOp>(
          [&](auto op) { return isNonNegative(op.getIn(), assumed); })
      .Default(false);
}

std::optional<Polynomial> AffineAnalysis::upperBound(const Polynomial &polynomial,
                                                     llvm::SetVector<Value> &assumed) {
  Polynomial sum;
  for (const auto &[product, coefficient] : polynomial.products()) {
    if (!llvm::all_of(product, [&](unsigned leaf) { return isNonNegative(leaves[leaf], assumed); }))
      return std::nullopt;
    if (coefficient <= 0)
      continue;
    Polynomial term(product.empty() ? coefficient : 1);
    for (auto [i, leaf] : llvm::enumerate(product)) {
      auto bound = upperBound(leaves[leaf], i == 0 ? coefficient : 1, assumed);
      if (!bound)
        return std::nullopt;
      term = term * *bound;
    }
    sum = sum + term;
  }
  return sum.isValid() ? std::optional(sum) : std::nullopt;
}

/// The bound of `factor` times a non-negative leaf: at worst the largest value of its type.
std::optional<Polynomial> AffineAnalysis::upperBound(Value value, int64_t factor,
                                                     llvm::SetVector<Value> &assumed) {
  if (auto bound = upperBoundOfSource(value, factor, assumed))
    return bound;
  const unsigned bits = value.getType().isInteger() ? value.getType().getIntOrFloatBitWidth() : 64;
  return bits <= 32 ? std::optional(Polynomial(factor) * Polynomial(llvm::maxIntN(bits)))
                    : std::nullopt;
}

/// The bound that follows from the operands of `value`. A quotient is bounded together with its
/// factor, since `c * (x / d)` is at most `ceil(c / d) * x`.
std::optional<Polynomial> AffineAnalysis::upperBoundOfSource(Value value, int64_t factor,
                                                             llvm::SetVector<Value> &assumed) {
  auto times = [&](Value other, int64_t by) {
    return upperBound(Polynomial(by) * scalar(other), assumed);
  };
  auto either = [&](Value a, Value b) {
    auto bound = times(a, factor);
    return bound ? bound : times(b, factor);
  };
  if (isKernelArgument(value))
    return Polynomial(factor) * Polynomial::of(leafOf(value));
  const bool isCounter = isCounterOfCounted(value);
  if (isCounter && (counted->counter != counted->number || counted->step != 1))
    return std::nullopt;
  if (auto arg = dyn_cast<BlockArgument>(value)) { // counts up to an end that is positive then
    Value end = cast<scf::ForOp>(arg.getOwner()->getParentOp()).getUpperBound();
    auto bound = times(end, factor);
    return bound ? bound : upperBound(end, factor, assumed);
  }
  Operation *op = value.getDefiningOp();
  if (isa<ProgramIdOp, NumProgramsOp, nv::ProgramAtOp>(op))
    return Polynomial(factor) * Polynomial::of(leafOf(value));
  if (auto least = dyn_cast<arith::MinSIOp>(op))
    return either(least.getLhs(), least.getRhs());
  if (auto most = dyn_cast<arith::MaxSIOp>(op)) {
    auto one = times(most.getLhs(), factor), other = times(most.getRhs(), factor);
    return one && other ? std::optional(*one + *other) : std::nullopt;
  }
  if (auto rest = dyn_cast<arith::RemSIOp>(op))
    return either(rest.getRhs(), rest.getLhs());
  if (isa<arith::DivSIOp>(op) ||
      (isa<arith::DivUIOp>(op) && isNonNegative(op->getOperand(0), assumed))) {
    const int64_t by = constantOf(op->getOperand(1)).value_or(1);
    const int64_t scaled = by > 0 ? llvm::divideCeil(factor, by) : factor;
    auto bound = times(op->getOperand(0), scaled);
    return bound ? bound : upperBound(op->getOperand(0), scaled, assumed);
  }
  return std::nullopt;
}

bool AffineAnalysis::isComputedIn32Bits(Value root, const Polynomial &polynomial) {
  SmallVector<Value> work{root};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    const Type element = elementTypeOf(value.getType());
    if (element.isInteger() && element.getIntOrFloatBitWidth() <= 32)
      if (auto form = tile(value); form && form->offset == polynomial)
        return true;
    if (auto loop = loopThatCarries(value)) {
      const unsigned index = cast<BlockArgument>(value).getArgNumber() - loop.getNumInductionVars();
      work.append({loop.getInitArgs()[index], loop.getYieldedValues()[index]});
    } else if (Operation *op = value.getDefiningOp(); op && !isa<LoadOp>(op)) {
      work.append(op->operand_begin(), op->operand_end());
    }
  }
  return false;
}

} // namespace pantile
