//===- TuneProcess.cpp - a process that tunes a GEMM with the C++ library ------------------===//
// Needs: tune_process KERNELS.py M N K [FLAG VALUE]...; a GPU, or the emulated one. Flags: BM, BN,
//        BK, warps, stages (axes of the space, as "16,32"); keep; target (the GPU's); pause
//        (milliseconds before each run); die (the run before which it kills itself); tell (a file
//        that it writes before its first run); first (a file that it waits for); cooperative (1:
//        launches are).
// Gives: lines of fields with tabs between: per candidate its number, its time, whether it is from
//        the cache, the predicted cycles, the error; then "best" with the number, "runs", "right"
//        with 1 if every element is that of a product in fp64, "unranked", "warnings".
//===------------------------------------------------------------------------------------===//
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <pantile/Tuner.h>
#include <random>
#include <sstream>
#include <thread>
#include <unistd.h>

using namespace pantile;

namespace {

using Flags = std::map<std::string, std::string>;

[[noreturn]] void stop(const std::string &why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

template <typename T> T valueOf(Result<T> result) {
  if (!result)
    stop(result.error().rendered);
  return *result;
}

void check(const Result<void> &result) {
  if (!result)
    stop(result.error().rendered);
}

std::vector<int> numbers(const Flags &flags, const std::string &name, const std::string &usual) {
  const auto found = flags.find(name);
  std::istringstream text(found == flags.end() ? usual : found->second);
  std::vector<int> result;
  for (std::string part; std::getline(text, part, ',');)
    result.push_back(std::atoi(part.c_str()));
  return result;
}

/// A matrix of multiples of 1/8 below 2, which fp16 holds.
struct Matrix {
  std::vector<double> values;
  uint64_t device = 0;

  Matrix(size_t count, unsigned seed) : values(count) {
    std::mt19937 engine(seed);
    std::vector<uint16_t> bits(count);
    for (size_t i = 0; i < count; ++i) {
      const int eighths = int(engine() % 31) - 15;
      values[i] = eighths / 8.0;
      int exponent;
      const int fraction = int(std::frexp(std::abs(values[i]), &exponent) * 2048) & 1023;
      bits[i] = eighths ? uint16_t((eighths < 0) << 15 | (exponent + 14) << 10 | fraction) : 0;
    }
    device = valueOf(deviceAlloc(2 * count));
    check(copyToDevice(device, bits.data(), 2 * count));
  }
};

class Product {
public:
  Product(int m, int n, int k)
      : m(m), n(n), k(k), a(size_t(m) * k, 1), b(size_t(k) * n, 2),
        out(valueOf(deviceAlloc(size_t(4) * m * n))) {}

  void clear() const {
    const std::vector<float> nothing(size_t(m) * n, NAN);
    check(copyToDevice(out, nothing.data(), 4 * nothing.size()));
  }

  /// Whether `kernel` gives the product, which is exact in fp32.
  bool isOf(const Kernel &kernel, const Grid &grid) const {
    clear();
    check(launch(kernel, grid, args()));
    check(synchronize(0));
    std::vector<float> c(size_t(m) * n);
    check(copyFromDevice(c.data(), out, 4 * c.size()));
    for (int row = 0; row < m; ++row)
      for (int column = 0; column < n; ++column) {
        double sum = 0;
        for (int i = 0; i < k; ++i)
          sum += a.values[row * k + i] * b.values[i * n + column];
        if (c[row * n + column] != sum)
          return false;
      }
    return true;
  }

  std::vector<LaunchArg> args() const {
    return launchArgs(LaunchArg::device(out), LaunchArg::device(a.device),
                      LaunchArg::device(b.device), m, n, k);
  }

  const int m, n, k;

private:
  const Matrix a, b;
  const uint64_t out;
};

/// What happens before each run of the tuner.
struct Preparation {
  const Product &product;
  const int pause, die;
  const std::string tell;
  int runs = 0;

  Result<void> operator()() {
    if (++runs == 1 && !tell.empty())
      std::ofstream(tell) << "measuring" << std::flush;
    if (runs == die)
      kill(getpid(), SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    product.clear();
    return {};
  }
};

std::vector<TuneCandidate> candidatesOf(const Flags &flags) {
  TuneAxes axes;
  for (const char *name : {"BM", "BN", "BK"}) {
    auto &axis = axes.definitions.emplace_back(name, std::vector<ConstValue>());
    for (int value : numbers(flags, name, "16,32"))
      axis.second.push_back(int64_t(value));
  }
  axes.numWarps = numbers(flags, "warps", "1"), axes.numStages = numbers(flags, "stages", "3");
  return pantile::candidatesOf(axes);
}

int64_t tiles(int extent, const ConstValue &block) {
  return (extent + std::get<int64_t>(block) - 1) / std::get<int64_t>(block);
}

void print(const TuneResult &result, int runs, bool isRight) {
  for (size_t i = 0; i < result.measurements.size(); ++i) {
    const TuneMeasurement &one = result.measurements[i];
    std::printf("%zu\t%g\t%d\t%g\t%s\n", i, one.milliseconds, one.fromStore,
                one.prediction ? one.prediction->cycles : -1, one.error.c_str());
  }
  std::printf("best\t%zu\nruns\t%d\nright\t%d\nunranked\t%s\nwarnings\t%s\n", result.best, runs,
              isRight, result.unranked.c_str(), result.warnings.c_str());
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 5 || argc % 2 == 0)
    stop("tune_process KERNELS.py M N K [FLAG VALUE]...");
  Flags flags;
  for (int i = 5; i < argc; i += 2)
    flags[argv[i]] = argv[i + 1];
  std::ostringstream text;
  text << std::ifstream(argv[1]).rdbuf();
  const Product product(std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]));
  Preparation preparation{product, numbers(flags, "pause", "0")[0], numbers(flags, "die", "0")[0],
                          flags["tell"]};
  while (!flags["first"].empty() && !std::ifstream(flags["first"]))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CompileRequest request;
  request.kernel = "matmul";
  request.signature = "*fp32:16, *fp16:16, *fp16:16, i32, i32:16, i32:16";
  request.options.target =
      flags["target"].empty() ? valueOf(deviceInfo(0)).target : flags["target"];
  TuneOptions options;
  options.grid = [&](const Definitions &values) {
    return Grid{tiles(product.m, values.at("BM")), tiles(product.n, values.at("BN")), 1};
  };
  options.args = product.args();
  options.prepare = [&] { return preparation(); };
  options.milliseconds = 5;
  options.launch.cooperative = numbers(flags, "cooperative", "0")[0] != 0;
  options.keep = numbers(flags, "keep", "0")[0];
  const TuneResult result =
      valueOf(tune(text.str(), argv[1], request, candidatesOf(flags), options));
  const int runs = preparation.runs;
  print(result, runs, product.isOf(result.kernel, result.grid));
  return 0;
}
