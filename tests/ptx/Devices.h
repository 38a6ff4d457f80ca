//===- Devices.h - the emulated GPUs, and the current GPU of a thread ----------------===//
// Needs: PANTILE_EMULATED_DEVICES, how many there are (1).
// Gives: a memory and a lock per GPU, and which GPUs are peers; the stack of contexts of each
//        thread; streams.
// How:   A device has one context, its primary one, whose handle is the device's address. Calls
//        that need a context fail in a thread that has none, as with the real driver.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "Machine.h"
#include "cuda/Driver.h"
#include <array>
#include <atomic>
#include <mutex>
#include <string>

namespace pantile::ptx {

enum Result {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialised = 3,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  InvalidHandle = 400,
  NotFound = 500,
  PeersAlready = 704,
  NoPeers = 705,
  CooperativeTooLarge = 720,
  Failed = 999
};

constexpr int mostDevices = 8;

struct Device {
  int number = 0;
  std::mutex mutex;
  Memory memory;
  uint64_t launches = 0;
  std::array<std::atomic<bool>, mostDevices> reaches = {}; ///< whose memory, in addition to its own
};

int deviceCount();
Device &device(int number);

/// Whether it reaches another GPU's memory, or another reaches its: then launches wait in Queues.
bool hasPeers(const Device &device);
Reach reachOf(const Device &device);

/// The device whose context is current; null if none is.
Device *currentDevice();

/// The device that holds `address`; null if none does.
Device *ownerOf(CUdeviceptr address, size_t bytes = 1);

/// The device that work on `stream` is done by: that of its context, or the current one.
Device *deviceOf(CUstream stream);

/// Notes what went wrong, for cuGetErrorString, and returns `result`.
int fail(int result, const std::string &message);
int failForContext();

} // namespace pantile::ptx

#define EXPORT extern "C" __attribute__((visibility("default"))) int
