//===- WarpClock.cpp - what the lanes of a warp acquire and release ------------------===//
// Needs: see WarpClock.h.
// Gives: WarpClock.
// How:   A release ends a tick, so that later accesses are not covered by it.
//===------------------------------------------------------------------------------------------===//
#include "WarpClock.h"

namespace pantile::ptx {
namespace {
constexpr size_t mostOwn = 8; // pieces of knowledge of single lanes; more are put together
}

void WarpClock::start(Agent agent, Lanes lanes, Knowledge known) {
  *this = {};
  first = agent;
  base = std::move(known);
  started = live = lanes;
}

Known WarpClock::known(Unit unit, Tick all, Tick some, Lanes lanes) const {
  return (lanes | ~started) == ~0u ? Known{agent(unit), some, 0, 0}
                                   : Known{agent(unit), all, some, lanes};
}

bool WarpClock::isAfter(const Stamp &stamp, int lane) const {
  const bool isOwn = lane == stamp.lane && lane != severalLanes;
  if (stamp.agent == agent() && (stamp.tick <= synced || isOwn))
    return true;
  if (stamp.agent == agent(Copies) && isOwn && stamp.tick <= copied && (waited >> lane & 1))
    return true;
  if (base.covers(stamp.agent, stamp.tick, stamp.lane))
    return true;
  return areTold(lane, [&](const Knowledge &knowledge) {
    return knowledge.covers(stamp.agent, stamp.tick, stamp.lane);
  });
}

bool WarpClock::isFenced(const Stamp &stamp, int lane) const {
  auto covers = [&](const Clock &clock) {
    return clock && clock->covers(stamp.agent, stamp.tick, stamp.lane);
  };
  return covers(base.fenced) ||
         areTold(lane, [&](const Knowledge &knowledge) { return covers(knowledge.fenced); });
}

void WarpClock::synchronize() {
  for (const Own &item : own)
    base.join(item.knowledge);
  own.clear();
  if (copied)
    base.seen = joined(base.seen, known(Copies, 0, copied, waited));
  synced = tick++;
}

Knowledge WarpClock::knowledgeOf(Lanes lanes) const {
  Knowledge result = base;
  for (const Own &item : own)
    if (item.lanes & lanes)
      result.join(item.knowledge);
  result.seen = joined(result.seen, known(Threads, synced, tick, lanes));
  if (copied)
    result.seen = joined(result.seen, known(Copies, 0, copied, waited & lanes));
  return result;
}

Knowledge WarpClock::release(Lanes lanes) {
  Knowledge result = beginRelease(lanes);
  endRelease();
  return result;
}

void WarpClock::acquire(Lanes lanes, const Knowledge &knowledge) {
  if (knowledge.empty())
    return;
  if (!(live & ~lanes)) {
    base.join(knowledge);
    return;
  }
  for (Own &item : own)
    if (item.lanes == lanes || own.size() >= mostOwn) {
      item.lanes |= lanes;
      item.knowledge.join(knowledge);
      return;
    }
  own.push_back({lanes, knowledge});
}

void WarpClock::finish(Unit unit, Tick done, Lanes lanes) {
  if (!done)
    return;
  if (unit == Copies) {
    waited = done > copied ? lanes : waited | lanes;
    copied = std::max(copied, done);
    return;
  }
  Knowledge knowledge;
  knowledge.seen = joined(nullptr, Known{agent(unit), done, 0, 0});
  acquire(lanes, knowledge);
}

void WarpClock::fenceProxy(Lanes lanes) { acquire(lanes, {nullptr, release(lanes).seen}); }

void WarpClock::observe(Lanes lanes, const Handed &handed) {
  for (Observed &item : observed)
    if (item.handed.knowledge.seen == handed.knowledge.seen && item.handed.scope == handed.scope) {
      item.lanes |= lanes;
      return;
    }
  if (observed.size() >= 4 * mostOwn)
    observed.erase(observed.begin());
  observed.push_back({lanes, handed});
}

void WarpClock::noteFence(Lanes lanes, Scope scope) {
  for (Observed &item : fences)
    item.lanes &= ~lanes;
  std::erase_if(fences, [](const Observed &item) { return !item.lanes; });
  fences.push_back({lanes, {release(lanes), scope, agent()}});
}

const Handed *WarpClock::fencedBefore(int lane) const {
  for (const Observed &item : fences)
    if (item.lanes >> lane & 1)
      return &item.handed;
  return nullptr;
}

} // namespace pantile::ptx
