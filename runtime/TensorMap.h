//===- TensorMap.h - tensor maps made at launch -------------------------------------------===//
// Needs: a kernel's recipes, the packed arguments of one launch, a driver that encodes.
// Gives: the maps, and the values of polynomials.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "cuda/Driver.h"
#include "pantile/Runtime.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <optional>

namespace pantile {

/// The driver's CUtensorMap.
struct alignas(64) EncodedTensorMap {
  std::array<uint64_t, 16> words{};
};
using EncodedTensorMaps = llvm::SmallVector<EncodedTensorMap, 4>;

/// The value of `polynomial` for the packed arguments of a launch over `grid`; none where it overflows.
std::optional<int64_t> valueOf(const HostPolynomial &polynomial, llvm::ArrayRef<uint64_t> slots,
                               const Grid &grid);

/// Which arguments the maps of one kernel depend on: equal arguments give equal maps.
struct MapPlan {
  static constexpr unsigned mostInputs = 10;
  struct Inputs {
    bool isComplete = true; ///< false: there are more, so the map is encoded at each launch
    unsigned count = 0;
    std::array<int, mostInputs> args{};
    void add(int arg);
  };
  uint64_t serial = 0;                 ///< of no other plan
  llvm::SmallVector<Inputs, 0> inputs; ///< by recipe; the base is no part of them

  MapPlan() = default;
  explicit MapPlan(llvm::ArrayRef<TensorMapRecipe> recipes);
};

/// Writes one map per recipe; `slots` are those of packArguments, `grid` is the user's. False: maps
/// cannot describe the arguments, and the kernel's variant without maps must run.
bool encodeTensorMaps(const Driver &driver, llvm::ArrayRef<TensorMapRecipe> recipes,
                      const MapPlan &plan, llvm::ArrayRef<uint64_t> slots, const Grid &grid,
                      EncodedTensorMaps &maps);

} // namespace pantile
