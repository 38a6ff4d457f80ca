//===- Clocks.cpp - joins of vector clocks -------------------------------------------===//
// Needs: see Clocks.h.
// Gives: Known, VectorClock, joined.
// How:   The entries of a clock are sorted, so a join is a merge. A join that changes nothing
//        returns the same clock, as most of them do.
//===------------------------------------------------------------------------------------------===//
#include "Clocks.h"
#include <algorithm>

namespace pantile::ptx {

bool Known::covers(Tick tick, int lane) const {
  if (tick <= all)
    return true;
  return tick <= some && (lane == severalLanes ? lanes == ~0u : lanes >> lane & 1);
}

void Known::join(const Known &other) {
  all = std::max(all, other.all);
  if (some <= all)
    some = 0, lanes = 0;
  if (other.some <= all)
    return;
  some = std::max(some, other.some);
  lanes |= other.lanes;
}

namespace {

auto place(auto &entries, Agent agent) {
  return std::lower_bound(entries.begin(), entries.end(), agent,
                          [](const Known &entry, Agent wanted) { return entry.agent < wanted; });
}

/// True if joining `other` leaves `known` as it is.
bool includes(const Known &known, const Known &other) {
  Known both = known;
  both.join(other);
  return both == known;
}

} // namespace

bool VectorClock::covers(Agent agent, Tick tick, int lane) const {
  const auto found = place(entries, agent);
  return found != entries.end() && found->agent == agent && found->covers(tick, lane);
}

void VectorClock::join(const Known &known) {
  const auto found = place(entries, known.agent);
  if (found != entries.end() && found->agent == known.agent)
    found->join(known);
  else
    entries.insert(found, known);
}

void VectorClock::join(const VectorClock &other) {
  std::vector<Known> merged;
  merged.reserve(entries.size() + other.entries.size());
  auto mine = entries.begin();
  for (const Known &theirs : other.entries) {
    while (mine != entries.end() && mine->agent < theirs.agent)
      merged.push_back(*mine++);
    if (mine != entries.end() && mine->agent == theirs.agent) {
      merged.push_back(*mine++);
      merged.back().join(theirs);
    } else
      merged.push_back(theirs);
  }
  merged.insert(merged.end(), mine, entries.end());
  entries = std::move(merged);
}

bool VectorClock::contains(const VectorClock &other) const {
  auto mine = entries.begin();
  for (const Known &theirs : other.entries) {
    while (mine != entries.end() && mine->agent < theirs.agent)
      ++mine;
    if (mine == entries.end() || mine->agent != theirs.agent || !includes(*mine, theirs))
      return false;
  }
  return true;
}

Clock joined(const Clock &a, const Clock &b) {
  if (a == b || !b)
    return a;
  if (!a || b->contains(*a))
    return b;
  if (a->contains(*b))
    return a;
  auto result = std::make_shared<VectorClock>(*a);
  result->join(*b);
  return result;
}

Clock joined(const Clock &a, const Known &known) {
  auto result = a ? std::make_shared<VectorClock>(*a) : std::make_shared<VectorClock>();
  result->join(known);
  return result;
}

} // namespace pantile::ptx
