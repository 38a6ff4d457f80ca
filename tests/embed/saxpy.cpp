//===- saxpy.cpp - a kernel from a string, in an application without Python -----------------===//
// Compiles y = a * x + y for the CPU and, where there is one, for the first GPU, and checks both.
//===------------------------------------------------------------------------------------===//
#include <cstdio>
#include <pantile/Compiler.h>
#include <pantile/Runtime.h>
#include <vector>

using namespace pantile;

constexpr const char *source = R"(
import pantile as triton
import pantile.language as tl

@triton.jit
def saxpy(x_ptr, y_ptr, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask)
    y = tl.load(y_ptr + i, mask=mask)
    tl.store(y_ptr + i, a * x + y, mask=mask)
)";

constexpr int n = 1000, block = 256;
constexpr float a = 2.5f;

Result<Kernel> compileFor(const std::string &target) {
  Result<Program> program = scanFile(source, "saxpy.py", {});
  if (!program)
    return program.error();
  Specialization specialization;
  for (const char *spec : {"*fp32:16", "*fp32:16", "fp32", "i32"}) {
    Result<ArgSpec> argument = parseArgSpec(spec);
    if (!argument)
      return argument.error();
    specialization.args.push_back(*argument);
  }
  ArgSpec constant;
  constant.value = int64_t(block);
  specialization.args.push_back(constant);
  Options options;
  options.target = target;
  return Compiler().compile(*program, specialization, options);
}

Result<void> launchSaxpy(const Kernel &kernel, LaunchArg x, LaunchArg y) {
  return launch(kernel, {(n + block - 1) / block, 1, 1}, {x, y, LaunchArg::f(a), LaunchArg::i(n)});
}

Result<void> runOnCpu(const std::vector<float> &x, std::vector<float> &y) {
  Result<Kernel> kernel = compileFor("cpu");
  if (!kernel)
    return kernel.error();
  return launchSaxpy(*kernel, LaunchArg::ptr(x.data()), LaunchArg::ptr(y.data()));
}

Result<void> runOnGpu(const std::vector<float> &x, std::vector<float> &y) {
  const size_t bytes = n * sizeof(float);
  Result<DeviceInfo> device = deviceInfo(0);
  if (!device)
    return device.error();
  Result<Kernel> kernel = compileFor(device->target);
  if (!kernel)
    return kernel.error();
  Result<uint64_t> dx = deviceAlloc(bytes), dy = deviceAlloc(bytes);
  if (!dx || !dy)
    return (dx ? dy : dx).error();
  auto pointer = [](uint64_t address) { return LaunchArg::ptr(reinterpret_cast<void *>(address)); };
  Result<void> done = copyToDevice(*dx, x.data(), bytes);
  if (done)
    done = copyToDevice(*dy, y.data(), bytes);
  if (done)
    done = launchSaxpy(*kernel, pointer(*dx), pointer(*dy));
  if (done)
    done = synchronize(0);
  if (done)
    done = copyFromDevice(y.data(), *dy, bytes);
  deviceFree(*dx), deviceFree(*dy);
  return done;
}

bool check(const char *device,
           Result<void> (*run)(const std::vector<float> &, std::vector<float> &)) {
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i)
    x[i] = 0.5f * i, y[i] = 1.0f;
  if (Result<void> result = run(x, y); !result) {
    std::fprintf(stderr, "%s: %s\n", device, result.error().rendered.c_str());
    return false;
  }
  for (int i = 0; i < n; ++i)
    if (y[i] != a * x[i] + 1.0f)
      return std::fprintf(stderr, "%s: y[%d] is %g\n", device, i, y[i]), false;
  return std::printf("%s: %d elements are right\n", device, n), true;
}

/// A wrong program must come back as an error with its place, and leave the process alive.
bool checkError() {
  Result<Program> program =
      scanFile("import pantile as triton\n@triton.jit\ndef k(p):\n    q\n", "bad.py", {});
  if (!program)
    return false;
  Specialization specialization{{*parseArgSpec("*fp32")}};
  Result<Kernel> kernel = Compiler().compile(*program, specialization, {});
  bool right = !kernel && kernel.error().range.file == "bad.py" && kernel.error().range.line == 4;
  std::printf("%s", kernel ? "bad.py compiled\n" : kernel.error().rendered.c_str());
  return right;
}

int main() {
  bool right = check("CPU", runOnCpu) && checkError();
  if (deviceCount() > 0)
    right = check("GPU", runOnGpu) && right;
  else
    std::puts("no GPU: skipped");
  return right ? 0 : 1;
}
