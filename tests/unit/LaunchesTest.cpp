//===- LaunchesTest.cpp - at which place of the program each launch was made ---------------===//
#include "runtime/profiler/Launches.h"
#include <gtest/gtest.h>
#include <thread>

namespace pantile {
namespace {

class LaunchesTest : public testing::Test {
protected:
  void TearDown() override {
    Launches::setPlace(std::nullopt);
    Launches::setSharedPlace(0);
    Launches::refineBy(nullptr);
  }
  void launch(uint32_t id, bool hasMany = false) {
    launches.enter(id, hasMany);
    launches.leave();
  }
  Launches launches;
};

TEST_F(LaunchesTest, BelongToThePlaceOfTheirThread) {
  Launches::setSharedPlace(3);
  launch(1);
  Launches::setPlace(5);
  launch(2);
  std::thread([&] { launch(3); }).join();
  EXPECT_EQ(launches.placeOf(1), 3u);
  EXPECT_EQ(launches.placeOf(2), 5u);
  EXPECT_EQ(launches.placeOf(3), 3u);
  EXPECT_EQ(launches.placeOf(4), 0u) << "unknown";
  EXPECT_EQ(launches.size(), 0u);
}

TEST_F(LaunchesTest, WithinALaunchHaveItsPlaceAndEndWithIt) {
  Launches::setPlace(7);
  launches.enter(10, false);
  Launches::setPlace(8); // between the two calls nothing changes the place of the launch
  launches.enter(11, false);
  launches.leave();
  launches.leave();
  EXPECT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches.placeOf(10), 7u);
  EXPECT_EQ(launches.size(), 0u);
  launch(12);
  EXPECT_EQ(launches.placeOf(12), 8u);
}

TEST_F(LaunchesTest, AreOverWhenCallbacksStartAgain) {
  Launches::setPlace(1);
  launches.enter(40, false); // its end is not reported
  launches.begin();
  Launches::setPlace(2);
  launches.addNode(500);
  launch(41);
  EXPECT_EQ(launches.placeOf(41), 2u);
  EXPECT_EQ(launches.captureOf(500), std::optional(2u));
  launches.leave(); // a launch that began before
  Launches::setPlace(3);
  launch(42);
  EXPECT_EQ(launches.placeOf(42), 3u);
}

TEST_F(LaunchesTest, OfManyKernelsStayUntilAllRecordsAreRead) {
  Launches::setPlace(2);
  launch(20, true);
  EXPECT_EQ(launches.placeOf(20), 2u);
  EXPECT_EQ(launches.placeOf(20), 2u);
  launch(21);
  EXPECT_EQ(launches.endedUpTo(), 21u);
  launches.forget(20);
  EXPECT_EQ(launches.placeOf(20), 0u);
  EXPECT_EQ(launches.placeOf(21), 2u);
}

TEST_F(LaunchesTest, InProgressKeepTheirPlace) {
  Launches::setPlace(2);
  launches.enter(50, false); // and one within it, with an id of its own
  launches.enter(51, false);
  launches.leave();
  std::thread([&] { launch(52); }).join();
  EXPECT_EQ(launches.endedUpTo(), 49u);
  launches.leave();
  EXPECT_EQ(launches.endedUpTo(), 52u);
  launches.enter(53, false);
  launches.begin(); // the end of 53 is never reported
  EXPECT_EQ(launches.endedUpTo(), 53u);
}

TEST_F(LaunchesTest, AreRefinedOnceEach) {
  static int calls;
  calls = 0;
  Launches::refineBy([](uint32_t place) { return ++calls, place + 100; });
  Launches::setPlace(4);
  launches.enter(30, false);
  launches.enter(31, false);
  launches.addNode(900);
  launches.leave();
  launches.leave();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(launches.placeOf(31), 104u);
  launches.copyNode(900, 901);
  launches.copyNode(77, 78);
  EXPECT_EQ(launches.captureOf(901), std::optional(104u));
  EXPECT_EQ(launches.captureOf(78), std::nullopt);
}

TEST_F(LaunchesTest, ThatGiveNoRecordsAreForgotten) {
  Launches::setPlace(6);
  const uint32_t first = 0xffffff00; // ids wrap around
  for (uint32_t i = 0; i <= Launches::mostLaunches; ++i)
    launch(first + i, true);
  EXPECT_LE(launches.size(), Launches::mostLaunches / 2 + 2);
  EXPECT_EQ(launches.placeOf(first), 0u);
  EXPECT_EQ(launches.placeOf(first + Launches::mostLaunches), 6u);
  EXPECT_EQ(launches.placeOf(first + Launches::mostLaunches / 2 + 1), 6u);
}

} // namespace
} // namespace pantile
