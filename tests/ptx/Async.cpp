//===- Async.cpp - cp.async and TMA --------------------------------------------------===//
// Needs: Phase.h, Races.h, TensorMap.h, Values.h.
// Gives: decodeAsync, finishCopies, finishStores, advanceAtRandom, loadTensor.
// How:   For the race detector, an asynchronous operation accesses memory when it is issued: it may
//        happen at any time until it is waited for. The bytes are copied later.
//===------------------------------------------------------------------------------------------===//
#include "Phase.h"
#include "Races.h"
#include "TensorMap.h"
#include "Values.h"

namespace pantile::ptx {
namespace {

//===- cp.async -----------------------------------------------------------------------------===//

/// A lane arrives, and hands on its copies, but nothing else that it did.
void arriveFor(Warp &w, const AsyncCopy &copy) {
  forLanes(copy.lanes, [&](int lane) {
    MBarrier &barrier = barrierOf(w, *copy.instruction, w.cta, copy.to[lane]);
    uint8_t *place = w.cta.shared(w, *copy.instruction, copy.to[lane], 8);
    Phase phase = Phase::from(w, *copy.instruction, place);
    if (phase.left == 0)
      w.fault(*copy.instruction,
              "more arrivals than the barrier's count of " + std::to_string(phase.count));
    const Known copies{w.clock.agent(Copies), 0, copy.group, Lanes(1) << lane};
    barrier.arriving.join({joined(nullptr, copies), nullptr});
    --phase.left;
    if (phase.flip()) {
      completePhase(barrier);
      w.cta.signal();
    }
    phase.to(place);
  });
}

void perform(Warp &w, const AsyncCopy &copy) {
  if (copy.bytes == 0)
    return arriveFor(w, copy);
  forLanes(copy.lanes, [&](int lane) {
    uint8_t *to = w.cta.shared(w, *copy.instruction, copy.to[lane], copy.bytes);
    std::memset(to, 0, copy.bytes);
    if (const int given = copy.given[lane])
      std::memcpy(to,
                  w.cta.generic(w, *copy.instruction, copy.from[lane],
                                given == copy.bytes ? given : 1, lane),
                  given);
    w.cta.noteWrite(w.index, copy.to[lane], copy.bytes);
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
  Races &races = w.cta.races();
  forLanes(w.active, [&](int lane) {
    w.cta.shared(w, i, copy.to[lane], copy.bytes);
    if (copy.given[lane])
      w.cta.generic(w, i, copy.from[lane], copy.given[lane] == copy.bytes ? copy.bytes : 1, lane);
    Touch touch = Races::asyncTouch(w, i, lane, w.clock.agent(Copies), w.copies.committed + 1);
    touch.stamp.isAsync = false; // cp.async belongs to the generic proxy
    if (copy.given[lane])
      races.read(touch, {&races.global, copy.from[lane]}, copy.given[lane]);
    races.write(touch, {&w.cta.shadow, copy.to[lane], &w.cta}, copy.bytes, nullptr, nullptr);
  });
  if (w.cta.chance(4))
    perform(w, copy);
  else
    w.copies.open.push_back(copy);
}

void commitCopies(Warp &w, const Instruction &) { w.copies.commit(); }

/// cp.async.mbarrier.arrive: the copies before it become a group of their own, as nothing else
/// tells them from later ones.
void arriveAfterCopies(Warp &w, const Instruction &i) {
  if (!i.op.has("noinc"))
    w.fault(i, "an arrival that is not counted by the barrier is not emulated");
  AsyncCopy arrival{w.active, 0, {}, {}, {}, &i, w.copies.committed + 1};
  forLanes(w.active, [&](int lane) {
    arrival.to[lane] = w.address(i[0], lane);
    barrierOf(w, i, w.cta, arrival.to[lane]);
  });
  w.copies.open.push_back(arrival);
  w.copies.commit();
}

void waitCopies(Warp &w, const Instruction &i) {
  const bool all = i.op.has("wait_all");
  if (all)
    w.copies.commit();
  const size_t pending = all ? 0 : w.reg(i[0])[0];
  finishCopies(w, pending);
  w.clock.finish(Copies, w.copies.done(pending), w.active);
}

//===- TMA ----------------------------------------------------------------------------------===//

TensorMap mapAt(Warp &w, const Instruction &i, Word address) {
  TensorMap map;
  if (address % 64)
    w.fault(i, "a tensor map that is not aligned to 64 bytes");
  std::memcpy(&map, w.cta.generic(w, i, address, 128, 0), sizeof map);
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

/// Calls `body(shared address, address in device memory, bytes of it)` for each 16 bytes of the
/// box; the bytes that lie outside of the extents are left out, and may be all.
template <class Body> void forChunks(const TensorMap &map, const TensorCopy &copy, Body body) {
  const int step = 16 / map.elementBytes;
  TensorMap wide = map;
  wide.box[0] = map.box[0] / step;
  std::array<uint64_t, 5> index{};
  const uint64_t count = wide.boxElements();
  for (uint64_t chunk = 0; chunk < count; ++chunk) {
    const int64_t x = int64_t(copy.at[0]) + int64_t(index[0]) * step;
    const int64_t first = std::clamp<int64_t>(-x, 0, step);
    int64_t past = std::clamp<int64_t>(int64_t(map.extents[0]) - x, 0, step);
    uint64_t address = map.base + (x + first) * map.elementBytes;
    for (int d = 1; d < map.rank; ++d) {
      const int64_t at = int64_t(copy.at[d]) + int64_t(index[d]);
      past = at >= 0 && uint64_t(at) < map.extents[d] ? past : 0;
      address += at * map.strides[d - 1];
    }
    body(swizzled(copy.shared + chunk * 16, map.swizzle), address,
         int(std::max<int64_t>(past - first, 0)) * map.elementBytes);
    for (int d = 0; d < map.rank && ++index[d] == wide.box[d]; ++d)
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
  // As an H200 does, where it is an illegal instruction.
  if (int64_t(copy.at[0]) * map.elementBytes % 16)
    w.fault(i, "the innermost coordinate " + std::to_string(copy.at[0]) + " is no multiple of " +
                   std::to_string(16 / map.elementBytes));
}

/// CTAs that a load writes to: its own, or those of a mask, at the same addresses in each (PTX
/// ISA, "cp.async.bulk.tensor", `.multicast::cluster`).
Word loadedCtas(Warp &w, const Instruction &i, int lane) {
  return i.op.has("multicast::cluster") ? w.reg(i[3])[lane] & 0xffff : Word(1) << w.cta.rank;
}

/// A load works for the barrier that it completes on; the phase is its group.
void touchLoad(Warp &w, const Instruction &i, int lane, const TensorCopy &copy, Cta &to) {
  Races &races = w.cta.races();
  const MBarrier &barrier = barrierOf(w, i, to, copy.barrier);
  requireInitFenced(w, i, barrier);
  Touch arrival = Races::touch(w, i, lane);
  arrival.stamp.isStrong = true, arrival.stamp.scope = Scope::Cluster;
  races.read(arrival, {&to.shadow, copy.barrier, &to}, 8);
  const Touch touch = Races::asyncTouch(w, i, lane, barrier.agent, barrier.phase);
  forChunks(mapAt(w, i, copy.map), copy, [&](uint32_t shared, uint64_t address, int bytes) {
    if (bytes)
      races.readAsync(touch, {&races.global, address}, bytes);
    races.write(touch, {&to.shadow, shared, &to}, 16, nullptr, nullptr);
  });
}

void startLoad(Warp &w, const Instruction &i) {
  forLanes(w.active, [&](int lane) {
    TensorCopy copy = tensorCopy(w, i, 1, 0, lane);
    copy.barrier = w.address(i[2], lane);
    checkCopy(w, i, mapAt(w, i, copy.map), copy);
    for (Word left = loadedCtas(w, i, lane); left; left &= left - 1) {
      Cta &to = w.cta.cluster.ctaOf(w, i, std::countr_zero(left));
      Phase::from(w, i, to.shared(w, i, copy.barrier, 8));
      touchLoad(w, i, lane, copy, to);
      to.loads.push_back(copy);
    }
  });
}

/// The map as a store takes it. As an H200 does: the last 16 bytes of a row are written whole.
TensorMap storedMap(Warp &w, const TensorCopy &copy) {
  TensorMap map = mapAt(w, *copy.instruction, copy.map);
  const uint64_t step = 16 / map.elementBytes;
  map.extents[0] = (map.extents[0] + step - 1) / step * step;
  return map;
}

/// Stores read shared memory and write device memory as two units: a wait may be for the reads
/// alone.
void touchStore(Warp &w, const Instruction &i, int lane, const TensorCopy &copy) {
  Races &races = w.cta.races();
  const Tick group = w.stores.committed + 1;
  const Touch read = Races::asyncTouch(w, i, lane, w.clock.agent(BulkReads), group);
  Touch write = Races::asyncTouch(w, i, lane, w.clock.agent(BulkWrites), group);
  write.stamp.isStrong = i.op.has("add");
  write.stamp.scope = Scope::Gpu;
  forChunks(storedMap(w, copy), copy, [&](uint32_t shared, uint64_t address, int bytes) {
    races.read(read, {&w.cta.shadow, shared, &w.cta}, 16);
    if (!bytes)
      return;
    w.cta.generic(w, i, address, 1, lane), w.cta.generic(w, i, address + bytes - 1, 1, lane);
    // Where a row begins outside of the extents its bytes lie further on in shared memory.
    const bool isWhole = bytes == 16 && !write.stamp.isStrong;
    races.write(write, {&races.global, address}, bytes, reinterpret_cast<uint8_t *>(address),
                isWhole ? w.cta.shared(w, i, shared, 16) : nullptr);
  });
}

void storeTensor(Warp &w, const TensorCopy &copy) {
  const Instruction &i = *copy.instruction;
  const TensorMap map = storedMap(w, copy);
  const bool adds = i.op.has("add");
  if (adds && map.elementBytes != 4)
    w.fault(i, "reductions of this type are not emulated");
  forElements(map, copy, [&](uint32_t shared, uint64_t address) {
    w.cta.requireFenced(w, i, shared, map.elementBytes);
    const uint8_t *from = w.cta.shared(w, i, shared, map.elementBytes);
    if (!address)
      return;
    uint8_t *to = w.cta.generic(w, i, address, map.elementBytes, 0);
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
      w.cta.requireFenced(w, i, shared, map.elementBytes);
    });
    touchStore(w, i, lane, copy);
    w.storing |= Lanes(1) << lane;
    w.stores.open.push_back(copy);
  });
}

void commitStores(Warp &w, const Instruction &) { w.stores.commit(); }

/// A wait is for the stores of the lanes that wait.
void waitStores(Warp &w, const Instruction &i) {
  const size_t pending = w.reg(i[0])[0];
  finishStores(w, pending);
  if (w.storing & ~w.active)
    return;
  w.clock.finish(BulkReads, w.stores.done(pending), w.active);
  if (!i.op.has("read"))
    w.clock.finish(BulkWrites, w.stores.done(pending), w.active);
}

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

/// The oldest item of the oldest group; false if there is none.
template <class Item, class Perform> bool advance(AsyncQueue<Item> &queue, Perform perform) {
  for (auto &group : queue.groups)
    if (!group.empty()) {
      const Item item = group.front();
      group.pop_front();
      perform(item);
      return true;
    }
  return false;
}

} // namespace

void finishCopies(Warp &w, size_t pending) {
  finish(w.copies, pending, [&](const AsyncCopy &copy) { perform(w, copy); });
}

bool advanceCopies(Warp &w) {
  return advance(w.copies, [&](const AsyncCopy &copy) { perform(w, copy); });
}

void finishStores(Warp &w, size_t pending) {
  finish(w.stores, pending, [&](const TensorCopy &copy) { storeTensor(w, copy); });
}

void advanceAtRandom(Warp &w) {
  if (w.cta.chance(4))
    advanceMmas(w);
  if (w.cta.chance(4))
    advanceCopies(w);
  if (w.cta.chance(4))
    advance(w.stores, [&](const TensorCopy &copy) { storeTensor(w, copy); });
}

/// fp32 to the nearest tf32, in place. Infinities and NaN stay.
void roundToTf32(uint8_t *at) {
  uint32_t bits;
  std::memcpy(&bits, at, sizeof bits);
  if ((bits & 0x7f800000) != 0x7f800000)
    bits = (bits + 0x1000) & ~0x1fffu;
  std::memcpy(at, &bits, sizeof bits);
}

void loadTensor(Cta &cta, const TensorCopy &copy) {
  Warp &w = *copy.by;
  const Instruction &i = *copy.instruction;
  const TensorMap map = mapAt(w, i, copy.map);
  bool isOutside = true;
  forElements(map, copy, [&](uint32_t shared, uint64_t address) {
    uint8_t *to = cta.shared(w, i, shared, map.elementBytes);
    isOutside &= !address;
    cta.unfenced[shared / 16] = 0; // what was written before is gone
    if (address)
      std::memcpy(to, cta.generic(w, i, address, map.elementBytes, 0), map.elementBytes);
    else
      std::memset(to, 0, map.elementBytes);
    if (map.rounds)
      roundToTf32(to);
  });
  if (isOutside && !cta.launch.reach.isMapped(map.base)) // which an H200 touches then
    w.fault(i, "a box outside of all extents, of a map whose base is not in memory");
  uint8_t *place = cta.shared(w, i, copy.barrier, 8);
  Phase phase = Phase::from(w, i, place);
  phase.bytes -= int(map.boxElements() * map.elementBytes);
  if (phase.flip()) {
    completePhase(barrierOf(w, i, cta, copy.barrier));
    cta.signal();
  }
  phase.to(place);
}

Handler decodeAsync(Instruction &i) {
  const std::string &base = i.op.base;
  if (base != "cp" || !i.op.has("async"))
    return nullptr;
  if (i.op.has("bulk"))
    return decodeBulk(i);
  if (i.op.has("commit_group"))
    return commitCopies;
  if (i.op.has("mbarrier"))
    return arriveAfterCopies;
  if (i.op.has("wait_group") || i.op.has("wait_all"))
    return waitCopies;
  return i.op.has("shared") && i.op.has("global") ? copyAsync : nullptr;
}

} // namespace pantile::ptx
