//===- Control.cpp - exits, barriers, calls; exchange between lanes ------------------===//
// Needs: Operands.h, Values.h.
// Gives: decodeControl, decodeWarp, decode, shuffleSource.
// How:   Only the driver's own functions can be called: vprintf and __assertfail. An opcode with a
//        modifier that Modifiers.cpp does not list faults when it is executed.
//===------------------------------------------------------------------------------------------===//
#include "Modifiers.h"
#include "Operands.h"
#include "Races.h"
#include "Values.h"

namespace pantile::ptx {
namespace {

void leave(Warp &w, const Instruction &) { w.leave(w.active); }
void nothing(Warp &, const Instruction &) {}
void giveWay(Warp &w, const Instruction &) { w.stops = true; }
void branchIsTaken(Warp &, const Instruction &) {}

void trap(Warp &w, const Instruction &i) { w.fault(i, "a trap"); }
void unknown(Warp &w, const Instruction &i) {
  const std::string reason = unknownModifier(i.op);
  w.fault(i, reason.empty() ? "these operands are not emulated" : reason);
}

/// Barriers that lanes of the warp initialised may be used by others.
void fenceBarriers(Warp &w) {
  for (auto &[address, barrier] : w.cta.mbarriers)
    barrier.isFenced |= barrier.by == &w && (barrier.lanes & w.active);
}

void fenceProxyAsync(Warp &w, const Instruction &) {
  w.cta.fenceProxy(w.index);
  w.clock.fenceProxy(w.active);
  fenceBarriers(w);
}

void fenceInit(Warp &w, const Instruction &) { fenceBarriers(w); }

/// membar.gl is a fence of the GPU's scope.
void fence(Warp &w, const Instruction &i) {
  const bool isSys = i.op.has("sys"), isCta = i.op.has("cta"), isCluster = i.op.has("cluster");
  w.cta.races().fence(w, w.active,
                      isSys       ? Scope::Sys
                      : isCta     ? Scope::Cta
                      : isCluster ? Scope::Cluster
                                  : Scope::Gpu);
}

void synchronize(Warp &w, const Instruction &) { w.clock.synchronize(); }

Word uniform(Warp &w, const Operand &operand) { return w.reg(operand)[std::countr_zero(w.active)]; }

void barrier(Warp &w, const Instruction &i) {
  if (!w.active)
    return; // under a condition that does not hold for the warp
  const bool waits = !i.op.has("arrive");
  const int count = i.operands.size() > 1 ? uniform(w, i[1]) : 0;
  w.cta.arriveAtBarrier(w, i, uniform(w, i[0]), count, waits);
}

//===- calls --------------------------------------------------------------------------------===//

const char *textAt(Warp &w, const Instruction &i, Word address) {
  const auto *text = reinterpret_cast<const char *>(w.cta.generic(w, i, address, 1, 0));
  return text;
}

/// One conversion of a printf format, its argument taken from `record`.
std::string formatted(const std::string &spec, const uint8_t *record, size_t &at) {
  const char kind = spec.back();
  const bool isWide = spec.find("ll") != spec.npos || kind == 'p' ||
                      std::string_view("fFeEgGaA").find(kind) != std::string_view::npos;
  const size_t size = isWide ? 8 : 4;
  at = (at + size - 1) / size * size;
  Word value = 0;
  std::memcpy(&value, record + at, size);
  at += size;
  char text[512];
  if (std::string_view("fFeEgGaA").find(kind) != std::string_view::npos)
    std::snprintf(text, sizeof text, spec.c_str(), std::bit_cast<double>(value));
  else if (isWide)
    std::snprintf(text, sizeof text, spec.c_str(), value);
  else
    std::snprintf(text, sizeof text, spec.c_str(), uint32_t(value));
  return text;
}

std::string formatAll(const char *format, const uint8_t *record) {
  std::string result;
  size_t at = 0;
  for (const char *c = format; *c; ++c) {
    if (*c != '%') {
      result += *c;
      continue;
    }
    std::string spec = "%";
    do
      spec += *++c;
    while (*c && std::string_view("diouxXcspfFeEgGaA%").find(*c) == std::string_view::npos);
    result += spec == "%%" ? "%" : formatted(spec, record, at);
  }
  return result;
}

/// The parameters of a call lie in local memory.
Word argument(Warp &w, const Instruction &i, const Operand &list, size_t n, int lane) {
  Word value = 0;
  std::memcpy(&value, w.cta.generic(w, i, list.parts.at(n).offset | localWindow, 8, lane), 8);
  return value;
}

void call(Warp &w, const Instruction &i) {
  size_t at = 0;
  while (at < i.operands.size() && i[at].kind != Operand::Name)
    ++at;
  if (at + 1 >= i.operands.size())
    w.fault(i, "a call that is not emulated");
  const std::string &name = i[at].name;
  const Operand &arguments = i[at + 1];
  if (name != "vprintf" && name != "__assertfail")
    w.fault(i, "a call of `" + name + "`");
  forLanes(w.active, [&](int lane) {
    const char *text = textAt(w, i, argument(w, i, arguments, 0, lane));
    if (name == "__assertfail")
      w.fault(i, std::string("assertion failed: ") + text);
    const Word record = argument(w, i, arguments, 1, lane);
    std::fputs(formatAll(text, w.cta.generic(w, i, record, 1, lane)).c_str(), stdout);
  });
  std::fflush(stdout);
}

//===- between lanes ------------------------------------------------------------------------===//

void shuffle(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  Word *inside = i[0].parts.empty() ? nullptr : w.reg(i[0].parts[0]);
  std::array<Word, warpSize> a;
  std::copy_n(w.reg(i[1]), warpSize, a.begin());
  std::array<ShuffleSource, warpSize> from;
  forLanes(w.active, [&](int lane) { from[lane] = shuffleSource(w, i, lane); });
  forLanes(w.active, [&](int lane) {
    if (!(w.active >> from[lane].lane & 1))
      w.fault(i, "lane " + std::to_string(lane) + " reads lane " + std::to_string(from[lane].lane) +
                     ", which does not take part");
    d[lane] = uint32_t(a[from[lane].lane]);
    if (inside)
      inside[lane] = from[lane].isInside;
  });
}

/// The mask of an instruction names the lanes that take part, in each of them.
void requireMembers(Warp &w, const Instruction &i, const Operand &mask) {
  forLanes(w.active, [&](int lane) {
    const Lanes members = w.reg(mask)[lane];
    if ((members & w.live) != w.active)
      w.fault(i, "lane " + std::to_string(lane) + " has a mask of other lanes than take part");
  });
}

/// Runs an exchange between lanes whose mask is its last operand.
template <Handler handler> void withMembers(Warp &w, const Instruction &i) {
  if (!w.active)
    return;
  requireMembers(w, i, i.operands.back());
  handler(w, i);
}

Lanes lanesWhere(Warp &w, const Operand &predicate) {
  Lanes result = 0;
  forLanes(w.active, [&](int lane) {
    result |= Lanes(bool(w.reg(predicate)[lane] & 1) != predicate.inverted) << lane;
  });
  return result;
}

void vote(Warp &w, const Instruction &i) {
  const Lanes yes = lanesWhere(w, i[1]);
  Word *d = w.reg(i[0]);
  Word result = i.op.has("ballot") ? yes
                : i.op.has("all")  ? yes == w.active
                : i.op.has("any")  ? yes != 0
                                   : yes == 0 || yes == w.active;
  forLanes(w.active, [&](int lane) { d[lane] = result; });
}

void activeMask(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  forLanes(w.active, [&](int lane) { d[lane] = w.active; });
}

void match(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]);
  const bool all = i.op.has("all");
  forLanes(w.active, [&](int lane) {
    Lanes equal = 0;
    forLanes(w.active, [&](int other) { equal |= Lanes(a[other] == a[lane]) << other; });
    d[lane] = all && equal != w.active ? 0 : equal;
    if (all && !i[0].parts.empty())
      w.reg(i[0].parts[0])[lane] = equal == w.active;
  });
}

void reduce(Warp &w, const Instruction &i) {
  const std::string &what = i.op.parts[1];
  const std::string_view type = i.op.last();
  Word *d = w.reg(i[0]);
  const Word *a = w.reg(i[1]);
  const int first = std::countr_zero(w.active);
  Word result = a[first];
  forLanes(w.active & ~(1u << first), [&](int lane) {
    const Word value = a[lane];
    const bool less = type == "s32"   ? int32_t(value) < int32_t(result)
                      : type == "f32" ? as<float>(value) < as<float>(result)
                                      : uint32_t(value) < uint32_t(result);
    if (what == "add")
      result = uint32_t(result + value);
    else if (what == "and")
      result &= value;
    else if (what == "or")
      result |= value;
    else if (what == "xor")
      result ^= value;
    else if (what == "min" ? less : !less)
      result = value;
  });
  forLanes(w.active, [&](int lane) { d[lane] = result; });
}

void elect(Warp &w, const Instruction &i) {
  const int first = std::countr_zero(w.active);
  forLanes(w.active, [&](int lane) {
    if (i[0].kind != Operand::Discard)
      w.reg(i[0])[lane] = first;
    w.reg(i[0].parts.at(0))[lane] = lane == first;
  });
}

} // namespace

ShuffleSource shuffleSource(const Warp &w, const Instruction &i, int lane) {
  const Word c = w.reg(i[3])[lane];
  const int by = w.reg(i[2])[lane] & 31, clamp = c & 31, segments = c >> 8 & 31;
  const int first = lane & segments, last = first | (clamp & ~segments);
  const int from = i.op.has("up")     ? lane - by
                   : i.op.has("down") ? lane + by
                   : i.op.has("bfly") ? lane ^ by
                                      : first | (by & ~segments);
  const bool isInside = i.op.has("up") ? from >= last : from <= last;
  return {isInside ? from : lane, isInside};
}

Handler decodeControl(Instruction &i) {
  const std::string &base = i.op.base;
  if (base == "ret" || base == "exit")
    return leave;
  if (base == "bra")
    return branchIsTaken;
  if (base == "call")
    return call;
  if (base == "trap" || base == "brkpt")
    return trap;
  if (base == "nanosleep")
    return giveWay;
  if (base == "fence" && i.op.has("proxy") && i.op.has("async"))
    return fenceProxyAsync;
  if (base == "fence" && i.op.has("mbarrier_init"))
    return fenceInit;
  if (base == "fence" || base == "membar")
    return fence;
  if (base == "griddepcontrol" || (base == "prefetch" && i.op.has("tensormap")))
    return nothing;
  if (base == "bar" && i.op.has("warp"))
    return withMembers<synchronize>;
  if ((base == "bar" || base == "barrier") && (i.op.has("sync") || i.op.has("arrive")) &&
      !i.op.has("red") && !i.op.has("cluster"))
    return barrier;
  return nullptr;
}

Handler decodeWarp(Instruction &i) {
  const std::string &base = i.op.base;
  if (base == "activemask")
    return activeMask;
  if (!i.op.has("sync"))
    return nullptr;
  if (base == "shfl")
    return withMembers<shuffle>;
  if (base == "vote")
    return withMembers<vote>;
  if (base == "match")
    return withMembers<match>;
  if (base == "redux")
    return withMembers<reduce>;
  return base == "elect" ? withMembers<elect> : nullptr;
}

void decode(Instruction &instruction) {
  const std::string &base = instruction.op.base;
  describe(instruction);
  instruction.wholeWarp = instruction.op.has("sync") || instruction.op.has("aligned") ||
                          base == "bar" || base == "barrier";
  instruction.run = unknown;
  if (!unknownModifier(instruction.op).empty())
    return;
  for (auto family : {decodeControl, decodeCluster, decodeMemory, decodeConvert, decodeCompare,
                      decodeInteger, decodeFloat, decodeWarp, decodeAtomic, decodeMatrix,
                      decodeAsync, decodeMbarrier, decodeWgmma, decodeRegisterPool})
    if (Handler handler = family(instruction)) {
      instruction.run = handler;
      return;
    }
}

} // namespace pantile::ptx
