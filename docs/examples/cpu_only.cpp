//===- cpu_only.cpp - kernels on a machine without a GPU ------------------------------------===//
// Compiles a kernel from its file, prints what the compiler makes of it, runs it over rows of
// random numbers on all cores, and compares with double precision.
//
//   cpu_only kernels.py
//===------------------------------------------------------------------------------------===//
#include <cmath>
#include <cstdio>
#include <pantile/Request.h>
#include <pantile/Runtime.h>
#include <random>
#include <span>
#include <vector>

using namespace pantile;

constexpr int rows = 100, columns = 200, block = 256;

/// The largest difference from the softmax in double precision.
double worstError(const std::vector<float> &x, const std::vector<float> &out) {
  double worst = 0;
  for (int row = 0; row < rows; ++row) {
    std::span<const float> in(x.data() + row * columns, columns);
    double sum = 0;
    for (float value : in)
      sum += std::exp(double(value));
    for (int i = 0; i < columns; ++i)
      worst = std::max(worst, std::abs(out[row * columns + i] - std::exp(double(in[i])) / sum));
  }
  return worst;
}

int fail(const Error &error) { return std::fprintf(stderr, "%s\n", error.rendered.c_str()), 1; }

int main(int argc, char **argv) {
  CompileRequest request;
  request.kernel = "softmax";
  request.signature = "*fp32, *fp32, i32, i32";
  request.definitions = {{"BLOCK", int64_t(block)}};
  Result<Kernel> kernel = compileFile(argc > 1 ? argv[1] : "kernels.py", request);
  if (!kernel)
    return fail(kernel.error());

  std::mt19937 random(20);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> x(rows * columns), out(rows * columns);
  for (float &value : x)
    value = normal(random);
  // The bounds that come with the storage are what every access is checked against.
  Result<void> done =
      launch(*kernel, {rows, 1, 1},
             launchArgs(LaunchArg::host(std::span(out)), LaunchArg::host(std::span(x)), columns,
                        /*stride=*/columns));
  if (!done)
    return fail(done.error());
  const double error = worstError(x, out);
  std::printf("softmax of %d rows on the CPU: largest error %.2g\n", rows, error);
  return error < 1e-6 ? 0 : 1;
}
