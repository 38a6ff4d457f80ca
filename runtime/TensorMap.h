//===- TensorMap.h - tensor maps made at launch -------------------------------------------===//
// Needs: a kernel's recipes, the arguments of one launch, a driver that encodes.
// Gives: the maps, or nothing where the arguments do not fit what a map can say: then the kernel's
//        variant without maps must run.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Runtime.h"
#include "runtime/Driver.h"
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

std::optional<EncodedTensorMaps> encodeTensorMaps(const Driver &driver,
                                                  const std::vector<TensorMapRecipe> &recipes,
                                                  llvm::ArrayRef<LaunchArg> args);

} // namespace pantile
