//===- LinearLayout.cpp - construction, shape changes and look-ups -----------------===//
// Needs: bases inside the hull of the shape.
// Gives: all members of LinearLayout but conversions (LayoutConversion.cpp) and the named
//        constructors (LayoutFragments.cpp).
// How:   Shape changes rewrite every basis and then drop duplicate registers. Look-ups are linear
//        systems over flattened bases, registers first, so that a replica is used only if nothing
//        else fits.
//===-------------------------------------------------------------------------------===//
#include "layout/LinearLayout.h"

#include "layout/AbsentWarps.h"
#include "layout/F2.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>

namespace pantile {

namespace {
using Coord = LinearLayout::Coord;
using Bases = LinearLayout::Bases;

template <typename Fn> Bases mapBases(const Bases &bases, Fn fn) {
  Bases result;
  for (const Coord &basis : bases)
    result.push_back(fn(basis));
  return result;
}

int64_t volume(llvm::ArrayRef<int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

bool isPowerOf2(int64_t extent) { return std::has_single_bit(static_cast<uint64_t>(extent)); }

/// All extents but the first that is not 1 are powers of two.
bool isOuterOnly(llvm::ArrayRef<int64_t> shape) {
  bool isOuter = true;
  for (int64_t extent : shape) {
    if (!isOuter && !isPowerOf2(extent))
      return false;
    isOuter &= extent == 1;
  }
  return true;
}

/// Adds the bits of all `bases` to `bits`.
void addBits(Coord &bits, llvm::ArrayRef<Coord> bases) {
  for (const Coord &basis : bases)
    for (auto [all, b] : llvm::zip(bits, basis))
      all |= b;
}

/// Positions of `mask` below `count`, moved down to bit 0 after dropping the first `skip`.
unsigned bitsFrom(uint64_t mask, size_t skip, size_t count) {
  return static_cast<unsigned>((mask >> skip) & ((uint64_t(1) << count) - 1));
}
} // namespace

LinearLayout::LinearLayout(Shape shape, Bases reg, Bases lane, Bases warp, int warps)
    : extents(std::move(shape)), regBases(std::move(reg)), laneBases(std::move(lane)),
      warpBases(std::move(warp)), warps(warps ? warps : warpHull()) {}

LinearLayout::Shape LinearLayout::hull() const {
  Shape result;
  for (int64_t extent : extents)
    result.push_back(hullOf(extent));
  return result;
}

int64_t LinearLayout::flatten(llvm::ArrayRef<int32_t> coord) const {
  assert(coord.size() == extents.size());
  int64_t flat = 0;
  for (auto [extent, c] : llvm::zip(extents, coord))
    flat = flat * hullOf(extent) + c;
  return flat;
}

Coord LinearLayout::unflatten(int64_t flat) const {
  Coord coord(extents.size());
  for (int d = rank() - 1; d >= 0; --d) {
    coord[d] = static_cast<int32_t>(flat % hullOf(extents[d]));
    flat /= hullOf(extents[d]);
  }
  return coord;
}

Coord LinearLayout::apply(int reg, int lane, int warp) const {
  Coord coord(extents.size(), 0);
  auto add = [&](const Bases &bases, int bits) {
    for (auto [i, basis] : llvm::enumerate(bases))
      if (bits >> i & 1)
        for (auto [c, b] : llvm::zip(coord, basis))
          c ^= b;
  };
  add(regBases, reg);
  add(laneBases, lane);
  add(warpBases, warp);
  return coord;
}

int64_t LinearLayout::applyFlat(int reg, int lane, int warp) const {
  return flatten(apply(reg, lane, warp));
}

LinearLayout LinearLayout::removeDim(int dim) const {
  Shape shape = extents;
  shape.erase(shape.begin() + dim);
  auto drop = [&](Coord basis) {
    basis.erase(basis.begin() + dim);
    return basis;
  };
  return LinearLayout(shape, mapBases(regBases, drop), mapBases(laneBases, drop),
                      mapBases(warpBases, drop), warps)
      .withoutRedundantRegs();
}

LinearLayout LinearLayout::expandDims(int dim) const {
  Shape shape = extents;
  shape.insert(shape.begin() + dim, 1);
  auto grow = [&](Coord basis) {
    basis.insert(basis.begin() + dim, 0);
    return basis;
  };
  return LinearLayout(shape, mapBases(regBases, grow), mapBases(laneBases, grow),
                      mapBases(warpBases, grow), warps);
}

LinearLayout LinearLayout::broadcastTo(llvm::ArrayRef<int64_t> shape) const {
  assert(shape.size() == extents.size());
  LinearLayout result = *this;
  for (int d = rank() - 1; d >= 0; --d) {
    assert(extents[d] == shape[d] || extents[d] == 1);
    for (int64_t step = extents[d]; step < shape[d]; step *= 2) {
      Coord basis(extents.size(), 0);
      basis[d] = static_cast<int32_t>(step);
      result.regBases.push_back(basis);
    }
    result.extents[d] = shape[d];
  }
  return result;
}

LinearLayout LinearLayout::transpose(llvm::ArrayRef<int> perm) const {
  Shape shape;
  for (int d : perm)
    shape.push_back(extents[d]);
  auto permute = [&](const Coord &basis) {
    Coord result;
    for (int d : perm)
      result.push_back(basis[d]);
    return result;
  };
  return LinearLayout(shape, mapBases(regBases, permute), mapBases(laneBases, permute),
                      mapBases(warpBases, permute), warps);
}

LinearLayout LinearLayout::withWarps(int64_t count) const {
  assert(count >= warps && (warps == warpHull() || count == warps));
  LinearLayout result = *this;
  while (result.warpHull() < count)
    result.warpBases.push_back(Coord(extents.size(), 0));
  result.warps = static_cast<int>(count);
  return result;
}

LinearLayout LinearLayout::reshape(llvm::ArrayRef<int64_t> shape) const {
  assert(reshapesInPlace(extents, shape));
  LinearLayout result(Shape(shape), {}, {}, {}, warps);
  auto recut = [&](const Coord &basis) { return result.unflatten(flatten(basis)); };
  result.regBases = mapBases(regBases, recut);
  result.laneBases = mapBases(laneBases, recut);
  result.warpBases = mapBases(warpBases, recut);
  return result;
}

bool LinearLayout::reshapesInPlace(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to) {
  if (volume(from) != volume(to))
    return false;
  while (!from.empty() || !to.empty()) {
    // The next group: as few dimensions as have one number of elements on both sides.
    size_t left = 0, right = 0;
    int64_t ofLeft = 1, ofRight = 1;
    do {
      const bool takesLeft = right == to.size() || (left < from.size() && ofLeft <= ofRight);
      (takesLeft ? ofLeft : ofRight) *= takesLeft ? from[left++] : to[right++];
    } while (ofLeft != ofRight);
    if (!isOuterOnly(from.take_front(left)) || !isOuterOnly(to.take_front(right)))
      return false;
    from = from.drop_front(left);
    to = to.drop_front(right);
  }
  return true;
}

LinearLayout LinearLayout::appendPairDim() const {
  LinearLayout result = expandDims(rank());
  result.extents.back() = 2;
  Coord pair(result.extents.size(), 0);
  pair.back() = 1;
  result.regBases.insert(result.regBases.begin(), pair);
  return result;
}

LinearLayout LinearLayout::withoutRedundantRegs() const {
  LinearLayout result = *this;
  result.regBases.clear();
  F2Span span;
  for (const Coord &basis : regBases)
    if (span.insert(flatten(basis)))
      result.regBases.push_back(basis);
  return result;
}

bool LinearLayout::coversShape() const {
  F2Span span;
  for (const Bases *bases : {&regBases, &laneBases, &warpBases})
    for (const Coord &basis : *bases) {
      for (auto [extent, b] : llvm::zip(extents, basis))
        if (b < 0 || b >= hullOf(extent))
          return false;
      span.insert(flatten(basis));
    }
  if (span.rank() != std::countr_zero(static_cast<uint64_t>(volume(hull()))))
    return false;
  return ownersExist(*this);
}

bool LinearLayout::fillsHull() const { return llvm::all_of(extents, isPowerOf2); }

llvm::SmallVector<LinearLayout::WarpBlock, 2> LinearLayout::warpBlocks() const {
  llvm::SmallVector<WarpBlock, 2> blocks;
  for (int first = 0; first < warps;) {
    const unsigned size = std::bit_floor(static_cast<unsigned>(warps - first));
    WarpBlock block{apply(0, 0, first), Coord(extents.size(), 0)};
    addBits(block.bits, laneBases);
    addBits(block.bits, llvm::ArrayRef(warpBases).take_front(std::countr_zero(size)));
    blocks.push_back(block);
    first += static_cast<int>(size);
  }
  return blocks;
}

bool LinearLayout::isPresent(int reg) const {
  if (fillsHull())
    return true;
  const Coord own = apply(reg, 0, 0);
  return llvm::any_of(warpBlocks(), [&](const WarpBlock &block) {
    for (auto [extent, c, start, bits] : llvm::zip(extents, own, block.start, block.bits))
      if (((c ^ start) & ~bits) >= extent)
        return false;
    return true;
  });
}

bool LinearLayout::isAnyPresent(int first, int count) const {
  for (int reg = first; reg < first + count; ++reg)
    if (isPresent(reg))
      return true;
  return false;
}

bool LinearLayout::isPartial(int reg) const {
  if (fillsHull())
    return false;
  const Coord own = apply(reg, 0, 0);
  return llvm::any_of(warpBlocks(), [&](const WarpBlock &block) {
    for (auto [extent, c, start, bits] : llvm::zip(extents, own, block.start, block.bits))
      if (((c ^ start) | bits) >= extent)
        return true;
    return false;
  });
}

bool LinearLayout::hasPartialRegs() const {
  for (int reg = 0; !fillsHull() && reg < numRegs(); ++reg)
    if (isPresent(reg) && isPartial(reg))
      return true;
  return false;
}

int LinearLayout::numPresentRegs() const {
  int count = 0;
  for (int reg = 0; reg < numRegs(); ++reg)
    count += isPresent(reg);
  return count;
}

LinearLayout::Shape LinearLayout::reach() const {
  Shape result = extents;
  const auto blocks = warpBlocks();
  for (int reg = 0; !fillsHull() && reg < numRegs(); ++reg)
    if (isPresent(reg))
      for (const WarpBlock &block : blocks)
        for (auto [most, c, start, b] :
             llvm::zip(result, apply(reg, 0, 0), block.start, block.bits))
          most = std::max<int64_t>(most, ((c ^ start) | b) + 1);
  return result;
}

LinearLayout::FreeBits LinearLayout::freeBits() const {
  F2Span span;
  for (const Bases *bases : {&regBases, &laneBases, &warpBases})
    for (const Coord &basis : *bases)
      span.insert(flatten(basis));
  const uint64_t mask = span.dependentMask();
  const size_t regs = regBases.size(), lanes = laneBases.size();
  return {bitsFrom(mask, 0, regs), bitsFrom(mask, regs, lanes),
          bitsFrom(mask, regs + lanes, warpBases.size())};
}

LinearLayout::Owner LinearLayout::ownerOf(llvm::ArrayRef<int32_t> coord) const {
  F2Span span;
  for (const Bases *bases : {&regBases, &laneBases, &warpBases})
    for (const Coord &basis : *bases)
      span.insert(flatten(basis));
  const auto mask = span.express(flatten(coord));
  assert(mask && "the layout covers its shape");
  const size_t regs = regBases.size(), lanes = laneBases.size();
  return {int(bitsFrom(*mask, 0, regs)), int(bitsFrom(*mask, regs, lanes)),
          int(bitsFrom(*mask, regs + lanes, warpBases.size()))};
}

std::optional<int> LinearLayout::registerOf(llvm::ArrayRef<int32_t> coord, int lane,
                                            int warp) const {
  F2Span span;
  for (const Coord &basis : regBases)
    span.insert(flatten(basis));
  const auto mask = span.express(flatten(coord) ^ applyFlat(0, lane, warp));
  return mask ? std::optional(static_cast<int>(*mask)) : std::nullopt;
}

LinearLayout LinearLayout::regsAlong(int dim) const {
  auto step = [&](const Coord &basis) -> int32_t {
    const int along = llvm::count_if(basis, [](int32_t part) { return part != 0; });
    return along == 1 ? basis[dim] : 0;
  };
  Bases sorted = regBases;
  llvm::stable_sort(sorted, [&](const Coord &a, const Coord &b) {
    return step(a) && (!step(b) || step(a) < step(b));
  });
  return LinearLayout(extents, sorted, laneBases, warpBases, warps);
}

int LinearLayout::contiguousRegs(int dim) const {
  int width = 1;
  for (const Coord &basis : regBases) {
    Coord next(extents.size(), 0);
    next[dim] = width;
    if (basis != next || extents[dim] % (2 * width) != 0)
      break;
    width *= 2;
  }
  return width;
}

int LinearLayout::fastestDim() const {
  for (const Bases *bases : {&regBases, &laneBases, &warpBases})
    for (const Coord &basis : *bases)
      for (auto [d, b] : llvm::enumerate(basis))
        if (b == 1)
          return static_cast<int>(d);
  return rank() - 1;
}

std::string LinearLayout::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto list = [&](auto &&values) {
    os << '[';
    llvm::interleave(values, os, [&](auto v) { os << v; }, ",");
    os << ']';
  };
  auto bases = [&](const char *name, const Bases &all) {
    os << ' ' << name << "=[";
    llvm::interleave(all, os, [&](const Coord &basis) { list(basis); }, ",");
    os << ']';
  };
  os << "shape=";
  list(extents);
  bases("reg", regBases);
  bases("lane", laneBases);
  bases("warp", warpBases);
  if (warps != warpHull())
    os << " warps=" << warps;
  return text;
}

bool LinearLayout::operator==(const LinearLayout &other) const {
  return extents == other.extents && regBases == other.regBases && laneBases == other.laneBases &&
         warpBases == other.warpBases && warps == other.warps;
}

llvm::hash_code hash_value(const LinearLayout &layout) {
  llvm::hash_code code = llvm::hash_combine(llvm::hash_combine_range(layout.extents), layout.warps);
  for (const Bases *bases : {&layout.regBases, &layout.laneBases, &layout.warpBases}) {
    code = llvm::hash_combine(code, bases->size());
    for (const Coord &basis : *bases)
      code = llvm::hash_combine(code, llvm::hash_combine_range(basis));
  }
  return code;
}

} // namespace pantile
