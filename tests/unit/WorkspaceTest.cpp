//===- WorkspaceTest.cpp - memory for parts of sums, against a driver that counts ----------===//
#include "runtime/Workspace.h"
#include "ir/SplitPrograms.h"
#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <vector>

using namespace pantile;

namespace {

/// A driver that gives out addresses; a context for each test, since what was given stays.
struct Counting {
  inline static uintptr_t context = 0x100;
  inline static CUdeviceptr next = 0x10000;
  inline static size_t lastBytes = 0, cleared = 0;
  inline static int allocations = 0, frees = 0;
  inline static bool isFull = false, isCapturing = false;
  inline static unsigned long long capture = 0;

  static Driver driver() {
    ++context;
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
    d.streamGetCaptureInfo = [](CUstream, int *status, unsigned long long *number, void *, void *,
                                size_t *) { return *status = 1, *number = capture, 0; };
    return d;
  }
};

/// How often each program is run by blocks that keep to `cut`, as StreamK.cpp has them do.
std::vector<int> runsOf(const Cut &cut, int programs, int blocks) {
  std::vector<int> runs(programs);
  for (int cycle = 0; cycle < cut.cycles; ++cycle)
    for (int place = 0; place < cut.programs; ++place)
      ++runs.at(place * cut.cycles + cycle);
  const int rest = cut.cycles ? programs % blocks : 0;
  for (int block = 0; block < blocks; ++block) {
    const bool isInCycle = block < cut.cycles * cut.blocks;
    for (int next = rest + block + (isInCycle ? blocks : 0); next < programs; next += blocks)
      ++runs.at(next);
  }
  return runs;
}

TEST(Cut, EachProgramIsRunOnce) {
  for (int blocks : {1, 2, 3, 8, 10, 114, 132, 264})
    for (int programs = 1; programs < 1000; ++programs) {
      const Cut cut = cutOf(programs, blocks);
      EXPECT_LE(cut.cycles * cut.blocks, blocks);
      const std::vector<int> runs = runsOf(cut, programs, blocks);
      ASSERT_EQ(runs, std::vector<int>(programs, 1)) << programs << " by " << blocks;
    }
}

TEST(Cut, BlocksEndTogether) {
  EXPECT_EQ(cutOf(288, 132), (Cut{24, 5, 6}));
  EXPECT_EQ(cutOf(144, 132), (Cut{12, 11, 12}));
  EXPECT_EQ(cutOf(231, 132), (Cut{33, 4, 7}));
  EXPECT_EQ(cutOf(529, 132), (Cut{1, 132, 133}));
  EXPECT_EQ(cutOf(4, 132), (Cut{4, 33, 1}));
  EXPECT_EQ(cutOf(81, 132), (Cut{1, 132, 81}));
  EXPECT_EQ(cutOf(512, 132), Cut()); // the last wave is as good as full
  EXPECT_EQ(cutOf(264, 132), Cut());
}

TEST(Workspace, AStreamKeepsItsMemory) {
  Driver driver = Counting::driver();
  const CUdeviceptr first = workspaceFor(driver, 0x77, 132, 1000);
  EXPECT_NE(first, 0u);
  EXPECT_GE(Counting::lastBytes, splitFlagBytes + 132000u);
  EXPECT_GE(Counting::cleared, sizeof(uint32_t) * mostSplitBlocks);
  EXPECT_EQ(workspaceFor(driver, 0x77, 132, 1000), first);
  EXPECT_EQ(workspaceFor(driver, 0x77, 264, 300), first);
  EXPECT_EQ(Counting::allocations, 1);
}

TEST(Workspace, LaunchesSideBySideHaveTheirOwn) {
  Driver driver = Counting::driver();
  std::set<CUdeviceptr> all{workspaceFor(driver, 0, 8, 64), workspaceFor(driver, 0x77, 8, 64),
                            workspaceFor(driver, 0x88, 8, 64), workspaceFor(driver, 2, 8, 64)};
  std::thread([&] { all.insert(workspaceFor(driver, 2, 8, 64)); }).join();
  Counting::isCapturing = true;
  for (Counting::capture = 1; Counting::capture < 3; ++Counting::capture)
    all.insert(workspaceFor(driver, 0x77, 8, 64));
  EXPECT_EQ(all.size(), 7u);
  EXPECT_FALSE(all.contains(0));
}

TEST(Workspace, GrownMemoryIsNotTakenFromLaunchesUnderWay) {
  Driver driver = Counting::driver();
  const CUdeviceptr small = workspaceFor(driver, 0x77, 8, 64),
                    large = workspaceFor(driver, 0x77, 132, 1 << 17);
  EXPECT_NE(small, large);
  EXPECT_EQ(Counting::frees, 0);
  EXPECT_EQ(workspaceFor(driver, 0x77, 8, 64), large);
}

TEST(Workspace, WithoutMemoryThereIsNone) {
  Driver driver = Counting::driver();
  Counting::isFull = true;
  EXPECT_EQ(workspaceFor(driver, 0x77, 8, 64), 0u);
  Counting::isFull = false;
  EXPECT_NE(workspaceFor(driver, 0x77, 8, 64), 0u);
  EXPECT_EQ(workspaceFor(driver, 0x77, mostSplitBlocks + 1, 64), 0u);
}

TEST(Workspace, ManyStreamsDoNotTakeAllMemory) {
  Driver driver = Counting::driver();
  for (uint64_t stream = 0x1000; stream < 0x1400; ++stream)
    workspaceFor(driver, stream, 8, 64);
  EXPECT_LE(Counting::allocations, 64);
}

} // namespace
