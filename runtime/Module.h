//===- Module.h - machine code on a device ------------------------------------------------===//
// Needs: a kernel with a cubin, a Driver, a current context.
// Gives: the driver's handle for a launch, loaded at the first launch on each device.
// How:   the kernel owns the handles (Kernel::Data::launchState), so a warm launch reads one
//        atomic and takes no lock. The code is unloaded with the kernel, unless a graph was
//        captured from its launches.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "cuda/Driver.h"
#include "runtime/Arguments.h"
#include "runtime/TensorMap.h"
#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

namespace pantile {

struct LaunchState {
  static constexpr int maxDevices = 64;
  std::mutex loading;
  std::array<std::atomic<CUfunction>, maxDevices> functions{}; ///< by device; null until loaded
  std::array<std::atomic<int>, maxDevices> resident{}; ///< CTAs, by device; 0: not queried yet
  ArgPlan plan;                                        ///< valid once `planned`
  MapPlan maps;                                        ///< likewise
  std::atomic<bool> planned = false;
  std::mutex compilingVariants;
  Kernel plain;   ///< compiled without tensor maps, once a launch needed it
  Kernel streamK; ///< compiled with its tiles split, once a launch chose that; null if that failed
  bool triedStreamK = false;
  std::atomic<bool> lacksStreamK = false; ///< there is no such variant
  /// Choices of StreamKChoice.h, of which later ones take the places of earlier ones; 0: none yet.
  std::array<std::atomic<uint64_t>, 16> streamKChoices{};
  const std::string *name = nullptr; ///< keptName; valid once loaded
  /// A graph may hold the handles: they must outlive the kernel.
  std::atomic<bool> captured = false;
  /// So may a caller of codeHandles, which may have initialised variables of the code.
  std::atomic<bool> handedOut = false;

  struct Code {
    CUdevice device;
    CUlibrary library;             ///< null where the driver has none
    CUmodule module;               ///< null where there is a library
    CUresult (*unload)(CUlibrary); ///< with the kernel; may be null
    CUresult (*exchangeCaptureMode)(int *);
  };
  std::vector<Code> code;

  LaunchState() = default;
  LaunchState(const LaunchState &) = delete;
  ~LaunchState();
};

/// That of `kernel`, made where it has none yet.
LaunchState &launchStateOf(const Kernel::Data &kernel);

/// Makes the plans of the kernel's arguments, at its first launch.
Result<void> planLaunches(const Kernel &kernel);

/// The same kernel without tensor maps, compiled at the first call.
Result<Kernel> plainVariant(const Kernel &kernel);

/// The same kernel with its tiles split, compiled at the first call. Null where there is none: then the
/// kernel itself runs.
Kernel streamKVariant(const Kernel &kernel);

/// The handle, if loadedFunction has returned it before; else null.
inline CUfunction knownFunction(const Kernel &kernel, CUdevice device) {
  const LaunchState *state = kernel->launchState.get();
  return state && unsigned(device) < LaunchState::maxDevices
             ? state->functions[device].load(std::memory_order_acquire)
             : nullptr;
}

/// The handle of `kernel` on `device`, whose context is current.
Result<CUfunction> loadedFunction(const Driver &driver, const Kernel &kernel, CUdevice device);

/// The number of SMs of `device`, from the driver.
CUresult querySms(const Driver &driver, CUdevice device, int &sms);

/// How many CTAs of `function`, which is `kernel` on `device`, run at once.
Result<int> residentCtas(const Driver &driver, const Kernel &kernel, CUdevice device,
                         CUfunction function);

} // namespace pantile
