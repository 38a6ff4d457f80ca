//===- LaunchObserver.h - interface by which a tool observes launches of the emulator -----===//
#pragma once

namespace pantile::ptx {

struct ObservedLaunch {
  int site; ///< 0 before the launch, 1 after it
  bool succeeded;
  const char *kernel;
  int device;
  void *context, *stream;
};

using LaunchObserver = void (*)(const ObservedLaunch &launch);

/// The type of `pantileObserveLaunches`: `observer` is called around each launch; null ends that.
using SetLaunchObserver = void(LaunchObserver observer);

} // namespace pantile::ptx
