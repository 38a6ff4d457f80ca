//===- LaunchGpu.cpp - run a kernel over a grid through a given driver ----------------------===//
// Needs: see Launch.h.
// Gives: launchOnGpu, surelyBelongsTo, queueLaunch.
// How:   cuLaunchKernelEx where the driver has it. A warm launch takes no lock and allocates
//        nothing for up to 32 arguments.
//===------------------------------------------------------------------------------------===//
#include "cuda/Device.h"
#include "cuda/LostContext.h"
#include "runtime/Launch.h"
#include "runtime/Module.h"
#include "runtime/Workspace.h"
#include "support/StreamKModel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <fmt/format.h>
#include <optional>

namespace pantile {
namespace {

/// A CUlaunchAttribute, as the driver's ABI has it.
struct LaunchAttribute {
  enum Id : int { Cooperative = 2, ClusterDimension = 4, ProgrammaticSerialization = 6 };
  int id = 0, padding = 0;
  std::array<int, 16> value{};
};
static_assert(sizeof(LaunchAttribute) == 72);

constexpr std::array<int, 3> noCluster = {1, 1, 1};

llvm::SmallVector<LaunchAttribute, 2> attributesOf(const LaunchOptions &options) {
  llvm::SmallVector<LaunchAttribute, 2> attributes;
  if (options.cooperative)
    attributes.push_back({LaunchAttribute::Cooperative, 0, {1}});
  if (options.programmatic)
    attributes.push_back({LaunchAttribute::ProgrammaticSerialization, 0, {1}});
  if (auto [x, y, z] = options.cluster; options.cluster != noCluster)
    attributes.push_back({LaunchAttribute::ClusterDimension, 0, {x, y, z}});
  return attributes;
}

/// Remembers that the handles of `state` go into a graph, if the stream is being captured. The
/// default stream never is.
void noteCapture(const Driver &driver, uint64_t stream, LaunchState &state) {
  constexpr uint64_t legacyStream = 1;
  int status = 0;
  if (stream > legacyStream && driver.streamIsCapturing &&
      !state.captured.load(std::memory_order_relaxed) &&
      driver.streamIsCapturing(reinterpret_cast<CUstream>(stream), &status) == 0 && status != 0)
    state.captured = true;
}

/// Where a kernel is launched, and how its programs are mapped to CTAs.
struct LaunchTarget {
  std::optional<ContextScope> scope; ///< null: the context was current already
  CUdevice device = 0;
  CUfunction function = nullptr;
  CtaPlan plan;
};

/// Cheaper than a Result for launches without an error.
using Failure = std::optional<Error>;

Failure enterDevice(const Driver &driver, int device, LaunchTarget &target) {
  auto scope = ContextScope::enter(driver, device);
  if (!scope)
    return scope.error();
  target.device = scope->device();
  target.scope.emplace(std::move(*scope));
  return std::nullopt;
}

Failure loadOn(const Driver &driver, const Kernel &kernel, LaunchTarget &target) {
  Result<CUfunction> function = loadedFunction(driver, kernel, target.device);
  if (!function)
    return function.error();
  target.function = *function;
  return std::nullopt;
}

Failure countResident(const Driver &driver, const Kernel &kernel, LaunchTarget &target) {
  Result<int> resident = residentCtas(driver, kernel, target.device, target.function);
  if (!resident)
    return resident.error();
  target.plan.resident = *resident, target.plan.packed = kernel->programsPerCta;
  return std::nullopt;
}

/// Fills in `target`. A warm launch loads and queries nothing.
Failure prepareTarget(const Driver &driver, const Kernel &kernel, int device,
                      LaunchTarget &target) {
  target.device = device;
  if (!isSurelyCurrent(driver, device)) [[unlikely]]
    if (Failure failure = enterDevice(driver, device, target))
      return failure;
  target.function = knownFunction(kernel, target.device);
  if (!target.function) [[unlikely]]
    if (Failure failure = loadOn(driver, kernel, target))
      return failure;
  target.plan.ctasPerProgram = kernel->ctasPerProgram;
  const bool runsSeveral = kernel->persistent || kernel->programsPerCta > 1;
  return runsSeveral ? countResident(driver, kernel, target) : std::nullopt;
}

/// The error of a cooperative launch whose CTAs cannot all be resident. The driver refuses what this
/// check lets pass: clusters, and GPUs that other processes use, may have room for fewer.
Failure checkResidency(const Driver &driver, const Kernel &kernel, const Grid &grid,
                       const LaunchTarget &target) {
  Result<int> resident = residentCtas(driver, kernel, target.device, target.function);
  if (!resident)
    return resident.error();
  const int64_t ctas = grid[0] * grid[1] * grid[2] * target.plan.ctasPerProgram;
  int sms = 0;
  if (ctas <= *resident || querySms(driver, target.device, sms) != 0)
    return std::nullopt;
  return makeError(ErrorKind::Resources,
                   fmt::format("kernel `{}` cannot be launched cooperatively over a grid of "
                               "{}x{}x{}: all of its {} CTAs have to run at once, and GPU {} runs "
                               "{} ({} SMs with {} of them each)",
                               kernel->name, grid[0], grid[1], grid[2], ctas, target.device,
                               *resident, sms, *resident / sms));
}

/// The last stream whose device this thread has queried.
struct KnownStream {
  uint64_t stream = 0;
  CUdevice device = 0;
};
thread_local KnownStream knownStream;

/// Refuses a stream of another GPU: the kernel would run there, away from its arrays.
Failure checkStream(const Driver &driver, const Kernel &kernel, uint64_t stream, CUdevice device) {
  if (surelyBelongsTo(stream, device))
    return std::nullopt;
  CUcontext context = nullptr;
  CUdevice owner = device;
  if (!driver.streamGetCtx ||
      driver.streamGetCtx(reinterpret_cast<CUstream>(stream), &context) != 0 || !context ||
      driver.ctxPushCurrent(context) != 0)
    return std::nullopt; // the launch fails if anything is wrong
  const bool isKnown = driver.ctxGetDevice(&owner) == 0;
  driver.ctxPopCurrent(&context);
  if (isKnown && owner != device)
    return makeError(ErrorKind::Launch,
                     fmt::format("kernel `{}` works on GPU {}, but its stream belongs to GPU {}",
                                 kernel->name, device, owner));
  knownStream = {stream, device};
  return std::nullopt;
}

/// The addresses of all parameters: slots, the user's grid for a persistent kernel, and maps.
using Parameters = llvm::SmallVector<void *, 40>;
void gather(llvm::ArrayRef<uint64_t> slots, llvm::ArrayRef<int32_t> grid,
            llvm::ArrayRef<EncodedTensorMap> maps, Parameters &parameters) {
  parameters.resize_for_overwrite(slots.size() + maps.size() + grid.size());
  void **next = parameters.data();
  for (const uint64_t &slot : slots)
    *next++ = const_cast<uint64_t *>(&slot);
  for (const int32_t &extent : grid)
    *next++ = const_cast<int32_t *>(&extent);
  for (const EncodedTensorMap &map : maps)
    *next++ = const_cast<EncodedTensorMap *>(&map);
}

/// Packs neighbouring programs into CTAs, the same number into each, if more than one wave of CTAs
/// would be needed otherwise.
void pack(CUlaunchConfig &config, const Grid &grid, CtaPlan plan) {
  if (grid[0] * grid[1] * grid[2] <= plan.resident || config.attributeCount > 0)
    return;
  int programs = plan.packed;
  while (grid[0] % programs != 0)
    programs /= 2;
  config.gridX /= programs, config.blockX *= programs;
}

/// Passes memory for partial tiles and a WorkSplit as the scratch pointers.
Workspace lendWorkspace(const Driver &driver, const Kernel &kernel, const Grid &grid,
                        uint64_t stream, CtaPlan &plan, llvm::MutableArrayRef<uint64_t> slots) {
  const WorkSplit split = workSplitOf(grid[0] * grid[1] * grid[2], plan.resident);
  Workspace workspace;
  if (split.cycles)
    workspace = workspaceFor(driver, stream, plan.resident, kernel->workspacePerCta);
  plan.splits = workspace.start() != 0;
  slots[slots.size() - 2] = workspace.start();
  slots[slots.size() - 1] = plan.splits ? split.packed() : 0;
  return workspace;
}

} // namespace

bool surelyBelongsTo(uint64_t stream, CUdevice device) {
  constexpr uint64_t perThreadStream = 2;
  return stream <= perThreadStream ||
         (stream == knownStream.stream && device == knownStream.device);
}

CUresult queueLaunch(const Driver &driver, CUlaunchConfig &config, CUfunction function,
                     const Grid &grid, CtaPlan plan, llvm::ArrayRef<uint64_t> slots,
                     llvm::ArrayRef<EncodedTensorMap> maps, LaunchState &state) {
  const std::array<int32_t, 3> extents = {int32_t(grid[0]), int32_t(grid[1]), int32_t(grid[2])};
  config.gridX = extents[0] * plan.ctasPerProgram, config.gridY = extents[1],
  config.gridZ = extents[2];
  const bool isPersistent = plan.resident != 0 && plan.packed == 1;
  if (plan.packed > 1)
    pack(config, grid, plan);
  if (isPersistent) {
    config.gridX =
        plan.splits ? plan.resident : std::min<int64_t>(grid[0] * grid[1] * grid[2], plan.resident);
    config.gridY = config.gridZ = 1;
  }
  Parameters params;
  gather(slots, llvm::ArrayRef(extents).take_front(isPersistent ? 3 : 0), maps, params);
  noteCapture(driver, reinterpret_cast<uint64_t>(config.stream), state);
  noteLaunch(state.name);
  return driver.launchKernelEx
             ? driver.launchKernelEx(&config, function, params.data(), nullptr)
             : driver.launchKernel(function, config.gridX, config.gridY, config.gridZ,
                                   config.blockX, 1, 1, config.sharedBytes, config.stream,
                                   params.data(), nullptr);
}

Result<void> launchOnGpu(const Driver &driver, const Kernel &kernel, const Grid &grid,
                         llvm::ArrayRef<uint64_t> slots, llvm::ArrayRef<EncodedTensorMap> maps,
                         const LaunchOptions &options) {
  LaunchTarget target;
  if (Failure failure = prepareTarget(driver, kernel, options.device, target))
    return std::move(*failure);
  if (Failure failure = checkStream(driver, kernel, options.stream, target.device))
    return std::move(*failure);
  if (options.cooperative)
    if (Failure failure = checkResidency(driver, kernel, grid, target))
      return std::move(*failure);
  llvm::SmallVector<uint64_t, 0> withWorkspace;
  Workspace workspace; // until the launch is in the stream
  if (kernel->workspacePerCta) [[unlikely]] {
    withWorkspace.assign(slots.begin(), slots.end());
    workspace = lendWorkspace(driver, kernel, grid, options.stream, target.plan, withWorkspace);
    slots = withWorkspace;
  }
  llvm::SmallVector<LaunchAttribute, 2> attributes = attributesOf(options);
  if (!attributes.empty() && !driver.launchKernelEx)
    return makeError(ErrorKind::Driver,
                     "cooperative and cluster launches need a newer CUDA driver");
  CUlaunchConfig config = {};
  config.blockX = 32u * kernel->numWarps, config.blockY = config.blockZ = 1;
  config.sharedBytes = kernel->sharedBytes;
  config.stream = reinterpret_cast<CUstream>(options.stream);
  config.attributes = attributes.data(), config.attributeCount = attributes.size();
  CUresult result = queueLaunch(driver, config, target.function, grid, target.plan, slots, maps,
                                launchStateOf(*kernel));
  workspace.noteLaunch(driver, config.stream);
  if (result) [[unlikely]]
    return failureOf(driver, result,
                     fmt::format("launching kernel `{}` over a grid of {}x{}x{}", kernel->name,
                                 grid[0], grid[1], grid[2]));
  Result<void> done; // `{}` would zero all of the Error first
  return done;
}

} // namespace pantile
