//===- TensorMap.cpp - tensor maps made at launch -----------------------------------------===//
// Needs: see TensorMap.h.
// Gives: valueOf, encodeTensorMaps.
// How:   the documented limits of cuTensorMapEncodeTiled are checked before it is called: extents of
//        1 to 2^32, strides multiples of 16 below 2^40, an aligned base. A polynomial that
//        overflows 64 bits does not fit. Each thread has a set-associative cache of its maps, by the
//        arguments that they depend on, so that a launch over the same tensors compares a few
//        numbers and copies the maps.
//===--------------------------------------------------------------------------------------===//
#include "runtime/TensorMap.h"
#include "support/MachineModel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <atomic>

namespace pantile {
namespace {

constexpr int64_t maxExtent = int64_t(1) << 32, maxStride = int64_t(1) << 40;

/// The values of a recipe's variables.
struct Launched {
  llvm::ArrayRef<uint64_t> slots;
  const Grid &grid;
  int64_t operator[](int arg) const {
    return arg < HostPolynomial::gridArg ? int64_t(slots[arg])
                                         : grid[arg - HostPolynomial::gridArg];
  }
};

std::optional<int64_t> valueOf(const HostPolynomial &polynomial, const Launched &launched) {
  int64_t sum = 0;
  for (const HostPolynomial::Term &term : polynomial.terms) {
    int64_t product = term.coefficient;
    bool overflow = false;
    for (HostPolynomial::Factor factor : term.factors)
      overflow |= llvm::MulOverflow(product, launched[factor.arg] / factor.divisor, product);
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
      .Case("tf32", 11) // copies of fp32 round
      .Case("i64", 5)
      .Case("i32", 3)
      .Case("i16", 1)
      .Default(0); // 8 bits of any kind
}

uint64_t bytesOf(const std::string &element) {
  return llvm::StringSwitch<uint64_t>(element)
      .Cases({"f16", "bf16", "i16"}, 2)
      .Cases({"f32", "tf32", "i32"}, 4)
      .Cases({"f64", "i64"}, 8)
      .Default(1);
}

/// CUtensorMapSwizzle.
int swizzleMode(int span) { return span == 128 ? 3 : span == 64 ? 2 : span == 32 ? 1 : 0; }

struct Geometry {
  llvm::SmallVector<uint64_t, 5> extents, strides;
  llvm::SmallVector<uint32_t, 5> box, steps;
};

std::optional<Geometry> geometryOf(const TensorMapRecipe &recipe, const Launched &launched) {
  Geometry geometry;
  for (const HostPolynomial &extent : recipe.extents) {
    auto value = valueOf(extent, launched);
    if (!value || *value < 1 || *value > maxExtent)
      return std::nullopt;
    geometry.extents.push_back(*value);
  }
  // Measured on an H200: a TMA store writes the last 16 bytes of a row as a whole.
  if (recipe.isWritten && geometry.extents[0] * bytesOf(recipe.element) % 16 != 0)
    return std::nullopt;
  for (const HostPolynomial &stride : recipe.strides) {
    auto value = valueOf(stride, launched);
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

/// CUtensorMapL2promotion: of a copy's reads to 256 bytes, or to 128 where rows do not begin at sectors of
/// L2. There reads of 256 bytes keep its tags busy: GEMM of rows of 8208 bytes gains 17 % by 128 on an H200.
int promotion(uint64_t base, const Geometry &geometry) {
  constexpr int to128Bytes = 2, to256Bytes = 3;
  uint64_t starts = base;
  for (uint64_t stride : geometry.strides)
    starts |= stride;
  return starts % InstructionSet::sectorBytes == 0 ? to256Bytes : to128Bytes;
}

/// What a map depends on.
struct MapKey {
  const void *encoder = nullptr;
  uint64_t recipe = 0; ///< number of the plan and of the recipe in it; 0: an empty entry
  uint64_t base = 0;
  std::array<uint64_t, MapPlan::mostInputs> values{};
  bool operator==(const MapKey &) const = default;
};

/// A set of a thread's cache: maps whose hashes select it.
struct MapSet {
  static constexpr unsigned ways = 8;
  std::array<uint32_t, ways> tags{}; ///< bits of the hashes, so that few keys are compared
  unsigned next = 0;                 ///< the way that is replaced next
  std::array<MapKey, ways> keys;
  std::array<EncodedTensorMap, ways> maps;
};

MapKey keyOf(const Driver &driver, const MapPlan &plan, size_t number, uint64_t base,
             const Launched &launched) {
  MapKey key;
  key.encoder = reinterpret_cast<const void *>(driver.tensorMapEncodeTiled);
  key.recipe = plan.serial << 16 | number;
  key.base = base;
  const MapPlan::Inputs &inputs = plan.inputs[number];
  for (unsigned i = 0; i < inputs.count; ++i)
    key.values[i] = launched[inputs.args[i]];
  return key;
}

uint64_t hashOf(const MapKey &key) {
  uint64_t hash = key.base >> 4 ^ key.recipe << 32;
  for (uint64_t input : key.values)
    hash = (hash ^ input) * 0x9e3779b97f4a7c15u;
  return hash;
}

MapSet &setOf(uint64_t hash) {
  constexpr size_t setCount = 32;
  static thread_local std::array<MapSet, setCount> sets;
  return sets[hash >> 59 & (setCount - 1)];
}

const EncodedTensorMap *find(const MapSet &set, const MapKey &key, uint32_t tag) {
  for (unsigned i = 0; i < MapSet::ways; ++i)
    if (set.tags[i] == tag && set.keys[i] == key)
      return &set.maps[i];
  return nullptr;
}

void remember(MapSet &set, const MapKey &key, uint32_t tag, const EncodedTensorMap &map) {
  const unsigned way = set.next++ % MapSet::ways;
  set.tags[way] = tag, set.keys[way] = key, set.maps[way] = map;
}

/// Adds the arguments that a polynomial reads to those of its recipe.
void addInputs(MapPlan::Inputs &inputs, const HostPolynomial &polynomial) {
  for (const HostPolynomial::Term &term : polynomial.terms)
    for (HostPolynomial::Factor factor : term.factors)
      inputs.add(factor.arg);
}

bool encode(const Driver &driver, const TensorMapRecipe &recipe, const Launched &launched,
            EncodedTensorMap &map) {
  for (int arg : recipe.nonNegative)
    if (launched[arg] < 0)
      return false;
  for (const HostPolynomial &condition : recipe.conditions)
    if (auto value = valueOf(condition, launched); !value || *value < 0)
      return false;
  for (const HostMultiple &multiple : recipe.multiples) {
    auto value = valueOf(multiple.value, launched);
    if (value && *value % multiple.of != 0 && recipe.mayBeEmpty)
      return map = EncodedTensorMap{}, true;
    if (!value || *value % multiple.of != 0)
      return false;
  }
  auto offset = valueOf(recipe.offset, launched);
  auto geometry = geometryOf(recipe, launched);
  if (!offset || !geometry)
    return false;
  const uint64_t base = launched.slots[recipe.base] + *offset;
  if (base % 16 != 0 || int64_t(base) < 0)
    return false;
  constexpr int noInterleave = 0, zeroFill = 0;
  return driver.tensorMapEncodeTiled(&map, dataType(recipe.element), geometry->extents.size(), base,
                                     geometry->extents.data(), geometry->strides.data(),
                                     geometry->box.data(), geometry->steps.data(), noInterleave,
                                     swizzleMode(recipe.swizzle), promotion(base, *geometry),
                                     zeroFill) == 0;
}

bool encodeOrRecall(const Driver &driver, const TensorMapRecipe &recipe, const MapPlan &plan,
                    size_t number, const Launched &launched, EncodedTensorMap &map) {
  if (!plan.inputs[number].isComplete)
    return encode(driver, recipe, launched, map);
  const MapKey key = keyOf(driver, plan, number, launched.slots[recipe.base], launched);
  const uint64_t hash = hashOf(key);
  const uint32_t tag = static_cast<uint32_t>(hash >> 20);
  MapSet &set = setOf(hash);
  if (const EncodedTensorMap *known = find(set, key, tag)) {
    map = *known;
    return true;
  }
  if (!encode(driver, recipe, launched, map))
    return false;
  remember(set, key, tag, map);
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
    for (const HostMultiple &multiple : recipe.multiples)
      addInputs(made, multiple.value);
    for (const HostPolynomial &condition : recipe.conditions)
      addInputs(made, condition);
  }
}

std::optional<int64_t> valueOf(const HostPolynomial &polynomial, llvm::ArrayRef<uint64_t> slots,
                               const Grid &grid) {
  return valueOf(polynomial, Launched{slots, grid});
}

bool encodeTensorMaps(const Driver &driver, llvm::ArrayRef<TensorMapRecipe> recipes,
                      const MapPlan &plan, llvm::ArrayRef<uint64_t> slots, const Grid &grid,
                      EncodedTensorMaps &maps) {
  if (recipes.empty())
    return true;
  if (!driver.tensorMapEncodeTiled)
    return false;
  maps.resize_for_overwrite(recipes.size());
  for (size_t i = 0; i < recipes.size(); ++i)
    if (!encodeOrRecall(driver, recipes[i], plan, i, {slots, grid}, maps[i]))
      return false;
  return true;
}

} // namespace pantile
