//===- Device.h - the current GPU of a thread ---------------------------------------------===//
// Needs: a Driver.
// Gives: ContextScope: while it lives, a context of one device is current on this thread.
// How:   A thread with a context keeps it if it belongs to the device; a thread without one gets
//        the device's primary context, which then stays current, as with CUDA's runtime library. A
//        context of another device is pushed and popped. Primary contexts are retained once and
//        never released.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "cuda/Driver.h"

namespace pantile {

class ContextScope {
public:
  /// `device` -1: that of the current context, else device 0.
  static Result<ContextScope> enter(const Driver &driver, int device);
  ~ContextScope();
  ContextScope(ContextScope &&other);
  ContextScope &operator=(ContextScope &&) = delete;

  /// The driver's handle, which is the ordinal on every driver so far.
  CUdevice device() const { return current; }

private:
  ContextScope(const Driver &driver, CUdevice device, bool pushed)
      : driver(&driver), current(device), pushed(pushed) {}
  const Driver *driver;
  CUdevice current;
  bool pushed;
};

/// Whether a context of `device` is certainly current: then a launch needs no scope.
bool isSurelyCurrent(const Driver &driver, int device);

} // namespace pantile
