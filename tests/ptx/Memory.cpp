//===- Memory.cpp - allocations on a device ------------------------------------------===//
// Needs: see Memory.h.
// Gives: Memory, Reach.
// How:   Host memory, filled with a pattern that is NaN in every float type. Large allocations are
//        zero and lazily backed.
//===------------------------------------------------------------------------------------------===//
#include "Memory.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace pantile::ptx {
namespace {
constexpr uint8_t garbage = 0xff;
constexpr size_t guardBytes = 256;
/// From this size on an allocation takes memory where it is touched alone, and is zero, not
/// garbage.
constexpr size_t sparseBytes = size_t(1) << 28;

void *allocateSparse(size_t bytes) {
  void *memory = mmap(nullptr, bytes + guardBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}
} // namespace

void *Memory::allocate(size_t bytes) {
  if (bytes >= sparseBytes) {
    void *memory = allocateSparse(bytes);
    if (memory)
      ranges[reinterpret_cast<Word>(memory)] = bytes;
    return memory;
  }
  // Between allocations there is memory that belongs to none.
  auto *memory =
      static_cast<uint8_t *>(std::aligned_alloc(512, (bytes + guardBytes + 511) / 512 * 512));
  std::memset(memory, garbage, bytes + guardBytes);
  ranges[reinterpret_cast<Word>(memory)] = bytes;
  return memory;
}

bool Memory::free(Word address) {
  auto found = ranges.find(address);
  if (found == ranges.end())
    return false;
  const size_t bytes = found->second;
  ranges.erase(found);
  knownBegin = 1, knownEnd = 0;
  auto *memory = reinterpret_cast<void *>(address);
  bytes >= sparseBytes ? void(munmap(memory, bytes + guardBytes)) : std::free(memory);
  return true;
}

bool Memory::contains(Word address, size_t bytes) const {
  if (address >= knownBegin && address + bytes <= knownEnd)
    return true;
  auto next = ranges.upper_bound(address);
  if (next == ranges.begin())
    return false;
  auto [begin, size] = *std::prev(next);
  if (address + bytes > begin + size)
    return false;
  knownBegin = begin, knownEnd = begin + size;
  return true;
}

void Memory::fill(Word address, uint8_t value, size_t bytes) {
  constexpr Word page = 4096;
  Word first = address, end = address + bytes;
  // What clears a cache gives its pages back instead of touching them all.
  if (value == 0 && bytes >= sparseBytes) {
    first = (address + page - 1) / page * page, end = end / page * page;
    madvise(reinterpret_cast<void *>(first), end - first, MADV_DONTNEED);
    std::memset(reinterpret_cast<void *>(address), 0, first - address);
    first = end, end = address + bytes;
  }
  std::memset(reinterpret_cast<void *>(first), value, end - first);
}

bool Memory::isMapped(Word address) const {
  constexpr Word page = 1 << 16;
  auto next = ranges.upper_bound(address);
  if (next != ranges.end() && next->first - address < page)
    return true;
  return next != ranges.begin() &&
         address < std::prev(next)->first + std::prev(next)->second + page;
}

const Memory *Reach::holderOf(Word address, size_t bytes) const {
  for (const Memory *memory : memories)
    if (memory->contains(address, bytes))
      return memory;
  return nullptr;
}

bool Reach::isMapped(Word address) const {
  return std::any_of(memories.begin(), memories.end(),
                     [&](const Memory *memory) { return memory->isMapped(address); });
}

} // namespace pantile::ptx
