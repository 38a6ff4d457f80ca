//===- AffineAccess.h - addresses and masks as base + sum of index * stride ---------------===//
// Needs: tile IR before or after layouts.
// Gives: for a tile of pointers or integers: a polynomial offset and one polynomial coefficient a
//        dimension, through splats, broadcasts, sums, products and pointers that a loop advances;
//        for a mask: the bounds that it is the conjunction of.
// How:   scalars that are no sum or product are leaves with a number. A value that a loop advances
//        by a constant step is its start plus the induction variable times the step. Arithmetic
//        is exact here: a kernel whose 32-bit indices wrap around has no affine access.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/Polynomial.h"
#include "ir/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"

namespace pantile {

/// The number that `value` surely is.
std::optional<int64_t> constantOf(mlir::Value value);
bool isKernelArgument(mlir::Value value);
/// The loop that carries `value` from iteration to iteration; null for other values.
mlir::scf::ForOp loopThatCarries(mlir::Value value);

/// `base + offset + sum over d of coefficients[d] * index[d]`; in elements for pointers.
struct AffineTile {
  mlir::Value base; ///< a scalar pointer; null for integers
  Polynomial offset;
  llvm::SmallVector<Polynomial, 4> coefficients;
  /// Along this dimension the index was `(dividend + index) % modulus`, or another one where it is
  /// not below `modulus`; the form here is the one without the remainder or the choice.
  int wrappedDim = -1;
  bool isChoice = false;
  Polynomial dividend, modulus;
};

/// `offset + sum over d of coefficients[d] * index[d] < 0`; `>= 0` for a lower one.
struct AffineBound {
  Polynomial offset;
  llvm::SmallVector<Polynomial, 4> coefficients;
  bool isLower = false;
};

class AffineAnalysis {
public:
  /// None where `value` has no such form.
  std::optional<AffineTile> tile(mlir::Value value);
  std::optional<std::vector<AffineBound>> bounds(mlir::Value mask);
  Polynomial scalar(mlir::Value value);

  mlir::Value leaf(unsigned number) const { return leaves[number]; }
  unsigned leafOf(mlir::Value value);
  /// For passes that rebuild a loop: forms that were given out before stay right.
  void replaceLeaf(mlir::Value from, mlir::Value to);
  /// True if every leaf is an argument of the kernel.
  bool isHostValue(const Polynomial &polynomial) const;
  /// True if it cannot be negative as long as the arguments that are put into `assumed` are not.
  /// Nobody divides a position by a negative number.
  bool isNonNegative(const Polynomial &polynomial, llvm::SetVector<mlir::Value> &assumed);
  /// A polynomial that a non-negative one is at most, of arguments and of `program_id`s, each of which
  /// stands for the grid's extent; as long as the arguments that are put into `assumed` are not
  /// negative. None where it has no such bound.
  std::optional<Polynomial> upperBound(const Polynomial &polynomial,
                                       llvm::SetVector<mlir::Value> &assumed);
  /// True if an integer of at most 32 bits that `root` is computed from has this value, so that it
  /// fits 32 bits where the kernel's own arithmetic does not wrap around.
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
  Polynomial withoutWaysToLast(Polynomial polynomial, llvm::SetVector<mlir::Value> &assumed);

  std::vector<mlir::Value> leaves;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  llvm::DenseMap<mlir::Value, std::optional<AffineTile>> known;
};

} // namespace pantile
