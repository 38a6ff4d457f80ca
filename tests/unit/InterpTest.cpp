// What kernels compute: memory, masks, control flow, reductions, scans, shapes.
#include "InterpTesting.h"
#include "interp/Warnings.h"
#include <cmath>
#include <cstdlib>
#include <gmock/gmock.h>
#include <numeric>

using namespace pantile;
using namespace pantile::interp_testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

const char *vectorAdd = R"(
func.func @add(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %out: !tile.ptr<f32>, %n: i32) attributes {tile.kernel} {
  %pid = tile.program_id 0
  %size = arith.constant 8 : i32
  %start = arith.muli %pid, %size : i32
  %lane = tile.arange 0, 8 : tensor<8xi32>
  %first = tile.splat %start : tensor<8xi32>
  %index = arith.addi %first, %lane : tensor<8xi32>
  %bound = tile.splat %n : tensor<8xi32>
  %mask = arith.cmpi slt, %index, %bound : tensor<8xi32>
  %xs = tile.splat %x : tensor<8x!tile.ptr<f32>>
  %ys = tile.splat %y : tensor<8x!tile.ptr<f32>>
  %os = tile.splat %out : tensor<8x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %index : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
  %yp = tile.addptr %ys, %index : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
  %op = tile.addptr %os, %index : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
  %a = tile.load %xp mask %mask : tensor<8xi1> : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
  %b = tile.load %yp mask %mask : tensor<8xi1> : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
  %sum = arith.addf %a, %b : tensor<8xf32>
  tile.store %op, %sum mask %mask : tensor<8xi1> : tensor<8x!tile.ptr<f32>>, tensor<8xf32>
  return
})";

TEST(Interp, AddsVectorsUnderAMask) {
  TestKernel add(vectorAdd);
  for (int workers : {1, 2, 3})
    for (int n : {1, 8, 13, 1000}) {
      std::vector<float> x(n), y(n), out(n + 8, -1);
      std::iota(x.begin(), x.end(), 0.5f);
      std::iota(y.begin(), y.end(), 100.f);
      add.run({(n + 7) / 8, 1, 1}, {arg(x), arg(y), arg(out), arg(n)}, workers);
      for (int i = 0; i < n; ++i)
        ASSERT_EQ(out[i], x[i] + y[i]) << i;
      for (int i = n; i < n + 8; ++i)
        ASSERT_EQ(out[i], -1);
    }
}

TEST(Interp, AnEmptyGridRunsNothing) {
  TestKernel add(vectorAdd);
  std::vector<float> x(8, 1), out(8, 7);
  add.run({0, 1, 1}, {arg(x), arg(x), arg(out), arg(8)});
  EXPECT_EQ(out[0], 7);
}

TEST(Interp, ChecksTheArguments) {
  TestKernel add(vectorAdd);
  std::vector<float> x(8);
  EXPECT_THAT(add({1, 1, 1}, {arg(x)}).error().message, HasSubstr("takes 4 arguments and got 1"));
  EXPECT_THAT(add({1, 1, 1}, {arg(x), arg(x), arg(x), arg(x)}).error().message,
              HasSubstr("got a pointer"));
  EXPECT_THAT(add({1, 1, 1}, {arg(x), arg(3), arg(x), arg(8)}).error().message,
              HasSubstr("got a number"));
  EXPECT_THAT(add({1, 1, 1}, {arg(x), arg(x), arg(x), arg(int64_t(1) << 40)}).error().message,
              HasSubstr("does not fit 32 bits"));
  EXPECT_THAT(add({-1, 1, 1}, {arg(x), arg(x), arg(x), arg(8)}).error().message,
              HasSubstr("size -1"));
}

TEST(Interp, AxisZeroIsFastest) {
  TestKernel kernel(R"(
func.func @order(%next: !tile.ptr<i32>, %out: !tile.ptr<i32>) attributes {tile.kernel} {
  %x = tile.program_id 0
  %y = tile.program_id 1
  %z = tile.program_id 2
  %nx = tile.num_programs 0
  %ny = tile.num_programs 1
  %one = arith.constant 1 : i32
  %a = arith.muli %z, %ny : i32
  %b = arith.addi %a, %y : i32
  %c = arith.muli %b, %nx : i32
  %linear = arith.addi %c, %x : i32
  %turn = tile.atomic_rmw add, acq_rel, gpu, %next, %one : !tile.ptr<i32> -> i32
  %p = tile.addptr %out, %turn : !tile.ptr<i32>, i32
  tile.store %p, %linear : !tile.ptr<i32>, i32
  return
})");
  std::vector<int32_t> next(1), out(24);
  kernel.run({2, 3, 4}, {arg(next), arg(out)}, 1);
  for (int i = 0; i < 24; ++i)
    EXPECT_EQ(out[i], i);
}

TEST(Interp, MaskedLanesGiveOtherOrZero) {
  TestKernel kernel(R"(
func.func @k(%x: !tile.ptr<i16>, %out: !tile.ptr<i16>) attributes {tile.kernel} {
  %lane = tile.arange 0, 4 : tensor<4xi32>
  %two = arith.constant dense<2> : tensor<4xi32>
  %mask = arith.cmpi slt, %lane, %two : tensor<4xi32>
  %other = arith.constant dense<-7> : tensor<4xi16>
  %xs = tile.splat %x : tensor<4x!tile.ptr<i16>>
  %xp = tile.addptr %xs, %lane : tensor<4x!tile.ptr<i16>>, tensor<4xi32>
  %a = tile.load %xp mask %mask : tensor<4xi1> other %other : tensor<4xi16> : tensor<4x!tile.ptr<i16>> -> tensor<4xi16>
  %b = tile.load %xp mask %mask : tensor<4xi1> : tensor<4x!tile.ptr<i16>> -> tensor<4xi16>
  %both = tile.join %a, %b : tensor<4xi16> -> tensor<4x2xi16>
  %flat = tile.reshape %both : tensor<4x2xi16> -> tensor<8xi16>
  %l8 = tile.arange 0, 8 : tensor<8xi32>
  %os = tile.splat %out : tensor<8x!tile.ptr<i16>>
  %op = tile.addptr %os, %l8 : tensor<8x!tile.ptr<i16>>, tensor<8xi32>
  tile.store %op, %flat : tensor<8x!tile.ptr<i16>>, tensor<8xi16>
  return
})");
  std::vector<int16_t> x = {10, 11}, out(8);
  kernel.run({1, 1, 1}, {arg(x), arg(out)});
  EXPECT_THAT(out, ElementsAre(10, 10, 11, 11, -7, 0, -7, 0));
}

TEST(Interp, TransposesBroadcastsAndSplits) {
  TestKernel kernel(R"(
func.func @k(%out: !tile.ptr<i32>, %out2: !tile.ptr<i32>) attributes {tile.kernel} {
  %i = tile.arange 0, 2 : tensor<2xi32>
  %j = tile.arange 0, 4 : tensor<4xi32>
  %row = tile.expand_dims %i, 1 : tensor<2xi32> -> tensor<2x1xi32>
  %col = tile.expand_dims %j, 0 : tensor<4xi32> -> tensor<1x4xi32>
  %rows = tile.broadcast %row : tensor<2x1xi32> -> tensor<2x4xi32>
  %cols = tile.broadcast %col : tensor<1x4xi32> -> tensor<2x4xi32>
  %ten = arith.constant dense<10> : tensor<2x4xi32>
  %scaled = arith.muli %rows, %ten : tensor<2x4xi32>
  %m = arith.addi %scaled, %cols : tensor<2x4xi32>
  %t = tile.trans %m [1, 0] : tensor<2x4xi32> -> tensor<4x2xi32>
  %even, %odd = tile.split %t : tensor<4x2xi32> -> tensor<4xi32>
  %flat = tile.reshape %t : tensor<4x2xi32> -> tensor<8xi32>
  %lane = tile.arange 0, 8 : tensor<8xi32>
  %os = tile.splat %out : tensor<8x!tile.ptr<i32>>
  %op = tile.addptr %os, %lane : tensor<8x!tile.ptr<i32>>, tensor<8xi32>
  tile.store %op, %flat : tensor<8x!tile.ptr<i32>>, tensor<8xi32>
  %os2 = tile.splat %out2 : tensor<4x!tile.ptr<i32>>
  %op2 = tile.addptr %os2, %j : tensor<4x!tile.ptr<i32>>, tensor<4xi32>
  tile.store %op2, %odd : tensor<4x!tile.ptr<i32>>, tensor<4xi32>
  return
})");
  std::vector<int32_t> out(8), out2(4);
  kernel.run({1, 1, 1}, {arg(out), arg(out2)});
  EXPECT_THAT(out, ElementsAre(0, 10, 1, 11, 2, 12, 3, 13));
  EXPECT_THAT(out2, ElementsAre(10, 11, 12, 13));
}

/// A kernel that loads an R x C tile, reduces it along `axis` with `combiner` and stores `count`
/// values.
std::string reduceKernel(int axis, int rest, const std::string &combiner) {
  std::string r = std::to_string(rest);
  return R"(
func.func @k(%x: !tile.ptr<f32>, %out: !tile.ptr<f32>) attributes {tile.kernel} {
  %i = tile.arange 0, 32 : tensor<32xi32>
  %m = tile.reshape %i : tensor<32xi32> -> tensor<8x4xi32>
  %xs = tile.splat %x : tensor<8x4x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %m : tensor<8x4x!tile.ptr<f32>>, tensor<8x4xi32>
  %a = tile.load %xp : tensor<8x4x!tile.ptr<f32>> -> tensor<8x4xf32>
  %r = tile.reduce(%a), )" +
         std::to_string(axis) + " {\n  ^bb0(%l: f32, %h: f32):\n" + combiner + R"(
  } : (tensor<8x4xf32>) -> tensor<)" +
         r + R"(xf32>
  %lane = tile.arange 0, )" +
         r + " : tensor<" + r + R"(xi32>
  %os = tile.splat %out : tensor<)" +
         r + R"(x!tile.ptr<f32>>
  %op = tile.addptr %os, %lane : tensor<)" +
         r + "x!tile.ptr<f32>>, tensor<" + r + R"(xi32>
  tile.store %op, %r : tensor<)" +
         r + "x!tile.ptr<f32>>, tensor<" + r + R"(xf32>
  return
})";
}

TEST(Interp, ReducesAlongEachAxis) {
  std::vector<float> x(32);
  std::iota(x.begin(), x.end(), 1.f);
  std::string sum = "%s = arith.addf %l, %h : f32\n tile.yield %s : f32";
  std::vector<float> rows(8), cols(4);
  TestKernel(reduceKernel(1, 8, sum)).run({1, 1, 1}, {arg(x), arg(rows)});
  TestKernel(reduceKernel(0, 4, sum)).run({1, 1, 1}, {arg(x), arg(cols)});
  EXPECT_THAT(rows, ElementsAre(10, 26, 42, 58, 74, 90, 106, 122));
  EXPECT_THAT(cols, ElementsAre(120, 128, 136, 144));
}

TEST(Interp, ReducesInOrderWithACombinerThatIsNotCommutative) {
  std::vector<float> x(32), first(8), last(4);
  std::iota(x.begin(), x.end(), 1.f);
  TestKernel(reduceKernel(1, 8, "tile.yield %l : f32")).run({1, 1, 1}, {arg(x), arg(first)});
  TestKernel(reduceKernel(0, 4, "tile.yield %h : f32")).run({1, 1, 1}, {arg(x), arg(last)});
  EXPECT_THAT(first, ElementsAre(1, 5, 9, 13, 17, 21, 25, 29));
  EXPECT_THAT(last, ElementsAre(29, 30, 31, 32));
}

TEST(Interp, CombinersUseValuesFromOutsideAndBranches) {
  // A combiner that clips its sum, with an `if`.
  std::string clipped = R"(
  %top = arith.constant 20.0 : f32
  %s = arith.addf %l, %h : f32
  %big = arith.cmpf ogt, %s, %top : f32
  %c = scf.if %big -> f32 {
    scf.yield %top : f32
  } else {
    scf.yield %s : f32
  }
  tile.yield %c : f32)";
  std::vector<float> x(32), rows(8);
  std::iota(x.begin(), x.end(), 1.f);
  TestKernel(reduceKernel(1, 8, clipped)).run({1, 1, 1}, {arg(x), arg(rows)});
  EXPECT_THAT(rows, ElementsAre(10, 20, 20, 20, 20, 20, 20, 20));
}

TEST(Interp, FindsTheFirstMaximumWithItsIndex) {
  TestKernel kernel(R"(
func.func @argmax(%x: !tile.ptr<f32>, %value: !tile.ptr<f32>, %index: !tile.ptr<i32>) attributes {tile.kernel} {
  %i = tile.arange 0, 64 : tensor<64xi32>
  %xs = tile.splat %x : tensor<64x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %i : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %a = tile.load %xp : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
  %r:2 = tile.reduce(%a, %i), 0 {
  ^bb0(%va: f32, %ia: i32, %vb: f32, %ib: i32):
    %more = arith.cmpf ogt, %va, %vb : f32
    %same = arith.cmpf oeq, %va, %vb : f32
    %lower = arith.cmpi slt, %ia, %ib : i32
    %tie = arith.andi %same, %lower : i1
    %left = arith.ori %more, %tie : i1
    %v = arith.select %left, %va, %vb : f32
    %k = arith.select %left, %ia, %ib : i32
    tile.yield %v, %k : f32, i32
  } : (tensor<64xf32>, tensor<64xi32>) -> (f32, i32)
  tile.store %value, %r#0 : !tile.ptr<f32>, f32
  tile.store %index, %r#1 : !tile.ptr<i32>, i32
  return
})");
  std::vector<float> x(64), value(1);
  std::vector<int32_t> index(1);
  for (int i = 0; i < 64; ++i)
    x[i] = static_cast<float>(i * 37 % 50);
  kernel.run({1, 1, 1}, {arg(x), arg(value), arg(index)});
  EXPECT_EQ(value[0], 49);
  EXPECT_EQ(index[0], std::max_element(x.begin(), x.end()) - x.begin());
}

std::string scanKernel(const std::string &attributes) {
  return R"(
func.func @k(%x: !tile.ptr<i32>, %out: !tile.ptr<i32>) attributes {tile.kernel} {
  %i = tile.arange 0, 32 : tensor<32xi32>
  %m = tile.reshape %i : tensor<32xi32> -> tensor<2x8x2xi32>
  %xs = tile.splat %x : tensor<2x8x2x!tile.ptr<i32>>
  %os = tile.splat %out : tensor<2x8x2x!tile.ptr<i32>>
  %xp = tile.addptr %xs, %m : tensor<2x8x2x!tile.ptr<i32>>, tensor<2x8x2xi32>
  %op = tile.addptr %os, %m : tensor<2x8x2x!tile.ptr<i32>>, tensor<2x8x2xi32>
  %a = tile.load %xp : tensor<2x8x2x!tile.ptr<i32>> -> tensor<2x8x2xi32>
  %s = tile.scan(%a), 1 {
  ^bb0(%l: i32, %h: i32):
    %t = arith.addi %l, %h : i32
    tile.yield %t : i32
  } )" + attributes +
         R"( : (tensor<2x8x2xi32>) -> tensor<2x8x2xi32>
  tile.store %op, %s : tensor<2x8x2x!tile.ptr<i32>>, tensor<2x8x2xi32>
  return
})";
}

TEST(Interp, ScansForwardAndBackward) {
  std::vector<int32_t> x(32), forward(32), backward(32);
  for (int i = 0; i < 32; ++i)
    x[i] = i * i % 17;
  TestKernel(scanKernel("")).run({1, 1, 1}, {arg(x), arg(forward)});
  TestKernel(scanKernel("{reverse}")).run({1, 1, 1}, {arg(x), arg(backward)});
  for (int o = 0; o < 2; ++o)
    for (int i = 0; i < 2; ++i)
      for (int j = 0, up = 0, down = 0; j < 8; ++j) {
        up += x[(o * 8 + j) * 2 + i];
        down += x[(o * 8 + 7 - j) * 2 + i];
        EXPECT_EQ(forward[(o * 8 + j) * 2 + i], up);
        EXPECT_EQ(backward[(o * 8 + 7 - j) * 2 + i], down);
      }
}

TEST(Interp, LoopsCarryValuesThatChangePlaces) {
  TestKernel kernel(R"(
func.func @fib(%out: !tile.ptr<i64>, %n: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a0 = arith.constant 0 : i64
  %b0 = arith.constant 1 : i64
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %a0, %b = %b0) -> (i64, i64) : i32 {
    %s = arith.addi %a, %b : i64
    scf.yield %b, %s : i64, i64
  }
  tile.store %out, %r#0 : !tile.ptr<i64>, i64
  return
})");
  std::vector<int64_t> out(1);
  for (auto [n, want] :
       std::vector<std::pair<int, int64_t>>{{0, 0}, {1, 1}, {2, 1}, {10, 55}, {50, 12586269025}}) {
    kernel.run({1, 1, 1}, {arg(out), arg(n)});
    EXPECT_EQ(out[0], want);
  }
}

TEST(Interp, NestedLoopsKeepOuterValuesAlive) {
  TestKernel kernel(R"(
func.func @nest(%out: !tile.ptr<i32>, %n: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %lane = tile.arange 0, 16 : tensor<16xi32>
  %nn = tile.splat %n : tensor<16xi32>
  %base = arith.muli %lane, %nn : tensor<16xi32>
  %zero = arith.constant dense<0> : tensor<16xi32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<16xi32>) : i32 {
    %is = tile.splat %i : tensor<16xi32>
    %t = arith.addi %base, %is : tensor<16xi32>
    %inner = scf.for %j = %i to %n step %c1 iter_args(%acc2 = %acc) -> (tensor<16xi32>) : i32 {
      %u = arith.addi %acc2, %t : tensor<16xi32>
      scf.yield %u : tensor<16xi32>
    }
    scf.yield %inner : tensor<16xi32>
  }
  %os = tile.splat %out : tensor<16x!tile.ptr<i32>>
  %op = tile.addptr %os, %lane : tensor<16x!tile.ptr<i32>>, tensor<16xi32>
  tile.store %op, %r : tensor<16x!tile.ptr<i32>>, tensor<16xi32>
  return
})");
  std::vector<int32_t> out(16);
  kernel.run({1, 1, 1}, {arg(out), arg(5)});
  for (int lane = 0; lane < 16; ++lane) {
    int want = 0;
    for (int i = 0; i < 5; ++i)
      for (int j = i; j < 5; ++j)
        want += lane * 5 + i;
    EXPECT_EQ(out[lane], want);
  }
}

TEST(Interp, BranchesAndWhileLoops) {
  TestKernel kernel(R"(
func.func @collatz(%out: !tile.ptr<i32>, %n: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %r:2 = scf.while (%x = %n, %steps = %c0) : (i32, i32) -> (i32, i32) {
    %go = arith.cmpi ne, %x, %c1 : i32
    scf.condition(%go) %x, %steps : i32, i32
  } do {
  ^bb0(%x: i32, %steps: i32):
    %odd = arith.remsi %x, %c2 : i32
    %isOdd = arith.cmpi eq, %odd, %c1 : i32
    %next = scf.if %isOdd -> i32 {
      %t = arith.muli %x, %c3 : i32
      %u = arith.addi %t, %c1 : i32
      scf.yield %u : i32
    } else {
      %h = arith.divsi %x, %c2 : i32
      scf.yield %h : i32
    }
    %more = arith.addi %steps, %c1 : i32
    scf.yield %next, %more : i32, i32
  }
  tile.store %out, %r#1 : !tile.ptr<i32>, i32
  return
})");
  std::vector<int32_t> out(1);
  kernel.run({1, 1, 1}, {arg(out), arg(27)});
  EXPECT_EQ(out[0], 111);
}

TEST(Interp, UnknownOperationsAreNamed) {
  TestKernel kernel(R"(
func.func private @other()
func.func @k() attributes {tile.kernel} {
  func.call @other() : () -> ()
  return
})");
  EXPECT_EQ(kernel.kernel, nullptr);
  EXPECT_EQ(kernel.error.kind, ErrorKind::Unsupported);
  EXPECT_THAT(kernel.error.rendered,
              HasSubstr("kernel.mlir:4:3: error: `func.call` is not supported on the CPU"));
}

TEST(Interp, PrintsWithProgramAndIndex) {
  TestKernel kernel(R"(
func.func @k(%x: f32) attributes {tile.kernel} {
  %i = tile.arange 3, 5 : tensor<2xi32>
  %t = tile.expand_dims %i, 0 : tensor<2xi32> -> tensor<1x2xi32>
  tile.print "t", [1] %t : tensor<1x2xi32>
  tile.print "both", [1, 1] %t, %x : tensor<1x2xi32>, f32
  return
})");
  ::testing::internal::CaptureStdout();
  kernel.run({1, 1, 1}, {LaunchArg::f(1.5)});
  EXPECT_EQ(::testing::internal::GetCapturedStdout(),
            "pid (0, 0, 0) idx (0, 0) t: 3\n"
            "pid (0, 0, 0) idx (0, 1) t: 4\n"
            "pid (0, 0, 0) idx (0, 0) both: (operand 0) 3\n"
            "pid (0, 0, 0) idx (0, 1) both: (operand 0) 4\n"
            "pid (0, 0, 0) idx () both: (operand 1) 1.500000\n");
}

} // namespace
