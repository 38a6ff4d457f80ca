//===- AxisInfo.h - contiguity, divisibility and constancy of the elements of a tile ---===//
// Needs: tile IR, before or after layouts are assigned.
// Gives: for each dimension of every integer or pointer tile (scalars count as one element):
//        contiguity, divisibility and constancy, all powers of two; and the value of constants.
// How:   A walk in program order over structured control flow. Loops are repeated until the facts
//        of their carried values are stable. This terminates, because a join only lowers powers of
//        two.
//===-----------------------------------------------------------------------------------===//
#ifndef PANTILE_ANALYSIS_AXISINFO_H
#define PANTILE_ANALYSIS_AXISINFO_H

#include "layout/LinearLayout.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <string>

namespace mlir {
class Operation;
}

namespace pantile {

/// All facts are about aligned blocks of elements: those whose index along a dimension lies between
/// two consecutive multiples of the block's length, for any other indices. A tile whose extent is
/// no power of two ends within the last block.
struct AxisInfo {
  using PerDim = llvm::SmallVector<int64_t, 4>;

  /// In each block of this length the values are v, v+1, v+2, ... Pointers count elements.
  PerDim contiguity;
  /// Divides the first value of every contiguous block. Pointers count bytes.
  PerDim divisibility;
  /// In each block of this length all values are equal.
  PerDim constancy;
  /// What contiguity and constancy rest on: a signed quotient or remainder of a sum that is not
  /// negative unless it overflows, or of a number that may be negative. Where it does not hold, the
  /// first element of a block, which may be a multiple of the divisor, is out of line. The first is
  /// supposed of addresses and masks. The second is supposed of addresses that are contiguous by such a
  /// number itself: equal numbers may come from a condition, a square or a sum, and what is added to
  /// them is in bounds. Neither is supposed of values.
  enum Supposition : int64_t { Nothing, NoOverflow, NotNegative };
  PerDim supposes;
  /// The value of all elements, if it is known.
  std::optional<int64_t> constant;
  bool nonNegative = false;
  /// Nothing is known: 1 everywhere.
  static AxisInfo unknown(size_t rank);
  static AxisInfo ofConstant(int64_t value, llvm::ArrayRef<int64_t> shape);
  /// The facts that hold for both.
  static AxisInfo join(const AxisInfo &a, const AxisInfo &b);

  size_t rank() const { return contiguity.size(); }
  /// Along `dim`, a length of blocks that lie between consecutive multiples of all values of `divisor`.
  int64_t blockInside(const AxisInfo &divisor, size_t dim) const;
  /// In each block of this length all values are equal, also those of numbers that are negative.
  int64_t runOfEquals(size_t dim) const {
    return supposes[dim] == NotNegative ? 1 : constancy[dim];
  }
  /// In each block of this length the values grow: v, v+1, v+2, ..., without overflow, since v is a
  /// multiple of the length.
  int64_t rise(size_t dim) const;
  /// Divides every value at an index along `dim` that is a multiple of `block`; a step of one
  /// element changes the value by `step` (bytes of an element for pointers).
  int64_t divisibilityAt(size_t dim, int64_t block, int64_t step = 1) const;
  /// Divides all values.
  int64_t divisibilityOfAll(int64_t step = 1) const;
  std::string str() const;
  bool operator==(const AxisInfo &) const = default;
};

/// Registers of a thread whose elements of a tile are equal.
struct EqualRegs {
  /// Bits of a register's number that do not change its value.
  unsigned always = 0;
  /// By dimension, bits that do not change it as long as one of them is set.
  llvm::SmallVector<unsigned, 4> butFirst;

  /// The number of a register with the same value; one and the same for all equal ones.
  unsigned representative(unsigned reg) const;
};

/// The facts of one function or module. Nothing is known of values that are created later.
class AxisInfoAnalysis {
public:
  explicit AxisInfoAnalysis(mlir::Operation *top);

  const AxisInfo &of(mlir::Value value) const;

  /// How many adjacent elements along `dim` one access through `ptr` can have: contiguous, aligned,
  /// with one mask value, at most 16 bytes. `mask` may be null.
  int64_t accessWidth(mlir::Value ptr, mlir::Value mask, int dim) const;
  /// The same, limited by the registers that `layout` keeps together.
  int64_t accessWidth(mlir::Value ptr, mlir::Value mask, const LinearLayout &layout) const;
  /// The same of a load or store that moves element by element where its mask ends within a vector.
  int64_t widthWithTail(mlir::Value ptr, mlir::Value mask, int dim) const;
  int64_t widthWithTail(mlir::Value ptr, mlir::Value mask, const LinearLayout &layout) const;
  /// In each block of this length along `dim` a mask is true for the first elements only: for all of
  /// them, for some or for none.
  int64_t prefixOfMask(mlir::Value mask, int dim) const;
  EqualRegs equalRegs(mlir::Value tile, const LinearLayout &layout) const;
  /// Bits of a register's number that change neither its address nor its mask.
  unsigned repeatedRegs(mlir::Value ptr, mlir::Value mask, const LinearLayout &layout) const;

private:
  llvm::DenseMap<mlir::Value, AxisInfo> facts;
};

} // namespace pantile

#endif // PANTILE_ANALYSIS_AXISINFO_H
