//===- WorkspaceTest.cpp - memory for parts of sums, against a driver that counts ----------===//
#include "runtime/Workspace.h"
#include "support/StreamKModel.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <utility>
#include <vector>

using namespace pantile;

namespace {

/// A driver that gives out addresses; a context for each test, since what was given stays. Work of
/// a stream goes on as long as `isBusy`.
struct Counting {
  inline static uintptr_t context = 0x100, contextNumber = 0;
  inline static std::vector<std::pair<void *, void (*)(void *)>> ofGraphs;
  inline static int events = 0, records = 0;
  inline static bool isBusy = false, refusesObjects = false;
  inline static CUdeviceptr next = 0x10000;
  inline static size_t lastBytes = 0, cleared = 0;
  inline static int allocations = 0, frees = 0;
  inline static bool isFull = false, isCapturing = false;
  inline static unsigned long long capture = 0;

  static Driver driver() {
    ++context, contextNumber = 0;
    ofGraphs.clear();
    events = records = 0;
    isBusy = refusesObjects = false;
    allocations = frees = 0, cleared = 0, capture = 0;
    isFull = isCapturing = false;
    Driver d;
    d.ctxGetCurrent = [](CUcontext *current) {
      return *current = reinterpret_cast<CUcontext>(context), 0;
    };
    d.memAlloc = [](CUdeviceptr *pointer, size_t bytes) {
      if (isFull)
        return 2;
      ++allocations;
      return *pointer = next += 0x1000, lastBytes = bytes, 0;
    };
    d.memFree = [](CUdeviceptr) { return ++frees, 0; };
    d.memsetAsync = [](CUdeviceptr, unsigned char value, size_t bytes, CUstream stream) {
      EXPECT_EQ(value, 0);
      if (isCapturing)
        EXPECT_EQ(reinterpret_cast<uint64_t>(stream), 0x99u) << "a captured stream would record it";
      return cleared = bytes, 0;
    };
    d.streamCreate = [](CUstream *stream, unsigned) {
      return *stream = reinterpret_cast<CUstream>(0x99), 0;
    };
    d.streamDestroy = [](CUstream) { return 0; };
    d.streamSynchronize = [](CUstream) { return 0; };
    d.streamGetId = [](CUstream stream, unsigned long long *number) {
      EXPECT_FALSE(isCapturing) << "which ends the capture";
      return *number = reinterpret_cast<uint64_t>(stream) + 1000, 0;
    };
    d.streamIsCapturing = [](CUstream, int *status) { return *status = isCapturing, 0; };
    d.streamGetCaptureInfo = [](CUstream, int *status, unsigned long long *number, CUgraph *graph,
                                void *, size_t *) {
      return *status = 1, *number = capture, *graph = reinterpret_cast<CUgraph>(0xa0 + capture), 0;
    };
    addLifetimes(d);
    return d;
  }

  static void addLifetimes(Driver &d) {
    d.ctxSynchronize = [] { return isBusy = false, 0; };
    d.userObjectCreate = [](CUuserObject *object, void *what, void (*destroy)(void *), unsigned,
                            unsigned flags) {
      EXPECT_EQ(flags, 1u) << "the driver takes no other";
      ofGraphs.push_back({what, destroy});
      return *object = reinterpret_cast<CUuserObject>(ofGraphs.size()), 0;
    };
    d.userObjectRelease = [](CUuserObject object, unsigned) {
      return endGraph(reinterpret_cast<uintptr_t>(object) - 1), 0;
    };
    d.graphRetainUserObject = [](CUgraph graph, CUuserObject, unsigned, unsigned flags) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(graph), 0xa0 + capture);
      EXPECT_EQ(flags, 1u) << "the graph alone holds it";
      return refusesObjects ? 1 : 0;
    };
    d.eventCreate = [](CUevent *event, unsigned flags) {
      EXPECT_EQ(flags, 2u) << "no times were requested";
      return *event = reinterpret_cast<CUevent>(uintptr_t(++events)), 0;
    };
    d.eventRecord = [](CUevent, CUstream) { return ++records, 0; };
    d.eventQuery = [](CUevent) { return isBusy ? 600 : 0; };
    d.eventDestroy = [](CUevent) { return --events, 0; };
  }

  /// The graph of the capture that requested memory as number `index`, and all made of it.
  static void endGraph(size_t index) { ofGraphs[index].second(ofGraphs[index].first); }
};

/// The address that a launch on `stream` would get.
CUdeviceptr startFor(const Driver &driver, uint64_t stream, int ctas, int64_t bytes) {
  const Workspace workspace = workspaceFor(driver, stream, ctas, bytes);
  workspace.noteLaunch(driver, reinterpret_cast<CUstream>(stream));
  return workspace.start();
}

/// How often each program is run by CTAs that follow `split`, as the code of StreamK.cpp does.
std::vector<int> runsOf(const WorkSplit &split, int programs, int ctas) {
  std::vector<int> runs(programs);
  for (int cycle = 0; cycle < split.cycles; ++cycle)
    for (int place = 0; place < split.programs; ++place)
      ++runs.at(place * split.cycles + cycle);
  const int rest = split.cycles ? programs % ctas : 0;
  for (int cta = 0; cta < ctas; ++cta) {
    const bool isInCycle = cta < split.cycles * split.ctas;
    for (int next = rest + cta + (isInCycle ? ctas : 0); next < programs; next += ctas)
      ++runs.at(next);
  }
  return runs;
}

TEST(WorkSplit, EachProgramIsRunOnce) {
  for (int ctas : {1, 2, 3, 8, 10, 114, 132, 264})
    for (int programs = 1; programs < 1000; ++programs) {
      const WorkSplit split = workSplitOf(programs, ctas);
      EXPECT_LE(split.cycles * split.ctas, ctas);
      const std::vector<int> runs = runsOf(split, programs, ctas);
      ASSERT_EQ(runs, std::vector<int>(programs, 1)) << programs << " by " << ctas;
    }
}

TEST(WorkSplit, CtasEndTogether) {
  EXPECT_EQ(workSplitOf(288, 132), (WorkSplit{24, 5, 6}));
  EXPECT_EQ(workSplitOf(144, 132), (WorkSplit{12, 11, 12}));
  EXPECT_EQ(workSplitOf(231, 132), (WorkSplit{33, 4, 7}));
  EXPECT_EQ(workSplitOf(529, 132), (WorkSplit{1, 132, 133}));
  EXPECT_EQ(workSplitOf(4, 132), (WorkSplit{4, 33, 1}));
  EXPECT_EQ(workSplitOf(81, 132), (WorkSplit{1, 132, 81}));
  EXPECT_EQ(workSplitOf(512, 132), WorkSplit()); // the last wave is as good as full
  EXPECT_EQ(workSplitOf(264, 132), WorkSplit());
}

TEST(Workspace, AStreamKeepsItsMemory) {
  Driver driver = Counting::driver();
  const CUdeviceptr first = startFor(driver, 0x77, 132, 1000);
  EXPECT_NE(first, 0u);
  EXPECT_GE(Counting::lastBytes, splitFlagBytes + 132000u);
  EXPECT_GE(Counting::cleared, sizeof(uint32_t) * mostSplitCtas);
  EXPECT_EQ(startFor(driver, 0x77, 132, 1000), first);
  EXPECT_EQ(startFor(driver, 0x77, 264, 300), first);
  EXPECT_EQ(Counting::allocations, 1);
}

TEST(Workspace, LaunchesSideBySideHaveTheirOwn) {
  Driver driver = Counting::driver();
  std::set<CUdeviceptr> all{startFor(driver, 0, 8, 64), startFor(driver, 0x77, 8, 64),
                            startFor(driver, 0x88, 8, 64), startFor(driver, 2, 8, 64)};
  std::thread([&] { all.insert(startFor(driver, 2, 8, 64)); }).join();
  Counting::isCapturing = true;
  for (Counting::capture = 1; Counting::capture < 3; ++Counting::capture)
    all.insert(startFor(driver, 0x77, 8, 64));
  EXPECT_EQ(all.size(), 7u);
  EXPECT_FALSE(all.contains(0));
}

TEST(Workspace, AStreamThatNeedsMoreWaitsForNothing) {
  static int waits;
  waits = 0;
  Driver driver = Counting::driver();
  driver.streamSynchronize = [](CUstream) { return ++waits, 0; };
  const CUdeviceptr small = startFor(driver, 0x77, 8, 64);
  Counting::isBusy = true;
  const CUdeviceptr large = startFor(driver, 0x77, 132, 1 << 17);
  EXPECT_NE(small, large);
  EXPECT_EQ(startFor(driver, 0x77, 8, 64), large);
  EXPECT_NE(startFor(driver, 0x78, 8, 64), small) << "launches of 0x77 may still use it";
  EXPECT_EQ(Counting::records, 1) << "of the end of these launches";
  EXPECT_EQ(waits, 0);
  EXPECT_EQ(Counting::frees, 0);
}

TEST(Workspace, AGraphKeepsWhatItsLaunchesUse) {
  Driver driver = Counting::driver();
  Counting::isCapturing = true, Counting::capture = 1;
  const CUdeviceptr small = startFor(driver, 0x77, 8, 64),
                    large = startFor(driver, 0x77, 132, 1 << 17);
  EXPECT_NE(small, large);
  EXPECT_EQ(startFor(driver, 0x77, 132, 1 << 17), large);
  EXPECT_EQ(Counting::frees, 0);
  EXPECT_EQ(*freeWorkspaces(driver), 0u);
  EXPECT_EQ(Counting::ofGraphs.size(), 2u);
}

TEST(Workspace, MemoryOfAGraphThatIsGoneIsUsedAgain) {
  Driver driver = Counting::driver();
  Counting::isCapturing = true, Counting::capture = 1;
  const CUdeviceptr first = startFor(driver, 0x77, 8, 64);
  Counting::capture = 2;
  EXPECT_NE(startFor(driver, 0x77, 8, 64), first);
  Counting::endGraph(0);
  Counting::capture = 3;
  EXPECT_EQ(startFor(driver, 0x77, 8, 64), first);
  Counting::endGraph(1);
  Counting::isCapturing = false;
  startFor(driver, 0x77, 8, 64);
  EXPECT_EQ(Counting::allocations, 2);
}

TEST(Workspace, AGraphThatCannotHoldItGetsNone) {
  Driver driver = Counting::driver();
  Counting::isCapturing = true, Counting::capture = 1;
  Counting::refusesObjects = true;
  EXPECT_EQ(startFor(driver, 0x77, 8, 64), 0u);
  driver.userObjectCreate = nullptr;
  EXPECT_EQ(startFor(driver, 0x77, 8, 64), 0u);
  Counting::isCapturing = false;
  EXPECT_NE(startFor(driver, 0x77, 8, 64), 0u);
  EXPECT_EQ(Counting::allocations, 1);
}

TEST(Workspace, AContextAtTheAddressOfAnotherHasItsOwn) {
  Driver driver = Counting::driver();
  driver.ctxGetId = [](CUcontext, unsigned long long *number) {
    return *number = Counting::contextNumber + (1ull << 40), 0;
  };
  const CUdeviceptr first = startFor(driver, 0x77, 8, 64);
  EXPECT_EQ(startFor(driver, 0x77, 8, 64), first);
  ++Counting::contextNumber;
  EXPECT_NE(startFor(driver, 0x77, 8, 64), first);
}

TEST(Workspace, WhatNoGraphHoldsIsFreed) {
  Driver driver = Counting::driver();
  const CUdeviceptr first = startFor(driver, 0x77, 8, 64);
  for (uint64_t stream = 0x100; stream < 0x110; ++stream)
    startFor(driver, stream, 8, 64);
  Counting::isCapturing = true, Counting::capture = 1;
  const CUdeviceptr held = startFor(driver, 0x77, 8, 64);
  EXPECT_EQ(*freeWorkspaces(driver), 17 * (splitFlagBytes + 8 * 64));
  EXPECT_EQ(Counting::frees, 17);
  EXPECT_EQ(Counting::events, 0);
  EXPECT_EQ(startFor(driver, 0x77, 8, 64), held);
  Counting::isCapturing = false;
  EXPECT_NE(startFor(driver, 0x77, 8, 64), first);
}

TEST(Workspace, WithoutMemoryThereIsNone) {
  Driver driver = Counting::driver();
  Counting::isFull = true;
  EXPECT_EQ(startFor(driver, 0x77, 8, 64), 0u);
  Counting::isFull = false;
  EXPECT_NE(startFor(driver, 0x77, 8, 64), 0u);
  EXPECT_EQ(startFor(driver, 0x77, mostSplitCtas + 1, 64), 0u);
}

TEST(Workspace, ManyStreamsDoNotTakeAllMemory) {
  Driver driver = Counting::driver();
  const CUdeviceptr first = startFor(driver, 0xf00, 8, 64);
  std::set<CUdeviceptr> later;
  for (uint64_t stream = 0x1000; stream < 0x1400; ++stream)
    later.insert(startFor(driver, stream, 8, 64));
  EXPECT_EQ(Counting::allocations, 64);
  EXPECT_FALSE(later.contains(0) || later.contains(first));
  EXPECT_EQ(startFor(driver, 0xf00, 8, 64), first);
  EXPECT_EQ(Counting::records, 1024 - 7) << "a few streams pay for no events";
}

TEST(Workspace, MemoryInUseIsNotTakenAway) {
  Driver driver = Counting::driver();
  Counting::isBusy = true;
  std::vector<CUdeviceptr> all;
  for (uint64_t stream = 0x1000; stream < 0x1042; ++stream)
    all.push_back(startFor(driver, stream, 8, 64));
  EXPECT_EQ(std::ranges::count(all, 0), 2);
  EXPECT_EQ(startFor(driver, 0x1010, 8, 64), all[0x10]);
  Counting::isBusy = false;
  EXPECT_EQ(startFor(driver, 0x1041, 8, 64), all[8]) << "which waits for longest";
}

} // namespace
