//===- StreamKLoop.h - the loop whose iterations stream-K splits --------------------------===//
// Needs: StageOperands ran; loads still write the buffers that the MMA reads. Programs are run as the
//        grid has them, or by the loop of MakePersistent.
// Gives: the load-dot loop whose iterations may be split over CTAs, or the rule that the kernel
//        breaks, and the producer that loads for it then. Nothing is changed: PlanPrograms decides
//        by it, StreamK finds by it what to split.
// How:   see StreamKLoop.cpp for the rules.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/SpecialisableLoops.h"

namespace pantile {

struct StreamKLoop {
  mlir::scf::ForOp loop;
  nv::AsyncMmaOpInterface mma;
  unsigned sum = 0; ///< which of the values that the loop carries is its sum
};

/// The loop of `kernel` that obeys the rules, but for those of TMA.
std::optional<StreamKLoop> findStreamKLoop(mlir::func::FuncOp kernel, Refusal &refusal);

/// How a producer loads for the work ranges of that loop; none where TMA cannot, or where there is no
/// such loop.
std::optional<ProducerPlan> planStreamK(mlir::func::FuncOp kernel, ProducerChoices choices,
                                        Refusal &refusal);

/// By how much the value number `index` that `loop` carries grows in each iteration; null if not by
/// the same amount.
mlir::Value advanceOf(mlir::scf::ForOp loop, unsigned index);

} // namespace pantile
