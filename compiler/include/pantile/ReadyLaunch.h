//===- ReadyLaunch.h - a kernel that many launches of one kind follow -------------------===//
// For hosts that launch the same kernel again and again: what such launches have in common is
// found once, and they pass their values as the driver takes them.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Runtime.h"
#include <memory>

namespace pantile {

struct Driver;

/// A kernel on a GPU on which `launch` ran it before. Immutable; threads may share it.
class PANTILE_API ReadyLaunch {
public:
  static constexpr size_t mostSlots = 64; ///< 64-bit words that a call is given

  /// The launches of `kernel` with `options`; null where only `launch` knows the way: on the CPU, where the options name no device, before
  /// the first launch on it, for clusters and cooperative launches, for more arguments than
  /// `mostSlots` - 2.
  static std::unique_ptr<const ReadyLaunch> of(const Kernel &kernel, const LaunchOptions &options);

  /// Queues a launch. `slots` has room for `mostSlots` and begins with one value an argument, in
  /// the low bytes and of the type of its parameter, as the kernel was compiled for it; the rest
  /// is overwritten. False: nothing was queued, and `launch` does it or says what is wrong.
  bool operator()(const Grid &grid, uint64_t *slots, uint64_t stream) const;

private:
  ReadyLaunch() = default;
  Kernel kernel;
  LaunchState *state = nullptr; ///< that of `kernel`
  const Driver *driver = nullptr;
  void *function = nullptr; ///< a CUfunction
  int device = 0;
  int resident = 0; ///< blocks that run at once, if of more programs a block runs several; else 0
  int packed = 1;   ///< programs that a block may run side by side
  int together = 1; ///< blocks that run one program
  unsigned slotCount = 0, threads = 0, sharedBytes = 0;
  bool hasMaps = false;
};

} // namespace pantile
