//===- Memory.h - allocations on a device, and what its kernels can access -----------===//
// Needs: Program.h.
// Gives: Memory, Reach.
// How:   See Memory.cpp.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "Program.h"
#include <map>
#include <vector>

namespace pantile::ptx {

/// What is allocated on the device. Addresses are the host's.
class Memory {
public:
  void *allocate(size_t bytes);
  bool free(Word address);
  bool contains(Word address, size_t bytes) const;
  /// Sets bytes of one allocation.
  void fill(Word address, uint8_t value, size_t bytes);
  /// Whether hardware could read `address`, whose pages hold more than what was requested.
  bool isMapped(Word address) const;
  /// Where the allocation begins that holds `address`.
  Word beginOf(Word address) const { return std::prev(ranges.upper_bound(address))->first; }
  /// Memory that belongs to a module.
  void add(Word address, size_t bytes) { ranges[address] = bytes; }
  void remove(Word address) { ranges.erase(address); }

private:
  std::map<Word, size_t> ranges;
  mutable Word knownBegin = 1, knownEnd = 0;
};

/// The memories that kernels of a device may access: its own, and those of peers.
struct Reach {
  std::vector<const Memory *> memories;

  /// The one that has all of these bytes; null: none.
  const Memory *holderOf(Word address, size_t bytes) const;
  bool isMapped(Word address) const;
};

} // namespace pantile::ptx
