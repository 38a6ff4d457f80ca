//===- SharedLayout.h - where each element of a tile lies in shared memory ----===//
// Needs: nothing of MLIR.
// Gives: SharedLayout: byte offset of an element, size, vector width and bank conflicts.
// How:   rows of at most one swizzle span (32, 64 or 128 bytes) lie one under the other and form
//        a panel; a tile wider than the span is several panels side by side. Inside a panel the
//        16-byte chunk number is XORed with low bits of the row number, so that a column of
//        chunks touches all banks. This is the pattern of tensor maps (TMA) and of wgmma's
//        matrix descriptors, bit for bit, for a buffer aligned to 1024 bytes:
//            128 bytes: bits 4-6 ^= bits 7-9   64: bits 4-5 ^= bits 7-8   32: bit 4 ^= bit 7
//        Without a swizzle rows follow each other, each followed by `padding` bytes.
//        So that offsets stay linear over F2, extents that are no powers of two count as the next
//        one, but for the slowest and for the number of panels. Panels follow each other without a
//        gap: a *linear* offset has them a power of two apart, and place() takes the gaps out.
//        A conversion's scratch may take higher bits of the row number, `turn` above those: its
//        writers may hold rows some way apart.
//===--------------------------------------------------------------------------===//
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

  /// For a matrix that tensor cores read: the largest span that a row fills.
  static SharedLayout forOperand(llvm::ArrayRef<int64_t> shape, int elementBits,
                                 llvm::ArrayRef<int> order);
  /// For a conversion's scratch: rows along `order[0]`, padded by 16 bytes so that threads of
  /// neighbouring rows use different banks.
  static SharedLayout scratch(llvm::ArrayRef<int64_t> shape, int elementBits,
                              llvm::ArrayRef<int> order);

  /// The same, with the chunks turned by the row number's bits from `turn` on.
  SharedLayout turnedBy(int turn) const;

  const LinearLayout::Shape &shape() const { return extents; }
  int elementBits() const { return bits; }
  const Order &order() const { return dims; }
  int swizzle() const { return span; }
  int padding() const { return pad; }

  /// Bytes of one row inside a panel: the span, or the whole row without a swizzle.
  int64_t rowBytes() const { return panelRow; }
  /// Product of all extents but the fastest: rows of a panel.
  int64_t rows() const { return numRows; }
  int64_t panels() const;
  int64_t panelBytes() const { return numRows * (panelRow + pad); }
  /// Size of the buffer.
  int64_t bytes() const { return panels() * panelBytes(); }
  /// Alignment that the swizzle needs: 1024 bytes for a span of 128.
  int64_t alignment() const { return span == 0 ? 16 : span * 8; }

  /// Byte offset of an element from the start of the buffer. Elements under 8 bits round down.
  int64_t offset(llvm::ArrayRef<int32_t> coord) const { return place(linearOffset(coord)); }
  /// The same if panels were panelDistance() apart.
  int64_t linearOffset(llvm::ArrayRef<int32_t> coord) const;
  /// True when the linear offset of a ^ b is that of a ^ that of b: no padding.
  bool isLinear() const { return pad == 0; }
  /// The next power of two from panelBytes() on.
  int64_t panelDistance() const;
  /// Bytes between linear panels that no panel takes.
  int64_t panelGap() const { return panelDistance() - panelBytes(); }
  /// The offset that belongs to a linear one; of a sum of parts without common bits the sum.
  int64_t place(int64_t linear) const { return linear - linear / panelDistance() * panelGap(); }

  /// Bytes that one thread of `layout` can move at once, at most 16: consecutive registers that
  /// are consecutive and aligned here.
  int vectorBytes(const LinearLayout &layout) const;
  /// The worst number of trips to shared memory of one warp access of `vecBytes` a thread beyond
  /// what its size needs: 1 is free of conflicts.
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
  int turn = 0;
  int64_t numRows;
  int64_t panelRow;
};

} // namespace pantile

#endif // PANTILE_LAYOUT_SHAREDLAYOUT_H
