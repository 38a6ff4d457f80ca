// Bounds, atomics, programs that wait for one another, errors at run time.
#include "InterpTesting.h"
#include "interp/Warnings.h"
#include <bit>
#include <cstdlib>
#include <gmock/gmock.h>

using namespace pantile;
using namespace pantile::interp_testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

/// Copies 16 values of 16 bits from x + `at` to out + `to`.
const char *copyKernel = R"(
func.func @copy(%x: !tile.ptr<f16> loc("x_ptr"), %out: !tile.ptr<f16> loc("c_ptr"), %at: i32, %to: i32) attributes {tile.kernel} {
  %lane = tile.arange 0, 16 : tensor<16xi32>
  %from = tile.addptr %x, %at : !tile.ptr<f16>, i32
  %xs = tile.splat %from : tensor<16x!tile.ptr<f16>>
  %xp = tile.addptr %xs, %lane : tensor<16x!tile.ptr<f16>>, tensor<16xi32>
  %a = tile.load %xp : tensor<16x!tile.ptr<f16>> -> tensor<16xf16>
  %target = tile.addptr %out, %to : !tile.ptr<f16>, i32
  %os = tile.splat %target : tensor<16x!tile.ptr<f16>>
  %op = tile.addptr %os, %lane : tensor<16x!tile.ptr<f16>>, tensor<16xi32>
  tile.store %op, %a : tensor<16x!tile.ptr<f16>>, tensor<16xf16>
  return
})";

struct Strict {
  Strict() { setenv("PANTILE_CHECK", "bounds", 1); }
  ~Strict() { unsetenv("PANTILE_CHECK"); }
};

TEST(InterpMemory, AReadOutsideGivesZeroAndOneWarning) {
  takeRunWarnings();
  TestKernel copy(copyKernel);
  std::vector<uint16_t> x(16, 0x3c00), out(16, 9);
  copy.run({3, 1, 1}, {arg(x), arg(out), arg(8), arg(0)});
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(out[i], i < 8 ? 0x3c00 : 0);
  std::string warnings = takeRunWarnings();
  EXPECT_THAT(
      warnings,
      HasSubstr(
          "kernel.mlir:7:8: warning: load of 2 bytes at offset 32 outside argument `x_ptr` of "
          "32 bytes, which gives 0, in program (0, 0, 0)"));
  EXPECT_EQ(warnings.find("warning"), warnings.rfind("warning")) << warnings;
  EXPECT_EQ(takeRunWarnings(), "");
}

TEST(InterpMemory, AWriteOutsideIsAnError) {
  TestKernel copy(copyKernel);
  std::vector<uint16_t> x(16), out(24, 9);
  std::vector<LaunchArg> args = {arg(x), arg(out), arg(0), arg(12)};
  args[1].end -= 8; // the last four elements are a canary
  Result<void> result = copy({1, 1, 1}, args);
  ASSERT_FALSE(result);
  EXPECT_EQ(
      result.error().message,
      "store of 2 bytes at offset 40 outside argument `c_ptr` of 40 bytes, in program (0, 0, 0)");
  EXPECT_THAT(result.error().rendered, HasSubstr("kernel.mlir:11:3: error: store"));
  EXPECT_EQ(result.error().range.line, 11);
  for (int i = 0; i < 24; ++i)
    EXPECT_EQ(out[i], 9);
}

TEST(InterpMemory, BeforeTheStorageIsOutsideToo) {
  takeRunWarnings();
  TestKernel copy(copyKernel);
  std::vector<uint16_t> x(16, 1), out(16);
  copy.run({1, 1, 1}, {arg(x), arg(out), arg(-4), arg(0)});
  EXPECT_EQ(out[3], 0);
  EXPECT_EQ(out[4], 1);
  EXPECT_THAT(takeRunWarnings(), HasSubstr("at offset -8 outside argument `x_ptr`"));
}

TEST(InterpMemory, StrictChecksMakeReadsErrors) {
  Strict strict;
  TestKernel copy(copyKernel);
  std::vector<uint16_t> x(16), out(16);
  Result<void> result = copy({1, 1, 1}, {arg(x), arg(out), arg(8), arg(0)});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message,
              HasSubstr("load of 2 bytes at offset 32 outside argument `x_ptr`"));
}

TEST(InterpMemory, UnknownBoundsAreNotChecked) {
  takeRunWarnings();
  TestKernel copy(copyKernel);
  std::vector<uint16_t> x(32, 5), out(32);
  copy.run({1, 1, 1}, {LaunchArg::ptr(x.data()), LaunchArg::ptr(out.data()), arg(16), arg(16)});
  EXPECT_EQ(out[31], 5);
  EXPECT_EQ(takeRunWarnings(), "");
}

TEST(InterpMemory, ANullPointerHasNoStorage) {
  TestKernel copy(copyKernel);
  std::vector<uint16_t> x(16);
  Result<void> result = copy({1, 1, 1}, {arg(x), LaunchArg::ptr(nullptr), arg(0), arg(0)});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("outside argument `c_ptr` of 0 bytes"));
}

TEST(InterpMemory, AnotherArgumentsStorageIsOutside) {
  takeRunWarnings();
  TestKernel copy(copyKernel);
  std::vector<uint16_t> all(32, 3), out(16);
  auto begin = reinterpret_cast<uint64_t>(all.data());
  // The second half belongs to no array, although it is there.
  copy.run({1, 1, 1}, {LaunchArg::ptr(all.data(), begin, begin + 32), arg(out), arg(16), arg(0)});
  EXPECT_EQ(out[0], 0);
  EXPECT_THAT(takeRunWarnings(), HasSubstr("outside argument `x_ptr` of 32 bytes"));
}

TEST(InterpMemory, ShowsTheSourceLine) {
  SourceManager sources;
  sources.addBuffer("k.py", "def kernel(x_ptr, n):\n    tl.store(x_ptr + n, 1.0)\n");
  TestKernel kernel(R"(
func.func @k(%x: !tile.ptr<f32> loc("k.py":1:12 to 1:17), %n: i32) attributes {tile.kernel} {
  %one = arith.constant 1.0 : f32
  %p = tile.addptr %x, %n : !tile.ptr<f32>, i32
  tile.store %p, %one : !tile.ptr<f32>, f32 loc(callsite("k.py":2:5 to 2:29 at "k.py":1:1 to 1:4))
  return
})",
                    &sources);
  std::vector<float> x(4);
  Result<void> result = kernel({1, 1, 1}, {arg(x), arg(4)});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().rendered, "k.py:2:5: error: store of 4 bytes at offset 16 outside "
                                     "argument `x_ptr` of 16 bytes, in program (0, 0, 0)\n"
                                     "    tl.store(x_ptr + n, 1.0)\n"
                                     "    ^~~~~~~~~~~~~~~~~~~~~~~~\n"
                                     "k.py:1:1: note: called from here\n"
                                     "def kernel(x_ptr, n):\n"
                                     "^~~\n");
}

TEST(InterpMemory, AtomicsCountAcrossWorkers) {
  TestKernel kernel(R"(
func.func @histogram(%counts: !tile.ptr<i32>, %sum: !tile.ptr<f32>, %half: !tile.ptr<f16>, %top: !tile.ptr<i64>) attributes {tile.kernel} {
  %pid = tile.program_id 0
  %lane = tile.arange 0, 64 : tensor<64xi32>
  %four = arith.constant dense<4> : tensor<64xi32>
  %bin = arith.remsi %lane, %four : tensor<64xi32>
  %cs = tile.splat %counts : tensor<64x!tile.ptr<i32>>
  %cp = tile.addptr %cs, %bin : tensor<64x!tile.ptr<i32>>, tensor<64xi32>
  %one = arith.constant dense<1> : tensor<64xi32>
  %mask = arith.cmpi sge, %lane, %four : tensor<64xi32>
  %old = tile.atomic_rmw add, relaxed, gpu, %cp, %one mask %mask : tensor<64xi1> : tensor<64x!tile.ptr<i32>> -> tensor<64xi32>
  %f = arith.constant 0.25 : f32
  %o2 = tile.atomic_rmw fadd, relaxed, gpu, %sum, %f : !tile.ptr<f32> -> f32
  %h = arith.constant 1.0 : f16
  %o3 = tile.atomic_rmw fadd, relaxed, gpu, %half, %h : !tile.ptr<f16> -> f16
  %wide = arith.extsi %pid : i32 to i64
  %o4 = tile.atomic_rmw max, relaxed, gpu, %top, %wide : !tile.ptr<i64> -> i64
  return
})");
  std::vector<int32_t> counts(4);
  std::vector<float> sum(1);
  std::vector<uint16_t> half(1);
  std::vector<int64_t> top(1, -5);
  kernel.run({500, 1, 1}, {arg(counts), arg(sum), arg(half), arg(top)}, 2);
  EXPECT_THAT(counts, ElementsAre(7500, 7500, 7500, 7500));
  EXPECT_EQ(sum[0], 125);
  EXPECT_EQ(half[0], 0x5fd0); // 500
  EXPECT_EQ(top[0], 499);
}

/// Takes a lock, adds to a counter without atomics, gives the lock back.
const char *spinLock = R"(
func.func @locked(%lock: !tile.ptr<i32>, %counter: !tile.ptr<i32>) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.while : () -> () {
    %old = tile.atomic_cas acquire, gpu, %lock, %c0, %c1 : !tile.ptr<i32>, i32
    %taken = arith.cmpi ne, %old, %c0 : i32
    scf.condition(%taken)
  } do {
    scf.yield
  }
  %v = tile.load %counter : !tile.ptr<i32> -> i32
  %n = arith.addi %v, %c1 : i32
  tile.store %counter, %n : !tile.ptr<i32>, i32
  %was = tile.atomic_rmw xchg, release, gpu, %lock, %c0 : !tile.ptr<i32> -> i32
  return
})";

TEST(InterpMemory, ASpinLockExcludes) {
  TestKernel kernel(spinLock);
  for (int workers : {1, 2, 4}) {
    std::vector<int32_t> lock(1), counter(1);
    kernel.run({300, 1, 1}, {arg(lock), arg(counter)}, workers);
    EXPECT_EQ(counter[0], 300);
  }
}

TEST(InterpMemory, ALockThatNobodyHoldsIsAnError) {
  TestKernel kernel(spinLock);
  for (int workers : {1, 3}) {
    std::vector<int32_t> lock(1, 1), counter(1);
    Result<void> result = kernel({5, 1, 1}, {arg(lock), arg(counter)}, workers);
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().rendered,
                HasSubstr("kernel.mlir:6:12: error: every program that is left waits here"));
  }
}

/// Program i waits until the flag of program `wanted(i)` is set, then sets its own.
std::string chainKernel(const std::string &neighbour, const std::string &first,
                        const std::string &attributes = "{isVolatile}") {
  return R"(
func.func @chain(%flags: !tile.ptr<i32>, %n: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %last = arith.subi %n, %c1 : i32
  %pid = tile.program_id 0
  %isFirst = arith.cmpi eq, %pid, )" +
         first + R"( : i32
  %other = )" +
         neighbour + R"( %pid, %c1 : i32
  %theirs = tile.addptr %flags, %other : !tile.ptr<i32>, i32
  scf.if %isFirst {
  } else {
    scf.while : () -> () {
      %flag = tile.load %theirs )" +
         attributes + R"( : !tile.ptr<i32> -> i32
      %unset = arith.cmpi eq, %flag, %c0 : i32
      scf.condition(%unset)
    } do {
      scf.yield
    }
  }
  %mine = tile.addptr %flags, %pid : !tile.ptr<i32>, i32
  tile.store %mine, %c1 : !tile.ptr<i32>, i32
  return
})";
}

TEST(InterpMemory, ProgramsWaitForEarlierAndForLaterOnes) {
  for (int workers : {1, 2})
    for (auto kernel : {chainKernel("arith.subi", "%c0"), chainKernel("arith.addi", "%last"),
                        chainKernel("arith.addi", "%last", "")}) {
      std::vector<int32_t> flags(200);
      TestKernel(kernel).run({200, 1, 1}, {arg(flags), arg(200)}, workers);
      EXPECT_THAT(flags, ::testing::Each(1));
    }
}

TEST(InterpMemory, AnIntegerDivisionByZeroIsAnError) {
  TestKernel kernel(R"(
func.func @k(%out: !tile.ptr<i32>, %n: i32) attributes {tile.kernel} {
  %c7 = arith.constant 7 : i32
  %q = arith.divsi %c7, %n : i32
  tile.store %out, %q : !tile.ptr<i32>, i32
  return
})");
  std::vector<int32_t> out(1);
  kernel.run({1, 1, 1}, {arg(out), arg(-2)});
  EXPECT_EQ(out[0], -3);
  Result<void> result = kernel({1, 1, 1}, {arg(out), arg(0)});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().rendered,
              HasSubstr("kernel.mlir:4:8: error: integer division by zero"));
}

TEST(InterpMemory, AnAssertStopsTheLaunch) {
  TestKernel kernel(R"(
func.func @k(%n: i32) attributes {tile.kernel} {
  %lane = tile.arange 0, 8 : tensor<8xi32>
  %ns = tile.splat %n : tensor<8xi32>
  %ok = arith.cmpi slt, %lane, %ns : tensor<8xi32>
  tile.assert %ok, "lane below n" : tensor<8xi1>
  return
})");
  kernel.run({2, 1, 1}, {arg(8)});
  Result<void> result = kernel({2, 1, 1}, {arg(7)});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::Assertion);
  EXPECT_THAT(result.error().rendered,
              HasSubstr("kernel.mlir:6:3: error: lane below n, in program (0, 0, 0)"));
}

TEST(InterpMemory, ALoopMustStepForward) {
  TestKernel kernel(R"(
func.func @k(%step: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c9 = arith.constant 9 : i32
  scf.for %i = %c0 to %c9 step %step : i32 {
  }
  return
})");
  kernel.run({1, 1, 1}, {arg(2)});
  EXPECT_THAT(kernel({1, 1, 1}, {arg(0)}).error().message,
              HasSubstr("step 0, which is not positive"));
}

} // namespace
