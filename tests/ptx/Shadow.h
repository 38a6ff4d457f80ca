//===- Shadow.h - the last accesses of each byte of memory ---------------------------===//
// Needs: Clocks.h, Order.h.
// Gives: Stamp, ShadowCell, Shadow.
// How:   A cell covers 16 bytes of a page until an access needs less, then 8, 4, 2 or 1: the page
//        is refined. A cell keeps the last weak write, the last strong one and four reads that no
//        write has followed; with more readers it drops some, so a race may be missed.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "Clocks.h"
#include "Order.h"
#include <algorithm>
#include <array>
#include <bit>
#include <unordered_map>

namespace pantile::ptx {

using Word = uint64_t;

/// An access. A tick of 0: none.
struct Stamp {
  Agent agent = 0;
  Tick tick = 0;
  uint32_t instruction = 0; // its number in the kernel
  uint8_t lane = 0;
  Scope scope = Scope::Cta;
  bool isStrong = false; // an atomic access, or one that is volatile, relaxed, acquire or release
  bool isAsync = false;  // through the asynchronous proxy

  explicit operator bool() const { return tick; }
};

constexpr uint32_t noInstruction = ~0u;

struct ShadowCell {
  Stamp write, update; ///< the last weak one, and the last strong one since then
  std::array<Stamp, 4> reads;
  /// The instructions by which these bytes were read for the weak write, the latest ones.
  std::array<uint32_t, 2> readBy = {noInstruction, noInstruction};
  bool isSilent = false; ///< the weak write left the value as it was
};

/// What a strong write at an address releases to its readers.
struct Handed {
  Knowledge knowledge;
  Scope scope;
  Agent by;
};

class Shadow {
public:
  /// Calls `body(cell, offset in the access, bytes)` for all cells of an access.
  template <class Body> void forCells(Word address, int bytes, Body body) {
    const int granule = std::countr_zero(address | Word(bytes) | 16);
    for (Word at = address; at < address + bytes;) {
      Page &page = pageOf(at);
      if (granule < page.granule)
        page.refine(granule);
      body(page.cells[at % pageBytes >> page.granule], int(at - address), 1 << page.granule);
      at = ((at >> page.granule) + 1) << page.granule;
    }
  }
  void clear() {
    pages.clear();
    handed.clear();
    last = nullptr;
  }

  std::unordered_map<Word, std::vector<Handed>> handed; ///< by address of the location

private:
  static constexpr Word pageBytes = 1024;

  struct Page {
    int granule = 4; // its logarithm
    std::vector<ShadowCell> cells = std::vector<ShadowCell>(pageBytes >> 4);

    void refine(int wanted) {
      std::vector<ShadowCell> finer(pageBytes >> wanted);
      for (size_t i = 0; i < finer.size(); ++i)
        finer[i] = cells[i >> (granule - wanted)];
      cells = std::move(finer);
      granule = wanted;
    }
  };

  Page &pageOf(Word address) {
    const Word number = address / pageBytes;
    if (!last || lastNumber != number) {
      std::unique_ptr<Page> &page = pages[number];
      if (!page)
        page = std::make_unique<Page>();
      last = page.get(), lastNumber = number;
    }
    return *last;
  }

  std::unordered_map<Word, std::unique_ptr<Page>> pages;
  Page *last = nullptr;
  Word lastNumber = 0;
};

} // namespace pantile::ptx
