//===- Stream.cpp - streams ---------------------------------------------------------------===//
// Needs: Driver, contexts (Device.h).
// Gives: newStream, freeStream, deviceOfStream, synchronizeStream of pantile/Runtime.h.
// How:   Streams do not wait for the default stream. The driver can find the context of a stream,
//        so freeing and waiting need no current context.
//===------------------------------------------------------------------------------------===//
#include "cuda/Device.h"
#include "pantile/Runtime.h"

namespace pantile {
namespace {

constexpr unsigned nonBlocking = 1; // CU_STREAM_NON_BLOCKING

Error tooOld() { return makeError(ErrorKind::Driver, "the CUDA driver has no streams: too old"); }

} // namespace

Result<uint64_t> newStream(int device) {
  const auto &driver = Driver::shared();
  if (!driver)
    return driver.error();
  auto scope = ContextScope::enter(**driver, device);
  if (!scope)
    return scope.error();
  if (!(*driver)->streamCreate)
    return tooOld();
  CUstream stream = nullptr;
  if (auto made =
          (*driver)->check((*driver)->streamCreate(&stream, nonBlocking), "making a stream");
      !made)
    return made.error();
  return reinterpret_cast<uint64_t>(stream);
}

void freeStream(uint64_t stream) {
  const auto &driver = Driver::shared();
  if (driver && stream && (*driver)->streamDestroy)
    (*driver)->streamDestroy(reinterpret_cast<CUstream>(stream));
}

bool isCapturing(uint64_t stream) {
  const auto &driver = Driver::shared();
  int status = 0;
  return driver && (*driver)->streamIsCapturing &&
         (*driver)->streamIsCapturing(reinterpret_cast<CUstream>(stream), &status) == 0 &&
         status != 0;
}

int deviceOfStream(uint64_t stream) {
  const auto &driver = Driver::shared();
  CUcontext context = nullptr;
  if (!driver || !(*driver)->streamGetCtx ||
      (*driver)->streamGetCtx(reinterpret_cast<CUstream>(stream), &context) != 0 || !context ||
      (*driver)->ctxPushCurrent(context) != 0)
    return -1;
  CUdevice device = -1;
  const bool isKnown = (*driver)->ctxGetDevice(&device) == 0;
  (*driver)->ctxPopCurrent(&context);
  return isKnown ? device : -1;
}

Result<void> synchronizeStream(uint64_t stream) {
  const auto &driver = Driver::shared();
  if (!driver)
    return driver.error();
  if (!(*driver)->streamSynchronize)
    return tooOld();
  return (*driver)->check((*driver)->streamSynchronize(reinterpret_cast<CUstream>(stream)),
                          "waiting for a stream");
}

} // namespace pantile
