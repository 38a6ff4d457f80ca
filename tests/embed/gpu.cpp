//===- gpu.cpp - the public interface on a GPU: streams, tuning, artifacts with tensor maps --===//
// A GEMM is tuned, found again in the kernel cache, launched on streams of several threads,
// and taken through an artifact; arguments that tensor maps cannot describe take the other variant.
//
//   gpu FOLDER/kernels.py        status 77 where there is no GPU
//===------------------------------------------------------------------------------------===//
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <pantile/Artifact.h>
#include <pantile/ReadyLaunch.h>
#include <pantile/Tuner.h>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

using namespace pantile;

namespace {

constexpr int m = 500, n = 384, k = 320;
int failures = 0;

void expect(bool holds, const std::string &what) {
  if (!holds)
    ++failures, std::fprintf(stderr, "failed: %s\n", what.c_str());
}

template <typename T> bool succeeded(const Result<T> &result, const char *what) {
  if (!result)
    expect(false, std::string(what) + ": " + result.error().rendered);
  return bool(result);
}

/// Random multiples of 1/8 below 2, which fp16 holds exactly.
std::vector<uint16_t> randomHalves(size_t count, unsigned seed, std::vector<double> &values) {
  std::mt19937 engine(seed);
  std::vector<uint16_t> bits(count);
  values.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const int eighths = int(engine() % 31) - 15;
    values[i] = eighths / 8.0;
    int exponent;
    const double fraction = std::frexp(std::abs(values[i]), &exponent);
    bits[i] =
        eighths == 0
            ? 0
            : uint16_t((eighths < 0) << 15 | (exponent + 14) << 10 | (int(fraction * 2048) & 1023));
  }
  return bits;
}

/// Row-major `rows` x `inner` and `inner` x `columns`.
std::vector<double> multiply(const double *a, const double *b, int rows, int columns, int inner) {
  std::vector<double> product(size_t(rows) * columns);
  for (int row = 0; row < rows; ++row)
    for (int i = 0; i < inner; ++i)
      for (int col = 0; col < columns; ++col)
        product[row * columns + col] += a[row * inner + i] * b[i * columns + col];
  return product;
}

struct Problem {
  std::vector<double> a, b, product;
  uint64_t da = 0, db = 0, dc = 0;

  Result<void> prepare() {
    std::vector<uint16_t> ha = randomHalves(size_t(m) * k, 1, a);
    std::vector<uint16_t> hb = randomHalves(size_t(k) * n, 2, b);
    product = multiply(a.data(), b.data(), m, n, k);
    for (auto [pointer, bytes] :
         {std::pair{&da, ha.size() * 2}, {&db, hb.size() * 2}, {&dc, product.size() * 4}}) {
      Result<uint64_t> memory = deviceAlloc(bytes);
      if (!memory)
        return memory.error();
      *pointer = *memory;
    }
    Result<void> copied = copyToDevice(da, ha.data(), ha.size() * 2);
    return copied ? copyToDevice(db, hb.data(), hb.size() * 2) : copied;
  }

  std::vector<LaunchArg> args(uint64_t out) const {
    return launchArgs(LaunchArg::device(out), LaunchArg::device(da), LaunchArg::device(db), m, n,
                      k);
  }

  bool isRight(uint64_t out) const { return holds(out, product); }

  /// The products of eighths are exact in fp32.
  static bool holds(uint64_t out, const std::vector<double> &expected) {
    std::vector<float> c(expected.size());
    if (!succeeded(copyFromDevice(c.data(), out, c.size() * 4), "copying back"))
      return false;
    return std::equal(c.begin(), c.end(), expected.begin());
  }
};

CompileRequest requestFor(const std::string &target, const char *signature) {
  CompileRequest request;
  request.kernel = "matmul";
  request.signature = signature;
  request.options.target = target;
  return request;
}

constexpr const char *aligned = "*fp32:16, *fp16:16, *fp16:16, i32, i32:16, i32:16";

Grid gridFor(const Definitions &values) {
  const int64_t bm = std::get<int64_t>(values.at("BM")), bn = std::get<int64_t>(values.at("BN"));
  return {(m + bm - 1) / bm, (n + bn - 1) / bn, 1};
}

void checkTuning(const std::string &text, const std::string &target, const Problem &problem) {
  std::vector<TuneCandidate> candidates(4);
  const int64_t blocks[][3] = {{16, 16, 16}, {64, 64, 64}, {128, 128, 64}, {512, 512, 512}};
  for (size_t i = 0; i < candidates.size(); ++i)
    candidates[i].definitions = {{"BM", blocks[i][0]}, {"BN", blocks[i][1]}, {"BK", blocks[i][2]}};
  TuneOptions options;
  options.grid = gridFor;
  options.args = problem.args(problem.dc);
  options.milliseconds = 5;
  const CompileRequest request = requestFor(target, aligned);
  Result<TuneResult> first = tune(text, "kernels.py", request, candidates, options);
  if (!succeeded(first, "tuning"))
    return;
  for (size_t i = 0; i < candidates.size(); ++i)
    std::printf("candidate %zu: %.4f ms %s\n", i, first->measurements[i].milliseconds,
                first->measurements[i].error.c_str());
  expect(!first->measurements[3].error.empty(), "blocks that do not fit are left out");
  succeeded(launch(first->kernel, first->grid, options.args), "launching the tuned kernel");
  succeeded(synchronize(0), "waiting");
  expect(problem.isRight(problem.dc), "the tuned kernel's results");
  Result<TuneResult> second = tune(text, "kernels.py", request, candidates, options);
  if (!succeeded(second, "tuning again"))
    return;
  for (size_t i = 0; i < 3; ++i)
    expect(second->measurements[i].fromStore, "times come from the store");
  expect(second->best == first->best, "the choice stays");
}

/// Each thread has a stream and an output of its own; the kernel is shared.
void checkStreams(const std::string &text, const std::string &target, const Problem &problem) {
  CompileRequest request = requestFor(target, aligned);
  request.definitions = {{"BM", int64_t(64)}, {"BN", int64_t(64)}, {"BK", int64_t(32)}};
  Result<Kernel> kernel = compileText(text, "kernels.py", request);
  if (!succeeded(kernel, "compiling"))
    return;
  std::atomic<int> wrong = 0;
  auto work = [&] {
    Result<uint64_t> stream = newStream(), out = deviceAlloc(size_t(m) * n * 4);
    if (!stream || !out)
      return void(++wrong);
    LaunchOptions options;
    options.stream = *stream;
    for (int i = 0; i < 20; ++i)
      wrong += !launch(*kernel, gridFor(request.definitions), problem.args(*out), options);
    wrong += !synchronizeStream(*stream) || !problem.isRight(*out);
    freeStream(*stream);
    deviceFree(*out);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back(work);
  for (std::thread &thread : threads)
    thread.join();
  expect(wrong == 0, "results on the streams of threads");
}

/// Launches that differ in values alone, as a host with a launcher of its own makes them.
void checkReadyLaunches(const std::string &text, const std::string &target,
                        const Problem &problem) {
  CompileRequest request = requestFor(target, aligned);
  request.definitions = {{"BM", int64_t(64)}, {"BN", int64_t(64)}, {"BK", int64_t(64)}};
  Result<Kernel> kernel = compileText(text, "kernels.py", request);
  Result<uint64_t> out = deviceAlloc(size_t(m) * n * 4);
  if (!succeeded(kernel, "compiling") || !succeeded(out, "allocating"))
    return;
  LaunchOptions options;
  options.device = 0;
  expect(!ReadyLaunch::of(*kernel, options), "a kernel that was never launched is not ready");
  const Grid grid = gridFor(request.definitions);
  succeeded(launch(*kernel, grid, problem.args(problem.dc), options), "launching first");
  const std::unique_ptr<const ReadyLaunch> ready = ReadyLaunch::of(*kernel, options);
  expect(ready != nullptr, "a kernel that was launched is ready");
  std::array<uint64_t, ReadyLaunch::mostSlots> slots = {*out, problem.da, problem.db, m, n, k};
  for (int i = 0; ready && i < 3; ++i)
    expect((*ready)(grid, slots.data(), options.stream), "launching again");
  expect(ready && !(*ready)({-1, 1, 1}, slots.data(), 0), "a wrong grid is left to `launch`");
  succeeded(synchronize(0), "waiting");
  expect(problem.isRight(problem.dc) && problem.isRight(*out), "results of ready launches");
  deviceFree(*out);
}

void checkArtifact(const std::string &text, const std::string &target, const Problem &problem,
                   const std::string &path) {
  Artifact artifact;
  // Nothing is promised of the sizes: what tensor maps need is tested at each launch.
  for (const char *signature : {aligned, "*fp32, *fp16, *fp16, i32, i32, i32"}) {
    CompileRequest request = requestFor(target, signature);
    request.definitions = {{"BM", int64_t(64)}, {"BN", int64_t(128)}, {"BK", int64_t(64)}};
    Result<Specialized> made = specializeText(text, "kernels.py", request);
    if (succeeded(made, "specialising"))
      succeeded(artifact.add(made->program, made->specialization, request.options), "adding");
  }
  succeeded(artifact.save(path), "saving");
  Result<Artifact> loaded = Artifact::load(path);
  if (!succeeded(loaded, "loading"))
    return;
  auto args = problem.args(problem.dc);
  Result<Kernel> kernel = loaded->find("matmul", target, args);
  if (!succeeded(kernel, "finding"))
    return;
  std::printf("artifact: %zu tensor maps\n", (*kernel)->tensorMaps.size());
  expect((*kernel)->args[1].divisibility == 16, "the aligned kernel is chosen");
  const Grid grid = {(m + 63) / 64, (n + 127) / 128, 1};
  succeeded(launch(*kernel, grid, args), "launching from an artifact");
  succeeded(synchronize(0), "waiting");
  expect(problem.isRight(problem.dc), "results of an artifact's kernel");
  expect(bool((*kernel)->compileStreamK) == (target == "sm_90a"), "its stream-K variant");
  if ((*kernel)->compileStreamK) {
    Result<Kernel> split = (*kernel)->compileStreamK();
    if (succeeded(split, "the stream-K variant from the artifact"))
      succeeded(launch(*split, grid, args), "launching it");
    succeeded(synchronize(0), "waiting");
    expect(problem.isRight(problem.dc), "results of the stream-K variant");
  }

  // The same memory as other matrices: B starts off 16 bytes, and no size divides anything.
  auto shifted = launchArgs(LaunchArg::device(problem.dc), LaunchArg::device(problem.da + 2 * k),
                            LaunchArg::device(problem.db + 8), m - 1, n - 4, k - 1);
  kernel = loaded->find("matmul", target, shifted);
  if (succeeded(kernel, "finding the general kernel")) {
    expect((*kernel)->args[1].divisibility == 1, "the general kernel is chosen");
    succeeded(launch(*kernel, grid, shifted), "launching with odd arguments");
    succeeded(synchronize(0), "waiting");
    const std::vector<double> expected =
        multiply(problem.a.data() + k, problem.b.data() + 4, m - 1, n - 4, k - 1);
    expect(Problem::holds(problem.dc, expected), "results with odd arguments");
  }
}

} // namespace

int main(int argc, char **argv) {
  if (deviceCount() == 0)
    return std::puts("no GPU: skipped"), 77;
  std::ostringstream text;
  text << std::ifstream(argc > 1 ? argv[1] : "kernels.py").rdbuf();
  std::string folder = (std::filesystem::temp_directory_path() / "pantile-gpu-XXXXXX").string();
  if (!mkdtemp(folder.data()))
    return std::perror("a temporary folder"), 1;
  setenv("PANTILE_CACHE_DIR", (folder + "/cache").c_str(), 1);
  Result<DeviceInfo> device = deviceInfo(0);
  Problem problem;
  if (succeeded(device, "the device") && succeeded(problem.prepare(), "preparing")) {
    checkTuning(text.str(), device->target, problem);
    checkStreams(text.str(), device->target, problem);
    checkReadyLaunches(text.str(), device->target, problem);
    checkArtifact(text.str(), device->target, problem, folder + "/kernels.pta");
  }
  for (uint64_t pointer : {problem.da, problem.db, problem.dc})
    deviceFree(pointer);
  std::filesystem::remove_all(folder);
  std::printf("%d failures\n", failures);
  return failures ? 1 : 0;
}
