//===- TensorMap.h - how a launch describes tensors to TMA --------------------------------===//
// A kernel whose loads were raised to TMA takes tensor maps as its last parameters. The artifact
// carries the recipe of each; the launch computes it from the kernel's arguments and encodes it.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace pantile {

/// A sum of products of launch arguments and extents of the grid.
struct HostPolynomial {
  static constexpr int gridArg = 1 << 16; ///< the index of the grid's first extent
  /// A product.
  struct Term {
    int64_t coefficient = 0; ///< what it is multiplied by
    std::vector<int>
        args; ///< indices among the launch arguments, or `gridArg` and an axis; empty: the constant
    bool operator==(const Term &) const = default;
  };
  std::vector<Term> terms; ///< what is added up
  bool operator==(const HostPolynomial &) const = default;
};

/// A number that a map needs to be divisible.
struct HostMultiple {
  HostPolynomial value; ///< the number
  int64_t of = 1;       ///< what divides it
  bool operator==(const HostMultiple &) const = default;
};

/// How a tensor map follows from the arguments of a launch.
struct TensorMapRecipe {
  int base = 0;                           ///< index of a pointer among the launch arguments
  HostPolynomial offset;                  ///< bytes from there
  std::string element;                    ///< "f16", "bf16", "f32", "i8", ...
  std::vector<HostPolynomial> extents;    ///< elements, fastest dimension first
  std::vector<HostPolynomial> strides;    ///< bytes, of every dimension but the first
  std::vector<int> box;                   ///< elements that one copy moves
  int swizzle = 0;                        ///< span in bytes: 0, 32, 64 or 128
  std::vector<int> nonNegative;           ///< arguments without which the map would be wrong
  std::vector<HostMultiple> multiples;    ///< without which it would be wrong, too
  std::vector<HostPolynomial> conditions; ///< not negative where all coordinates fit 32 bits
  bool isWritten = false;                 ///< stores too go through it: rows end on 16 bytes
  bool operator==(const TensorMapRecipe &) const = default;
};

} // namespace pantile
