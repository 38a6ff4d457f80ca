//===- ReadyLaunch.h - repeated launches of one kernel ----------------------------------===//
// For hosts that launch the same kernel many times: what the launches have in common is computed
// once, and each launch passes its values in the form that the driver takes.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Runtime.h"
#include <memory>

namespace pantile {

struct Driver;

/// A kernel on a GPU on which `launch` ran it before. Immutable; several threads may use it.
class PANTILE_API ReadyLaunch {
public:
  static constexpr size_t mostSlots = 64; ///< length of the array of 64-bit values per call

  /// Prepares launches of `kernel` with `options`. Null where `launch` has to be used: on the CPU,
  /// if the options name no device, before the first launch on that device, for clusters and
  /// cooperative launches, for more arguments than `mostSlots` - 2.
  static std::unique_ptr<const ReadyLaunch> of(const Kernel &kernel, const LaunchOptions &options);

  /// Queues a launch over `grid` in `stream`. `slots` is an array of `mostSlots` values that begins
  /// with one per argument: in the low bytes, of the type of the kernel's parameter. The rest of
  /// the array is overwritten. False: nothing was queued; call `launch`, which queues it or returns
  /// the Error.
  bool operator()(const Grid &grid, uint64_t *slots, uint64_t stream) const;

private:
  ReadyLaunch() = default;
  Kernel kernel;
  LaunchState *state = nullptr; ///< that of `kernel`
  const Driver *driver = nullptr;
  void *function = nullptr; ///< a CUfunction
  int device = 0;
  int resident =
      0; ///< CTAs that run at once, if a CTA runs several programs of a larger grid; else 0
  int packed = 1;   ///< programs that may be packed into a CTA
  int together = 1; ///< CTAs that run one program
  unsigned slotCount = 0, threads = 0, sharedBytes = 0;
  bool hasMaps = false;
  bool mayChooseStreamK = false;
};

} // namespace pantile
