//===- Clocks.h - vector clocks of agents --------------------------------------------===//
// Needs: nothing.
// Gives: Agent, Tick, Known, VectorClock, Knowledge.
// How:   An agent is a warp or an asynchronous unit that works for one. Its ticks number its
//        accesses; a vector clock has for each agent the tick up to which its accesses happened
//        before. The lanes of a warp have the same tick until they synchronise, so a clock may
//        cover the latest accesses of some lanes only. The join of two such entries may cover too
//        much, never too little: a race may be missed, but none is reported falsely.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace pantile::ptx {

using Agent = uint32_t;
using Tick = uint32_t;

/// The lane of an access that a warp makes as a whole, or that several lanes make.
constexpr int severalLanes = 32;

/// What is known of one agent: all accesses up to tick `all`, and those of `lanes` up to `some`.
struct Known {
  Agent agent;
  Tick all = 0, some = 0;
  uint32_t lanes = 0;

  bool covers(Tick tick, int lane) const;
  void join(const Known &other);
  friend bool operator==(const Known &, const Known &) = default;
};

class VectorClock {
public:
  bool covers(Agent agent, Tick tick, int lane) const;
  void join(const Known &known);
  void join(const VectorClock &other);
  /// True if joining `other` would change nothing.
  bool contains(const VectorClock &other) const;
  size_t size() const { return entries.size(); }

private:
  std::vector<Known> entries; // sorted by agent
};

/// A clock that many hold; it does not change. Null: empty.
using Clock = std::shared_ptr<const VectorClock>;

Clock joined(const Clock &a, const Clock &b);
Clock joined(const Clock &a, const Known &known);

/// What happened before, and what of it `fence.proxy.async` made visible to the asynchronous proxy.
struct Knowledge {
  Clock seen, fenced;

  bool empty() const { return !seen && !fenced; }
  void join(const Knowledge &other) {
    seen = joined(seen, other.seen);
    fenced = joined(fenced, other.fenced);
  }
  bool covers(Agent agent, Tick tick, int lane) const {
    return seen && seen->covers(agent, tick, lane);
  }
};

} // namespace pantile::ptx
