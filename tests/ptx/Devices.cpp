//===- Devices.cpp - the emulated GPUs, contexts, streams and events -----------------===//
// Needs: see Devices.h.
// Gives: the driver's functions that query or change the context; pantileRestartEmulation.
// How:   All work is done when a call returns, so streams and events have nothing to wait for,
//        except on GPUs with peers: a wait for a stream, an event or a context waits for the GPU.
//===------------------------------------------------------------------------------------===//
#include "Devices.h"
#include "Queues.h"
#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <vector>

namespace pantile::ptx {
namespace {

std::string &failure() {
  static thread_local std::string text = "no failure";
  return text;
}

std::vector<Device *> &contexts() {
  static thread_local std::vector<Device *> stack;
  return stack;
}

struct Streams {
  std::mutex mutex;
  uintptr_t next = 16;
  std::map<CUstream, Device *> owners;
};

Streams &streams() {
  static auto *all = new Streams();
  return *all;
}

Device *deviceOf(CUcontext context) { return reinterpret_cast<Device *>(context); }
CUcontext contextOf(Device *device) { return reinterpret_cast<CUcontext>(device); }

} // namespace

int deviceCount() {
  const char *count = std::getenv("PANTILE_EMULATED_DEVICES");
  return count ? std::clamp(std::atoi(count), 1, mostDevices) : 1;
}

Device &device(int number) {
  static auto *devices = [] {
    auto *made = new std::array<Device, mostDevices>();
    for (int i = 0; i < mostDevices; ++i)
      (*made)[i].number = i;
    return made;
  }();
  return (*devices)[number];
}

bool hasPeers(const Device &of) {
  for (int i = 0; i < mostDevices; ++i)
    if (of.reaches[i] || device(i).reaches[of.number])
      return true;
  return false;
}

Reach reachOf(const Device &of) {
  Reach reach{{&of.memory}};
  for (int i = 0; i < mostDevices; ++i)
    if (of.reaches[i])
      reach.memories.push_back(&device(i).memory);
  return reach;
}

Device *currentDevice() { return contexts().empty() ? nullptr : contexts().back(); }

Device *ownerOf(CUdeviceptr address, size_t bytes) {
  for (int i = 0; i < deviceCount(); ++i) {
    std::lock_guard lock(device(i).mutex);
    if (device(i).memory.contains(address, bytes))
      return &device(i);
  }
  return nullptr;
}

Device *deviceOf(CUstream stream) {
  std::lock_guard lock(streams().mutex);
  auto found = streams().owners.find(stream);
  return found == streams().owners.end() ? currentDevice() : found->second;
}

int fail(int result, const std::string &message) {
  failure() = message;
  return result;
}

int failForContext() { return fail(InvalidContext, "this thread has no context"); }

} // namespace pantile::ptx

using namespace pantile;
using namespace pantile::ptx;

EXPORT cuGetErrorString(CUresult, const char **text) { return *text = failure().c_str(), Success; }

/// The next launches draw the same order as the first ones of this process did.
extern "C" __attribute__((visibility("default"))) void pantileRestartEmulation() {
  for (int i = 0; i < mostDevices; ++i) {
    std::lock_guard lock(device(i).mutex);
    device(i).launches = 0;
  }
  queues().restart();
}

EXPORT cuDeviceGetCount(int *count) { return *count = deviceCount(), Success; }
EXPORT cuDeviceGet(CUdevice *handle, int ordinal) {
  *handle = ordinal;
  return ordinal < 0 || ordinal >= deviceCount() ? fail(InvalidDevice, "there is no such device")
                                                 : int(Success);
}

EXPORT cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice handle) {
  return *context = contextOf(&device(handle)), Success;
}
EXPORT cuDevicePrimaryCtxGetState(CUdevice, unsigned *flags, int *active) {
  return *flags = 0, *active = 1, Success;
}
EXPORT cuCtxGetCurrent(CUcontext *context) {
  return *context = contextOf(currentDevice()), Success;
}
EXPORT cuCtxSetCurrent(CUcontext context) {
  if (!contexts().empty())
    contexts().pop_back();
  if (context)
    contexts().push_back(deviceOf(context));
  return Success;
}
EXPORT cuCtxPushCurrent_v2(CUcontext context) {
  contexts().push_back(deviceOf(context));
  return Success;
}
EXPORT cuCtxPopCurrent_v2(CUcontext *context) {
  if (contexts().empty())
    return failForContext();
  *context = contextOf(currentDevice());
  contexts().pop_back();
  return Success;
}
EXPORT cuCtxGetDevice(CUdevice *handle) {
  if (!currentDevice())
    return failForContext();
  return *handle = currentDevice()->number, Success;
}
EXPORT cuCtxSynchronize() {
  return currentDevice() ? queues().wait(*currentDevice()) : failForContext();
}

//===- peers --------------------------------------------------------------------------------===//

EXPORT cuDeviceCanAccessPeer(int *can, CUdevice handle, CUdevice peer) {
  if (std::min(handle, peer) < 0 || std::max(handle, peer) >= deviceCount())
    return fail(InvalidDevice, "there is no such device");
  return *can = handle != peer, Success;
}
EXPORT cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  Device *const here = currentDevice();
  if (!here || !peer)
    return failForContext();
  const Device &there = *deviceOf(peer);
  if (flags || here == &there)
    return fail(InvalidValue, "no flags are known, and a GPU is no peer of its own");
  return here->reaches[there.number].exchange(true)
             ? fail(PeersAlready, "peer access is enabled already")
             : int(Success);
}
EXPORT cuCtxDisablePeerAccess(CUcontext peer) {
  Device *const here = currentDevice();
  if (!here || !peer)
    return failForContext();
  queues().waitForAll();
  return here->reaches[deviceOf(peer)->number].exchange(false)
             ? int(Success)
             : fail(NoPeers, "peer access is not enabled");
}

//===- streams and events ---------------------------------------------------------------------===//

EXPORT cuStreamIsCapturing(CUstream, int *status) { return *status = 0, Success; }
EXPORT cuThreadExchangeStreamCaptureMode(int *) { return Success; }
EXPORT cuStreamCreate(CUstream *stream, unsigned) {
  if (!currentDevice())
    return failForContext();
  std::lock_guard lock(streams().mutex);
  *stream = reinterpret_cast<CUstream>(streams().next++);
  streams().owners[*stream] = currentDevice();
  return Success;
}
EXPORT cuStreamGetCtx(CUstream stream, CUcontext *context) {
  Device *owner = deviceOf(stream);
  return owner ? (*context = contextOf(owner), int(Success)) : failForContext();
}
EXPORT cuStreamDestroy_v2(CUstream stream) {
  std::lock_guard lock(streams().mutex);
  return streams().owners.erase(stream) ? int(Success) : fail(InvalidHandle, "no stream");
}
EXPORT cuStreamSynchronize(CUstream stream) {
  Device *owner = deviceOf(stream);
  return owner ? queues().wait(*owner) : failForContext();
}

EXPORT cuEventCreate(CUevent *event, unsigned) {
  Device *owner = currentDevice();
  return owner ? (*event = reinterpret_cast<CUevent>(owner), int(Success)) : failForContext();
}
EXPORT cuEventDestroy_v2(CUevent) { return Success; }
EXPORT cuEventRecord(CUevent event, CUstream stream) {
  return reinterpret_cast<Device *>(event) == deviceOf(stream)
             ? int(Success)
             : fail(InvalidHandle, "an event of another device than the stream's");
}
EXPORT cuEventSynchronize(CUevent event) {
  return queues().wait(*reinterpret_cast<Device *>(event));
}
EXPORT cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  if (start != end) // one handle a device
    return fail(InvalidHandle, "events of two devices");
  return *milliseconds = 1, Success;
}
