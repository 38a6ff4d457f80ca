//===- quickstart.cpp - the kernel of saxpy.py, on the CPU --------------------------------===//
//   quickstart saxpy.py
//===------------------------------------------------------------------------------------===//
#include <cmath>
#include <cstdio>
#include <pantile/Request.h>
#include <pantile/Runtime.h>
#include <span>
#include <vector>

using namespace pantile;

int main(int argc, char **argv) {
  CompileRequest request;
  request.signature = "*fp32, *fp32, fp32, i32";
  request.definitions = {{"BLOCK", int64_t(256)}};
  request.options.target = "cpu"; // or "sm_90a", with memory of that GPU
  Result<Kernel> saxpy = compileFile(argc > 1 ? argv[1] : "saxpy.py", request);
  if (!saxpy)
    return std::fprintf(stderr, "%s\n", saxpy.error().rendered.c_str()), 1;

  const int n = 1000;
  std::vector<float> x(n), y(n, 1.0f);
  for (int i = 0; i < n; ++i)
    x[i] = std::sin(float(i));
  auto arguments =
      launchArgs(LaunchArg::host(std::span(x)), LaunchArg::host(std::span(y)), 2.5f, n);
  Result<void> done = launch(*saxpy, {(n + 255) / 256, 1, 1}, arguments);
  if (!done)
    return std::fprintf(stderr, "%s\n", done.error().rendered.c_str()), 1;

  for (int i = 0; i < n; ++i)
    if (std::fabs(y[i] - (2.5f * x[i] + 1)) > 1e-6f)
      return std::printf("y[%d] is %g\n", i, y[i]), 1;
  return std::printf("%d elements are right\n", n), 0;
}
