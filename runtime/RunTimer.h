//===- RunTimer.h - how long a launch takes -----------------------------------------------===//
// Needs: where the launches go: the CPU, or a stream of a GPU.
// Gives: milliseconds of one run, with a cold L2 cache.
// How:   on a GPU by events around the run, after a write of more bytes than its cache holds; on
//        the CPU by the clock. Waits for the end of each run.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "cuda/Driver.h"
#include "pantile/Runtime.h"
#include <functional>
#include <memory>

namespace pantile {

class RunTimer {
public:
  virtual ~RunTimer() = default;
  virtual Result<double> milliseconds(const std::function<Result<void>()> &run) = 0;

  static Result<std::unique_ptr<RunTimer>> onGpu(const LaunchOptions &launch);
  static std::unique_ptr<RunTimer> onCpu();
};

} // namespace pantile
