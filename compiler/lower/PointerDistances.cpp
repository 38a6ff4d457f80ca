//===- PointerDistances.cpp - pointers of a thread that constants keep apart ----------------===//
#include "lower/PointerDistances.h"
#include <map>

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
/// Sums of a few of these stay far from overflow.
constexpr int64_t farthest = 1 << 30;

/// Of each dimension: the bytes from one index to the next, where they are constant.
std::vector<std::optional<int64_t>> constantStrides(Value pointers) {
  auto form = AffineAnalysis().tile(pointers);
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

/// Each register's distance from the one without the bits that move it by constants.
std::vector<PointerDistance> distancesFromFirst(Value pointers, const LinearLayout &layout) {
  const auto strides = constantStrides(pointers);
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
} // namespace

std::vector<PointerDistance> lower::pointerDistances(Value pointers, const LinearLayout &layout,
                                                     int width, int64_t reach) {
  const std::vector<PointerDistance> fromFirst = distancesFromFirst(pointers, layout);
  auto windowOf = [&](int reg) {
    return std::pair(fromFirst[reg].reg, fromFirst[reg].bytes & ~(2 * reach - 1));
  };
  auto fromMiddle = [&](int reg) {
    return std::abs(fromFirst[reg].bytes - windowOf(reg).second - reach);
  };
  // The register nearest to the middle of each window serves the whole of it.
  std::map<std::pair<int, int64_t>, int> leaders;
  for (int reg = 0; reg < layout.numRegs(); reg += width) {
    auto [leader, isNew] = leaders.try_emplace(windowOf(reg), reg);
    if (fromMiddle(reg) < fromMiddle(leader->second))
      leader->second = reg;
  }
  std::vector<PointerDistance> distances;
  for (int reg = 0; reg < layout.numRegs(); reg += width) {
    const int leader = leaders.at(windowOf(reg));
    distances.push_back({leader, fromFirst[reg].bytes - fromFirst[leader].bytes});
  }
  return distances;
}
