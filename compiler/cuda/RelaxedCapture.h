//===- RelaxedCapture.h - calls that the capture of a stream forbids needlessly -----------===//
#pragma once
#include "cuda/Driver.h"

namespace pantile {

/// While it lives, this thread may make calls that a capture of another stream, or of its own,
/// forbids: loading and unloading code and allocating memory, which do not use the stream.
class RelaxedCapture {
public:
  explicit RelaxedCapture(CUresult (*exchange)(int *)) : exchange(exchange) {
    if (exchange)
      exchange(&mode);
  }
  RelaxedCapture(const RelaxedCapture &) = delete;
  ~RelaxedCapture() {
    if (exchange)
      exchange(&mode);
  }

private:
  CUresult (*exchange)(int *);
  int mode = 2; // CU_STREAM_CAPTURE_MODE_RELAXED
};

} // namespace pantile
