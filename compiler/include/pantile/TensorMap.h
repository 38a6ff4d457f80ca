//===- TensorMap.h - how a launch describes tensors to TMA --------------------------------===//
// A kernel with TMA loads or TMA stores takes tensor maps as its last parameters. The kernel has a
// recipe for each; a launch computes the map from the kernel's arguments and encodes it.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace pantile {

/// A polynomial of launch arguments (those of fp32 by their bits), their quotients by constants, and
/// extents of the grid.
struct HostPolynomial {
  static constexpr int gridArg = 1 << 16; ///< the index of the grid's first extent
  /// A variable, or its quotient by a constant, rounded towards zero.
  struct Factor {
    Factor(int arg, int64_t divisor = 1) : arg(arg), divisor(divisor) {}
    int arg;         ///< index of a launch argument, or `gridArg` plus an axis
    int64_t divisor; ///< positive; 1 for the variable itself
    bool operator==(const Factor &) const = default;
  };
  /// A coefficient times several factors.
  struct Term {
    int64_t coefficient = 0;     ///< of the factors
    std::vector<Factor> factors; ///< empty: the constant term
    bool operator==(const Term &) const = default;
  };
  std::vector<Term> terms; ///< that are added
  bool operator==(const HostPolynomial &) const = default;
};

/// A condition of a map: that a number is divisible.
struct HostMultiple {
  HostPolynomial value; ///< the number
  int64_t of = 1;       ///< the divisor
  bool operator==(const HostMultiple &) const = default;
};

/// How to compute a tensor map from the arguments of a launch.
struct TensorMapRecipe {
  int base = 0;                        ///< index of a pointer among the launch arguments
  HostPolynomial offset;               ///< bytes from that pointer
  std::string element;                 ///< "f16", "bf16", "f32", "i8", ...
  std::vector<HostPolynomial> extents; ///< elements, fastest dimension first
  std::vector<HostPolynomial> strides; ///< bytes, of every dimension but the first
  std::vector<int> box;                ///< elements that one copy moves, per dimension
  int swizzle = 0;                     ///< span in bytes: 0, 32, 64 or 128
  std::vector<int> nonNegative;        ///< arguments that must not be negative
  std::vector<HostMultiple> multiples; ///< that must hold, or else the map is empty, if it may be
  std::vector<HostPolynomial> conditions; ///< not negative where the kernel may use its maps
  bool isWritten = false;                 ///< TMA stores use it, too: rows end on 16 bytes
  bool mayBeEmpty = false;                ///< all bytes are zero where a multiple does not hold
  bool operator==(const TensorMapRecipe &) const = default;
};

} // namespace pantile
