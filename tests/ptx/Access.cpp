//===- Access.cpp - loads, stores, prefetches and atomics ----------------------------===//
// Needs: Values.h.
// Gives: decodeMemory, decodeAtomic.
// How:   An access finds its bytes by the space in the opcode or by the generic address. A vector
//        is one access, which must be aligned as a whole.
//===------------------------------------------------------------------------------------------===//
#include "Races.h"
#include "Values.h"

namespace pantile::ptx {
namespace {

Space spaceOf(const Instruction &i, const Operand &address) {
  if (address.space != Space::Generic && address.space != Space::Global)
    return address.space; // a name says more than the opcode: parameters of calls are local
  for (const std::string &part : i.op.parts) {
    if (part.starts_with("shared"))
      return Space::Shared;
    if (part == "local")
      return Space::Local;
    if (part.starts_with("param"))
      return Space::Param;
  }
  return Space::Generic;
}

Word windowOf(Space space) {
  return space == Space::Shared  ? sharedWindow
         : space == Space::Local ? localWindow
         : space == Space::Param ? paramWindow
                                 : 0;
}

/// Bytes that an access found, and whose accesses are compared.
struct Found {
  uint8_t *bytes;
  Place place;
};

/// The bytes of lane `lane`, in the space that a decoder put into number[2]; number[3]: of a cluster.
Found bytesAt(Warp &w, const Instruction &i, const Operand &operand, int lane, int bytes) {
  const auto space = static_cast<Space>(i.number[2]);
  const Word address = w.address(operand, lane);
  if (space == Space::Shared && i.number[3]) {
    Cta *owner = nullptr;
    uint8_t *found = w.cta.sharedOfCluster(w, i, uint32_t(address), bytes, owner);
    return {found, {&owner->shadow, Word(found - owner->sharedMemory.data()), owner}};
  }
  if (space == Space::Shared)
    return {w.cta.shared(w, i, uint32_t(address), bytes),
            {&w.cta.shadow, uint32_t(address), &w.cta}};
  uint8_t *found = w.cta.generic(w, i, address | windowOf(space), bytes, lane);
  switch ((address | windowOf(space)) & windowMask) {
  case sharedWindow:
    return {found, {&w.cta.shadow, address & ~windowMask, &w.cta}};
  case localWindow:
  case paramWindow:
    return {found, {nullptr, 0}};
  }
  return {found, {&w.cta.races().global, address}};
}

/// The value of `bytes` bytes, with its sign for signed types.
Word extended(Word value, int bytes, bool isSigned) {
  if (!isSigned || bytes == 8)
    return value;
  const int unused = 64 - 8 * bytes;
  return Word(int64_t(value << unused) >> unused);
}

void load(Warp &w, const Instruction &i) {
  const int bytes = i.number[0], count = i.number[1];
  const bool isSigned = i.op.last()[0] == 's';
  const Operand *parts = count > 1 ? i[0].parts.data() : &i[0];
  const Order &order = i.order;
  forLanes(w.active, [&](int lane) {
    const auto [from, place] = bytesAt(w, i, i[1], lane, bytes * count);
    if (order.isStrong)
      w.cta.races().observe(w, place, lane, order);
    w.cta.races().read(Races::touch(w, i, lane, order), place, bytes * count);
    Word values[8] = {};
    for (int part = 0; part < count; ++part)
      std::memcpy(&values[part], from + part * bytes, bytes);
    for (int part = 0; part < count; ++part)
      if (parts[part].kind != Operand::Discard)
        w.reg(parts[part])[lane] = extended(values[part], bytes, isSigned);
  });
}

void store(Warp &w, const Instruction &i) {
  const int bytes = i.number[0], count = i.number[1];
  const Operand *parts = count > 1 ? i[1].parts.data() : &i[1];
  const bool isShared = static_cast<Space>(i.number[2]) == Space::Shared;
  const Order &order = i.order;
  const Knowledge released = order.releases ? w.clock.beginRelease(w.active) : Knowledge();
  forLanes(w.active, [&](int lane) {
    const auto [to, place] = bytesAt(w, i, i[0], lane, bytes * count);
    uint8_t values[64];
    for (int part = 0; part < count; ++part)
      std::memcpy(values + part * bytes, &w.reg(parts[part])[lane], bytes);
    w.cta.races().write(Races::touch(w, i, lane, order), place, bytes * count, to, values);
    if (order.isStrong)
      w.cta.races().handOn(w, place, lane, order, false, order.releases ? &released : nullptr);
    std::memcpy(to, values, bytes * count);
    if (isShared)
      w.cta.noteWrite(w.index, uint32_t(w.address(i[0], lane)), bytes * count);
  });
  if (order.releases)
    w.clock.endRelease();
}

/// Nothing but the check that there is such memory.
void prefetch(Warp &w, const Instruction &i) {
  forLanes(w.active, [&](int lane) { bytesAt(w, i, i[0], lane, 1); });
}

/// Lanes of the wait on memory that others write: let them.
void volatileLoad(Warp &w, const Instruction &i) {
  load(w, i);
  w.stops = w.cta.chance(4);
}

int vectorLength(const Opcode &op) {
  return op.has("v2") ? 2 : op.has("v4") ? 4 : op.has("v8") ? 8 : 1;
}

//===- atomics ------------------------------------------------------------------------------===//

using Combine = Word (*)(Word old, Word value);

template <class T, auto fn> Word combine(Word old, Word value) {
  return word<T>(fn(as<T>(old), as<T>(value)));
}

constexpr auto plus = []<class T>(T a, T b) {
  if constexpr (std::is_same_v<T, Half>)
    return toHalf(double(toFloat(a)) + toFloat(b));
  else if constexpr (std::is_same_v<T, BFloat>)
    return toBFloat(double(toFloat(a)) + toFloat(b));
  else
    return T(a + b);
};
constexpr auto smaller = []<class T>(T a, T b) { return b < a ? b : a; };
constexpr auto greater = []<class T>(T a, T b) { return a < b ? b : a; };

template <class T, auto fn> Word combinePair(Word old, Word value) {
  return combine<T, fn>(old >> 16, value >> 16) << 16 | combine<T, fn>(old, value);
}

Word exchange(Word, Word value) { return value; }
Word conjunction(Word old, Word value) { return old & value; }
Word disjunction(Word old, Word value) { return old | value; }
Word difference(Word old, Word value) { return old ^ value; }
Word countUp(Word old, Word limit) { return uint32_t(old) >= uint32_t(limit) ? 0 : old + 1; }
Word countDown(Word old, Word limit) {
  return uint32_t(old) == 0 || uint32_t(old) > uint32_t(limit) ? limit : old - 1;
}

Combine combinerOf(const Opcode &op) {
  const std::string_view type = op.last();
  if (op.has("exch"))
    return exchange;
  if (op.has("and"))
    return conjunction;
  if (op.has("or"))
    return disjunction;
  if (op.has("xor"))
    return difference;
  if (op.has("inc"))
    return countUp;
  if (op.has("dec"))
    return countDown;
  if (op.has("add")) {
    if (type == "f16x2")
      return combinePair<Half, plus>;
    if (type == "bf16x2")
      return combinePair<BFloat, plus>;
    return type == "f32"        ? combine<float, plus>
           : type == "f64"      ? combine<double, plus>
           : type == "f16"      ? combine<Half, plus>
           : type == "bf16"     ? combine<BFloat, plus>
           : bitsOf(type) == 64 ? combine<uint64_t, plus>
                                : combine<uint32_t, plus>;
  }
  if (op.has("min"))
    return type == "s32"   ? combine<int32_t, smaller>
           : type == "u32" ? combine<uint32_t, smaller>
           : type == "s64" ? combine<int64_t, smaller>
           : type == "u64" ? combine<uint64_t, smaller>
                           : nullptr;
  if (op.has("max"))
    return type == "s32"   ? combine<int32_t, greater>
           : type == "u32" ? combine<uint32_t, greater>
           : type == "s64" ? combine<int64_t, greater>
           : type == "u64" ? combine<uint64_t, greater>
                           : nullptr;
  return nullptr;
}

/// A swap that fails does not write.
void noteUpdate(Warp &w, const Instruction &i, int lane, const Place &place, int bytes,
                const Order &order, bool writes, const Knowledge &released) {
  Races &races = w.cta.races();
  const Touch touch = Races::touch(w, i, lane, order);
  if (!writes)
    return races.read(touch, place, bytes);
  races.write(touch, place, bytes, nullptr, nullptr);
  races.handOn(w, place, lane, order, true, order.releases ? &released : nullptr);
}

/// atom and red: lane by lane. `red` has no result.
void atomic(Warp &w, const Instruction &i) {
  const bool hasResult = i.op.base == "atom", swaps = i.op.has("cas");
  const int bytes = i.number[0], at = hasResult ? 1 : 0;
  const Combine combiner = swaps ? nullptr : combinerOf(i.op);
  const Word mask = bytes == 8 ? ~Word(0) : (Word(1) << 8 * bytes) - 1;
  const int count = i.number[1];
  auto part = [&](const Operand &operand, int n) -> const Operand & {
    return operand.kind == Operand::Vector ? operand.parts[n] : operand;
  };
  const Order &order = i.order;
  const Knowledge released = order.releases ? w.clock.beginRelease(w.active) : Knowledge();
  forLanes(w.active, [&](int lane) {
    const Found found = bytesAt(w, i, i[at], lane, bytes * count);
    uint8_t *place = found.bytes;
    bool writes = !swaps;
    w.cta.races().observe(w, found.place, lane, order);
    for (int n = 0; n < count; ++n, place += bytes) {
      Word old = 0;
      std::memcpy(&old, place, bytes);
      Word value = w.reg(part(i[at + 1], n))[lane] & mask;
      if (swaps && old == value)
        value = w.reg(i[at + 2])[lane] & mask, writes = true;
      else if (swaps)
        value = old;
      else
        value = combiner(old, value) & mask;
      std::memcpy(place, &value, bytes);
      if (hasResult && part(i[0], n).kind != Operand::Discard)
        w.reg(part(i[0], n))[lane] = old;
    }
    noteUpdate(w, i, lane, found.place, bytes * count, order, writes, released);
    if (static_cast<Space>(i.number[2]) == Space::Shared)
      w.cta.noteWrite(w.index, uint32_t(w.address(i[at], lane)), bytes * count);
  });
  if (order.releases)
    w.clock.endRelease();
  w.stops = w.cta.chance(4);
}

} // namespace

Handler decodeMemory(Instruction &i) {
  const std::string &base = i.op.base;
  if (base == "prefetch" && i.op.has("global")) {
    i.number[2] = int(Space::Generic);
    return prefetch;
  }
  const bool isLoad = base == "ld" || base == "ldu";
  if (!isLoad && (base != "st" || i.op.has("shared::cluster")))
    return nullptr;
  const Operand &address = i[isLoad ? 1 : 0];
  if (address.kind != Operand::Address)
    return nullptr;
  i.number[0] = bitsOf(i.op.last()) / 8;
  i.number[1] = vectorLength(i.op);
  i.number[2] = int(spaceOf(i, address));
  i.number[3] = i.op.has("shared::cluster");
  if (!isLoad)
    return store;
  const bool watches = i.op.has("volatile") || i.op.has("acquire") || i.op.has("relaxed");
  return watches ? volatileLoad : load;
}

Handler decodeAtomic(Instruction &i) {
  if ((i.op.base != "atom" && i.op.base != "red") || i.op.has("shared::cluster"))
    return nullptr;
  if (!i.op.has("cas") && !combinerOf(i.op))
    return nullptr;
  i.number[0] = bitsOf(i.op.last()) / 8;
  i.number[1] = vectorLength(i.op);
  i.number[2] = int(spaceOf(i, i[i.op.base == "atom" ? 1 : 0]));
  return atomic;
}

} // namespace pantile::ptx
