//===- TileSlice.cpp - see TileSlice.h ------------------------------------------------------===//
#include "layout/TileSlice.h"
#include "layout/F2.h"
#include "support/MachineModel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <bit>

namespace pantile {

namespace {
using Coord = LinearLayout::Coord;
using Bases = LinearLayout::Bases;

bool isPowerOfTwo(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

int64_t flattened(llvm::ArrayRef<int64_t> shape, const Coord &coord) {
  int64_t flat = 0;
  for (auto [extent, at] : llvm::zip_equal(shape, coord))
    flat = flat * extent + at;
  return flat;
}
} // namespace

//===- the slice ---------------------------------------------------------------------------===//

bool TileSlice::isLinear(int dim) const {
  return part[dim] == 1 || (isPowerOfTwo(strides[dim]) && (offsets[dim] & countedBits(dim)) == 0);
}

bool TileSlice::isLinear() const {
  return llvm::all_of(llvm::seq(rank()), [&](int dim) { return isLinear(dim); });
}

Coord TileSlice::toWhole(const Coord &inPart) const {
  Coord result;
  for (int dim = 0; dim < rank(); ++dim)
    result.push_back(static_cast<int32_t>(offsets[dim] + strides[dim] * inPart[dim]));
  return result;
}

std::optional<int64_t> TileSlice::toPart(int dim, int64_t inWhole) const {
  const int64_t distance = inWhole - offsets[dim];
  if (distance < 0 || distance % strides[dim] != 0 || distance / strides[dim] >= part[dim])
    return std::nullopt;
  return distance / strides[dim];
}

Coord TileSlice::embedded(const Coord &basis) const {
  Coord result;
  for (int dim = 0; dim < rank(); ++dim)
    result.push_back(isLinear(dim) ? static_cast<int32_t>(strides[dim] * basis[dim]) : 0);
  return result;
}

Bases TileSlice::embedded(const Bases &bases) const {
  Bases result;
  for (const Coord &basis : bases)
    result.push_back(embedded(basis));
  return result;
}

Coord TileSlice::projected(const Coord &basis) const {
  Coord result;
  for (int dim = 0; dim < rank(); ++dim)
    result.push_back(isLinear(dim) && part[dim] > 1
                         ? static_cast<int32_t>((basis[dim] & countedBits(dim)) / strides[dim])
                         : 0);
  return result;
}

bool TileSlice::addsInRegisters(const LinearLayout &layout) const {
  auto stays = [&](const Coord &basis) {
    return llvm::all_of(llvm::seq(rank()),
                        [&](int dim) { return isLinear(dim) || basis[dim] == 0; });
  };
  return llvm::all_of(layout.lane(), stays) && llvm::all_of(layout.warp(), stays);
}

LinearLayout TileSlice::partOf(const LinearLayout &layout) const {
  auto project = [&](const Bases &bases) {
    Bases result;
    for (const Coord &basis : bases)
      result.push_back(projected(basis));
    return result;
  };
  Bases reg;
  F2Span span;
  auto add = [&](const Coord &basis) {
    if (span.insert(flattened(part, basis)))
      reg.push_back(basis);
  };
  for (const Coord &basis : project(layout.reg()))
    add(basis);
  for (int dim = 0; dim < rank(); ++dim)
    for (int64_t step = 1; !isLinear(dim) && step < part[dim]; step *= 2) {
      Coord basis(rank(), 0);
      basis[dim] = static_cast<int32_t>(step);
      add(basis);
    }
  return LinearLayout(part, reg, project(layout.lane()), project(layout.warp()), layout.numWarps());
}

LinearLayout TileSlice::wholeOf(const LinearLayout &layout) const {
  Bases reg = embedded(layout.reg());
  for (int dim = rank() - 1; dim >= 0; --dim)
    for (int64_t step = 1; step < whole[dim]; step *= 2)
      if (part[dim] == 1 || (step & countedBits(dim)) == 0) {
        Coord basis(rank(), 0);
        basis[dim] = static_cast<int32_t>(step);
        reg.push_back(basis);
      }
  return LinearLayout(whole, reg, embedded(layout.lane()), embedded(layout.warp()),
                      layout.numWarps());
}

//===- taking a part -----------------------------------------------------------------------===//

namespace {
/// `registers` of SliceMoves: lanes and warps must have the same bases in both layouts.
std::optional<llvm::SmallVector<int, 16>> registersOf(const TileSlice &slice,
                                                      const LinearLayout &whole,
                                                      const LinearLayout &part,
                                                      const LinearLayout &asWhole) {
  if (asWhole.lane() != whole.lane() || asWhole.warp() != whole.warp() ||
      !slice.addsInRegisters(whole) || !slice.addsInRegisters(part))
    return std::nullopt;
  llvm::SmallVector<int, 16> result;
  for (int reg = 0; reg < part.numRegs(); ++reg) {
    const auto source = whole.registerOf(slice.toWhole(part.apply(reg, 0, 0)), 0, 0);
    if (!source)
      return std::nullopt;
    result.push_back(*source);
  }
  return result;
}

/// The register and the lane that hold the first element, where they are in the first warp.
std::optional<std::pair<int, int>> startOf(const TileSlice &slice, const LinearLayout &whole) {
  F2Span span;
  for (const Bases *bases : {&whole.reg(), &whole.lane()})
    for (const Coord &basis : *bases)
      span.insert(flattened(slice.whole, basis));
  const auto mask = span.express(flattened(slice.whole, slice.toWhole(Coord(slice.rank(), 0))));
  if (!mask)
    return std::nullopt;
  return std::pair(static_cast<int>(*mask) & (whole.numRegs() - 1),
                   static_cast<int>(*mask >> whole.reg().size()));
}

/// The same limits as in conversionKind; wide elements are shuffled as 32-bit words.
bool isCheap(const LinearLayout::ShufflePlan &plan, unsigned bits) {
  const MemoryThresholds &limits = MachineModel::reference().memory;
  const int64_t shuffles = int64_t(plan.numShuffles()) * std::max(1u, bits / 32);
  return shuffles <= limits.shuffles ||
         (plan.regChoices.size() == 1 && shuffles <= limits.shufflesInPlace);
}
} // namespace

SliceMoves SliceMoves::of(const TileSlice &slice, const LinearLayout &whole,
                          const LinearLayout &part, unsigned bits) {
  SliceMoves result;
  const LinearLayout asWhole(slice.whole, slice.embedded(part.reg()), slice.embedded(part.lane()),
                             slice.embedded(part.warp()), part.numWarps());
  result.registers = registersOf(slice, whole, part, asWhole);
  if (result.registers || !slice.isLinear())
    return result;
  const auto start = startOf(slice, whole);
  auto plan = whole.shufflePlan(asWhole);
  if (!start || !plan || !isCheap(*plan, bits))
    return result;
  std::tie(result.reg, result.lane) = *start;
  result.shuffles = std::move(plan);
  return result;
}

//===- through shared memory ---------------------------------------------------------------===//

namespace {
/// A basis that moves by one bit along one dimension, or by none.
bool isSingleBit(const Coord &basis) {
  int bits = 0;
  for (int32_t at : basis)
    bits += std::popcount(static_cast<uint32_t>(at));
  return bits <= 1;
}

/// The bits, of one kind, that decide whether an element is in the slice.
struct Deciders {
  unsigned mask = 0, value = 0;
  Bases counting; ///< of the bits that do not decide, in the part
};

Deciders decidersOf(const TileSlice &slice, const Bases &bases, unsigned replicas) {
  Deciders result;
  for (auto [i, basis] : llvm::enumerate(bases)) {
    const Coord inPart = slice.projected(basis);
    const bool isOuter = llvm::any_of(basis, [](int32_t at) { return at != 0; }) &&
                         llvm::all_of(inPart, [](int32_t at) { return at == 0; });
    result.counting.push_back(inPart);
    if (!isOuter && !(replicas >> i & 1))
      continue;
    result.mask |= 1u << i;
    bool isSet = false;
    for (auto [offset, at] : llvm::zip_equal(slice.offsets, basis))
      isSet |= (offset & at) != 0;
    if (isSet && !(replicas >> i & 1))
      result.value |= 1u << i;
  }
  return result;
}
} // namespace

std::optional<SliceStore> SliceStore::of(const TileSlice &slice, const LinearLayout &whole) {
  for (const Bases *bases : {&whole.reg(), &whole.lane(), &whole.warp()})
    if (!llvm::all_of(*bases, isSingleBit))
      return std::nullopt;
  if (!slice.isLinear())
    return std::nullopt;
  const LinearLayout::FreeBits free = whole.freeBits();
  const LinearLayout part = slice.partOf(whole);
  const Deciders regs = decidersOf(slice, whole.reg(), free.reg);
  const Deciders lanes = decidersOf(slice, whole.lane(), free.lane);
  const Deciders warps = decidersOf(slice, whole.warp(), free.warp);
  Bases counting;
  for (auto [i, basis] : llvm::enumerate(regs.counting))
    if (!(regs.mask >> i & 1))
      counting.push_back(basis);
  SliceStore result{LinearLayout(slice.part, counting, part.lane(), part.warp(), part.numWarps()),
                    {},
                    lanes.mask,
                    warps.mask,
                    lanes.value,
                    warps.value};
  for (int reg = 0; reg < whole.numRegs(); ++reg)
    if ((static_cast<unsigned>(reg) & regs.mask) == regs.value)
      result.registers.push_back(reg);
  return result;
}

//===- replacing a part --------------------------------------------------------------------===//

namespace {
/// The bits of a coordinate of the whole that decide whether it is in a linear slice.
Coord outerBits(const TileSlice &slice, const Coord &coord) {
  Coord result;
  for (int dim = 0; dim < slice.rank(); ++dim) {
    const int64_t counted = slice.part[dim] == 1 ? 0 : slice.countedBits(dim);
    result.push_back(slice.isLinear(dim) ? static_cast<int32_t>(coord[dim] & ~counted) : 0);
  }
  return result;
}

/// The element of the part at `coord`, as far as it depends on registers; nothing if it is outside
/// in all threads.
std::optional<Coord> sourceOf(const TileSlice &slice, const Coord &coord) {
  Coord result;
  for (int dim = 0; dim < slice.rank(); ++dim) {
    if (slice.isLinear(dim)) {
      const int64_t counted = slice.part[dim] == 1 ? 0 : slice.countedBits(dim);
      result.push_back(static_cast<int32_t>((coord[dim] & counted) / slice.strides[dim]));
      continue;
    }
    const auto at = slice.toPart(dim, coord[dim]);
    if (!at)
      return std::nullopt;
    result.push_back(static_cast<int32_t>(*at));
  }
  return result;
}
} // namespace

std::optional<SliceReplacement>
SliceReplacement::of(const TileSlice &slice, const LinearLayout &whole, const LinearLayout &part) {
  const LinearLayout wanted = slice.partOf(whole);
  if (part.lane() != wanted.lane() || part.warp() != wanted.warp() || !slice.addsInRegisters(whole))
    return std::nullopt;
  SliceReplacement result;
  auto outer = [&](const Coord &coord) { return flattened(slice.whole, outerBits(slice, coord)); };
  int64_t ofThreads = 0;
  for (auto [bases, bits] :
       {std::pair(&whole.lane(), &result.ofLane), std::pair(&whole.warp(), &result.ofWarp)})
    for (const Coord &basis : *bases) {
      bits->push_back(outer(basis));
      ofThreads |= bits->back();
    }
  Coord start;
  for (int64_t offset : slice.offsets)
    start.push_back(static_cast<int32_t>(offset));
  for (int reg = 0; reg < whole.numRegs(); ++reg) {
    SliceReplacement::Register &entry = result.registers.emplace_back();
    const Coord here = whole.apply(reg, 0, 0);
    entry.wanted = outer(here) ^ outer(start);
    const auto source = sourceOf(slice, here);
    if (!source || (entry.wanted & ~ofThreads) != 0)
      continue;
    const auto found = part.registerOf(*source, 0, 0);
    if (!found)
      return std::nullopt;
    entry.source = *found;
  }
  return result;
}

} // namespace pantile
