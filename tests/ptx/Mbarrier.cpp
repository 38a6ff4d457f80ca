//===- Mbarrier.cpp - mbarriers and what they order ----------------------------------===//
// Needs: Phase.h, Races.h.
// Gives: decodeMbarrier; the functions of Phase.h.
// How:   A wait that fails suspends the warp until the phase of some barrier has changed. Arrivals
//        release the clocks of their threads, and waits acquire them when the phase is over;
//        between CTAs of a cluster only if both have its scope.
//===------------------------------------------------------------------------------------------===//
#include "Phase.h"
#include "Races.h"

namespace pantile::ptx {

MBarrier &barrierOf(const Warp &w, const Instruction &i, Cta &cta, uint32_t address) {
  const auto found = cta.mbarriers.find(address);
  if (found == cta.mbarriers.end())
    w.fault(i, "there is no mbarrier at this address");
  return found->second;
}

void completePhase(MBarrier &barrier) {
  barrier.arrived.join(std::exchange(barrier.arriving, {}));
  barrier.arrivedFar.join(std::exchange(barrier.arrivingFar, {}));
  barrier.arrived.seen = joined(barrier.arrived.seen, Known{barrier.agent, barrier.phase++, 0, 0});
}

void requireInitFenced(const Warp &w, const Instruction &i, const MBarrier &barrier) {
  if (!barrier.isFenced)
    w.fault(i, "an mbarrier that line " + std::to_string(barrier.init->line) +
                   " initialised, without `fence.mbarrier_init` after it");
}

namespace {

uint8_t *barrierAt(Warp &w, const Instruction &i, const Operand &operand, int lane) {
  return w.cta.shared(w, i, uint32_t(w.address(operand, lane)), 8);
}

void initBarrier(Warp &w, const Instruction &i) {
  Races &races = w.cta.races();
  forLanes(w.active, [&](int lane) {
    const unsigned count = w.reg(i[1])[lane];
    const uint32_t address = w.address(i[0], lane);
    uint8_t *place = barrierAt(w, i, i[0], lane);
    races.write(Races::touch(w, i, lane), {&w.cta.shadow, address, &w.cta}, 8, nullptr, nullptr);
    Phase{0, count, count, 0}.to(place);
    w.cta.mbarriers[address] = {
        races.addAgents(w.cta, -1, 1), 1, {}, {}, {}, {}, &i, &w, Lanes(1) << lane, false};
  });
}

void invalidate(Warp &w, const Instruction &i) {
  forLanes(w.active, [&](int lane) {
    const uint32_t address = w.address(i[0], lane);
    w.cta.races().write(Races::touch(w, i, lane), {&w.cta.shadow, address, &w.cta}, 8, nullptr,
                        nullptr);
    std::memset(barrierAt(w, i, i[0], lane), 0xff, 8);
    w.cta.mbarriers.erase(address);
  });
}

/// Operations on a barrier race with nothing but its initialisation and other uses of its memory.
Touch barrierTouch(Warp &w, const Instruction &i, int lane) {
  Touch touch = Races::touch(w, i, lane);
  touch.stamp.isStrong = true;
  touch.stamp.scope = Scope::Cluster;
  return touch;
}

/// What an arrival hands on.
Knowledge handedOn(Warp &w, const Instruction &i) {
  if (!i.op.has("relaxed"))
    return w.clock.release(w.active);
  const Handed *fenced = w.clock.fencedBefore(std::countr_zero(w.active));
  return fenced ? fenced->knowledge : Knowledge();
}

void arrive(Warp &w, const Instruction &i) {
  const size_t at = i[0].kind == Operand::Address ? 0 : 1;
  const bool expects = i.op.has("expect_tx"), isFar = i.op.has("shared::cluster");
  const Knowledge knowledge = handedOn(w, i);
  forLanes(w.active, [&](int lane) {
    Cta *owner = &w.cta;
    uint8_t *place = isFar ? w.cta.sharedOfCluster(w, i, uint32_t(w.address(i[at], lane)), 8, owner)
                           : barrierAt(w, i, i[at], lane);
    Phase phase = Phase::from(w, i, place);
    const uint32_t address = place - owner->sharedMemory.data();
    MBarrier &barrier = barrierOf(w, i, *owner, address);
    w.cta.races().write(barrierTouch(w, i, lane), {&owner->shadow, address, owner}, 8, nullptr,
                        nullptr);
    if (owner != &w.cta)
      requireInitFenced(w, i, barrier);
    if (owner == &w.cta)
      barrier.arriving.join(knowledge);
    else if (i.op.has("cluster"))
      barrier.arrivingFar.join(knowledge);
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
    if (phase.flip()) {
      completePhase(barrier);
      owner->signal();
    }
    phase.to(place);
  });
}

void learn(Warp &w, const Instruction &i, uint32_t address, Lanes lanes) {
  if (!lanes || i.op.has("relaxed"))
    return;
  const MBarrier &barrier = barrierOf(w, i, w.cta, address);
  w.clock.acquire(lanes, barrier.arrived);
  if (i.op.has("cluster"))
    w.clock.acquire(lanes, barrier.arrivedFar);
}

void tryWait(Warp &w, const Instruction &i) {
  Word *d = w.reg(i[0]);
  uint32_t last = 0;
  Lanes over = 0; // lanes that found the phase of the barrier at `last` over
  forLanes(w.active, [&](int lane) {
    const uint32_t address = w.address(i[1], lane);
    const Phase phase = Phase::from(w, i, barrierAt(w, i, i[1], lane));
    w.cta.races().read(barrierTouch(w, i, lane), {&w.cta.shadow, address, &w.cta}, 8);
    d[lane] = phase.parity != (w.reg(i[2])[lane] & 1);
    if (!d[lane]) {
      w.stops = true;
      w.waitsForEvent = w.cta.events;
      return;
    }
    if (address != last)
      learn(w, i, last, std::exchange(over, 0));
    last = address;
    over |= Lanes(1) << lane;
  });
  learn(w, i, last, over);
}

} // namespace

Handler decodeMbarrier(Instruction &i) {
  if (i.op.base != "mbarrier")
    return nullptr;
  const std::string &what = i.op.parts[0];
  return what == "init"                              ? initBarrier
         : what == "inval"                           ? invalidate
         : what == "arrive" || what == "expect_tx"   ? arrive
         : what == "try_wait" || what == "test_wait" ? tryWait
                                                     : Handler(nullptr);
}

} // namespace pantile::ptx
