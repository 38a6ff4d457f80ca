//===- TensorMap.cpp - tensor maps made at launch -----------------------------------------===//
// Needs: see TensorMap.h.
// Gives: encodeTensorMaps.
// How:   what the driver documents of cuTensorMapEncodeTiled is checked here, so that its refusal
//        is only the last word: extents of 1 to 2^32, strides multiples of 16 below 2^40, an
//        aligned base. A product that leaves 64 bits counts as not fitting.
//===--------------------------------------------------------------------------------------===//
#include "runtime/TensorMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace pantile {
namespace {

constexpr int64_t maxExtent = int64_t(1) << 32, maxStride = int64_t(1) << 40;

std::optional<int64_t> valueOf(const HostPolynomial &polynomial, llvm::ArrayRef<LaunchArg> args) {
  int64_t sum = 0;
  for (const HostPolynomial::Term &term : polynomial.terms) {
    int64_t product = term.coefficient;
    bool overflow = false;
    for (int arg : term.args)
      overflow |= llvm::MulOverflow(product, args[arg].integer, product);
    if (overflow || llvm::AddOverflow(sum, product, sum))
      return std::nullopt;
  }
  return sum;
}

/// CUtensorMapDataType.
int dataType(const std::string &element) {
  return llvm::StringSwitch<int>(element)
      .Case("f16", 6)
      .Case("f32", 7)
      .Case("f64", 8)
      .Case("bf16", 9)
      .Case("i32", 4)
      .Case("i16", 1)
      .Default(0); // 8 bits of any kind
}

/// CUtensorMapSwizzle.
int swizzleMode(int span) { return span == 128 ? 3 : span == 64 ? 2 : span == 32 ? 1 : 0; }

struct Geometry {
  llvm::SmallVector<uint64_t, 5> extents, strides;
  llvm::SmallVector<uint32_t, 5> box, steps;
};

std::optional<Geometry> geometryOf(const TensorMapRecipe &recipe, llvm::ArrayRef<LaunchArg> args) {
  Geometry geometry;
  for (const HostPolynomial &extent : recipe.extents) {
    auto value = valueOf(extent, args);
    if (!value || *value < 1 || *value > maxExtent)
      return std::nullopt;
    geometry.extents.push_back(*value);
  }
  for (const HostPolynomial &stride : recipe.strides) {
    auto value = valueOf(stride, args);
    if (!value || *value < 16 || *value >= maxStride || *value % 16 != 0)
      return std::nullopt;
    geometry.strides.push_back(*value);
  }
  for (int size : recipe.box) {
    geometry.box.push_back(size);
    geometry.steps.push_back(1);
  }
  return geometry;
}

bool encode(const Driver &driver, const TensorMapRecipe &recipe, llvm::ArrayRef<LaunchArg> args,
            EncodedTensorMap &map) {
  for (int arg : recipe.nonNegative)
    if (args[arg].integer < 0)
      return false;
  auto offset = valueOf(recipe.offset, args);
  auto geometry = geometryOf(recipe, args);
  if (!offset || !geometry)
    return false;
  const uint64_t base = args[recipe.base].pointer + *offset;
  if (base % 16 != 0)
    return false;
  constexpr int noInterleave = 0, promoteTo256Bytes = 3, zeroFill = 0;
  return driver.tensorMapEncodeTiled(&map, dataType(recipe.element), geometry->extents.size(), base,
                                     geometry->extents.data(), geometry->strides.data(),
                                     geometry->box.data(), geometry->steps.data(), noInterleave,
                                     swizzleMode(recipe.swizzle), promoteTo256Bytes, zeroFill) == 0;
}
} // namespace

std::optional<EncodedTensorMaps> encodeTensorMaps(const Driver &driver,
                                                  const std::vector<TensorMapRecipe> &recipes,
                                                  llvm::ArrayRef<LaunchArg> args) {
  EncodedTensorMaps maps(recipes.size());
  if (!driver.tensorMapEncodeTiled && !recipes.empty())
    return std::nullopt;
  for (size_t i = 0; i < recipes.size(); ++i)
    if (!encode(driver, recipes[i], args, maps[i]))
      return std::nullopt;
  return maps;
}

} // namespace pantile
