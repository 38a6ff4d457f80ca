//===- LinearLayout.cpp - construction, shape changes and look-ups ------------===//
// Needs: bases inside the shape, extents that are powers of two.
// Gives: everything of LinearLayout but conversions (LayoutConversion.cpp) and the named
//        constructors (LayoutFragments.cpp).
// How:   shape changes rewrite every basis and then drop duplicate registers; look-ups are linear
//        systems over flattened bases, registers first, so that a replica is the last resort.
//===--------------------------------------------------------------------------===//
#include "layout/LinearLayout.h"

#include "layout/F2.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

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

/// Positions of `mask` below `count`, moved down to bit 0 after dropping the first `skip`.
unsigned bitsFrom(uint64_t mask, size_t skip, size_t count) {
  return static_cast<unsigned>((mask >> skip) & ((uint64_t(1) << count) - 1));
}
} // namespace

LinearLayout::LinearLayout(Shape shape, Bases reg, Bases lane, Bases warp)
    : extents(std::move(shape)), regBases(std::move(reg)), laneBases(std::move(lane)),
      warpBases(std::move(warp)) {
  for ([[maybe_unused]] int64_t extent : extents)
    assert(std::has_single_bit(static_cast<uint64_t>(extent)) && "extents are powers of two");
}

int64_t LinearLayout::flatten(llvm::ArrayRef<int32_t> coord) const {
  assert(coord.size() == extents.size());
  int64_t flat = 0;
  for (auto [extent, c] : llvm::zip(extents, coord))
    flat = flat * extent + c;
  return flat;
}

Coord LinearLayout::unflatten(int64_t flat) const {
  Coord coord(extents.size());
  for (int d = rank() - 1; d >= 0; --d) {
    coord[d] = static_cast<int32_t>(flat % extents[d]);
    flat /= extents[d];
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
                      mapBases(warpBases, drop))
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
                      mapBases(warpBases, grow));
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
                      mapBases(warpBases, permute));
}

LinearLayout LinearLayout::reshape(llvm::ArrayRef<int64_t> shape) const {
  assert(volume(shape) == volume(extents));
  LinearLayout result(Shape(shape), {}, {}, {});
  auto recut = [&](const Coord &basis) { return result.unflatten(flatten(basis)); };
  result.regBases = mapBases(regBases, recut);
  result.laneBases = mapBases(laneBases, recut);
  result.warpBases = mapBases(warpBases, recut);
  return result;
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
        if (b < 0 || b >= extent)
          return false;
      span.insert(flatten(basis));
    }
  return span.rank() == std::countr_zero(static_cast<uint64_t>(volume(extents)));
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

int LinearLayout::contiguousRegs(int dim) const {
  int width = 1;
  for (const Coord &basis : regBases) {
    Coord next(extents.size(), 0);
    next[dim] = width;
    if (basis != next)
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
  return text;
}

bool LinearLayout::operator==(const LinearLayout &other) const {
  return extents == other.extents && regBases == other.regBases && laneBases == other.laneBases &&
         warpBases == other.warpBases;
}

llvm::hash_code hash_value(const LinearLayout &layout) {
  llvm::hash_code code = llvm::hash_combine_range(layout.extents);
  for (const Bases *bases : {&layout.regBases, &layout.laneBases, &layout.warpBases}) {
    code = llvm::hash_combine(code, bases->size());
    for (const Coord &basis : *bases)
      code = llvm::hash_combine(code, llvm::hash_combine_range(basis));
  }
  return code;
}

} // namespace pantile
