//===- TensorMap.cpp - tensor maps made at launch -----------------------------------------===//
// Needs: see TensorMap.h.
// Gives: encodeTensorMaps.
// How:   what the driver documents of cuTensorMapEncodeTiled is checked here, so that its refusal
//        is only the last word: extents of 1 to 2^32, strides multiples of 16 below 2^40, an
//        aligned base. A product that leaves 64 bits counts as not fitting. Each thread keeps the
//        maps that it made, by value and bounded, so that launches over the same tensors copy them.
//===--------------------------------------------------------------------------------------===//
#include "runtime/TensorMap.h"
#include "llvm/ADT/STLExtras.h"
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

/// All that a map is made from. Sizes of a box are at most 256.
struct MapValue {
  const void *encoder = nullptr;
  uint64_t base = 0, kind = 0, box = 0;
  std::array<uint64_t, 5> extents{};
  std::array<uint64_t, 4> strides{};
  bool operator==(const MapValue &) const = default;
};

MapValue valueOf(const Driver &driver, const TensorMapRecipe &recipe, const Geometry &geometry,
                 uint64_t base) {
  MapValue value;
  value.encoder = reinterpret_cast<const void *>(driver.tensorMapEncodeTiled);
  value.base = base;
  value.kind = geometry.extents.size() << 16 | dataType(recipe.element) << 8 | recipe.swizzle;
  for (uint32_t size : geometry.box)
    value.box = value.box << 12 | size;
  llvm::copy(geometry.extents, value.extents.begin());
  llvm::copy(geometry.strides, value.strides.begin());
  return value;
}

struct KnownMap {
  MapValue value;
  EncodedTensorMap map;
};

/// Where a thread keeps the map of this value, or that of another value which it replaces.
KnownMap &slotOf(const MapValue &value) {
  constexpr size_t slotCount = 256;
  static thread_local std::array<KnownMap, slotCount> known;
  uint64_t hash = value.base >> 4 ^ value.base >> 20;
  for (uint64_t extent : value.extents)
    hash = (hash ^ extent) * 0x9e3779b97f4a7c15u;
  hash = (hash ^ value.box ^ value.strides[0]) * 0x9e3779b97f4a7c15u;
  return known[hash >> 32 & (slotCount - 1)];
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
  const MapValue value = valueOf(driver, recipe, *geometry, base);
  KnownMap &known = slotOf(value);
  if (known.value != value) {
    constexpr int noInterleave = 0, promoteTo256Bytes = 3, zeroFill = 0;
    if (driver.tensorMapEncodeTiled(&known.map, dataType(recipe.element), geometry->extents.size(),
                                    base, geometry->extents.data(), geometry->strides.data(),
                                    geometry->box.data(), geometry->steps.data(), noInterleave,
                                    swizzleMode(recipe.swizzle), promoteTo256Bytes,
                                    zeroFill) != 0) {
      known.value = {};
      return false;
    }
    known.value = value;
  }
  map = known.map;
  return true;
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
