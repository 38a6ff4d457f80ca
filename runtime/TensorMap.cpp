//===- TensorMap.cpp - tensor maps made at launch -----------------------------------------===//
// Needs: see TensorMap.h.
// Gives: encodeTensorMaps.
// How:   what the driver documents of cuTensorMapEncodeTiled is checked here, so that its refusal
//        is only the last word: extents of 1 to 2^32, strides multiples of 16 below 2^40, an
//        aligned base. A product that leaves 64 bits counts as not fitting. Each thread keeps the
//        maps that it made, by the arguments that they came from and bounded, so that a launch over
//        the same tensors compares a few numbers and copies them.
//===--------------------------------------------------------------------------------------===//
#include "runtime/TensorMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <atomic>

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

/// A map that this thread made, and what it was made from.
struct KnownMap {
  const void *encoder = nullptr;
  uint64_t recipe = 0; ///< number of the plan and of the recipe in it; 0: nothing is known
  uint64_t base = 0;
  std::array<int64_t, MapPlan::mostInputs> values{};
  EncodedTensorMap map;
};

/// What a map of `plan` would be known by.
KnownMap valueOf(const Driver &driver, const MapPlan &plan, size_t number, uint64_t base,
                 llvm::ArrayRef<LaunchArg> args) {
  KnownMap value;
  value.encoder = reinterpret_cast<const void *>(driver.tensorMapEncodeTiled);
  value.recipe = plan.serial << 16 | number;
  value.base = base;
  const MapPlan::Inputs &inputs = plan.inputs[number];
  for (unsigned i = 0; i < inputs.count; ++i)
    value.values[i] = args[inputs.args[i]].integer;
  return value;
}

/// Where a thread keeps the map of this value, or that of another value which it replaces.
KnownMap &slotOf(const KnownMap &value) {
  constexpr size_t slotCount = 256;
  static thread_local std::array<KnownMap, slotCount> known;
  uint64_t hash = value.base >> 4 ^ value.recipe << 32;
  for (int64_t input : value.values)
    hash = (hash ^ uint64_t(input)) * 0x9e3779b97f4a7c15u;
  return known[hash >> 32 & (slotCount - 1)];
}

bool isSame(const KnownMap &a, const KnownMap &b) {
  return a.recipe == b.recipe && a.base == b.base && a.values == b.values && a.encoder == b.encoder;
}

/// Adds the arguments of a polynomial to those that a recipe reads.
void addInputs(MapPlan::Inputs &inputs, const HostPolynomial &polynomial) {
  for (const HostPolynomial::Term &term : polynomial.terms)
    for (int arg : term.args)
      inputs.add(arg);
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

bool encodeOrRecall(const Driver &driver, const TensorMapRecipe &recipe, const MapPlan &plan,
                    size_t number, llvm::ArrayRef<LaunchArg> args, EncodedTensorMap &map) {
  if (!plan.inputs[number].isComplete)
    return encode(driver, recipe, args, map);
  KnownMap value = valueOf(driver, plan, number, args[recipe.base].pointer, args);
  KnownMap &known = slotOf(value);
  if (!isSame(known, value)) {
    if (!encode(driver, recipe, args, value.map))
      return false;
    known = value;
  }
  map = known.map;
  return true;
}
} // namespace

void MapPlan::Inputs::add(int arg) {
  if (std::find(args.begin(), args.begin() + count, arg) != args.begin() + count)
    return;
  if (count == mostInputs)
    isComplete = false;
  else
    args[count++] = arg;
}

MapPlan::MapPlan(llvm::ArrayRef<TensorMapRecipe> recipes) {
  static std::atomic<uint64_t> plans = 0;
  serial = ++plans;
  for (const TensorMapRecipe &recipe : recipes) {
    Inputs &made = inputs.emplace_back();
    addInputs(made, recipe.offset);
    for (const HostPolynomial &extent : recipe.extents)
      addInputs(made, extent);
    for (const HostPolynomial &stride : recipe.strides)
      addInputs(made, stride);
    for (int arg : recipe.nonNegative)
      made.add(arg);
  }
}

bool encodeTensorMaps(const Driver &driver, llvm::ArrayRef<TensorMapRecipe> recipes,
                      const MapPlan &plan, llvm::ArrayRef<LaunchArg> args,
                      EncodedTensorMaps &maps) {
  if (recipes.empty())
    return true;
  if (!driver.tensorMapEncodeTiled)
    return false;
  maps.resize_for_overwrite(recipes.size());
  for (size_t i = 0; i < recipes.size(); ++i)
    if (!encodeOrRecall(driver, recipes[i], plan, i, args, maps[i]))
      return false;
  return true;
}

} // namespace pantile
