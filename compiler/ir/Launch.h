//===- Launch.h - what a launch of a kernel gives it, and how its CTAs share an SM ----------===//
// Needs: nothing.
// Gives: `nv.launch` of a module as a struct, to read and to change. NvPlan.td says what each part is.
//===----------------------------------------------------------------------------------------===//
#pragma once
#include "ir/Tile.h"
#include <optional>

namespace pantile {

struct Launch {
  int64_t producerWarps = 0;
  bool persistent = false;
  int64_t partialBytes = 0;
  int64_t programsPerCta = 1, ctasPerProgram = 1;
  int64_t sharedBytes = 0;
  int64_t ctasPerSm = 0;
  /// Of a thread.
  struct Registers {
    int32_t atLaunch, ofProducer, ofConsumers;
  };
  std::optional<Registers> registers;
  /// Words of a thread in shared memory.
  struct Parked {
    int32_t offset, words;
  };
  std::optional<Parked> parked;

  /// Of the module that `op` is, or is in; the defaults where nothing is said.
  static Launch of(mlir::Operation *op);
  void storeOn(mlir::ModuleOp module) const;
};

} // namespace pantile
