//===- ClocksTest.cpp - vector clocks of the emulated GPU ---------------------------------===//
#include "tests/ptx/WarpClock.h"
#include <gtest/gtest.h>

using namespace pantile::ptx;

namespace {

constexpr Lanes all = ~0u, first = 1, second = 2;

Stamp stampOf(const WarpClock &clock, int lane, Unit unit = Threads) {
  Stamp stamp;
  stamp.agent = clock.agent(unit), stamp.tick = clock.now(), stamp.lane = lane;
  return stamp;
}

Stamp stampOf(const WarpClock &clock, int lane, Unit unit, Tick group) {
  Stamp stamp = stampOf(clock, lane, unit);
  stamp.tick = group;
  return stamp;
}

struct Clocks : testing::Test {
  Clocks() { a.start(1, all, {}), b.start(1 + unitCount, all, {}); }
  WarpClock a, b;
};

TEST(Known, CoversAllLanesUpToOneTickAndSomeUpToAnother) {
  const Known known{7, 3, 5, second};
  EXPECT_TRUE(known.covers(3, 0));
  EXPECT_FALSE(known.covers(4, 0));
  EXPECT_TRUE(known.covers(5, 1));
  EXPECT_FALSE(known.covers(6, 1));
  EXPECT_TRUE(known.covers(3, severalLanes));
  EXPECT_FALSE(known.covers(4, severalLanes));
}

TEST(Known, JoinKeepsWhatEitherKnows) {
  Known known{7, 3, 5, second};
  known.join({7, 4, 6, first});
  EXPECT_TRUE(known.covers(4, 9));
  EXPECT_TRUE(known.covers(5, 1));
  EXPECT_TRUE(known.covers(6, 0));
  EXPECT_FALSE(known.covers(5, 2));
}

TEST(VectorClock, JoinMergesAgents) {
  VectorClock one, other;
  for (Agent agent : {2, 4, 6})
    one.join(Known{agent, agent, 0, 0});
  for (Agent agent : {1, 4, 9})
    other.join(Known{agent, 5, 0, 0});
  EXPECT_FALSE(one.contains(other));
  one.join(other);
  EXPECT_TRUE(one.contains(other));
  EXPECT_EQ(one.size(), 5u);
  EXPECT_TRUE(one.covers(1, 5, 0));
  EXPECT_TRUE(one.covers(4, 5, 0));
  EXPECT_FALSE(one.covers(2, 3, 0));
  EXPECT_FALSE(one.covers(3, 1, 0));
}

TEST(VectorClock, AJoinThatChangesNothingGivesTheSameClock) {
  const Clock large = joined(joined(nullptr, Known{1, 5, 0, 0}), Known{2, 5, 0, 0});
  const Clock small = joined(nullptr, Known{1, 4, 0, 0});
  EXPECT_EQ(joined(large, small), large);
  EXPECT_EQ(joined(small, large), large);
  EXPECT_EQ(joined(large, Clock()), large);
}

TEST_F(Clocks, LanesSeeEachOtherWhenTheySynchronize) {
  const Stamp write = stampOf(a, 0);
  EXPECT_TRUE(a.isAfter(write, 0));
  EXPECT_FALSE(a.isAfter(write, 1));
  a.synchronize();
  EXPECT_TRUE(a.isAfter(write, 1));
  EXPECT_TRUE(a.isAfter(write, severalLanes));
  EXPECT_FALSE(b.isAfter(write, 0));
}

TEST_F(Clocks, AReleaseHandsOnTheLaneAndWhatItKnows) {
  const Stamp early = stampOf(a, 5);
  a.synchronize();
  const Stamp own = stampOf(a, 0), others = stampOf(a, 1);
  b.acquire(all, a.release(first));
  const Stamp late = stampOf(a, 0);
  EXPECT_TRUE(b.isAfter(early, 3));
  EXPECT_TRUE(b.isAfter(own, 3));
  EXPECT_FALSE(b.isAfter(others, 3));
  EXPECT_FALSE(b.isAfter(late, 3));
}

TEST_F(Clocks, AnAcquireOfOneLaneIsItsOwnUntilTheWarpSynchronizes) {
  const Stamp write = stampOf(a, 4);
  b.acquire(first, a.release(all));
  EXPECT_TRUE(b.isAfter(write, 0));
  EXPECT_FALSE(b.isAfter(write, 1));
  b.synchronize();
  EXPECT_TRUE(b.isAfter(write, 1));
}

TEST_F(Clocks, TheWarpKnowsWhatEachOfItsLanesKnows) {
  const Stamp write = stampOf(a, 4);
  const Knowledge told = a.release(all);
  b.acquire(first, told);
  EXPECT_FALSE(b.isAfter(write, severalLanes));
  b.acquire(all & ~first, told);
  EXPECT_TRUE(b.isAfter(write, severalLanes));
}

TEST_F(Clocks, KnowledgeGoesOnThroughOthers) {
  WarpClock c;
  c.start(1 + 2 * unitCount, all, {});
  const Stamp write = stampOf(a, 4);
  b.acquire(all, a.release(all));
  c.acquire(all, b.release(first));
  EXPECT_TRUE(c.isAfter(write, 7));
}

TEST_F(Clocks, CopiesAreCompleteForTheLanesThatWait) {
  const Stamp copy = stampOf(a, 0, Copies, 1), next = stampOf(a, 0, Copies, 2);
  EXPECT_FALSE(a.isAfter(copy, 0));
  a.finish(Copies, 1, first);
  EXPECT_TRUE(a.isAfter(copy, 0));
  EXPECT_FALSE(a.isAfter(copy, 1));
  a.synchronize();
  EXPECT_TRUE(a.isAfter(copy, 1));
  EXPECT_FALSE(a.isAfter(next, 0));
  b.acquire(all, a.release(second));
  EXPECT_TRUE(b.isAfter(copy, 0));
}

TEST_F(Clocks, ReadsOfBulkStoresEndBeforeTheirWrites) {
  a.finish(BulkReads, 3, first);
  EXPECT_TRUE(a.isAfter(stampOf(a, 0, BulkReads, 3), 0));
  EXPECT_FALSE(a.isAfter(stampOf(a, 0, BulkWrites, 3), 0));
}

TEST_F(Clocks, AProxyFenceCoversWhatIsKnown) {
  const Stamp write = stampOf(a, 0);
  b.acquire(all, a.release(all));
  EXPECT_FALSE(b.isFenced(write, 0));
  b.fenceProxy(first);
  EXPECT_TRUE(b.isFenced(write, 0));
  EXPECT_FALSE(b.isFenced(write, 1));
  const Stamp later = stampOf(a, 0);
  b.acquire(all, a.release(all));
  EXPECT_FALSE(b.isFenced(later, 0));
}

TEST_F(Clocks, FencesHandOnAndTakeWhatRelaxedAccessesCarry) {
  const Stamp before = stampOf(a, 0);
  auto always = [](const Handed &, Scope) { return true; };
  a.fence(first, Scope::Gpu, always);
  const Stamp after = stampOf(a, 0);
  ASSERT_NE(a.fencedBefore(0), nullptr);
  EXPECT_EQ(a.fencedBefore(1), nullptr);
  b.observe(first, *a.fencedBefore(0));
  EXPECT_FALSE(b.isAfter(before, 0));
  b.fence(first, Scope::Gpu, always);
  EXPECT_TRUE(b.isAfter(before, 0));
  EXPECT_FALSE(b.isAfter(after, 0));
}

TEST(Shadow, PagesAreRefined) {
  Shadow shadow;
  int cells = 0;
  auto mark = [&](ShadowCell &cell, int offset, int) { cell.write.tick = 1 + offset, ++cells; };
  shadow.forCells(64, 16, mark);
  EXPECT_EQ(cells, 1);
  shadow.forCells(66, 2, mark);
  EXPECT_EQ(cells, 2);
  std::vector<Tick> seen;
  shadow.forCells(64, 8, [&](ShadowCell &cell, int, int bytes) {
    EXPECT_EQ(bytes, 2);
    seen.push_back(cell.write.tick);
  });
  EXPECT_EQ(seen, (std::vector<Tick>{1, 1, 1, 1}));
  shadow.forCells(1020, 8, [&](ShadowCell &cell, int, int) { EXPECT_FALSE(cell.write); });
}

} // namespace
