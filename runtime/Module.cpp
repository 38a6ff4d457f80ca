//===- Module.cpp - machine code on a device ----------------------------------------------===//
// Needs: see Module.h.
// Gives: planLaunches, plainVariant, streamKVariant, loadedFunction, querySms, residentCtas,
//        launchStateOf; codeHandles of pantile/Runtime.h.
// How:   cuLibraryLoadData gives one handle for all contexts of a device; drivers before CUDA 12
//        have modules only, whose handle belongs to the context that is current at the first
//        launch.
//===------------------------------------------------------------------------------------===//
#include "runtime/Module.h"
#include "cuda/Device.h"
#include "cuda/LostContext.h"
#include "cuda/RelaxedCapture.h"
#include "pantile/Runtime.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace pantile {
namespace {

/// CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES. Below the default limit it need not be set.
constexpr int maxDynamicSharedBytes = 8;
constexpr int defaultSharedLimit = 48 * 1024;
constexpr int sharedBytesOptIn = 97; // CUdevice_attribute

Result<CUfunction> loadFromLibrary(const Driver &driver, const Kernel::Data &data, CUdevice device,
                                   const std::string &doing) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  CUresult result =
      driver.libraryLoadData(&library, data.cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (!result)
    launchStateOf(data).code.push_back(
        {device, library, nullptr, driver.libraryUnload, driver.threadExchangeStreamCaptureMode});
  if (!result)
    result = driver.libraryGetKernel(&kernel, library, data.name.c_str());
  // With lazy loading the driver would load at the launch, which a capture forbids.
  if (!result && driver.kernelGetFunction)
    result = driver.kernelGetFunction(&function, kernel);
  if (!result && data.sharedBytes > defaultSharedLimit)
    result = driver.kernelSetAttribute(maxDynamicSharedBytes, data.sharedBytes, kernel, device);
  if (result)
    return driver.error(result, doing);
  return reinterpret_cast<CUfunction>(kernel);
}

Result<CUfunction> loadFromModule(const Driver &driver, const Kernel::Data &data, CUdevice device,
                                  const std::string &doing) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUresult result = driver.moduleLoadData(&module, data.cubin.data());
  if (!result)
    result = driver.moduleGetFunction(&function, module, data.name.c_str());
  if (!result && data.sharedBytes > defaultSharedLimit)
    result = driver.funcSetAttribute(function, maxDynamicSharedBytes, data.sharedBytes);
  if (result)
    return driver.error(result, doing);
  launchStateOf(data).code.push_back({device, nullptr, module, nullptr, nullptr});
  return function;
}

Result<CUfunction> load(const Driver &driver, const Kernel::Data &data, CUdevice device) {
  if (data.cubin.empty())
    return makeError(ErrorKind::Launch, fmt::format("kernel `{}` has no machine code", data.name));
  int limit = 0;
  if (data.sharedBytes > defaultSharedLimit && driver.deviceGetAttribute &&
      driver.deviceGetAttribute(&limit, sharedBytesOptIn, device) == 0 && data.sharedBytes > limit)
    return makeError(ErrorKind::Resources,
                     fmt::format("out of resource: shared memory, Required: {}, Hardware limit: "
                                 "{}. Reducing block sizes or `num_stages` may help.",
                                 data.sharedBytes, limit));
  const RelaxedCapture relaxed(driver.threadExchangeStreamCaptureMode);
  std::string doing =
      fmt::format("loading kernel `{}` for `{}` on GPU {}", data.name, data.options.target, device);
  if (driver.libraryLoadData && driver.libraryGetKernel && driver.kernelSetAttribute)
    return loadFromLibrary(driver, data, device, doing);
  return loadFromModule(driver, data, device, doing);
}

/// What is loaded on `device`.
Result<LaunchState::Code> codeOn(const Kernel::Data &data, CUdevice device) {
  LaunchState &state = launchStateOf(data);
  std::lock_guard lock(state.loading);
  const auto loaded = llvm::find_if(
      state.code, [device](const LaunchState::Code &code) { return code.device == device; });
  if (loaded == state.code.end())
    return makeError(ErrorKind::Internal, "kernel `" + data.name + "` is not loaded");
  return *loaded;
}

/// The handles of a library's code in the current context.
Result<CodeHandles> handlesIn(const Driver &driver, CUlibrary library, CUkernel kernel,
                              const std::string &doing) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  if (!driver.libraryGetModule || !driver.kernelGetFunction)
    return makeError(ErrorKind::Driver, doing + " needs a newer CUDA driver");
  CUresult result = driver.libraryGetModule(&module, library);
  if (!result)
    result = driver.kernelGetFunction(&function, kernel);
  if (result)
    return driver.error(result, doing);
  return CodeHandles{reinterpret_cast<uint64_t>(module), reinterpret_cast<uint64_t>(function)};
}

/// Whether the kernel calls bitcode that may have variables.
bool hasOwnLibraries(const Options &options) {
  return llvm::any_of(options.externLibs,
                      [](const auto &library) { return library.first != "libdevice"; });
}

} // namespace

LaunchState::~LaunchState() {
  if (code.empty() || captured || handedOut || Driver::isForked())
    return;
  const RelaxedCapture relaxed(code.front().exchangeCaptureMode);
  for (const Code &loaded : code)
    if (loaded.unload)
      loaded.unload(loaded.library);
}

LaunchState &launchStateOf(const Kernel::Data &kernel) {
  if (LaunchState *state = kernel.launchState.get())
    return *state;
  return kernel.launchState.orElse(new LaunchState, [](LaunchState *made) { delete made; });
}

Result<void> planLaunches(const Kernel &kernel) {
  LaunchState &state = launchStateOf(*kernel);
  std::lock_guard lock(state.loading);
  if (state.planned.load(std::memory_order_relaxed))
    return {};
  Result<ArgPlan> plan = planArguments(kernel->args);
  if (!plan)
    return plan.error();
  state.plan = std::move(*plan);
  state.maps = MapPlan(kernel->tensorMaps);
  state.planned.store(true, std::memory_order_release);
  return {};
}

Result<Kernel> plainVariant(const Kernel &kernel) {
  LaunchState &state = launchStateOf(*kernel);
  std::lock_guard lock(state.compilingVariants);
  if (state.handedOut && hasOwnLibraries(kernel->options))
    return makeError(ErrorKind::Launch,
                     fmt::format("kernel `{}` cannot take these arguments: its tensor maps cannot "
                                 "describe them, and nothing has initialised the variables of "
                                 "`extern_libs` in its variant without maps",
                                 kernel->name));
  if (state.plain)
    return state.plain;
  if (!kernel->compilePlain)
    return makeError(ErrorKind::Launch,
                     fmt::format("kernel `{}` cannot take these arguments: its tensor maps cannot "
                                 "describe them, and it has no variant without",
                                 kernel->name));
  Result<Kernel> plain = kernel->compilePlain();
  if (plain)
    state.plain = *plain;
  return plain;
}

Kernel streamKVariant(const Kernel &kernel) {
  LaunchState &state = launchStateOf(*kernel);
  std::lock_guard lock(state.compilingVariants);
  if (!kernel->compileStreamK || (state.handedOut && hasOwnLibraries(kernel->options)))
    return state.lacksStreamK = true, Kernel();
  if (!std::exchange(state.triedStreamK, true))
    if (Result<Kernel> made = kernel->compileStreamK(); made && (*made)->workspacePerCta > 0)
      state.streamK = *made;
  state.lacksStreamK = !state.streamK;
  return state.streamK;
}

Result<CUfunction> loadedFunction(const Driver &driver, const Kernel &kernel, CUdevice device) {
  LaunchState &state = launchStateOf(*kernel);
  if (device < 0 || device >= LaunchState::maxDevices)
    return makeError(ErrorKind::Launch, fmt::format("GPU {} is beyond the {} that are supported",
                                                    device, LaunchState::maxDevices));
  std::atomic<CUfunction> &known = state.functions[device];
  if (CUfunction function = known.load(std::memory_order_acquire)) [[likely]]
    return function;
  std::lock_guard lock(state.loading);
  if (CUfunction function = known.load(std::memory_order_relaxed))
    return function;
  Result<CUfunction> function = load(driver, *kernel, device);
  if (!state.name)
    state.name = keptName(kernel->name);
  if (function)
    known.store(*function, std::memory_order_release);
  return function;
}

Result<CodeHandles> codeHandles(const Kernel &kernel, int device) {
  const auto &shared = Driver::shared();
  if (!shared)
    return shared.error();
  const Driver &driver = **shared;
  Result<ContextScope> scope = ContextScope::enter(driver, device);
  if (!scope)
    return scope.error();
  Result<CUfunction> function = loadedFunction(driver, kernel, scope->device());
  if (!function)
    return function.error();
  launchStateOf(*kernel).handedOut = true;
  Result<LaunchState::Code> code = codeOn(*kernel, scope->device());
  if (!code)
    return code.error();
  if (code->library)
    return handlesIn(driver, code->library, reinterpret_cast<CUkernel>(*function),
                     "getting the module of kernel `" + kernel->name + "`");
  return CodeHandles{reinterpret_cast<uint64_t>(code->module),
                     reinterpret_cast<uint64_t>(*function)};
}

CUresult querySms(const Driver &driver, CUdevice device, int &sms) {
  constexpr int countOfSms = 16; // CUdevice_attribute
  return driver.deviceGetAttribute(&sms, countOfSms, device);
}

Result<int> residentCtas(const Driver &driver, const Kernel &kernel, CUdevice device,
                         CUfunction function) {
  std::atomic<int> &resident = launchStateOf(*kernel).resident[device];
  if (int ctas = resident.load(std::memory_order_relaxed)) [[likely]]
    return ctas;
  int ctasPerSm = 0, sms = 0;
  CUresult result =
      driver.occupancy(&ctasPerSm, function, 32 * kernel->numWarps, kernel->sharedBytes);
  if (!result)
    result = querySms(driver, device, sms);
  if (result)
    return driver.error(result, fmt::format("querying how many CTAs of kernel `{}` fit GPU {}",
                                            kernel->name, device));
  // A CTA that does not fit at all fails at its launch, with the driver's error.
  const int ctas = std::max(ctasPerSm, 1) * sms;
  resident.store(ctas, std::memory_order_relaxed);
  return ctas;
}

} // namespace pantile
