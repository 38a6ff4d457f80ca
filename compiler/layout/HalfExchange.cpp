//===- HalfExchange.cpp - see HalfExchange.h ------------------------------------------------===//
#include "layout/HalfExchange.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace pantile {
namespace {
using Bases = LinearLayout::Bases;

int indexOf(const Bases &bases, const LinearLayout::Coord &basis) {
  const auto found = llvm::find(bases, basis);
  return found == bases.end() ? -1 : static_cast<int>(found - bases.begin());
}

/// The only one of `bases` that is not among `others`; -1 if there is none, or more.
int onlyOutside(const Bases &bases, const Bases &others) {
  int result = -1;
  for (auto [i, basis] : llvm::enumerate(bases))
    if (indexOf(others, basis) < 0) {
      if (result >= 0)
        return -1;
      result = static_cast<int>(i);
    }
  return result;
}

/// Whether each thread of a warp has elements of its own in all registers. Other warps may have the
/// same ones: each converts what it has.
bool isOneToOne(const LinearLayout &layout) {
  const LinearLayout::FreeBits free = layout.freeBits();
  return layout.numPresentRegs() == layout.numRegs() && !layout.hasPartialRegs() &&
         (free.reg | free.lane) == 0;
}

/// The number of a register whose bits `places` are those of `number`.
int spread(llvm::ArrayRef<int> places, int number) {
  int result = 0;
  for (auto [i, place] : llvm::enumerate(places))
    result |= (number >> i & 1) << place;
  return result;
}

/// The bits of register numbers, of the same bases in both layouts: those of a half, the one of a
/// word's half, that of the word of two, then the others.
struct Places {
  llvm::SmallVector<int, 8> from, to;
};

/// Orders the bits of registers; nothing without a bit for the second word.
std::optional<Places> placesOf(const LinearLayout &from, const LinearLayout &to, int ofHalf,
                               int leaving, int arriving) {
  Places places;
  for (int bit = 0; bit < ofHalf; ++bit) {
    if (from.reg()[bit] != to.reg()[bit])
      return std::nullopt;
    places.from.push_back(bit);
    places.to.push_back(bit);
  }
  places.from.push_back(leaving);
  places.to.push_back(arriving);
  for (auto [i, basis] : llvm::enumerate(from.reg())) {
    const int bit = static_cast<int>(i);
    if (bit < ofHalf || bit == leaving)
      continue;
    places.from.push_back(bit);
    places.to.push_back(indexOf(to.reg(), basis));
  }
  return static_cast<int>(places.from.size()) > ofHalf + 1 ? std::optional(places) : std::nullopt;
}
} // namespace

std::optional<HalfExchange> halfExchange(const LinearLayout &from, const LinearLayout &to,
                                         unsigned bits) {
  const bool sameThreads = from.warp() == to.warp() && from.numWarps() == to.numWarps() &&
                           from.lane().size() == to.lane().size() &&
                           from.reg().size() == to.reg().size();
  if (bits > 16 || !sameThreads || !isOneToOne(from) || !isOneToOne(to))
    return std::nullopt;
  const int ofHalf = llvm::Log2_32(16 / bits);
  const int leaving = onlyOutside(from.reg(), to.reg()),
            arriving = onlyOutside(to.reg(), from.reg());
  if (leaving < ofHalf || arriving < ofHalf)
    return std::nullopt;
  HalfExchange result;
  result.sendingHalf = indexOf(from.lane(), to.reg()[arriving]);
  result.takingHalf = indexOf(to.lane(), from.reg()[leaving]);
  const auto places = placesOf(from, to, ofHalf, leaving, arriving);
  if (result.sendingHalf < 0 || result.takingHalf < 0 || !places)
    return std::nullopt;
  for (auto [i, basis] : llvm::enumerate(from.lane())) {
    const bool isHalf = static_cast<int>(i) == result.sendingHalf;
    result.laneBits.push_back(isHalf ? result.takingHalf : indexOf(to.lane(), basis));
    if (result.laneBits.back() < 0)
      return std::nullopt;
  }
  const int perPair = 4 << ofHalf;
  for (int first = 0; first < from.numRegs(); first += perPair) {
    HalfExchange::Words &words = result.words.emplace_back();
    for (int i = first; i < first + perPair; ++i) {
      words.from.push_back(spread(places->from, i));
      words.to.push_back(spread(places->to, i));
    }
  }
  return result;
}

} // namespace pantile
