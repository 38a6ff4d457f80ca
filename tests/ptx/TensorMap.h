//===- TensorMap.h - the emulated driver's encoding of a tensor map ------------------===//
// Needs: nothing.
// Gives: TensorMap, of 128 bytes as the real one.
// How:   The first word distinguishes a map from other memory.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include <array>
#include <cstdint>

namespace pantile::ptx {

struct TensorMap {
  static constexpr uint64_t mark = 0x50414e54494c4d50;

  uint64_t known = mark, base = 0;
  std::array<uint64_t, 5> extents{}; // in elements, the fastest first
  std::array<uint64_t, 4> strides{}; // in bytes, from the second dimension on
  std::array<uint16_t, 5> box{};
  uint8_t rank = 0, elementBytes = 0, swizzle = 0, fillsNan = 0; // swizzle: 0, 32, 64, 128
  uint8_t rounds = 0;                                            // fp32 to tf32
  std::array<uint8_t, 25> unused{};

  uint64_t boxElements() const {
    uint64_t count = 1;
    for (int d = 0; d < rank; ++d)
      count *= box[d];
    return count;
  }
};
static_assert(sizeof(TensorMap) == 128);

/// Where byte `address` of shared memory lies when rows of `span` bytes are swizzled.
inline uint32_t swizzled(uint32_t address, int span) {
  const uint32_t mask = span == 128 ? 7 : span == 64 ? 3 : span == 32 ? 1 : 0;
  return address ^ (address >> 7 & mask) << 4;
}

} // namespace pantile::ptx
