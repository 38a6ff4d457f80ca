//===- Async.cpp - cp.async, mbarrier, the copy engine ------------------------------------===//
// Needs: Values.h, TensorMap.h.
// Gives: decodeAsync, finishCopies, finishStores, advanceAtRandom, loadTensor.
// How:   an mbarrier is a word of shared memory: a mark, the phase, arrivals that are left,
//        arrivals of a phase, bytes that are awaited. A wait that fails ends the warp's turn until
//        some barrier has changed its phase.
//===------------------------------------------------------------------------------------------===//
#include "TensorMap.h"
#include "Values.h"

namespace pantile::ptx {
namespace {

//===- cp.async -----------------------------------------------------------------------------===//

void perform(Warp &w, const AsyncCopy &copy) {
  forLanes(copy.lanes, [&](int lane) {
    uint8_t *to = w.block.shared(w, *copy.instruction, copy.to[lane], copy.bytes);
    std::memset(to, 0, copy.bytes);
    if (const int given = copy.given[lane])
      std::memcpy(to,
                  w.block.generic(w, *copy.instruction, copy.from[lane],
                                  given == copy.bytes ? given : 1, lane),
                  given);
    w.block.noteWrite(w.index, copy.to[lane], copy.bytes);
  });
}

void copyAsync(Warp &w, const Instruction &i) {
  AsyncCopy copy{w.active, int(w.reg(i[2])[0]), {}, {}, {}, &i};
  forLanes(w.active, [&](int lane) {
    copy.to[lane] = w.address(i[0], lane);
    copy.from[lane] = w.address(i[1], lane);
    const bool hasSize = i.operands.size() > 3;
    copy.given[lane] = hasSize ? std::min<Word>(w.reg(i[3])[lane], copy.bytes) : copy.bytes;
  });
  // Faults belong to the instruction, not to the wait.
  forLanes(w.active, [&](int lane) {
    w.block.shared(w, i, copy.to[lane], copy.bytes);
    if (copy.given[lane])
      w.block.generic(w, i, copy.from[lane], copy.given[lane] == copy.bytes ? copy.bytes : 1, lane);
  });
  if (w.block.chance(4))
    perform(w, copy);
  else
    w.copies.open.push_back(copy);
}

void commitCopies(Warp &w, const Instruction &) { w.copies.commit(); }

void waitCopies(Warp &w, const Instruction &i) {
  const bool all = i.op.has("wait_all");
  if (all)
    w.copies.commit();
  finishCopies(w, all ? 0 : w.reg(i[0])[0]);
}

//===- mbarrier -----------------------------------------------------------------------------===//

/// What the word of a barrier holds.
struct Phase {
  static constexpr Word mark = 0x5a;
  unsigned parity, left, count;
  int bytes;

  static Phase from(Warp &w, const Instruction &i, const uint8_t *place) {
    Word word;
    std::memcpy(&word, place, 8);
    if (word >> 56 != mark)
      w.fault(i, "there is no mbarrier at this address");
    return {unsigned(word >> 55 & 1), unsigned(word >> 43 & 0xfff), unsigned(word >> 31 & 0xfff),
            int(word & 0x7fffffff) << 1 >> 1};
  }
  void to(uint8_t *place) const {
    const Word word = mark << 56 | Word(parity) << 55 | Word(left & 0xfff) << 43 |
                      Word(count & 0xfff) << 31 | (bytes & 0x7fffffff);
    std::memcpy(place, &word, 8);
  }
  /// True if the phase is over; the next one begins.
  bool turn() {
    if (left || bytes)
      return false;
    parity ^= 1;
    left = count;
    return true;
  }
};

uint8_t *barrierAt(Warp &w, const Instruction &i, const Operand &operand, int lane) {
  return w.block.shared(w, i, uint32_t(w.address(operand, lane)), 8);
}

void initBarrier(Warp &w, const Instruction &i) {
  forLanes(w.active, [&](int lane) {
    const unsigned count = w.reg(i[1])[lane];
    Phase{0, count, count, 0}.to(barrierAt(w, i, i[0], lane));
  });
}

void arrive(Warp &w, const Instruction &i) {
  const size_t at = i[0].kind == Operand::Address ? 0 : 1;
  const bool expects = i.op.has("expect_tx");
  forLanes(w.active, [&](int lane) {
    Block *owner = &w.block;
    uint8_t *place = i.op.has("shared::cluster")
                         ? w.block.sharedOfCluster(w, i, uint32_t(w.address(i[at], lane)), 8, owner)
                         : barrierAt(w, i, i[at], lane);
    Phase phase = Phase::from(w, i, place);
    unsigned arrivals = 1;
    if (expects)
      phase.bytes += int(w.reg(i[at + 1])[lane]);
    else if (i.operands.size() > at + 1)
      arrivals = w.reg(i[at + 1])[lane];
    if (i.op.parts[0] == "expect_tx")
      arrivals = 0;
    if (arrivals > phase.left)
      w.fault(i, "more arrivals than the barrier's count of " + std::to_string(phase.count));
    phase.left -= arrivals;
    if (phase.turn())
      owner->signal();
    phase.to(place);
  });
}

void tryWait(Warp &w, const Instruction &i) {
  const bool byParity = i.op.has("parity");
  if (!byParity)
    w.fault(i, "waits by state are not emulated");
  Word *d = w.reg(i[0]);
  forLanes(w.active, [&](int lane) {
    const Phase phase = Phase::from(w, i, barrierAt(w, i, i[1], lane));
    d[lane] = phase.parity != (w.reg(i[2])[lane] & 1);
    if (!d[lane]) {
      w.stops = true;
      w.waitsForEvent = w.block.events;
    }
  });
}

void invalidate(Warp &w, const Instruction &i) {
  forLanes(w.active, [&](int lane) { std::memset(barrierAt(w, i, i[0], lane), 0xff, 8); });
}

//===- the copy engine ----------------------------------------------------------------------===//

TensorMap mapAt(Warp &w, const Instruction &i, Word address) {
  TensorMap map;
  if (address % 64)
    w.fault(i, "a tensor map that is not aligned to 64 bytes");
  std::memcpy(&map, w.block.generic(w, i, address, 128, 0), sizeof map);
  if (map.known != TensorMap::mark)
    w.fault(i, "there is no tensor map at this address");
  return map;
}

/// Calls `body(shared address, address in device memory or 0)` for every element of the box.
template <class Body> void forElements(const TensorMap &map, const TensorCopy &copy, Body body) {
  std::array<uint64_t, 5> index{};
  const uint64_t count = map.boxElements();
  for (uint64_t element = 0; element < count; ++element) {
    uint64_t address = map.base;
    bool inside = true;
    for (int d = 0; d < map.rank; ++d) {
      const int64_t at = int64_t(copy.at[d]) + int64_t(index[d]);
      inside &= at >= 0 && uint64_t(at) < map.extents[d];
      address += at * (d ? map.strides[d - 1] : map.elementBytes);
    }
    body(swizzled(copy.shared + element * map.elementBytes, map.swizzle), inside ? address : 0);
    for (int d = 0; d < map.rank && ++index[d] == map.box[d]; ++d)
      index[d] = 0;
  }
}

/// The copy that the instruction names; [map, {coordinates}] is operand `at`.
TensorCopy tensorCopy(Warp &w, const Instruction &i, size_t mapAt, size_t sharedAt, int lane) {
  TensorCopy copy{&i, &w, w.reg(i[mapAt])[lane], uint32_t(w.address(i[sharedAt], lane)), 0, 0, {}};
  for (const Operand &coordinate : i[mapAt].parts.at(0).parts)
    copy.at[copy.rank++] = int32_t(w.reg(coordinate)[lane]);
  return copy;
}

void checkCopy(Warp &w, const Instruction &i, const TensorMap &map, const TensorCopy &copy) {
  if (copy.rank != map.rank)
    w.fault(i, "coordinates of rank " + std::to_string(copy.rank) + " for a tensor map of rank " +
                   std::to_string(map.rank));
  const uint32_t alignment = map.swizzle == 0 ? 128 : 8 * map.swizzle;
  if (copy.shared % alignment)
    w.fault(i, "shared address " + std::to_string(copy.shared) + " is no multiple of " +
                   std::to_string(alignment));
  if (map.swizzle && map.box[0] * map.elementBytes > map.swizzle)
    w.fault(i, "rows of the box are longer than the swizzle");
}

/// Blocks that a load writes to: its own, or those of a mask, at the same addresses in each (PTX
/// ISA, "cp.async.bulk.tensor", `.multicast::cluster`).
Word loadedBlocks(Warp &w, const Instruction &i, int lane) {
  return i.op.has("multicast::cluster") ? w.reg(i[3])[lane] & 0xffff : Word(1) << w.block.rank;
}

void startLoad(Warp &w, const Instruction &i) {
  forLanes(w.active, [&](int lane) {
    TensorCopy copy = tensorCopy(w, i, 1, 0, lane);
    copy.barrier = w.address(i[2], lane);
    checkCopy(w, i, mapAt(w, i, copy.map), copy);
    for (Word left = loadedBlocks(w, i, lane); left; left &= left - 1) {
      Block &to = w.block.cluster.blockOf(w, i, std::countr_zero(left));
      Phase::from(w, i, to.shared(w, i, copy.barrier, 8));
      to.loads.push_back(copy);
    }
  });
}

void storeTensor(Warp &w, const TensorCopy &copy) {
  const Instruction &i = *copy.instruction;
  TensorMap map = mapAt(w, i, copy.map);
  // As an H200 does: the last 16 bytes of a row are written whole.
  const uint64_t step = 16 / map.elementBytes;
  map.extents[0] = (map.extents[0] + step - 1) / step * step;
  const bool adds = i.op.has("add");
  if (adds && map.elementBytes != 4)
    w.fault(i, "reductions of this type are not emulated");
  forElements(map, copy, [&](uint32_t shared, uint64_t address) {
    w.block.requireFenced(w, i, shared, map.elementBytes);
    const uint8_t *from = w.block.shared(w, i, shared, map.elementBytes);
    if (!address)
      return;
    uint8_t *to = w.block.generic(w, i, address, map.elementBytes, 0);
    float sum, term;
    std::memcpy(&sum, to, adds ? 4 : 0), std::memcpy(&term, from, adds ? 4 : 0);
    sum += term;
    std::memcpy(to, adds ? reinterpret_cast<uint8_t *>(&sum) : from, map.elementBytes);
  });
}

void startStore(Warp &w, const Instruction &i) {
  forLanes(w.active, [&](int lane) {
    const TensorCopy copy = tensorCopy(w, i, 0, 1, lane);
    const TensorMap map = mapAt(w, i, copy.map);
    checkCopy(w, i, map, copy);
    // Also what a fence comes for too late is a fault.
    forElements(map, copy, [&](uint32_t shared, uint64_t) {
      w.block.requireFenced(w, i, shared, map.elementBytes);
    });
    w.stores.open.push_back(copy);
  });
}

void commitStores(Warp &w, const Instruction &) { w.stores.commit(); }
void waitStores(Warp &w, const Instruction &i) { finishStores(w, w.reg(i[0])[0]); }

Handler decodeBulk(const Instruction &i) {
  if (i.op.has("commit_group"))
    return commitStores;
  if (i.op.has("wait_group"))
    return waitStores;
  if (!i.op.has("tensor") || i.op.has("im2col"))
    return nullptr;
  return i.op.has("bulk_group") ? startStore : startLoad;
}

template <class Item, class Perform>
void finish(AsyncQueue<Item> &queue, size_t pending, Perform perform) {
  for (; queue.groups.size() > pending; queue.groups.pop_front())
    for (const Item &item : queue.groups.front())
      perform(item);
}

/// The oldest item of the oldest group, if there is one.
template <class Item, class Perform> void advance(AsyncQueue<Item> &queue, Perform perform) {
  for (auto &group : queue.groups)
    if (!group.empty()) {
      const Item item = group.front();
      group.pop_front();
      perform(item);
      return;
    }
}

} // namespace

void finishCopies(Warp &w, size_t pending) {
  finish(w.copies, pending, [&](const AsyncCopy &copy) { perform(w, copy); });
}

void finishStores(Warp &w, size_t pending) {
  finish(w.stores, pending, [&](const TensorCopy &copy) { storeTensor(w, copy); });
}

void advanceAtRandom(Warp &w) {
  if (w.block.chance(4))
    advanceProducts(w);
  if (w.block.chance(4))
    advance(w.copies, [&](const AsyncCopy &copy) { perform(w, copy); });
  if (w.block.chance(4))
    advance(w.stores, [&](const TensorCopy &copy) { storeTensor(w, copy); });
}

void loadTensor(Block &block, const TensorCopy &copy) {
  Warp &w = *copy.by;
  const Instruction &i = *copy.instruction;
  const TensorMap map = mapAt(w, i, copy.map);
  bool isOutside = true;
  forElements(map, copy, [&](uint32_t shared, uint64_t address) {
    uint8_t *to = block.shared(w, i, shared, map.elementBytes);
    isOutside &= !address;
    block.unfenced[shared / 16] = 0; // what was written before is gone
    if (address)
      std::memcpy(to, block.generic(w, i, address, map.elementBytes, 0), map.elementBytes);
    else
      std::memset(to, 0, map.elementBytes);
  });
  if (isOutside && !block.launch.memory->isMapped(map.base)) // which an H200 touches then
    w.fault(i, "a box outside of all extents, of a map whose base is not in memory");
  uint8_t *place = block.shared(w, i, copy.barrier, 8);
  Phase phase = Phase::from(w, i, place);
  phase.bytes -= int(map.boxElements() * map.elementBytes);
  if (phase.turn())
    block.signal();
  phase.to(place);
}

Handler decodeAsync(Instruction &i) {
  const std::string &base = i.op.base;
  if (base == "mbarrier") {
    const std::string &what = i.op.parts[0];
    return what == "init"                              ? initBarrier
           : what == "inval"                           ? invalidate
           : what == "arrive" || what == "expect_tx"   ? arrive
           : what == "try_wait" || what == "test_wait" ? tryWait
                                                       : Handler(nullptr);
  }
  if (base != "cp" || !i.op.has("async"))
    return nullptr;
  if (i.op.has("bulk"))
    return decodeBulk(i);
  if (i.op.has("commit_group"))
    return commitCopies;
  if (i.op.has("wait_group") || i.op.has("wait_all"))
    return waitCopies;
  return i.op.has("shared") && i.op.has("global") ? copyAsync : nullptr;
}

} // namespace pantile::ptx
