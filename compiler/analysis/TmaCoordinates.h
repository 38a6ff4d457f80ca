//===- TmaCoordinates.h - numbers of 32 bits for the coordinates of a TMA access -----------===//
// Needs: the dimensions of the access, with starts of tiles and extents.
// Gives: how the kernel computes each coordinate, and what the launch checks; or why TMA cannot.
// How:   1. A coordinate is never negative unless the mask excludes such lanes: the plain load
//           would read memory before the tensor, which TMA does not. A data-dependent coordinate
//           that might be negative counts from far before the tensor (countFromFar).
//        2. A coordinate below an end that the host does not have counts from there, too
//           (splitAtEnd).
//        3. Coordinates have 32 bits, addresses 64. One of three must hold: the kernel computes the
//           coordinate in 32 bits; or a condition that the launch checks bounds it; or it saturates
//           outside of an extent.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "analysis/TmaAccess.h"
#include <map>

namespace pantile {

/// The ends of dimensions, by place, that differ between programs.
using DataDependentEnds = std::map<size_t, Polynomial>;

/// Completes the dimensions of `access`, of the tile of pointers `ptr`. A modulo wraps the indices of
/// dimension `wrapped`. Returns what is wrong with a coordinate, or "".
llvm::StringRef placeCoordinates(AffineAnalysis &affine, mlir::Value ptr, TmaAccess &access,
                                 const DataDependentEnds &ends, std::optional<size_t> wrapped);

} // namespace pantile
