//===- ahead_of_time.cpp - an application that ships its kernels compiled ---------------------===//
// Loads the artifact of build_kernels and runs its kernel on the first GPU, or on the CPU where
// there is none. Nothing is compiled: the artifact has machine code for the GPU's architecture.
//
//   ahead_of_time kernels.pta
//===------------------------------------------------------------------------------------===//
#include <cmath>
#include <cstdio>
#include <pantile/Artifact.h>
#include <random>
#include <span>
#include <vector>

using namespace pantile;

int fail(const Error &error) { return std::fprintf(stderr, "%s\n", error.rendered.c_str()), 1; }

double worstError(std::span<const float> x, std::span<const float> out, int columns) {
  double worst = 0;
  for (size_t row = 0; row < x.size(); row += columns) {
    double sum = 0;
    for (int i = 0; i < columns; ++i)
      sum += std::exp(double(x[row + i]));
    for (int i = 0; i < columns; ++i)
      worst = std::max(worst, std::abs(out[row + i] - std::exp(double(x[row + i])) / sum));
  }
  return worst;
}

Result<void> runOnCpu(const Artifact &artifact, std::span<const float> x, std::span<float> out,
                      int columns) {
  auto args = launchArgs(LaunchArg::host(out), LaunchArg::host(x), columns, columns);
  Result<Kernel> kernel = artifact.find("softmax", "cpu", args);
  if (!kernel)
    return kernel.error();
  return launch(*kernel, {int64_t(x.size()) / columns, 1, 1}, args);
}

Result<void> runOnGpu(const Artifact &artifact, std::span<const float> x, std::span<float> out,
                      int columns) {
  Result<DeviceInfo> device = deviceInfo(0);
  if (!device)
    return device.error();
  Result<uint64_t> dx = deviceAlloc(x.size_bytes()), dy = deviceAlloc(x.size_bytes());
  if (!dx || !dy)
    return (dx ? dy : dx).error();
  auto args = launchArgs(LaunchArg::device(*dy), LaunchArg::device(*dx), columns, columns);
  Result<Kernel> kernel = artifact.find("softmax", device->target, args);
  Result<void> done = kernel ? copyToDevice(*dx, x.data(), x.size_bytes()) : kernel.error();
  if (done)
    done = launch(*kernel, {int64_t(x.size()) / columns, 1, 1}, args);
  if (done)
    done = copyFromDevice(out.data(), *dy, out.size_bytes());
  deviceFree(*dx), deviceFree(*dy);
  return done;
}

int main(int argc, char **argv) {
  Result<Artifact> artifact = Artifact::load(argc > 1 ? argv[1] : "kernels.pta");
  if (!artifact)
    return fail(artifact.error());
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  const bool hasGpu = deviceCount() > 0;
  // The second length is no multiple of 16: the other specialisation takes it.
  for (int columns : {512, 333}) {
    std::vector<float> x(64 * columns), out(x.size());
    for (float &value : x)
      value = normal(random);
    Result<void> done = (hasGpu ? runOnGpu : runOnCpu)(*artifact, x, out, columns);
    if (!done)
      return fail(done.error());
    const double error = worstError(x, out, columns);
    std::printf("%d columns on the %s: largest error %.2g\n", columns, hasGpu ? "GPU" : "CPU",
                error);
    if (!(error < 1e-6))
      return 1;
  }
  return 0;
}
