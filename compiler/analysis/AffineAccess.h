//===- AffineAccess.h - addresses and masks as base + sum of index * stride --------===//
// Needs: tile IR before or after layouts.
// Gives: for a tile of pointers or integers: a polynomial offset and one polynomial coefficient per
//        dimension, through splats, broadcasts, sums, products and pointers that a loop advances;
//        for a mask: the bounds of which it is the conjunction.
// How:   Scalars that are no sum or product are numbered leaves. A value that a loop advances by a
//        constant step is its start plus the induction variable times the step. Arithmetic is
//        exact: a kernel whose 32-bit indices wrap around has no affine access.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "analysis/Polynomial.h"
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"

namespace pantile {

/// The value of `value` if it is a known constant.
std::optional<int64_t> constantOf(mlir::Value value);
bool isKernelArgument(mlir::Value value);

/// A kernel's argument, or its quotient by a positive constant, rounded towards zero.
struct HostFactor {
  mlir::BlockArgument argument;
  int64_t divisor = 1;
};
std::optional<HostFactor> hostFactorOf(mlir::Value value);
/// The loop that carries `value` from iteration to iteration; null for other values.
mlir::scf::ForOp loopThatCarries(mlir::Value value);

/// `base + offset + sum over d of coefficients[d] * index[d]`; in elements for pointers.
struct AffineTile {
  mlir::Value base; ///< a scalar pointer; null for integers
  Polynomial offset;
  llvm::SmallVector<Polynomial, 4> coefficients;
  /// Along this dimension the index was `(dividend + index) % modulus`, or with `isChoice`
  /// `where(dividend + index < modulus, dividend + index, ...)`. The form is the one without modulo
  /// and choice.
  int wrappedDim = -1;
  bool isChoice = false;
  Polynomial dividend, modulus;
};

/// `offset + sum over d of coefficients[d] * index[d] < 0`; `>= 0` for a lower bound.
struct AffineBound {
  Polynomial offset;
  llvm::SmallVector<Polynomial, 4> coefficients;
  bool isLower = false;
};

/// A loop whose counter is `begin + number * step` of the number of the iteration.
struct CountedLoop {
  mlir::scf::ForOp loop;
  int64_t step = 1;
  unsigned number = 0, counter = 0; ///< leaves; the counter is a sum of the number where begin is 0
};

class AffineAnalysis {
public:
  /// Gives the forms that there are once `loop`, whose step is a positive constant, counts its iterations
  /// and runs over some of them. Of their numbers no more is known than that they are not negative
  /// and have the counter's type; of those of a loop from 0 by 1, which it has already counted, what
  /// its end says, too. To be called before all else.
  void countIterationsOf(mlir::scf::ForOp loop);
  std::optional<CountedLoop> countedLoop() const { return counted; }

  /// None where `value` has no such form.
  std::optional<AffineTile> tile(mlir::Value value);
  std::optional<std::vector<AffineBound>> bounds(mlir::Value mask);
  Polynomial scalar(mlir::Value value);

  mlir::Value leaf(unsigned number) const { return leaves[number]; }
  unsigned leafOf(mlir::Value value);
  /// For passes that rebuild a loop: forms that were returned before stay valid.
  void replaceLeaf(mlir::Value from, mlir::Value to);
  /// True if every leaf is an argument of the kernel, or a quotient of one by a constant.
  bool isHostValue(const Polynomial &polynomial) const;
  /// A number that divides `polynomial` for all values of its leaves, given the arguments'
  /// divisibility.
  int64_t divisorOf(const Polynomial &polynomial) const;
  /// Whether `polynomial` is non-negative if the arguments that are put into `assumed` are.
  /// Divisors are taken to be positive.
  bool isNonNegative(const Polynomial &polynomial, llvm::SetVector<mlir::Value> &assumed);
  /// An upper bound of a non-negative polynomial: a polynomial of arguments and of `program_id`s,
  /// each of which stands for the grid's extent. It holds if the arguments that are put into
  /// `assumed` are non-negative. None where there is no such bound.
  std::optional<Polynomial> upperBound(const Polynomial &polynomial,
                                       llvm::SetVector<mlir::Value> &assumed);
  /// Whether `root` depends on an integer of at most 32 bits with this value: then it fits 32 bits,
  /// as the kernel's own arithmetic is taken not to overflow.
  bool isComputedIn32Bits(mlir::Value root, const Polynomial &polynomial);

private:
  std::optional<AffineTile> compute(mlir::Value value);
  std::optional<AffineBound> comparison(mlir::arith::CmpIOp op);
  std::optional<AffineTile> choice(mlir::arith::SelectOp op);
  std::optional<AffineTile> upTo(AffineTile index, const Polynomial &end);
  std::optional<AffineTile> carried(mlir::BlockArgument arg, mlir::scf::ForOp loop);
  std::optional<AffineTile> sum(const AffineTile &a, const AffineTile &b);
  std::optional<AffineTile> product(const AffineTile &a, const AffineTile &b);
  std::optional<Polynomial> times(mlir::scf::ForOp loop, const Polynomial &step);
  bool isNonNegative(mlir::Value value, llvm::SetVector<mlir::Value> &assumed);
  bool hasOnlyPositiveTerms(const Polynomial &polynomial, llvm::SetVector<mlir::Value> &assumed);
  std::optional<Polynomial> upperBound(mlir::Value value, int64_t factor,
                                       llvm::SetVector<mlir::Value> &assumed);
  std::optional<Polynomial> upperBoundOfSource(mlir::Value value, int64_t factor,
                                               llvm::SetVector<mlir::Value> &assumed);
  llvm::SmallVector<Polynomial> endsOf(mlir::Value leaf);
  Polynomial withoutWaysToLast(Polynomial polynomial, llvm::SetVector<mlir::Value> &assumed);
  bool isCounterOfCounted(mlir::Value value);

  std::optional<CountedLoop> counted;
  std::vector<mlir::Value> leaves;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  llvm::DenseMap<mlir::Value, std::optional<AffineTile>> known;
};

} // namespace pantile
