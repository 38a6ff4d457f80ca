//===- own_context.cpp - kernels in an application that has CUDA in its own hands ------------===//
// The application makes its own context, stream and memory through the driver; pantile launches
// into them. A real application includes cuda.h and links libcuda; this one declares the few
// functions itself, so that it also builds where no toolkit is installed.
//
//   own_context kernels.py        status 77 where there is no GPU
//===------------------------------------------------------------------------------------===//
#include <cmath>
#include <cstdio>
#include <dlfcn.h>
#include <pantile/Request.h>
#include <pantile/Runtime.h>
#include <random>
#include <thread>
#include <vector>

using namespace pantile;

constexpr int noGpu = 77;
constexpr int m = 300, n = 208, k = 160;

struct Cuda {
  using Handle = void *;
  int (*init)(unsigned);
  int (*createContext)(Handle *, unsigned, int);
  int (*destroyContext)(Handle);
  int (*setContext)(Handle);
  int (*getContext)(Handle *);
  int (*createStream)(Handle *, unsigned);
  int (*waitForStream)(Handle);
  int (*allocate)(uint64_t *, size_t);
  int (*free)(uint64_t);
  int (*copyIn)(uint64_t, const void *, size_t, Handle);
  int (*copyOut)(void *, uint64_t, size_t, Handle);

  template <typename F> static bool find(void *library, F &function, const char *name) {
    function = reinterpret_cast<F>(dlsym(library, name));
    return function != nullptr;
  }
  bool open() {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    return library && find(library, init, "cuInit") &&
           find(library, createContext, "cuCtxCreate_v2") &&
           find(library, destroyContext, "cuCtxDestroy_v2") &&
           find(library, setContext, "cuCtxSetCurrent") &&
           find(library, getContext, "cuCtxGetCurrent") &&
           find(library, createStream, "cuStreamCreate") &&
           find(library, waitForStream, "cuStreamSynchronize") &&
           find(library, allocate, "cuMemAlloc_v2") && find(library, free, "cuMemFree_v2") &&
           find(library, copyIn, "cuMemcpyHtoDAsync_v2") &&
           find(library, copyOut, "cuMemcpyDtoHAsync_v2") && init(0) == 0;
  }
};

/// Aborts the example: a driver that fails here leaves nothing to show.
void check(int result, const char *doing) {
  if (result == 0)
    return;
  std::fprintf(stderr, "%s: CUDA error %d\n", doing, result);
  std::exit(1);
}

int fail(const Error &error) { return std::fprintf(stderr, "%s\n", error.rendered.c_str()), 1; }

/// fp16 from a float of small size, rounded toward zero.
uint16_t half(float value) {
  int exponent;
  const float fraction = std::frexp(std::abs(value), &exponent);
  if (fraction == 0 || exponent < -13)
    return 0;
  const auto mantissa = uint16_t(std::ldexp(fraction, 11));
  return uint16_t((value < 0) << 15 | (exponent + 14) << 10 | (mantissa & 1023));
}

double fromHalf(uint16_t bits) {
  if ((bits & 0x7fff) == 0)
    return 0;
  const double size = std::ldexp(1024 + (bits & 1023), (bits >> 10 & 31) - 25);
  return bits & 0x8000 ? -size : size;
}

double worstError(const std::vector<uint16_t> &a, const std::vector<uint16_t> &b,
                  const std::vector<float> &c) {
  double worst = 0;
  for (int row = 0; row < m; ++row)
    for (int col = 0; col < n; ++col) {
      double sum = 0;
      for (int i = 0; i < k; ++i)
        sum += fromHalf(a[row * k + i]) * fromHalf(b[i * n + col]);
      worst = std::max(worst, std::abs(sum - c[row * n + col]));
    }
  return worst;
}

int main(int argc, char **argv) {
  Cuda cuda{};
  if (!cuda.open() || deviceCount() == 0)
    return std::puts("no GPU: skipped"), noGpu;
  Cuda::Handle context, stream;
  check(cuda.createContext(&context, 0, 0), "making a context");
  check(cuda.createStream(&stream, 1), "making a stream");

  CompileRequest request;
  request.kernel = "matmul";
  request.signature = "*fp32:16, *fp16:16, *fp16:16, i32, i32:16, i32:16";
  request.definitions = {{"BM", int64_t(64)}, {"BN", int64_t(64)}, {"BK", int64_t(32)}};
  Result<DeviceInfo> device = deviceInfo(0);
  if (!device)
    return fail(device.error());
  request.options.target = device->target;
  Result<Kernel> kernel = compileFile(argc > 1 ? argv[1] : "kernels.py", request);
  if (!kernel)
    return fail(kernel.error());

  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<uint16_t> a(m * k), b(k * n);
  for (auto *values : {&a, &b})
    for (uint16_t &value : *values)
      value = half(normal(random));
  std::vector<float> c(m * n);
  uint64_t da, db, dc;
  check(cuda.allocate(&da, a.size() * 2), "allocating");
  check(cuda.allocate(&db, b.size() * 2), "allocating");
  check(cuda.allocate(&dc, c.size() * 4), "allocating");
  check(cuda.copyIn(da, a.data(), a.size() * 2, stream), "copying");
  check(cuda.copyIn(db, b.data(), b.size() * 2, stream), "copying");

  LaunchOptions options;
  options.stream = reinterpret_cast<uint64_t>(stream);
  const Grid grid = {(m + 63) / 64, (n + 63) / 64, 1};
  const auto args =
      launchArgs(LaunchArg::device(dc), LaunchArg::device(da), LaunchArg::device(db), m, n, k);
  if (Result<void> done = launch(*kernel, grid, args, options); !done)
    return fail(done.error());
  check(cuda.copyOut(c.data(), dc, c.size() * 4, stream), "copying");
  check(cuda.waitForStream(stream), "waiting");
  const double error = worstError(a, b, c);
  std::printf("matmul in the application's context on %s: largest error %.2g\n",
              device->name.c_str(), error);

  // The library left the application's context where it was.
  Cuda::Handle current = nullptr;
  check(cuda.getContext(&current), "asking for the context");
  // Another thread brings the context along; the kernel need not be loaded again.
  bool sameOnThread = false;
  std::thread([&] {
    check(cuda.setContext(context), "entering the context");
    sameOnThread = bool(launch(*kernel, grid, args, options));
    check(cuda.waitForStream(stream), "waiting");
  }).join();
  const bool right = error < 1e-2 && current == context && sameOnThread;
  for (uint64_t pointer : {da, db, dc})
    check(cuda.free(pointer), "freeing");
  check(cuda.destroyContext(context), "leaving");
  return right ? 0 : 1;
}
