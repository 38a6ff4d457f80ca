//===- Launch.h - run a kernel over a grid through a given driver -------------------------===//
// Needs: slots made by packArguments, the two scratch pointers behind them.
// Gives: the launch queued on options.stream, or the driver's error.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Runtime.h"
#include "runtime/Driver.h"
#include "runtime/TensorMap.h"
#include "llvm/ADT/ArrayRef.h"

namespace pantile {

Result<void> launchOnGpu(const Driver &driver, const Kernel &kernel, const Grid &grid,
                         llvm::ArrayRef<uint64_t> slots, llvm::ArrayRef<EncodedTensorMap> maps,
                         const LaunchOptions &options);

} // namespace pantile
