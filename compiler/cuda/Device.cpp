//===- Device.cpp - devices, their memory, the contexts of threads ------------------------===//
// Needs: Driver; Device.h describes contexts.
// Gives: ContextScope, and deviceCount .. copyFromDevice of pantile/Runtime.h.
// How:   the driver's attributes by number (CUdevice_attribute).
//===------------------------------------------------------------------------------------===//
#include "cuda/Device.h"
#include "cuda/LostContext.h"
#include "pantile/Runtime.h"
#include "support/Target.h"
#include <array>
#include <atomic>
#include <fmt/format.h>
#include <mutex>
#include <optional>

namespace pantile {
namespace {

constexpr int maxDevices = 64;

/// CUdevice_attribute.
enum Attribute {
  WarpSize = 10,
  RegistersPerBlock = 12,
  ClockRate = 13,
  MultiprocessorCount = 16,
  MemoryClockRate = 36,
  MemoryBusWidth = 37,
  L2CacheSize = 38,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  SharedMemoryPerBlockOptin = 97
};

/// CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL.
constexpr int pointerDeviceOrdinal = 9;

Result<CUcontext> primaryContext(const Driver &driver, int device) {
  static std::mutex mutex;
  static std::array<CUcontext, maxDevices> retained{};
  if (device < 0 || device >= maxDevices)
    return makeError(ErrorKind::Driver, fmt::format("there is no GPU {}", device));
  std::lock_guard lock(mutex);
  if (retained[device])
    return retained[device];
  CUdevice handle = 0;
  std::string doing = fmt::format("opening GPU {}", device);
  if (auto ok = driver.check(driver.deviceGet(&handle, device), doing); !ok)
    return ok.error();
  if (auto ok = driver.check(driver.primaryCtxRetain(&retained[device], handle), doing); !ok)
    return ok.error();
  return retained[device];
}

/// Primary contexts that we hold, so that their addresses remain valid: a launch need not query
/// which context is current.
std::array<std::atomic<CUcontext>, maxDevices> knownPrimary{};

/// Retains the primary context of a device if another library has created it.
void learnPrimary(const Driver &driver, CUdevice device) {
  unsigned flags = 0;
  int isActive = 0;
  if (device < 0 || device >= maxDevices || knownPrimary[device].load(std::memory_order_relaxed) ||
      !driver.primaryCtxGetState || driver.primaryCtxGetState(device, &flags, &isActive) != 0 ||
      !isActive)
    return;
  if (Result<CUcontext> primary = primaryContext(driver, device))
    knownPrimary[device].store(*primary, std::memory_order_release);
}

/// The target with the most features that the GPU runs; the plain name for one that is not in our
/// table.
std::string targetName(int major, int minor) {
  std::optional<Target> target = Target::forDevice(major, minor);
  return target ? target->name() : fmt::format("sm_{}{}", major, minor);
}

} // namespace

bool isSurelyCurrent(const Driver &driver, int device) {
  CUcontext context = nullptr;
  return device >= 0 && device < maxDevices && driver.ctxGetCurrent(&context) == 0 && context &&
         knownPrimary[device].load(std::memory_order_acquire) == context;
}

Result<ContextScope> ContextScope::enter(const Driver &driver, int device) {
  if (isSurelyCurrent(driver, device))
    return ContextScope(driver, device, /*pushed=*/false);
  CUcontext context = nullptr;
  CUdevice current = 0;
  if (driver.ctxGetCurrent(&context) == 0 && context) {
    if (driver.ctxGetDevice(&current) == 0 && (device < 0 || device == current)) {
      learnPrimary(driver, current);
      return ContextScope(driver, current, /*pushed=*/false);
    }
  }
  const bool push = context != nullptr;
  if (device < 0)
    device = 0;
  Result<CUcontext> primary = primaryContext(driver, device);
  if (!primary)
    return primary.error();
  CUresult result = push ? driver.ctxPushCurrent(*primary) : driver.ctxSetCurrent(*primary);
  if (result != 0)
    return driver.error(result, fmt::format("switching to GPU {}", device));
  return ContextScope(driver, device, push);
}

ContextScope::ContextScope(ContextScope &&other)
    : driver(other.driver), current(other.current), pushed(std::exchange(other.pushed, false)) {}

ContextScope::~ContextScope() {
  CUcontext popped;
  if (pushed)
    driver->ctxPopCurrent(&popped);
}

int deviceCount() {
  const auto &driver = Driver::shared();
  int count = 0;
  if (!driver || (*driver)->deviceGetCount(&count) != 0)
    return 0;
  return count;
}

Result<DeviceInfo> deviceInfo(int device) {
  const auto &shared = Driver::shared();
  if (!shared)
    return shared.error();
  const Driver &driver = **shared;
  CUdevice handle = 0;
  std::string doing = fmt::format("reading the properties of GPU {}", device);
  if (auto ok = driver.check(driver.deviceGet(&handle, device), doing); !ok)
    return ok.error();
  CUresult failure = 0;
  auto read = [&](Attribute attribute) {
    int value = 0;
    if (CUresult result = driver.deviceGetAttribute(&value, attribute, handle))
      failure = result;
    return value;
  };
  DeviceInfo info;
  std::array<char, 256> name{};
  failure = driver.deviceGetName(name.data(), name.size(), handle);
  info.name = name.data();
  int major = read(ComputeCapabilityMajor), minor = read(ComputeCapabilityMinor);
  info.target = targetName(major, minor);
  info.multiprocessors = read(MultiprocessorCount);
  info.maxSharedBytes = read(SharedMemoryPerBlockOptin);
  info.warpSize = read(WarpSize);
  info.maxRegisters = read(RegistersPerBlock);
  info.clockKHz = read(ClockRate);
  info.memoryClockKHz = read(MemoryClockRate);
  info.memoryBusBits = read(MemoryBusWidth);
  info.l2Bytes = read(L2CacheSize);
  if (failure)
    return driver.error(failure, doing);
  return info;
}

Result<void> synchronize(int device) {
  const auto &driver = Driver::shared();
  if (!driver)
    return driver.error();
  auto scope = ContextScope::enter(**driver, device);
  if (!scope)
    return scope.error();
  if (CUresult result = (*driver)->ctxSynchronize())
    return failureOf(**driver, result, fmt::format("waiting for GPU {}", scope->device()));
  return {};
}

Result<uint64_t> deviceAlloc(size_t bytes, int device) {
  const auto &driver = Driver::shared();
  if (!driver)
    return driver.error();
  auto scope = ContextScope::enter(**driver, device);
  if (!scope)
    return scope.error();
  CUdeviceptr pointer = 0;
  // The driver refuses 0 bytes; a valid pointer keeps empty arrays ordinary.
  CUresult result = (*driver)->memAlloc(&pointer, bytes ? bytes : 1);
  if (result)
    return (*driver)->error(result,
                            fmt::format("allocating {} bytes on GPU {}", bytes, scope->device()));
  return pointer;
}

namespace {

/// A scope of the device that holds `pointer`.
Result<ContextScope> enterOwner(const Driver &driver, CUdeviceptr pointer) {
  int ordinal = -1;
  CUcontext context = nullptr;
  if (driver.ctxGetCurrent(&context) != 0 || !context)
    if (auto scope = ContextScope::enter(driver, 0); !scope)
      return scope;
  if (driver.pointerGetAttribute(&ordinal, pointerDeviceOrdinal, pointer) != 0)
    ordinal = -1;
  return ContextScope::enter(driver, ordinal);
}

} // namespace

void deviceFree(uint64_t pointer) {
  const auto &driver = Driver::shared();
  if (!driver || !pointer)
    return;
  if (auto scope = enterOwner(**driver, pointer))
    (*driver)->memFree(pointer);
}

Result<void> copyToDevice(uint64_t dst, const void *src, size_t bytes) {
  const auto &driver = Driver::shared();
  if (!driver)
    return driver.error();
  auto scope = enterOwner(**driver, dst);
  if (!scope)
    return scope.error();
  return (*driver)->check((*driver)->memcpyHtoD(dst, src, bytes),
                          fmt::format("copying {} bytes to the GPU", bytes));
}

Result<void> copyFromDevice(void *dst, uint64_t src, size_t bytes) {
  const auto &driver = Driver::shared();
  if (!driver)
    return driver.error();
  auto scope = enterOwner(**driver, src);
  if (!scope)
    return scope.error();
  return (*driver)->check((*driver)->memcpyDtoH(dst, src, bytes),
                          fmt::format("copying {} bytes from the GPU", bytes));
}

} // namespace pantile
