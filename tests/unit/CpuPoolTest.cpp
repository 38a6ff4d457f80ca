//===- CpuPoolTest.cpp - every body runs once, from any thread ----------------------------===//
#include "support/CpuPool.h"
#include <atomic>
#include <cstdlib>
#include <gtest/gtest.h>
#include <mutex>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace pantile;

namespace {

/// How often each body of one call ran.
std::vector<int> countBodies(int workers) {
  std::vector<std::atomic<int>> counts(workers);
  CpuPool::shared().run(workers, [&](int worker) { ++counts[worker]; });
  return {counts.begin(), counts.end()};
}

TEST(CpuPool, EveryBodyRunsOnce) {
  for (int workers : {1, 2, 3, 8, 2, 16, 1})
    EXPECT_EQ(countBodies(workers), std::vector<int>(workers, 1)) << workers;
}

TEST(CpuPool, TheFirstBodyRunsOnTheCallerAndTheOthersElsewhere) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::thread::id first;
  CpuPool::shared().run(4, [&](int worker) {
    std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    if (worker == 0)
      first = std::this_thread::get_id();
  });
  EXPECT_EQ(first, std::this_thread::get_id());
  EXPECT_EQ(threads.size(), 4u);
}

TEST(CpuPool, CallsFromBodiesDoNotDeadlock) {
  std::atomic<int> inner = 0;
  CpuPool::shared().run(4, [&](int) { CpuPool::shared().run(3, [&](int) { ++inner; }); });
  EXPECT_EQ(inner, 12);
}

TEST(CpuPool, ThreadsTakeTurns) {
  std::atomic<int> bodies = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i)
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round)
        CpuPool::shared().run(3, [&](int) { ++bodies; });
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(bodies, 8 * 50 * 3);
}

TEST(CpuPool, AForkedChildMakesItsOwnWorkers) {
  ASSERT_EQ(countBodies(4), std::vector<int>(4, 1));
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20); // a child that waits for its parent's workers must not hang the tests
    _exit(countBodies(4) == std::vector<int>(4, 1) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(countBodies(4), std::vector<int>(4, 1));
}

TEST(CpuPool, TheEnvironmentSetsTheDefault) {
  setenv("PANTILE_NUM_THREADS", "3", 1);
  EXPECT_EQ(CpuPool::defaultWorkers(), 3);
  setenv("PANTILE_NUM_THREADS", "none", 1);
  EXPECT_GE(CpuPool::defaultWorkers(), 1);
  unsetenv("PANTILE_NUM_THREADS");
}

} // namespace
