//===- TmaAccess.h - whether TMA can do a load or a store, and how ------------===//
// Needs: a load of a loop body whose tile goes to one shared buffer, and the product that reads it;
//        or a store.
// Gives: the tensor map's dimensions and the coordinates of the tile, or the reason why not.
// How:   see TmaAccess.cpp for the rules that make it legal.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AffineAccess.h"
#include "analysis/AxisInfo.h"
#include "analysis/BufferReaders.h"
#include <string>

namespace pantile {

struct TmaAccess {
  /// Elements from which coordinates count that may be negative, or that count down to an end.
  static constexpr int64_t far = 1 << 30;

  struct Dim {
    Polynomial extent;     ///< of the arguments
    Polynomial stride;     ///< of the arguments, in elements; 1 for the first
    Polynomial start;      ///< coordinate of the tile's first element
    int64_t size = 1;      ///< of the tile
    bool fromZero = false; ///< the mask leaves out negative coordinates, as TMA does
    Polynomial modulus{};  ///< of the arguments; 0, or the tile starts at the remainder by this
    /// What the device makes of `start`, in 64 bits. A coordinate that saturates is still outside of
    /// the extents then. One that is cut is split at `end`, which only the program knows: `ToEnd`
    /// counts from there to a fixed extent, `End` is what is left of it.
    enum Kind { Plain, Saturated, ToEnd, End } kind = Plain;
    Polynomial end{};
    bool startFits = false; ///< of one that is cut: `start` needs no 64 bits
    int64_t rows = 1;       ///< of one that is cut: how many of the tile lie along it
  };
  /// What launches must keep to.
  struct Multiple {
    Polynomial value; ///< of the arguments
    int64_t of = 1;
  };
  mlir::Value base;      ///< an argument of the kernel
  Polynomial offset;     ///< of the arguments, in elements
  std::vector<Dim> dims; ///< fastest first
  llvm::SetVector<mlir::Value> nonNegative;
  llvm::SmallVector<Multiple, 1> multiples;
  /// Polynomials of the arguments, and of program numbers that stand for the grid's extents, that are
  /// not negative where all coordinates fit 32 bits.
  llvm::SmallVector<Polynomial, 2> conditions;
};

/// The access of `staged`, for one of its readers. On failure `reason` says why.
std::optional<TmaAccess> tmaAccess(AffineAnalysis &affine, const AxisInfoAnalysis &axes,
                                   StagedLoad staged, const BufferReader &reader,
                                   std::string &reason);

/// The access of a write through `ptr` where `mask` holds (null: everywhere), whose tile lies in
/// shared memory in `order` (fastest dimension first). Of what the kernel does with that memory
/// besides it knows nothing.
std::optional<TmaAccess> tmaAccess(AffineAnalysis &affine, mlir::Value ptr, mlir::Value mask,
                                   llvm::ArrayRef<int32_t> order, std::string &reason);

} // namespace pantile
