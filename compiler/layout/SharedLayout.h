//===- SharedLayout.h - where each element of a tile is in shared memory -----------===//
// Needs: nothing of MLIR.
// Gives: SharedLayout: byte offset of an element, size, vector width and bank conflicts.
// How:   Rows of at most one swizzle span (32, 64 or 128 bytes) form a panel; a tile wider than the
//        span is several panels. Inside a panel the 16-byte chunk number is XORed with low bits of
//        the row number, so that a column of chunks uses all banks. This is the pattern of tensor
//        maps (TMA) and of wgmma's matrix descriptors, bit for bit, for a buffer aligned to 1024
//        bytes:
//            128 bytes: bits 4-6 ^= bits 7-9   64: bits 4-5 ^= bits 7-8   32: bit 4 ^= bit 7
//        Without a swizzle rows are consecutive, each followed by `padding` bytes.
//        So that offsets stay linear over F2, extents that are no powers of two count as the next
//        power, except the slowest extent and the number of panels. Panels are consecutive without
//        a gap. A *linear* offset has them a power of two apart, and place() removes the gaps.
//        The scratch of a conversion may use higher bits of the row number for the swizzle, `shift`
//        bits above the lowest, since its writers may hold rows that are far apart.
//===-------------------------------------------------------------------------------===//
#ifndef PANTILE_LAYOUT_SHAREDLAYOUT_H
#define PANTILE_LAYOUT_SHAREDLAYOUT_H

#include "layout/LinearLayout.h"

namespace pantile {

class SharedLayout {
public:
  using Order = llvm::SmallVector<int, 4>;

  /// `swizzle` is 0, 32, 64 or 128 bytes and no longer than a row; `padding` only without one.
  SharedLayout(llvm::ArrayRef<int64_t> shape, int elementBits, llvm::ArrayRef<int> order,
               int swizzle, int padding = 0);

  /// For an operand of tensor cores: with the largest span that a row fills.
  static SharedLayout forOperand(llvm::ArrayRef<int64_t> shape, int elementBits,
                                 llvm::ArrayRef<int> order);
  /// For a conversion's scratch: rows along `order[0]`, padded by 16 bytes so that threads of
  /// adjacent rows use different banks.
  static SharedLayout scratch(llvm::ArrayRef<int64_t> shape, int elementBits,
                              llvm::ArrayRef<int> order);

  /// The same, with the chunk number XORed with the row number's bits from bit `shift` on.
  SharedLayout withSwizzleShift(int shift) const;

  const LinearLayout::Shape &shape() const & { return extents; }
  LinearLayout::Shape shape() && { return std::move(extents); }
  int elementBits() const { return bits; }
  const Order &order() const { return dims; }
  int swizzle() const { return span; }
  int padding() const { return pad; }

  /// Bytes of one row inside a panel: the span, or the whole row without a swizzle.
  int64_t rowBytes() const { return panelRow; }
  /// The rows of a panel: the product of all extents but the fastest.
  int64_t rows() const { return numRows; }
  int64_t panels() const;
  int64_t panelBytes() const { return numRows * (panelRow + pad); }
  /// Size of the buffer.
  int64_t bytes() const { return panels() * panelBytes(); }
  /// Alignment that the swizzle needs: 1024 bytes for a span of 128.
  int64_t alignment() const { return span == 0 ? 16 : span * 8; }

  /// Byte offset of an element from the start of the buffer. Elements under 8 bits round down.
  int64_t offset(llvm::ArrayRef<int32_t> coord) const { return place(linearOffset(coord)); }
  /// The same with panels that are panelDistance() apart.
  int64_t linearOffset(llvm::ArrayRef<int32_t> coord) const;
  /// True when the linear offset of a ^ b is that of a ^ that of b: no padding.
  bool isLinear() const { return pad == 0; }
  /// The next power of two from panelBytes() on.
  int64_t panelDistance() const;
  /// Unused bytes between linear panels.
  int64_t panelGap() const { return panelDistance() - panelBytes(); }
  /// The offset for a linear offset. For a sum of parts without common bits it is the sum of
  /// theirs.
  int64_t place(int64_t linear) const { return linear - linear / panelDistance() * panelGap(); }

  /// Bytes that one thread of `layout` can access at once, at most 16: of consecutive registers
  /// whose elements are consecutive and aligned here.
  int vectorBytes(const LinearLayout &layout) const;
  /// The largest n for which a warp's access of `vecBytes` per thread has n-way bank conflicts; 1
  /// means free of conflicts.
  int bankConflicts(const LinearLayout &layout, int vecBytes) const;

  std::string str() const;
  bool operator==(const SharedLayout &other) const;
  bool operator!=(const SharedLayout &other) const { return !(*this == other); }
  friend llvm::hash_code hash_value(const SharedLayout &layout);

private:
  LinearLayout::Shape extents;
  Order dims;
  int bits;
  int span;
  int pad;
  int shift = 0;
  int64_t numRows;
  int64_t panelRow;
};

} // namespace pantile

#endif // PANTILE_LAYOUT_SHAREDLAYOUT_H
