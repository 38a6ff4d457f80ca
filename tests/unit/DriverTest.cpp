//===- DriverTest.cpp - arguments, grids and launches, against a driver that records -------===//
// The GPU's own driver runs the last test where there is one.
//===------------------------------------------------------------------------------------===//
#include "cuda/Driver.h"
#include "runtime/Arguments.h"
#include "runtime/Launch.h"
#include "runtime/Module.h"
#include "target/Ptx.h"
#include <atomic>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <thread>

using namespace pantile;
using testing::HasSubstr;

namespace {

ArgSpec pointer(std::string dtype, int divisibility = 1) {
  return {ArgSpec::Kind::Pointer, std::move(dtype), false, divisibility, {}};
}
ArgSpec scalar(std::string dtype, int divisibility = 1) {
  return {ArgSpec::Kind::Scalar, std::move(dtype), false, divisibility, {}};
}
ArgSpec constant() { return {ArgSpec::Kind::Constant, "", false, 1, int64_t(1)}; }

/// The arguments of one launch, or the error.
Result<std::vector<uint64_t>> pack(const std::vector<ArgSpec> &specs,
                                   const std::vector<LaunchArg> &args) {
  Result<ArgPlan> plan = planArguments(specs);
  if (!plan)
    return plan.error();
  std::vector<uint64_t> slots(plan->size());
  if (Result<void> packed = packArguments(*plan, args, slots.data()); !packed)
    return packed.error();
  return slots;
}

std::string packError(const std::vector<ArgSpec> &specs, const std::vector<LaunchArg> &args) {
  Result<std::vector<uint64_t>> slots = pack(specs, args);
  if (slots)
    return "";
  EXPECT_EQ(slots.error().kind, ErrorKind::Launch);
  return slots.error().message;
}

TEST(Arguments, ConstantsTakeNoSlot) {
  auto slots = pack({pointer("fp16"), constant(), scalar("i32")},
                    {LaunchArg::ptr((void *)0x1000), LaunchArg::i(-1)});
  ASSERT_TRUE(slots);
  ASSERT_EQ(slots->size(), 2u);
  EXPECT_EQ((*slots)[0], 0x1000u);
  EXPECT_EQ(static_cast<uint32_t>((*slots)[1]), 0xffffffffu);
}

/// A spec and an argument, most of which fit.
std::pair<ArgSpec, LaunchArg> drawArgument(std::mt19937_64 &random) {
  static const char *const types[] = {"i1",  "i8",  "i16", "i32",  "i64",  "u1",   "u8",
                                      "u16", "u32", "u64", "fp16", "bf16", "fp32", "fp64"};
  const int divisibility = std::array{1, 2, 16, 48}[random() % 4];
  const int64_t small = static_cast<int64_t>(random() % 131072) - 65536;
  const int64_t value = std::array<int64_t, 4>{small, small * 48, static_cast<int64_t>(random()),
                                               static_cast<int64_t>(random() % 2)}[random() % 4];
  const size_t type = random() % (std::size(types) + 4);
  const LaunchArg args[] = {LaunchArg::i(value), LaunchArg::device(value),
                            LaunchArg::f(0.37 * value)};
  if (type >= std::size(types))
    return {pointer("fp32", divisibility), args[random() % 8 ? 1 : random() % 3]};
  const bool isFloat = types[type][0] == 'f' || types[type][0] == 'b';
  return {scalar(types[type], isFloat ? 1 : divisibility),
          args[random() % 8 ? (isFloat ? 2 : 0) : random() % 3]};
}

TEST(Arguments, TheShortWayPacksTheSame) {
  const uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  int usual = 0, usable = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<ArgSpec> specs;
    std::vector<LaunchArg> args;
    for (size_t i = 0, count = 1 + random() % 3; i < count; ++i) {
      auto [spec, arg] = drawArgument(random);
      specs.push_back(spec), args.push_back(arg);
    }
    Result<ArgPlan> plan = planArguments(specs);
    ASSERT_TRUE(plan);
    std::vector<uint64_t> slots(plan->size());
    auto expected = pack(specs, args);
    usable += bool(expected);
    if (!tryPack(*plan, args, slots.data()))
      continue;
    ++usual;
    ASSERT_TRUE(expected) << expected.error().message << ", seed " << seed;
    ASSERT_EQ(slots, *expected) << "seed " << seed;
  }
  EXPECT_GT(usual, 200);
  EXPECT_GT(usable, usual);
  Result<ArgPlan> plan = planArguments({pointer("fp32")});
  uint64_t slot = 0;
  EXPECT_FALSE(tryPack(*plan, {}, &slot));
}

TEST(Arguments, ADescriptorIsItsBaseSizesAndStrides) {
  ArgSpec descriptor{ArgSpec::Kind::Descriptor, "fp16", false, 1, {}};
  descriptor.blockShape = {32, 64};
  ArgSpec tuple;
  tuple.kind = ArgSpec::Kind::Tuple;
  tuple.elements = {scalar("i32"), constant(), descriptor};
  auto launch = [](uintptr_t base, int64_t stride) {
    return std::vector<LaunchArg>{LaunchArg::i(7),      LaunchArg::ptr((void *)base),
                                  LaunchArg::i(100),    LaunchArg::i(200),
                                  LaunchArg::i(stride), LaunchArg::i(1)};
  };
  auto slots = pack({tuple}, launch(0x1000, 208));
  ASSERT_TRUE(slots);
  EXPECT_EQ(*slots, (std::vector<uint64_t>{7, 0x1000, 100, 200, 208, 1}));
  EXPECT_NE(packError({tuple}, launch(0x1008, 208)), "");
  EXPECT_NE(packError({tuple}, launch(0x1000, 204)), "");
}

TEST(Arguments, FloatsTakeTheBitsOfTheirType) {
  auto slots =
      pack({scalar("fp32"), scalar("fp64"), scalar("fp16"), scalar("bf16"), scalar("fp32")},
           {LaunchArg::f(1.5), LaunchArg::f(1.5), LaunchArg::f(1.5), LaunchArg::f(1.5),
            LaunchArg::i(2)});
  ASSERT_TRUE(slots);
  EXPECT_EQ(static_cast<uint32_t>((*slots)[0]), 0x3fc00000u);
  EXPECT_EQ((*slots)[1], 0x3ff8000000000000u);
  EXPECT_EQ(static_cast<uint16_t>((*slots)[2]), 0x3e00u);
  EXPECT_EQ(static_cast<uint16_t>((*slots)[3]), 0x3fc0u);
  EXPECT_EQ(static_cast<uint32_t>((*slots)[4]), 0x40000000u);
}

TEST(Arguments, RangesAreThoseOfTheType) {
  const struct {
    const char *dtype;
    int64_t low, high;
  } rows[] = {{"i1", 0, 1},
              {"i8", -128, 127},
              {"u8", 0, 255},
              {"i16", -32768, 32767},
              {"i32", INT32_MIN, INT32_MAX},
              {"u32", 0, UINT32_MAX}};
  for (const auto &row : rows) {
    EXPECT_TRUE(pack({scalar(row.dtype)}, {LaunchArg::i(row.low)})) << row.dtype;
    EXPECT_TRUE(pack({scalar(row.dtype)}, {LaunchArg::i(row.high)})) << row.dtype;
    EXPECT_FALSE(pack({scalar(row.dtype)}, {LaunchArg::i(row.low - 1)})) << row.dtype;
    EXPECT_FALSE(pack({scalar(row.dtype)}, {LaunchArg::i(row.high + 1)})) << row.dtype;
  }
  EXPECT_TRUE(pack({scalar("u64")}, {LaunchArg::i(-1)}));
}

TEST(Arguments, ErrorsNameTheParameter) {
  EXPECT_EQ(packError({constant(), scalar("i32")}, {LaunchArg::i(int64_t(1) << 32)}),
            "argument 1: 4294967296 does not fit `i32`");
  EXPECT_EQ(packError({scalar("i32", 16)}, {LaunchArg::i(24)}),
            "argument 0: 24 is no multiple of 16, for which the kernel was compiled");
  EXPECT_EQ(packError({pointer("fp16", 16)}, {LaunchArg::ptr((void *)0x1008)}),
            "argument 0: address 0x1008 is no multiple of 16, for which the kernel was compiled");
  EXPECT_EQ(packError({scalar("i32")}, {LaunchArg::f(1.0)}),
            "argument 0: a float was given for `i32`");
  EXPECT_EQ(packError({scalar("i32")}, {LaunchArg::ptr(nullptr)}),
            "argument 0: a pointer was given for `i32`");
  EXPECT_EQ(packError({scalar("fp8e5")}, {LaunchArg::f(1.0)}),
            "argument 0: a scalar of type `fp8e5` cannot be passed");
  EXPECT_EQ(packError({scalar("i32")}, {}), "the kernel takes 1 run-time argument, 0 were given");
}

TEST(Arguments, GridsThatNoGpuTakesAreErrors) {
  EXPECT_TRUE(checkGrid({0x7fffffff, 65535, 65535}));
  EXPECT_TRUE(checkGrid({0, 1, 1}));
  EXPECT_EQ(checkGrid({-1, 1, 1}).error().message, "grid axis 0 is -1, below 0");
  EXPECT_EQ(checkGrid({1, 65536, 1}).error().message,
            "grid axis 1 is 65536, above the limit of 65535");
  EXPECT_FALSE(checkGrid({int64_t(1) << 31, 1, 1}));
}

TEST(Driver, AMissingLibraryIsAnErrorThatNamesIt) {
  auto driver = Driver::open("/no/such/libcuda.so");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().kind, ErrorKind::Driver);
  EXPECT_THAT(driver.error().message, HasSubstr("/no/such/libcuda.so"));
}

TEST(Driver, AnotherLibraryIsAnErrorThatNamesAFunction) {
  auto driver = Driver::open("libc.so.6");
  ASSERT_FALSE(driver);
  EXPECT_THAT(driver.error().message, HasSubstr("`cuInit`"));
}

/// A driver of one GPU, number 63, that counts loads and keeps the last launch.
struct Recorder {
  inline static std::atomic<int> loads;
  inline static int sharedLimit;
  inline static CUresult launchResult;
  inline static CUlaunchConfig config;
  inline static std::vector<uint64_t> arguments;
  inline static std::vector<int> attributes; ///< of each: number, two words of its value
  inline static int unloads, captureStatus;
  inline static int perMultiprocessor = 2, multiprocessors = 5; ///< CTAs per SM, and SMs

  static Driver driver(bool withLibraries) {
    loads = 0, sharedLimit = 0, launchResult = 0;
    Driver d;
    d.getErrorName = [](CUresult, const char **name) { return *name = "CUDA_ERROR_TEST", 0; };
    d.getErrorString = [](CUresult, const char **text) { return *text = "on purpose", 0; };
    d.ctxGetCurrent = [](CUcontext *context) { return *context = (CUcontext)1, 0; };
    d.ctxGetDevice = [](CUdevice *device) { return *device = 63, 0; };
    d.launchKernelEx = [](const CUlaunchConfig *c, CUfunction, void **args, void **) {
      config = *c;
      attributes.clear();
      // Each has 72 bytes: its number, padding, then its value.
      for (unsigned i = 0; i < c->attributeCount; ++i) {
        const int *words = static_cast<const int *>(c->attributes) + 18 * i;
        attributes.insert(attributes.end(), {words[0], words[2], words[3]});
      }
      arguments.clear();
      for (int i = 0; i < 4; ++i)
        arguments.push_back(*static_cast<uint64_t *>(args[i]));
      return launchResult;
    };
    d.occupancy = [](int *blocks, CUfunction, int, size_t) {
      return *blocks = perMultiprocessor, 0;
    };
    d.deviceGetAttribute = [](int *value, int attribute, CUdevice) {
      constexpr int multiprocessorCount = 16, largeMemory = 1 << 20;
      return *value = attribute == multiprocessorCount ? multiprocessors : largeMemory, 0;
    };
    d.moduleLoadData = [](CUmodule *, const void *) { return ++loads, 0; };
    d.moduleGetFunction = [](CUfunction *f, CUmodule, const char *) {
      return *f = (CUfunction)2, 0;
    };
    d.funcSetAttribute = [](CUfunction, int, int value) { return sharedLimit = value, 0; };
    if (!withLibraries)
      return d;
    d.libraryLoadData = [](CUlibrary *, const void *, int *, void **, unsigned, int *, void **,
                           unsigned) { return ++loads, 0; };
    d.libraryGetKernel = [](CUkernel *k, CUlibrary, const char *) { return *k = (CUkernel)3, 0; };
    d.kernelSetAttribute = [](int, int value, CUkernel, CUdevice) {
      return sharedLimit = value, 0;
    };
    return d;
  }
};

Kernel recordedKernel(std::string name = "k") {
  auto data = std::make_shared<Kernel::Data>();
  data->name = std::move(name), data->cubin = "cubin", data->options.target = "sm_90a";
  data->sharedBytes = 100000, data->numWarps = 8;
  data->args = {pointer("fp16"), scalar("i32")};
  return Kernel(data);
}

class LaunchThroughRecorder : public testing::TestWithParam<bool> {};

TEST_P(LaunchThroughRecorder, PassesTheShapeAndTwoScratchPointers) {
  Driver driver = Recorder::driver(GetParam());
  Kernel kernel = recordedKernel();
  LaunchOptions options;
  options.stream = 0x77;
  ASSERT_TRUE(launchOnGpu(driver, kernel, {5, 6, 7}, {0x1000, 9, 0, 0}, {}, options));
  EXPECT_EQ(Recorder::config.gridX, 5u);
  EXPECT_EQ(Recorder::config.gridY, 6u);
  EXPECT_EQ(Recorder::config.gridZ, 7u);
  EXPECT_EQ(Recorder::config.blockX, 256u);
  EXPECT_EQ(Recorder::config.sharedBytes, 100000u);
  EXPECT_EQ(Recorder::config.stream, (CUstream)0x77);
  EXPECT_EQ(Recorder::arguments, (std::vector<uint64_t>{0x1000, 9, 0, 0}));
  EXPECT_EQ(Recorder::sharedLimit, 100000);
}

TEST_P(LaunchThroughRecorder, ThreadsLoadAKernelOnce) {
  Driver driver = Recorder::driver(GetParam());
  // Only loading is under test here: the recorder keeps one launch and is not made for several
  // threads.
  driver.launchKernelEx = [](const CUlaunchConfig *, CUfunction, void **, void **) { return 0; };
  Kernel kernel = recordedKernel();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back(
        [&] { EXPECT_TRUE(launchOnGpu(driver, kernel, {1, 1, 1}, {0, 0, 0, 0}, {}, {})); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(Recorder::loads, 1);
  Kernel other = recordedKernel();
  EXPECT_TRUE(launchOnGpu(driver, other, {1, 1, 1}, {0, 0, 0, 0}, {}, {}));
  EXPECT_EQ(Recorder::loads, 2);
}

TEST_P(LaunchThroughRecorder, TheDriversErrorSaysWhatWasBeingDone) {
  Driver driver = Recorder::driver(GetParam());
  Recorder::launchResult = 1;
  Result<void> result = launchOnGpu(driver, recordedKernel(), {2, 1, 1}, {0, 0, 0, 0}, {}, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::Driver);
  EXPECT_EQ(result.error().message,
            "launching kernel `k` over a grid of 2x1x1: CUDA_ERROR_TEST (1): on purpose");
}

TEST_P(LaunchThroughRecorder, AnErrorThatLosesTheContextNamesTheLastKernels) {
  Driver driver = Recorder::driver(GetParam());
  ASSERT_TRUE(launchOnGpu(driver, recordedKernel("guilty"), {1, 1, 1}, {0, 0, 0, 0}, {}, {}));
  Recorder::launchResult = 700;
  Result<void> result = launchOnGpu(driver, recordedKernel("k"), {1, 1, 1}, {0, 0, 0, 0}, {}, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::Driver);
  EXPECT_THAT(result.error().message, HasSubstr("the context is lost"));
  EXPECT_THAT(result.error().message, HasSubstr("launched last: `k`, `guilty`"));
}

TEST_P(LaunchThroughRecorder, HandsOverWhatTheLaunchAsksOfTheDriver) {
  Driver driver = Recorder::driver(GetParam());
  LaunchOptions options;
  options.cooperative = options.programmatic = true;
  options.cluster = {2, 1, 1};
  ASSERT_TRUE(launchOnGpu(driver, recordedKernel(), {4, 1, 1}, {0, 0, 0, 0}, {}, options));
  // Cooperative, programmatic serialisation, cluster dimension, as the driver numbers them.
  ASSERT_EQ(Recorder::config.attributeCount, 3u);
  EXPECT_EQ(Recorder::attributes, (std::vector<int>{2, 1, 0, 6, 1, 0, 4, 2, 1}));
}

TEST_P(LaunchThroughRecorder, RefusesACooperativeGridThatCannotRunAtOnce) {
  Driver driver = Recorder::driver(GetParam());
  LaunchOptions cooperative;
  cooperative.cooperative = true;
  const std::vector<uint64_t> slots(4);
  Kernel kernel = recordedKernel();
  EXPECT_TRUE(launchOnGpu(driver, kernel, {5, 2, 1}, slots, {}, cooperative));
  Recorder::config = {};
  Result<void> result = launchOnGpu(driver, kernel, {11, 1, 1}, slots, {}, cooperative);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::Resources);
  EXPECT_EQ(result.error().message,
            "kernel `k` cannot be launched cooperatively over a grid of 11x1x1: all of its 11 CTAs "
            "have to run at once, and GPU 63 runs 10 (5 SMs with 2 of them each)");
  EXPECT_EQ(Recorder::config.gridX, 0u) << "launched all the same";
  const Grid largest = {0x7fffffff, 65535, 65535};
  EXPECT_FALSE(launchOnGpu(driver, kernel, largest, slots, {}, cooperative));
  EXPECT_TRUE(launchOnGpu(driver, kernel, {11, 1, 1}, slots, {}, {}));
}

TEST(Driver, CooperativeProgramsThatPackHaveABlockEach) {
  Driver driver = Recorder::driver(true);
  auto data = std::make_shared<Kernel::Data>(*recordedKernel());
  data->programsPerCta = 4;
  LaunchOptions cooperative;
  cooperative.cooperative = true;
  const std::vector<uint64_t> slots(4);
  ASSERT_TRUE(launchOnGpu(driver, Kernel(data), {8, 1, 1}, slots, {}, cooperative));
  EXPECT_EQ(Recorder::config.gridX, 8u);
  EXPECT_FALSE(launchOnGpu(driver, Kernel(data), {12, 1, 1}, slots, {}, cooperative));
  ASSERT_TRUE(launchOnGpu(driver, Kernel(data), {12, 1, 1}, slots, {}, {}));
  EXPECT_EQ(Recorder::config.gridX, 3u);
}

TEST(Module, CodeIsUnloadedWithItsKernelUnlessAGraphHoldsIt) {
  for (int captureStatus : {0, 1}) {
    Driver driver = Recorder::driver(true);
    Recorder::unloads = 0, Recorder::captureStatus = captureStatus;
    driver.libraryUnload = [](CUlibrary) { return ++Recorder::unloads, 0; };
    driver.streamIsCapturing = [](CUstream, int *status) {
      return *status = Recorder::captureStatus, 0;
    };
    LaunchOptions options;
    options.stream = 0x77;
    ASSERT_TRUE(launchOnGpu(driver, recordedKernel(), {1, 1, 1}, {0, 0, 0, 0}, {}, options));
    EXPECT_EQ(Recorder::unloads, captureStatus ? 0 : 1);
  }
}

TEST(Module, NoVariantTakesThePlaceOfCodeWhoseVariablesWereInitialised) {
  for (bool isHandedOut : {false, true})
    for (const char *library : {"libdevice", "own"}) {
      auto data = std::make_shared<Kernel::Data>(*recordedKernel());
      data->options.externLibs[library] = "file.bc";
      data->compilePlain = [] { return Result<Kernel>(recordedKernel("plain")); };
      launchStateOf(*data).handedOut = isHandedOut;
      Result<Kernel> plain = plainVariant(Kernel(data));
      EXPECT_EQ(bool(plain), !isHandedOut || std::string_view(library) == "libdevice");
      if (!plain)
        EXPECT_THAT(plain.error().message, HasSubstr("initialised the variables"));
    }
}

TEST(Module, AStreamKVariantIsTriedOnceAndMustSplitTiles) {
  for (int64_t bytes : {0, 4096}) {
    int compiled = 0;
    auto data = std::make_shared<Kernel::Data>(*recordedKernel());
    data->compileStreamK = [&compiled, bytes] {
      auto made = std::make_shared<Kernel::Data>(*recordedKernel("split"));
      ++compiled, made->workspacePerCta = bytes;
      return Result<Kernel>(Kernel(made));
    };
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(bool(streamKVariant(Kernel(data))), bytes > 0);
    EXPECT_EQ(compiled, 1);
  }
}

TEST(Module, MoreSharedMemoryThanTheDeviceHasIsAnError) {
  Driver driver = Recorder::driver(true);
  driver.deviceGetAttribute = [](int *value, int, CUdevice) { return *value = 65536, 0; };
  Result<void> result = launchOnGpu(driver, recordedKernel(), {1, 1, 1}, {0, 0, 0, 0}, {}, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::Resources);
  EXPECT_THAT(result.error().message, HasSubstr("Required: 100000, Hardware limit: 65536"));
}

INSTANTIATE_TEST_SUITE_P(Driver, LaunchThroughRecorder, testing::Bool(),
                         [](const auto &info) { return info.param ? "libraries" : "modules"; });

/// out[i] = i * scale over CTAs of 128 threads, with the two scratch pointers of the ABI.
constexpr std::string_view scaleKernel = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 out, .param .f32 factor, .param .u64 s0, .param .u64 s1) {
  .reg .b32 %r<4>; .reg .f32 %f<3>; .reg .b64 %d<3>;
  mov.u32 %r0, %ctaid.x; shl.b32 %r0, %r0, 7; mov.u32 %r1, %tid.x; add.u32 %r0, %r0, %r1;
  ld.param.u64 %d0, [out]; ld.param.f32 %f0, [factor];
  cvta.to.global.u64 %d0, %d0; mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1;
  cvt.rn.f32.u32 %f1, %r0; mul.f32 %f1, %f1, %f0; st.global.f32 [%d0], %f1; ret;
}
)";

TEST(Driver, RunsAKernelOnTheGpu) {
  if (deviceCount() == 0)
    GTEST_SKIP() << "no GPU";
  auto data = std::make_shared<Kernel::Data>();
  Result<DeviceInfo> device = deviceInfo(0);
  ASSERT_TRUE(device) << device.error().message;
  data->options.target = device->target;
  ASSERT_TRUE(processAssembler()) << processAssembler().error().message;
  Result<Cubin> cubin = (*processAssembler())->assemble(scaleKernel, "scale", data->options);
  ASSERT_TRUE(cubin) << cubin.error().rendered;
  data->name = "scale", data->cubin = cubin->bytes, data->numWarps = 4;
  data->args = {pointer("fp32"), scalar("fp32")};
  Result<uint64_t> memory = deviceAlloc(4 * 1024);
  ASSERT_TRUE(memory) << memory.error().message;
  Result<void> launched =
      launch(Kernel(data), {8, 1, 1}, {LaunchArg::ptr((void *)*memory), LaunchArg::f(0.5)});
  ASSERT_TRUE(launched) << launched.error().message;
  ASSERT_TRUE(synchronize(0));
  std::vector<float> host(1024);
  ASSERT_TRUE(copyFromDevice(host.data(), *memory, 4 * host.size()));
  deviceFree(*memory);
  for (size_t i = 0; i < host.size(); ++i)
    ASSERT_EQ(host[i], 0.5f * i);
}

} // namespace
