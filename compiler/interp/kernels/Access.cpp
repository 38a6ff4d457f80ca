//===- Access.cpp - reads and writes of memory, unchecked ---------------------------------===//
// Needs: Kernels.h; compiled once for each instruction set.
// Gives: span, read, write.
// How:   A row of consecutive addresses whose mask is all true is copied at once; a row whose mask
//        is all false is skipped; any other row is copied element by element.
//===------------------------------------------------------------------------------------===//
#include "interp/kernels/Set.h"
#include <cstring>

namespace pantile::interp::PANTILE_ISA {
namespace {

enum class RowMask { None, Some, All };

RowMask classify(const uint8_t *mask, size_t cols) {
  if (!mask)
    return RowMask::All;
  unsigned any = 0, all = 1;
  for (size_t i = 0; i < cols; ++i) {
    any |= mask[i];
    all &= mask[i];
  }
  return all ? RowMask::All : any ? RowMask::Some : RowMask::None;
}

bool consecutive(const uint64_t *addresses, size_t cols, uint64_t bytes) {
  uint64_t different = 0;
  for (size_t i = 0; i < cols; ++i)
    different |= addresses[i] ^ (addresses[0] + i * bytes);
  return different == 0;
}

template <typename T> T readOne(uint64_t address) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void *>(address), sizeof(T));
  return value;
}

template <typename T>
void readRow(T *dst, const uint64_t *addresses, const uint8_t *mask, const T *other, size_t cols) {
  RowMask kind = classify(mask, cols);
  if (kind == RowMask::None) {
    if (other)
      std::memcpy(dst, other, cols * sizeof(T));
    else
      std::memset(dst, 0, cols * sizeof(T));
  } else if (kind == RowMask::Some) {
    for (size_t i = 0; i < cols; ++i)
      dst[i] = mask[i] ? readOne<T>(addresses[i]) : other ? other[i] : T(0);
  } else if (consecutive(addresses, cols, sizeof(T))) {
    std::memcpy(dst, reinterpret_cast<const void *>(addresses[0]), cols * sizeof(T));
  } else {
    for (size_t i = 0; i < cols; ++i)
      dst[i] = readOne<T>(addresses[i]);
  }
}

template <typename T>
void writeRow(const T *src, const uint64_t *addresses, const uint8_t *mask, size_t cols) {
  RowMask kind = classify(mask, cols);
  if (kind == RowMask::All && consecutive(addresses, cols, sizeof(T)))
    std::memcpy(reinterpret_cast<void *>(addresses[0]), src, cols * sizeof(T));
  else if (kind != RowMask::None)
    for (size_t i = 0; i < cols; ++i)
      if (!mask || mask[i])
        std::memcpy(reinterpret_cast<void *>(addresses[i]), src + i, sizeof(T));
}

template <typename T>
void readRows(void *dst, const uint64_t *addresses, const uint8_t *mask, const void *other,
              size_t rows, size_t cols) {
  for (size_t row = 0, at = 0; row < rows; ++row, at += cols)
    readRow(static_cast<T *>(dst) + at, addresses + at, mask ? mask + at : nullptr,
            other ? static_cast<const T *>(other) + at : nullptr, cols);
}

template <typename T>
void writeRows(const void *src, const uint64_t *addresses, const uint8_t *mask, size_t rows,
               size_t cols) {
  for (size_t row = 0, at = 0; row < rows; ++row, at += cols)
    writeRow(static_cast<const T *>(src) + at, addresses + at, mask ? mask + at : nullptr, cols);
}

} // namespace

AddressSpan span(const uint64_t *addresses, const uint8_t *mask, size_t count) {
  uint64_t lo = UINT64_MAX, hi = 0;
  if (mask)
    for (size_t i = 0; i < count; ++i) {
      uint64_t low = mask[i] ? addresses[i] : UINT64_MAX, high = mask[i] ? addresses[i] : 0;
      lo = low < lo ? low : lo;
      hi = high > hi ? high : hi;
    }
  else
    for (size_t i = 0; i < count; ++i) {
      lo = addresses[i] < lo ? addresses[i] : lo;
      hi = addresses[i] > hi ? addresses[i] : hi;
    }
  return {lo, hi};
}

void read(unsigned bytes, void *dst, const uint64_t *addresses, const uint8_t *mask,
          const void *other, size_t rows, size_t cols) {
  auto run = bytes == 1   ? readRows<uint8_t>
             : bytes == 2 ? readRows<uint16_t>
             : bytes == 4 ? readRows<uint32_t>
                          : readRows<uint64_t>;
  run(dst, addresses, mask, other, rows, cols);
}

void write(unsigned bytes, const void *src, const uint64_t *addresses, const uint8_t *mask,
           size_t rows, size_t cols) {
  auto run = bytes == 1   ? writeRows<uint8_t>
             : bytes == 2 ? writeRows<uint16_t>
             : bytes == 4 ? writeRows<uint32_t>
                          : writeRows<uint64_t>;
  run(src, addresses, mask, rows, cols);
}

} // namespace pantile::interp::PANTILE_ISA
