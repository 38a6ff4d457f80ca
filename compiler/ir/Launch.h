//===- Launch.h - what a kernel requires of its launches, and its occupancy -----------------===//
// Needs: nothing.
// Gives: `nv.launch` of a module as a struct, to read and to change. NvPlan.td describes the
//        members.
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
  /// Registers per thread.
  struct Registers {
    int32_t atLaunch, ofProducer, ofConsumers;
  };
  std::optional<Registers> registers;
  /// Spill slots in shared memory: byte offset of the first, and slots of 32 bits per thread.
  struct Spills {
    int32_t offset, registers;
  };
  std::optional<Spills> spills;

  /// Reads `nv.launch` of the module that `op` is, or is in; the defaults if there is none.
  static Launch of(mlir::Operation *op);
  void storeOn(mlir::ModuleOp module) const;
};

} // namespace pantile
