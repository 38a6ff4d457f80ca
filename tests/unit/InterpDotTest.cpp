// GEMMs: whole kernels with loops, and the dot of each element type on each instruction
// set.
#include "InterpTesting.h"
#include "interp/Code.h"
#include "interp/kernels/Narrow.h"
#include <cmath>
#include <random>

using namespace pantile;
using namespace pantile::interp;
using namespace pantile::interp_testing;

namespace {

/// C = A x B for square row-major matrices of 16-bit floats, in tiles of 64 x 64 x 32.
std::string matmulKernel(const std::string &type) {
  std::string text = R"(
func.func @matmul(%a: !tile.ptr<T>, %b: !tile.ptr<T>, %c: !tile.ptr<T>, %n: i32) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %c64 = arith.constant 64 : i32
  %pm = tile.program_id 0
  %pn = tile.program_id 1
  %m0 = arith.muli %pm, %c64 : i32
  %n0 = arith.muli %pn, %c64 : i32
  %r64 = tile.arange 0, 64 : tensor<64xi32>
  %r32 = tile.arange 0, 32 : tensor<32xi32>
  %ms = tile.splat %m0 : tensor<64xi32>
  %ns = tile.splat %n0 : tensor<64xi32>
  %rm = arith.addi %ms, %r64 : tensor<64xi32>
  %rn = arith.addi %ns, %r64 : tensor<64xi32>
  %nn = tile.splat %n : tensor<64x1xi32>
  %nk = tile.splat %n : tensor<32x1xi32>
  %rm1 = tile.expand_dims %rm, 1 : tensor<64xi32> -> tensor<64x1xi32>
  %rn1 = tile.expand_dims %rn, 0 : tensor<64xi32> -> tensor<1x64xi32>
  %rk1 = tile.expand_dims %r32, 0 : tensor<32xi32> -> tensor<1x32xi32>
  %rk2 = tile.expand_dims %r32, 1 : tensor<32xi32> -> tensor<32x1xi32>
  %arow = arith.muli %rm1, %nn : tensor<64x1xi32>
  %brow = arith.muli %rk2, %nk : tensor<32x1xi32>
  %arowb = tile.broadcast %arow : tensor<64x1xi32> -> tensor<64x32xi32>
  %acolb = tile.broadcast %rk1 : tensor<1x32xi32> -> tensor<64x32xi32>
  %browb = tile.broadcast %brow : tensor<32x1xi32> -> tensor<32x64xi32>
  %bcolb = tile.broadcast %rn1 : tensor<1x64xi32> -> tensor<32x64xi32>
  %ao = arith.addi %arowb, %acolb : tensor<64x32xi32>
  %bo = arith.addi %browb, %bcolb : tensor<32x64xi32>
  %as = tile.splat %a : tensor<64x32x!tile.ptr<T>>
  %bs = tile.splat %b : tensor<32x64x!tile.ptr<T>>
  %ap0 = tile.addptr %as, %ao : tensor<64x32x!tile.ptr<T>>, tensor<64x32xi32>
  %bp0 = tile.addptr %bs, %bo : tensor<32x64x!tile.ptr<T>>, tensor<32x64xi32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %astep = arith.constant dense<32> : tensor<64x32xi32>
  %bstep1 = arith.muli %n, %c32 : i32
  %bstep = tile.splat %bstep1 : tensor<32x64xi32>
  %r:3 = scf.for %k = %c0 to %n step %c32 iter_args(%acc = %zero, %ap = %ap0, %bp = %bp0) -> (tensor<64x64xf32>, tensor<64x32x!tile.ptr<T>>, tensor<32x64x!tile.ptr<T>>) : i32 {
    %x = tile.load %ap : tensor<64x32x!tile.ptr<T>> -> tensor<64x32xT>
    %y = tile.load %bp : tensor<32x64x!tile.ptr<T>> -> tensor<32x64xT>
    %d = tile.dot %x, %y, %acc : tensor<64x32xT>, tensor<32x64xT>, tensor<64x64xf32>
    %ap1 = tile.addptr %ap, %astep : tensor<64x32x!tile.ptr<T>>, tensor<64x32xi32>
    %bp1 = tile.addptr %bp, %bstep : tensor<32x64x!tile.ptr<T>>, tensor<32x64xi32>
    scf.yield %d, %ap1, %bp1 : tensor<64x64xf32>, tensor<64x32x!tile.ptr<T>>, tensor<32x64x!tile.ptr<T>>
  }
  %half = arith.truncf %r#0 : tensor<64x64xf32> to tensor<64x64xT>
  %crow = tile.broadcast %arow : tensor<64x1xi32> -> tensor<64x64xi32>
  %ccol = tile.broadcast %rn1 : tensor<1x64xi32> -> tensor<64x64xi32>
  %co = arith.addi %crow, %ccol : tensor<64x64xi32>
  %cs = tile.splat %c : tensor<64x64x!tile.ptr<T>>
  %cp = tile.addptr %cs, %co : tensor<64x64x!tile.ptr<T>>, tensor<64x64xi32>
  tile.store %cp, %half : tensor<64x64x!tile.ptr<T>>, tensor<64x64xT>
  return
})";
  for (size_t at = 0; (at = text.find("T>", at)) != std::string::npos;)
    text.replace(at, 1, type);
  return text;
}

template <typename T> void checkMatmul(const std::string &type, int n) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> small(-4, 4);
  std::vector<T> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = fromFloat<T>(static_cast<float>(small(random)));
    b[i] = fromFloat<T>(static_cast<float>(small(random)) / 4);
  }
  TestKernel kernel(matmulKernel(type));
  kernel.run({n / 64, n / 64, 1}, {arg(a), arg(b), arg(c), arg(n)}, 2);
  // Small integers and quarters are summed exactly, whatever the order.
  std::uniform_int_distribution<int> place(0, n - 1);
  for (int sample = 0; sample < 4000; ++sample) {
    int i = place(random), j = place(random);
    float want = 0;
    for (int k = 0; k < n; ++k)
      want += toFloat(a[i * n + k]) * toFloat(b[k * n + j]);
    ASSERT_EQ(c[i * n + j].bits, fromFloat<T>(want).bits) << i << ", " << j;
  }
}

TEST(InterpDot, MultipliesMatricesOfHalf) { checkMatmul<Half>("f16", 512); }
TEST(InterpDot, MultipliesMatricesOfBFloat) { checkMatmul<BFloat>("bf16", 128); }

/// Runs one dot of a kernel set on random operands and compares with the product in fp64.
template <typename T, typename Acc, typename Get, typename Put>
void checkDot(const Kernels &set, Elem elem, Elem accElem, DotShape shape, Get get, Put put,
              double tolerance) {
  Handler run = set.dot(elem, accElem);
  ASSERT_NE(run, nullptr);
  size_t left = shape.batch * shape.m * shape.k, right = shape.batch * shape.k * shape.n,
         result = shape.batch * shape.m * shape.n;
  auto up = [](size_t bytes) { return (bytes + 63) / 64 * 64; };
  size_t a = 0, b = a + up(left * sizeof(T)), c = b + up(right * sizeof(T)),
         d = c + up(result * sizeof(Acc));
  size_t scratch = d + up(result * sizeof(Acc));
  std::vector<std::byte> memory(scratch + set.dotScratchBytes(shape, elem) + 64);
  Code code;
  shape.scratch = static_cast<uint32_t>(scratch);
  code.dots.push_back(shape);
  Frame frame;
  frame.base = memory.data();
  frame.code = &code;
  std::mt19937 random(3);
  std::uniform_int_distribution<int> values(-9, 9);
  for (size_t i = 0; i < left; ++i)
    frame.at<T>(a)[i] = put(values(random));
  for (size_t i = 0; i < right; ++i)
    frame.at<T>(b)[i] = put(values(random));
  for (size_t i = 0; i < result; ++i)
    frame.at<Acc>(c)[i] = Acc(static_cast<int>(i % 5));
  Instr instr;
  instr.dst = static_cast<uint32_t>(d), instr.a = 0, instr.b = static_cast<uint32_t>(b),
  instr.c = static_cast<uint32_t>(c);
  run(frame, instr);
  for (size_t batch = 0; batch < shape.batch; ++batch)
    for (size_t i = 0; i < shape.m; ++i)
      for (size_t j = 0; j < shape.n; ++j) {
        size_t at = (batch * shape.m + i) * shape.n + j;
        double want = static_cast<double>(at % 5);
        for (size_t k = 0; k < shape.k; ++k)
          want += get(frame.at<T>(a)[(batch * shape.m + i) * shape.k + k]) *
                  get(frame.at<T>(b)[(batch * shape.k + k) * shape.n + j]);
        ASSERT_NEAR(static_cast<double>(frame.at<Acc>(d)[at]), want,
                    tolerance * (10 + std::fabs(want)))
            << set.name;
      }
}

TEST(InterpDot, EveryShapeAndTypeOnEveryInstructionSet) {
  for (const Kernels *set : allKernels())
    for (uint32_t m : {1, 2, 16, 32})
      for (uint32_t n : {1, 4, 8, 16, 32, 128})
        for (uint32_t k : {1, 16, 64}) {
          DotShape shape{m == 16 ? 3u : 1u, m, n, k};
          auto narrow = [](auto v) { return static_cast<double>(toFloat(v)); };
          auto plain = [](auto v) { return static_cast<double>(v); };
          checkDot<Half, float>(
              *set, Elem::F16, Elem::F32, shape, narrow, [](int v) { return toHalf(v * 0.5f); }, 0);
          checkDot<BFloat, float>(
              *set, Elem::BF16, Elem::F32, shape, narrow, [](int v) { return toBFloat(v); }, 0);
          checkDot<E4M3, float>(
              *set, Elem::F8E4M3, Elem::F32, shape, narrow, [](int v) { return toE4M3(v); }, 0);
          checkDot<E5M2, float>(
              *set, Elem::F8E5M2, Elem::F32, shape, narrow, [](int v) { return toE5M2(v); }, 0);
          checkDot<float, float>(
              *set, Elem::F32, Elem::F32, shape, plain, [](int v) { return v * 0.1f; }, 1e-5);
          checkDot<double, double>(
              *set, Elem::F64, Elem::F64, shape, plain, [](int v) { return v * 0.1; }, 1e-13);
          checkDot<int8_t, int32_t>(
              *set, Elem::I8, Elem::I32, shape, plain, [](int v) { return int8_t(v * 14); }, 0);
        }
}

TEST(InterpDot, Tf32DropsThirteenBits) {
  TestKernel kernel(R"(
func.func @k(%x: f32, %out: !tile.ptr<f32>) attributes {tile.kernel} {
  %a = tile.splat %x : tensor<16x16xf32>
  %one = arith.constant dense<1.0> : tensor<16x16xf32>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %t = tile.dot %a, %one, %zero : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  %e = tile.dot %a, %one, %zero {precision = 1 : i32} : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  %sum = tile.reshape %t : tensor<16x16xf32> -> tensor<256xf32>
  %lane = tile.arange 0, 256 : tensor<256xi32>
  %os = tile.splat %out : tensor<256x!tile.ptr<f32>>
  %op = tile.addptr %os, %lane : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
  tile.store %op, %sum : tensor<256x!tile.ptr<f32>>, tensor<256xf32>
  %esum = tile.reshape %e : tensor<16x16xf32> -> tensor<256xf32>
  %c256 = arith.constant dense<256> : tensor<256xi32>
  %op2 = tile.addptr %op, %c256 : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
  tile.store %op2, %esum : tensor<256x!tile.ptr<f32>>, tensor<256xf32>
  return
})");
  std::vector<float> out(512);
  float x = 1 + 0x1p-11f; // half of the last bit that stays: rounds away from zero
  kernel.run({1, 1, 1}, {LaunchArg::f(x), arg(out)});
  EXPECT_EQ(out[0], 16 * (1 + 0x1p-10f));
  EXPECT_EQ(out[256], 16 * x);
}

} // namespace
