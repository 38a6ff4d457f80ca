//===- PointerDistances.cpp - pointers of a thread that differ by constants -----------------===//
#include "lower/PointerDistances.h"
#include "ir/FindOps.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
/// Sums of a few of these stay far from overflow.
constexpr int64_t farthest = 1 << 30;

/// Which neighbours of an accessed element along a dimension are accessed, too.
enum class Accessed { All, Before, Unknown };

/// For each dimension, from `mask`.
std::vector<Accessed> accessedAlong(AffineAnalysis &affine, Value mask, size_t rank) {
  std::vector<Accessed> along(rank, Accessed::All);
  for (Value condition : mask ? conjuncts(mask) : SmallVector<Value>()) {
    if (condition.getDefiningOp<SplatOp>())
      continue;
    auto bounds = affine.bounds(condition);
    if (!bounds)
      return std::vector(rank, Accessed::Unknown);
    for (const AffineBound &bound : *bounds)
      for (auto [d, coefficient] : llvm::enumerate(bound.coefficients))
        if (!coefficient.isZero())
          along[d] = std::max(along[d], !bound.isLower && coefficient.constant().value_or(0) > 0
                                            ? Accessed::Before
                                            : Accessed::Unknown);
  }
  return along;
}

/// For each dimension: the bytes from one index to the next, if constant.
std::vector<std::optional<int64_t>> constantStrides(AffineAnalysis &affine, Value pointers) {
  auto form = affine.tile(pointers);
  if (!form || form->wrappedDim >= 0)
    return {};
  const Type pointee = cast<PtrType>(elementTypeOf(pointers.getType())).getPointee();
  std::vector<std::optional<int64_t>> strides;
  for (const Polynomial &coefficient : form->coefficients) {
    strides.push_back(coefficient.constant());
    if (strides.back() && std::abs(*strides.back()) < farthest)
      *strides.back() *= storageBits(pointee) / 8;
    else
      strides.back().reset();
  }
  return strides;
}

/// The bits of each coordinate that depend on lane or warp.
LinearLayout::Coord threadBits(const LinearLayout &layout) {
  LinearLayout::Coord bits(layout.rank(), 0);
  for (const auto *bases : {&layout.lane(), &layout.warp()})
    for (const LinearLayout::Coord &basis : *bases)
      for (int dim = 0; dim < layout.rank(); ++dim)
        bits[dim] |= basis[dim];
  return bits;
}

/// The distance of each register from the one whose register bits of constant stride are clear.
std::vector<PointerDistance> distancesFromFirst(const std::vector<std::optional<int64_t>> &strides,
                                                const LinearLayout &layout) {
  LinearLayout::Coord taken = threadBits(layout);
  int constant = 0;
  std::vector<int64_t> ofBit(layout.reg().size(), 0);
  for (auto [bit, basis] : llvm::enumerate(layout.reg())) {
    bool isConstant = !strides.empty();
    for (int dim = 0; dim < layout.rank(); ++dim) {
      isConstant = isConstant && (basis[dim] == 0 || (strides[dim] && !(basis[dim] & taken[dim])));
      taken[dim] |= basis[dim];
      if (isConstant && basis[dim])
        ofBit[bit] += basis[dim] * *strides[dim];
    }
    if (isConstant && std::abs(ofBit[bit]) < farthest)
      constant |= 1 << bit;
  }
  std::vector<PointerDistance> result;
  for (int reg = 0; reg < layout.numRegs(); ++reg) {
    PointerDistance distance{reg & ~constant, 0};
    for (size_t bit = 0; bit < ofBit.size(); ++bit)
      if (reg & constant & 1 << bit)
        distance.bytes += ofBit[bit];
    result.push_back(distance);
  }
  return result;
}
/// Makes the register nearest to the middle of each window the base of the whole window.
std::vector<PointerDistance> fromMiddle(ArrayRef<PointerDistance> fromFirst, int width,
                                        int64_t reach) {
  auto windowOf = [&](int reg) {
    return std::pair(fromFirst[reg].reg, fromFirst[reg].bytes & ~(2 * reach - 1));
  };
  auto offMiddle = [&](int reg) {
    return std::abs(fromFirst[reg].bytes - windowOf(reg).second - reach);
  };
  const int count = static_cast<int>(fromFirst.size());
  std::map<std::pair<int, int64_t>, int> leaders;
  for (int reg = 0; reg < count; reg += width) {
    auto [leader, isNew] = leaders.try_emplace(windowOf(reg), reg);
    if (offMiddle(reg) < offMiddle(leader->second))
      leader->second = reg;
  }
  std::vector<PointerDistance> distances;
  for (int reg = 0; reg < count; reg += width) {
    const int leader = leaders.at(windowOf(reg));
    distances.push_back({leader, fromFirst[reg].bytes - fromFirst[leader].bytes});
  }
  return distances;
}

/// Makes the first register of a window the base of those that follow it along every dimension; the
/// base is shifted to the middle if the window is longer than `reach`.
std::vector<PointerDistance> fromStart(ArrayRef<PointerDistance> fromFirst, int width,
                                       int64_t reach) {
  std::vector<PointerDistance> distances;
  std::map<int, int64_t> lengths; // of windows, by their first register
  for (int reg = 0; reg < static_cast<int>(fromFirst.size()); reg += width) {
    auto distanceFrom = [&](int leader) { return fromFirst[reg].bytes - fromFirst[leader].bytes; };
    auto found = llvm::find_if(lengths, [&](auto &window) {
      const int leader = window.first;
      return fromFirst[leader].reg == fromFirst[reg].reg && (leader & ~reg) == 0 &&
             distanceFrom(leader) >= 0 && distanceFrom(leader) < 2 * reach;
    });
    const int leader = found == lengths.end() ? reg : found->first;
    lengths[leader] = std::max(lengths[leader], distanceFrom(leader));
    distances.push_back({leader, distanceFrom(leader)});
  }
  for (PointerDistance &distance : distances)
    if (lengths[distance.reg] >= reach)
      distance.shift = reach, distance.bytes -= reach;
  return distances;
}
} // namespace

std::vector<PointerDistance> lower::pointerDistances(Value pointers, Value mask,
                                                     const LinearLayout &layout, int width,
                                                     int64_t reach) {
  if (!layout.fillsHull()) { // an absent register has no pointer to start from
    std::vector<PointerDistance> own;
    for (int reg = 0; reg < layout.numRegs(); reg += width)
      own.push_back({reg, 0});
    return own;
  }
  AffineAnalysis affine;
  auto strides = constantStrides(affine, pointers);
  const std::vector<Accessed> accessed = accessedAlong(affine, mask, layout.rank());
  for (auto [stride, along] : llvm::zip(strides, accessed))
    if (along == Accessed::Unknown)
      stride.reset();
  const std::vector<PointerDistance> fromFirst = distancesFromFirst(strides, layout);
  auto ofAccesses = llvm::drop_begin(layout.reg(), llvm::Log2_32(width));
  const bool isCut = llvm::any_of(ofAccesses, [&](const LinearLayout::Coord &basis) {
    return llvm::any_of(llvm::zip(basis, accessed), [](auto step) {
      return std::get<0>(step) != 0 && std::get<1>(step) == Accessed::Before;
    });
  });
  return isCut ? fromStart(fromFirst, width, reach) : fromMiddle(fromFirst, width, reach);
}

llvm::Value *Address::computed(Lowering &l) const {
  return l.b.CreateConstGEP1_64(l.b.getInt8Ty(), pointer, bytes);
}

std::string Address::operand(int place) const {
  return "[$" + std::to_string(place) + (bytes ? "+" + std::to_string(bytes) : "") + "]";
}

llvm::SmallVector<Address> lower::sharedAddresses(Lowering &l, Value pointers, Value mask,
                                                  int width, int64_t reach) {
  ValueList ptrs = l.get(pointers);
  const auto distances =
      pointerDistances(pointers, mask, l.layout(pointers.getType()), width, reach);
  return llvm::map_to_vector(distances, [&](const PointerDistance &distance) {
    return Address{Address{ptrs[distance.reg], distance.shift}.computed(l), distance.bytes};
  });
}
