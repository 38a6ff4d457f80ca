//===- SharedLayout.cpp - offsets, vector width and bank conflicts ------------===//
// Needs: SharedLayout.h.
// Gives: its members.
// How:   linearOffset() is the definition; both queries about accesses apply it to the elements
//        that one warp touches at once.
//===--------------------------------------------------------------------------===//
#include "layout/SharedLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <set>

namespace pantile {

SharedLayout::SharedLayout(llvm::ArrayRef<int64_t> shape, int elementBits,
                           llvm::ArrayRef<int> order, int swizzle, int padding)
    : extents(shape), dims(order), bits(elementBits), span(swizzle), pad(padding), numRows(1) {
  assert(order.size() == shape.size());
  assert((swizzle == 0 || padding == 0) && "padding would shift the swizzle's rows");
  const int64_t row = shape[order[0]] * elementBits / 8,
                whole =
                    std::max<int64_t>(LinearLayout::hullOf(shape[order[0]]) * elementBits / 8, 1);
  assert((swizzle == 0 || (swizzle <= row && row % swizzle == 0)) && "spans fill a row");
  panelRow = swizzle == 0 ? whole : swizzle;
  for (int d : order.drop_front())
    numRows *= d == order.back() ? shape[d] : LinearLayout::hullOf(shape[d]);
  if (!llvm::isPowerOf2_64(numRows)) // another buffer may follow, which starts with a pattern
    numRows = llvm::alignTo(numRows, 8);
}

SharedLayout SharedLayout::forOperand(llvm::ArrayRef<int64_t> shape, int elementBits,
                                      llvm::ArrayRef<int> order) {
  const int64_t row = shape[order[0]] * elementBits / 8;
  int span = 128;
  while (span > row || (span >= 32 && row % span != 0))
    span /= 2;
  return SharedLayout(shape, elementBits, order, span < 32 ? 0 : span);
}

SharedLayout SharedLayout::scratch(llvm::ArrayRef<int64_t> shape, int elementBits,
                                   llvm::ArrayRef<int> order) {
  return SharedLayout(shape, elementBits, order, 0, 16);
}

SharedLayout SharedLayout::withSwizzleShift(int shift) const {
  SharedLayout result = *this;
  result.shift = shift;
  return result;
}

int64_t SharedLayout::panels() const {
  return span == 0 ? 1 : extents[dims[0]] * bits / 8 / panelRow;
}

int64_t SharedLayout::panelDistance() const {
  return panels() == 1 ? panelBytes() : LinearLayout::hullOf(panelBytes());
}

int64_t SharedLayout::linearOffset(llvm::ArrayRef<int32_t> coord) const {
  int64_t row = 0;
  for (int d : llvm::reverse(llvm::ArrayRef<int>(dims).drop_front()))
    row = row * LinearLayout::hullOf(extents[d]) + coord[d];
  const int64_t inRow = int64_t(coord[dims[0]]) * bits / 8;
  const int64_t plain =
      inRow / panelRow * panelDistance() + row * (panelRow + pad) + inRow % panelRow;
  const int64_t rowBits = span == 0 ? 0 : span / 16 - 1;
  return plain ^ ((plain >> (7 + shift) & rowBits) << 4);
}

int SharedLayout::vectorBytes(const LinearLayout &layout) const {
  const int most = std::min(layout.contiguousRegs(dims[0]) * bits / 8, 16);
  auto misaligned = [&](const LinearLayout::Coord &basis, int width) {
    return offset(basis) % width != 0;
  };
  int width = std::max(bits / 8, 1);
  for (int wider = width * 2; wider <= most; wider *= 2) {
    const size_t inside = llvm::Log2_32(wider * 8 / bits);
    // The bits inside a vector are consecutive here as long as they stay below a 16-byte chunk,
    // which no swizzle splits.
    bool bad = panelRow < wider;
    for (const auto &basis : llvm::drop_begin(layout.reg(), inside))
      bad |= misaligned(basis, wider);
    for (const auto &basis : llvm::concat<const LinearLayout::Coord>(layout.lane(), layout.warp()))
      bad |= misaligned(basis, wider);
    if (bad)
      break;
    width = wider;
  }
  return width;
}

int SharedLayout::bankConflicts(const LinearLayout &layout, int vecBytes) const {
  const int vecRegs = std::max(vecBytes * 8 / bits, 1);
  // Wide accesses are served by halves or quarters of a warp, 128 bytes at a time.
  const int lanesAtOnce = std::min(layout.numLanes(), 128 / std::max(vecBytes, 4));
  size_t worst = 1;
  // Linear offsets of other registers are those of the first, XORed with a constant.
  for (int reg = 0; reg < (isLinear() ? 1 : layout.numRegs()); reg += vecRegs)
    for (int first = 0; first < layout.numLanes(); first += lanesAtOnce) {
      std::array<std::set<int64_t>, 32> wordsOfBank;
      for (int lane = first; lane < first + lanesAtOnce; ++lane) {
        const int64_t start = offset(layout.apply(reg, lane, 0));
        for (int64_t word = start / 4; word <= (start + vecBytes - 1) / 4; ++word)
          wordsOfBank[word % 32].insert(word);
      }
      for (const auto &words : wordsOfBank)
        worst = std::max(worst, words.size());
    }
  return static_cast<int>(worst);
}

std::string SharedLayout::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "shape=[";
  llvm::interleave(extents, os, ",");
  os << "] bits=" << bits << " order=[";
  llvm::interleave(dims, os, ",");
  os << "] swizzle=" << span << " padding=" << pad;
  if (shift != 0)
    os << " shift=" << shift;
  return text;
}

bool SharedLayout::operator==(const SharedLayout &other) const {
  return extents == other.extents && dims == other.dims && bits == other.bits &&
         span == other.span && pad == other.pad && shift == other.shift;
}

llvm::hash_code hash_value(const SharedLayout &layout) {
  return llvm::hash_combine(llvm::hash_combine_range(layout.extents),
                            llvm::hash_combine_range(layout.dims), layout.bits, layout.span,
                            layout.pad, layout.shift);
}

} // namespace pantile
