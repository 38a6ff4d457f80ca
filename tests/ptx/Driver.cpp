//===- Driver.cpp - a CUDA driver whose device is the emulator -----------------------===//
// Needs: the runtime's table of driver functions; PTX in place of machine code
//        (PANTILE_ASSEMBLER=driver).
// Gives: the symbols of libcuda that the runtime calls.
// How:   Launches run at once, on the calling thread, except on GPUs with peers (Queues.h). Device
//        memory is host memory; each allocation has exactly the requested size. The error string
//        has the message of a fault. PANTILE_EMULATED_TARGET (sm_90a), PANTILE_EMULATION_SEED;
//        Mutant.cpp has the variables for code with deliberate mistakes.
//===------------------------------------------------------------------------------------------===//
#include "cuda/Driver.h"
#include "Devices.h"
#include "LaunchObserver.h"
#include "Mutant.h"
#include "Queues.h"
#include "TensorMap.h"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace pantile;
using namespace pantile::ptx;

namespace {

constexpr int sharedLimit = 227 * 1024, defaultSharedLimit = 48 * 1024, mostInCluster = 8;
constexpr int ctasPerSm = 1;

int sms() {
  constexpr int usual = 3;
  const char *count = std::getenv("PANTILE_EMULATED_SMS");
  if (!count) // the former name
    count = std::getenv("PANTILE_EMULATED_MULTIPROCESSORS");
  return count ? std::max(std::atoi(count), 1) : usual;
}

struct Function {
  Function(const Kernel *kernel, std::string nameOfText)
      : kernel(kernel), nameOfText(std::move(nameOfText)) {
    sharedLimits.fill(defaultSharedLimit);
  }
  const Kernel *kernel;
  std::string nameOfText;                    ///< in the record of launches
  std::array<int, mostDevices> sharedLimits; ///< by device
};

struct Library {
  std::unique_ptr<Module> module;
  std::string nameOfText;
  std::vector<std::unique_ptr<Function>> functions;
};

int computeCapability() {
  const char *target = std::getenv("PANTILE_EMULATED_TARGET");
  const int number = target ? std::atoi(target + std::min<size_t>(3, strlen(target))) : 90;
  return number ? number : 90;
}

int load(Library *&library, const void *image) {
  const auto *text = static_cast<const char *>(image);
  if (!std::strncmp(text,
                    "\x7f"
                    "ELF",
                    4))
    return fail(InvalidImage, "machine code cannot be emulated: set PANTILE_ASSEMBLER=driver");
  auto result = std::make_unique<Library>();
  try {
    const std::string mutant = mutantOf(text);
    result->module = parseModule(mutant);
    result->nameOfText = recordText(mutant);
  } catch (const Fault &fault) {
    return fail(InvalidImage, fault.what());
  }
  for (const auto &global : result->module->globals)
    for (int i = 0; i < deviceCount(); ++i) {
      std::lock_guard lock(device(i).mutex);
      device(i).memory.add(reinterpret_cast<Word>(global->data()), global->size());
    }
  library = result.release();
  return Success;
}

int find(Function *&function, Library &library, const char *name) {
  const Kernel *kernel = library.module->find(name);
  if (!kernel)
    return fail(NotFound, std::string("no kernel `") + name + "`");
  library.functions.push_back(std::make_unique<Function>(kernel, library.nameOfText));
  function = library.functions.back().get();
  return Success;
}

int check(const Function &function, const Launch &launch, int device) {
  const int threads = launch.threads.size();
  if (function.kernel->requiredThreads && threads != function.kernel->requiredThreads)
    return fail(InvalidValue, "a CTA of " + std::to_string(threads) +
                                  " threads, but the kernel is for " +
                                  std::to_string(function.kernel->requiredThreads));
  if (function.kernel->mostThreads && threads > function.kernel->mostThreads)
    return fail(InvalidValue, "a CTA of " + std::to_string(threads) +
                                  " threads, but the kernel is for " +
                                  std::to_string(function.kernel->mostThreads) + " at most");
  if (launch.cluster < 1 || launch.cluster > mostInCluster || launch.grid.x % launch.cluster ||
      (function.kernel->clusterCtas && function.kernel->clusterCtas != launch.cluster))
    return fail(InvalidValue, "clusters of " + std::to_string(launch.cluster) +
                                  " CTAs in a grid of " + std::to_string(launch.grid.x) +
                                  " along its first axis");
  constexpr int registersOfCta = 65536;
  if (function.kernel->mostRegisters * threads > registersOfCta)
    return fail(InvalidValue, "a CTA of " + std::to_string(threads) + " threads of " +
                                  std::to_string(function.kernel->mostRegisters) + " registers");
  if (launch.dynamicSharedBytes > function.sharedLimits[device])
    return fail(InvalidValue, std::to_string(launch.dynamicSharedBytes) +
                                  " bytes of shared memory, but the function may have " +
                                  std::to_string(function.sharedLimits[device]));
  return Success;
}

/// The value of a CUlaunchAttribute; null if the launch does not have it.
const int *attributeOf(const CUlaunchConfig &config, int id) {
  struct Attribute {
    int id, padding, value[16];
  };
  const auto *attributes = static_cast<const Attribute *>(config.attributes);
  for (unsigned i = 0; i < config.attributeCount; ++i)
    if (attributes[i].id == id)
      return attributes[i].value;
  return nullptr;
}

/// CTAs of a cluster: as the launch asks, else as the kernel says.
int clusterOf(const CUlaunchConfig &config, const Kernel &kernel) {
  constexpr int clusterDimension = 4;
  if (const int *value = attributeOf(config, clusterDimension))
    return value[1] == 1 && value[2] == 1 ? value[0] : 0;
  return std::max(kernel.clusterCtas, 1);
}

/// CTAs of a cooperative launch all run at once.
int checkCooperative(const CUlaunchConfig &config, const Launch &launch) {
  constexpr int cooperative = 2;
  const int *value = attributeOf(config, cooperative);
  const uint64_t most = uint64_t(sms()) * ctasPerSm;
  if (!value || !*value || launch.grid.size() <= most)
    return Success;
  return fail(CooperativeTooLarge, "a cooperative grid of " + std::to_string(launch.grid.size()) +
                                       " CTAs, of which " + std::to_string(most) + " run at once");
}

/// The start of a tensor map says that it is one; everything else is copied as it is.
std::vector<uint8_t> parameters(const Kernel &kernel, void **arguments) {
  std::vector<uint8_t> bytes(kernel.paramBytes);
  for (size_t i = 0; i < kernel.params.size(); ++i)
    std::memcpy(&bytes[kernel.params[i].offset], arguments[i], kernel.params[i].bytes);
  return bytes;
}

Launch launchOf(const CUlaunchConfig &config, const Function &function, Device &on) {
  Launch launch;
  launch.kernel = function.kernel;
  launch.grid = {config.gridX, config.gridY, config.gridZ};
  launch.threads = {config.blockX, config.blockY, config.blockZ};
  launch.dynamicSharedBytes = config.sharedBytes;
  launch.reach = reachOf(on);
  launch.device = on.number;
  launch.resident = sms();
  launch.cluster = clusterOf(config, *function.kernel);
  const char *seed = std::getenv("PANTILE_EMULATION_SEED");
  launch.seed = (seed ? std::strtoull(seed, nullptr, 0) : 0) * 1'000'003 + on.launches++;
  return launch;
}

int runAtOnce(const Launch &launch) {
  try {
    Races races;
    Grid grid(launch, races);
    while (!grid.isDone())
      grid.runSome();
  } catch (const Fault &fault) {
    return fail(Failed, "kernel `" + launch.kernel->name + "`: " + fault.what());
  }
  return Success;
}

int launch(const CUlaunchConfig &config, const Function &function, void **arguments) {
  Device *const place = deviceOf(config.stream);
  if (!place || !currentDevice())
    return failForContext();
  Device &on = *place;
  std::unique_lock lock(on.mutex);
  Launch launch = launchOf(config, function, on);
  if (const int result = check(function, launch, on.number))
    return result;
  if (const int result = checkCooperative(config, launch))
    return result;
  launch.params = parameters(*function.kernel, arguments);
  recordLaunch(function.nameOfText);
  if (!hasPeers(on))
    return runAtOnce(launch);
  lock.unlock(); // comes after that of the queues
  queues().launch(on, std::move(launch));
  return Success;
}

std::atomic<LaunchObserver> observer = nullptr;

int observedLaunch(const CUlaunchConfig &config, const Function &function, void **arguments) {
  const LaunchObserver told = observer;
  Device *const on = told ? deviceOf(config.stream) : nullptr;
  if (!on)
    return launch(config, function, arguments);
  ObservedLaunch seen{0, true, function.kernel->name.c_str(), on->number, on, config.stream};
  told(seen);
  const int result = launch(config, function, arguments);
  seen.site = 1, seen.succeeded = result == Success;
  told(seen);
  return result;
}

int elementBytes(int type) {
  static constexpr std::array<int, 13> bytes = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return type >= 0 && type < int(bytes.size()) ? bytes[type] : 0;
}

/// Limits of maps: CUDA driver API, cuTensorMapEncodeTiled.
const char *refusal(const TensorMap &map, const uint32_t *steps) {
  if (map.rank < 1 || map.rank > 5 || !map.elementBytes)
    return "rank or type";
  if (map.base % 16)
    return "the base is no multiple of 16";
  for (int d = 0; d < map.rank; ++d)
    if (!map.extents[d] || map.extents[d] > uint64_t(1) << 32 || !map.box[d] || map.box[d] > 256 ||
        steps[d] != 1 || (d && (map.strides[d - 1] % 16 || map.strides[d - 1] >> 40)))
      return "an extent, a stride or a size of the box";
  const int row = map.box[0] * map.elementBytes;
  if (row % 16 || (map.swizzle && row > map.swizzle))
    return "the inner size of the box";
  return nullptr;
}

} // namespace

//===- the device ---------------------------------------------------------------------------===//

/// As CUDA, not in a process that was forked from one that had done so.
EXPORT cuInit(unsigned) {
  static std::atomic<pid_t> first = 0;
  pid_t expected = 0;
  return first.compare_exchange_strong(expected, getpid()) || expected == getpid() ? Success
                                                                                   : NotInitialised;
}
EXPORT cuDriverGetVersion(int *version) { return *version = 13000, Success; }
EXPORT cuGetErrorName(CUresult result, const char **name) {
  *name = result == OutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : "the emulator refuses";
  return Success;
}
EXPORT cuDeviceGetName(char *name, int length, CUdevice) {
  return std::snprintf(name, length, "PTX emulator"), Success;
}
EXPORT cuDeviceGetAttribute(int *value, int attribute, CUdevice) {
  switch (attribute) {
  case 10:
    return *value = warpSize, Success;
  case 12:
    return *value = 65536, Success;
  case 13:
    return *value = 1'000'000, Success;
  case 16:
    return *value = sms(), Success;
  case 36:
    return *value = 1'000'000, Success;
  case 37:
    return *value = 1024, Success;
  case 38:
    return *value = 32 << 20, Success;
  case 75:
    return *value = computeCapability() / 10, Success;
  case 76:
    return *value = computeCapability() % 10, Success;
  case 97:
    return *value = computeCapability() == 80 ? 163 * 1024 : sharedLimit, Success;
  }
  return fail(InvalidValue, "attribute " + std::to_string(attribute));
}

//===- memory -------------------------------------------------------------------------------===//

EXPORT cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
  Device *on = currentDevice();
  if (!on)
    return failForContext();
  std::lock_guard lock(on->mutex);
  *pointer = reinterpret_cast<CUdeviceptr>(on->memory.allocate(bytes));
  return *pointer ? int(Success) : fail(OutOfMemory, "no memory of that size");
}
namespace {
int freeOf(Device &on, CUdeviceptr pointer) {
  std::lock_guard lock(on.mutex);
  return on.memory.free(pointer) ? int(Success) : fail(InvalidValue, "not allocated");
}
} // namespace
EXPORT cuMemFree_v2(CUdeviceptr pointer) {
  Device *on = ownerOf(pointer);
  if (!on)
    return fail(InvalidValue, "not allocated");
  if (!hasPeers(*on))
    return freeOf(*on, pointer);
  // A launch that waits may need it, and the shadow of memory that is allocated again is not its
  // own.
  queues().whenOver([on, pointer] { freeOf(*on, pointer); });
  return Success;
}

namespace {
int copy(void *to, const void *from, CUdeviceptr pointer, size_t bytes) {
  Device *const owner = ownerOf(pointer, bytes);
  if (!owner)
    return fail(InvalidValue, "a copy that leaves its allocation");
  if (const int failed = queues().wait(*owner))
    return failed;
  std::memcpy(to, from, bytes);
  return Success;
}
} // namespace

EXPORT cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  return copy(reinterpret_cast<void *>(to), from, to, bytes);
}
EXPORT cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  return copy(to, reinterpret_cast<void *>(from), from, bytes);
}
EXPORT cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream) {
  Device *const owner = ownerOf(to, bytes);
  if (!owner)
    return fail(InvalidValue, "a memset that leaves its allocation");
  auto set = [=] { owner->memory.fill(to, value, bytes); };
  hasPeers(*owner) ? queues().add(*owner, set) : set();
  return Success;
}
EXPORT cuPointerGetAttribute(void *value, int attribute, CUdeviceptr pointer) {
  const Device *owner = ownerOf(pointer);
  if (attribute != 9 || !owner)
    return fail(InvalidValue, "no device pointer");
  *static_cast<int *>(value) = owner->number;
  return Success;
}

//===- code ---------------------------------------------------------------------------------===//

EXPORT cuModuleLoadData(CUmodule *module, const void *image) {
  Library *library = nullptr;
  const int result = load(library, image);
  *module = reinterpret_cast<CUmodule>(library);
  return result;
}
EXPORT cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  Function *found = nullptr;
  const int result = find(found, *reinterpret_cast<Library *>(module), name);
  *function = reinterpret_cast<CUfunction>(found);
  return result;
}
EXPORT cuLibraryLoadData(CUlibrary *library, const void *image, int *, void **, unsigned, int *,
                         void **, unsigned) {
  return cuModuleLoadData(reinterpret_cast<CUmodule *>(library), image);
}
EXPORT cuLibraryGetModule(CUmodule *module, CUlibrary library) {
  return *module = reinterpret_cast<CUmodule>(library), Success;
}
/// A variable of a module. Code is loaded on one GPU, so that one has it.
EXPORT cuModuleGetGlobal_v2(CUdeviceptr *pointer, size_t *bytes, CUmodule module,
                            const char *name) {
  const Module &code = *reinterpret_cast<Library *>(module)->module;
  const auto found = code.variables.find(name);
  if (found == code.variables.end())
    return fail(NotFound, std::string("no variable `") + name + "`");
  std::vector<uint8_t> &data = *code.globals[found->second];
  if (pointer)
    *pointer = reinterpret_cast<CUdeviceptr>(data.data());
  if (bytes)
    *bytes = data.size();
  return Success;
}
EXPORT cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name) {
  return cuModuleGetFunction(reinterpret_cast<CUfunction *>(kernel),
                             reinterpret_cast<CUmodule>(library), name);
}
namespace {
void unload(Library *loaded) {
  for (const auto &global : loaded->module->globals)
    for (int i = 0; i < deviceCount(); ++i) {
      std::lock_guard lock(device(i).mutex);
      device(i).memory.remove(reinterpret_cast<Word>(global->data()));
    }
  delete loaded;
}
} // namespace
EXPORT cuLibraryUnload(CUlibrary library) {
  auto *loaded = reinterpret_cast<Library *>(library);
  queues().whenOver([loaded] { unload(loaded); }); // launches that have ended may still be named
  return Success;
}
EXPORT cuKernelGetFunction(CUfunction *function, CUkernel kernel) {
  return *function = reinterpret_cast<CUfunction>(kernel), Success;
}
EXPORT cuKernelSetAttribute(int attribute, int value, CUkernel kernel, CUdevice device) {
  if (attribute != 8 || value > sharedLimit)
    return fail(InvalidValue, "function attribute " + std::to_string(attribute));
  reinterpret_cast<Function *>(kernel)->sharedLimits[device] = value;
  return Success;
}
EXPORT cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  if (!currentDevice())
    return failForContext();
  return cuKernelSetAttribute(attribute, value, reinterpret_cast<CUkernel>(function),
                              currentDevice()->number);
}
/// PTX has registers without number: none of a machine are counted, and none spilled.
EXPORT cuFuncGetAttribute(int *value, int attribute, CUfunction) {
  constexpr int maxThreads = 0, localBytes = 3, registers = 4;
  if (attribute != maxThreads && attribute != localBytes && attribute != registers)
    return fail(InvalidValue, "function attribute " + std::to_string(attribute));
  return *value = attribute == maxThreads ? 1024 : 0, Success;
}
EXPORT cuOccupancyMaxActiveBlocksPerMultiprocessor(int *ctas, CUfunction, int, size_t) {
  return *ctas = ctasPerSm, Success;
}

/// "Linking" keeps the text: it is what a launch runs.
EXPORT cuLinkCreate_v2(unsigned, int *, void **, CUlinkState *state) {
  return *state = reinterpret_cast<CUlinkState>(new std::string()), Success;
}
EXPORT cuLinkAddData_v2(CUlinkState state, int, void *data, size_t bytes, const char *, unsigned,
                        int *, void **) {
  reinterpret_cast<std::string *>(state)->append(static_cast<char *>(data), bytes);
  return Success;
}
EXPORT cuLinkComplete(CUlinkState state, void **image, size_t *bytes) {
  auto *text = reinterpret_cast<std::string *>(state);
  return *image = text->data(), *bytes = text->size(), Success;
}
EXPORT cuLinkDestroy(CUlinkState state) {
  return delete reinterpret_cast<std::string *>(state), Success;
}

EXPORT cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments,
                        void **) {
  return observedLaunch(*config, *reinterpret_cast<Function *>(function), arguments);
}
EXPORT cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ,
                      unsigned ctaX, unsigned ctaY, unsigned ctaZ, unsigned sharedBytes,
                      CUstream stream, void **arguments, void **extra) {
  const CUlaunchConfig config{gridX, gridY,       gridZ,  ctaX,    ctaY,
                              ctaZ,  sharedBytes, stream, nullptr, 0};
  return cuLaunchKernelEx(&config, function, arguments, extra);
}

EXPORT cuLaunchCooperativeKernel(CUfunction function, unsigned gridX, unsigned gridY,
                                 unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ,
                                 unsigned sharedBytes, CUstream stream, void **arguments) {
  struct {
    int id, padding, value[16];
  } cooperative = {2, 0, {1}};
  const CUlaunchConfig config{gridX,  gridY,       gridZ,  blockX,       blockY,
                              blockZ, sharedBytes, stream, &cooperative, 1};
  return cuLaunchKernelEx(&config, function, arguments, nullptr);
}

extern "C" __attribute__((visibility("default"))) void pantileObserveLaunches(LaunchObserver told) {
  observer = told;
}

EXPORT cuTensorMapEncodeTiled(void *out, int dataType, uint32_t rank, CUdeviceptr base,
                              const uint64_t *extents, const uint64_t *strides, const uint32_t *box,
                              const uint32_t *steps, int interleave, int swizzle, int, int fill) {
  TensorMap map;
  map.base = base, map.rank = rank, map.elementBytes = elementBytes(dataType);
  map.swizzle = swizzle ? 16 << swizzle : 0;
  map.rounds = dataType == 11; // TFLOAT32
  for (uint32_t d = 0; d < std::min(rank, 5u); ++d) {
    map.extents[d] = extents[d], map.box[d] = box[d];
    if (d)
      map.strides[d - 1] = strides[d - 1];
  }
  const char *refused = interleave || fill || swizzle > 3 ? "a mode" : refusal(map, steps);
  if (refused)
    return fail(InvalidValue, std::string("no tensor map: ") + refused);
  std::memcpy(out, &map, sizeof map);
  return Success;
}
