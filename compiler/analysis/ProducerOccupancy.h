//===- ProducerOccupancy.h - CTAs per SM with a producer and without one -----------------===//
// Needs: StageOperands ran; loads still write the buffers that the MMAs read.
// Gives: for a kernel whose MMAs are waited for in their iteration, such as attention, the
//        predicted CTAs per SM with a producer and without one.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>

namespace pantile {

struct ProducerOccupancy {
  int64_t without, with;   ///< CTAs per SM; `with` is 0 where a consumer has too few registers
  int64_t sharedBytes;     ///< estimate per CTA
  bool waitsCanBeDeferred; ///< by one iteration, for some of the MMAs
  mlir::Location at;       ///< location of the first loop
};

/// Predicts both. None where no accumulator is read before its iteration ends, so that no wait
/// stalls.
std::optional<ProducerOccupancy> producerOccupancy(mlir::func::FuncOp kernel);

/// Whether cp.async copies the operands of MMAs as cheaply as TMA: not in small vectors, and
/// without masks, such as those of descriptors.
bool areCopiesPlain(mlir::func::FuncOp kernel);

} // namespace pantile
