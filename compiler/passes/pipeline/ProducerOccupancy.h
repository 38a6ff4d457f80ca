//===- ProducerOccupancy.h - CTAs per SM with a producer and without one -----------------===//
// Needs: StageOperands ran; loads still write the buffers that the MMAs read.
// Gives: for a kernel whose MMAs are waited for in the iteration, as those of attention are, how many
//        of its CTAs share an SM with a producer and without one.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>

namespace pantile {

struct ProducerOccupancy {
  int64_t without, with;   ///< CTAs per SM; `with` is 0 where a consumer has too few registers
  int64_t sharedBytes;     ///< of a CTA, about
  bool waitsCanBeDeferred; ///< by one iteration, for some of the MMAs
  mlir::Location at;       ///< of the first loop
};

/// None where no accumulator is read before its iteration ends: nothing there waits.
std::optional<ProducerOccupancy> producerOccupancy(mlir::func::FuncOp kernel);

/// Whether the threads copy what the MMAs read as cheaply as TMA does: not in small pieces, and not
/// with masks, as those of descriptors are.
bool areCopiesPlain(mlir::func::FuncOp kernel);

} // namespace pantile
