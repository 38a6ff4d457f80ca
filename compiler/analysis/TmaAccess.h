//===- TmaAccess.h - whether TMA can do a load or a store, and how -----------------===//
// Needs: a load of a loop body whose tile goes to one shared buffer, and what reads it: an MMA, or
//        threads; or a store.
// Gives: the tensor map's dimensions and the tile's coordinates, or the reason why TMA cannot.
// How:   See TmaAccess.cpp for the rules that make it legal.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AffineAccess.h"
#include "analysis/AxisInfo.h"
#include "analysis/BufferReaders.h"
#include <limits>
#include <string>

namespace pantile {

struct TmaAccess {
  /// The offset that is added to coordinates that may be negative, or that count down to an end.
  static constexpr int64_t far = 1 << 30;
  /// An extent that clips nothing.
  static constexpr int64_t unbounded = std::numeric_limits<int32_t>::max();

  struct Dim {
    Polynomial extent;     ///< of the arguments
    Polynomial stride;     ///< of the arguments, in elements; 1 for the first
    Polynomial start;      ///< coordinate of the tile's first element
    int64_t size = 1;      ///< of the tile
    bool fromZero = false; ///< the mask excludes negative coordinates, as TMA does
    Polynomial modulus{};  ///< of the arguments; 0, or the tile starts at the remainder by this
    /// How the kernel computes the coordinate from `start`. `Saturated`: clamped from 64 to 32
    /// bits; it is still outside of the extents then. `ToEnd` and `End`: the coordinate is split in
    /// two at the data-dependent `end`. `ToEnd` counts from there to a fixed extent, `End` is the
    /// remaining part.
    enum Kind { Plain, Saturated, ToEnd, End } kind = Plain;
    Polynomial end{};
    bool startFits = false; ///< of a split coordinate: `start` needs no 64 bits
    int64_t rows = 1;       ///< of a split coordinate: rows of the tile along it
  };
  /// A condition that each launch must meet: `value` is a multiple of `of`.
  struct Multiple {
    Polynomial value; ///< of the arguments
    int64_t of = 1;
  };
  mlir::Value base;      ///< an argument of the kernel
  Polynomial offset;     ///< of the arguments, in elements
  std::vector<Dim> dims; ///< fastest first
  llvm::SetVector<mlir::Value> nonNegative;
  llvm::SmallVector<Multiple, 1> multiples;
  /// Polynomials of the arguments, and of program ids that stand for the grid's extents. If none is
  /// negative, all coordinates fit 32 bits.
  llvm::SmallVector<Polynomial, 2> conditions;
};

/// The access of `load` into `buffer`, for one of its readers; without an MMA, threads read it. On
/// failure `reason` says why.
std::optional<TmaAccess> tmaAccess(AffineAnalysis &affine, const AxisInfoAnalysis &axes,
                                   LoadOp load, nv::BufferType buffer, const BufferReader &reader,
                                   std::string &reason);

/// The access of a write through `ptr` where `mask` is true (null: everywhere), whose tile lies in
/// shared memory in `order` (fastest dimension first). Other accesses of the kernel to that memory
/// are not considered.
std::optional<TmaAccess> tmaAccess(AffineAnalysis &affine, mlir::Value ptr, mlir::Value mask,
                                   llvm::ArrayRef<int32_t> order, std::string &reason);

} // namespace pantile
