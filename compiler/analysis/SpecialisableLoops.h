//===- SpecialisableLoops.h - which loops can be warp-specialised -------------------------===//
// Needs: StageOperands ran; loads still write the buffers that the MMAs read.
// Gives: a plan per kernel: the loads of each loop that a producer warp would issue by TMA, the
//        depth of their circular buffers, and what a CTA then takes of an SM. Changes nothing, so
//        passes can compare plans with and without a producer, for a grid and for a persistent
//        kernel.
// How:   SpecialisableLoops.cpp states the rules.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/PrefetchLegality.h"
#include "analysis/ProducerLoads.h"
#include "analysis/ProducerStart.h"
#include "ir/Remarks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "support/MachineModel.h"

namespace pantile {

/// A loop whose loads move to a producer warp; the other warps are its consumers.
struct SpecialisableLoop {
  mlir::scf::ForOp loop;
  std::vector<ProducerLoad> loads;
  std::vector<CopiedLoad> copies; ///< that the consumers do, `ahead` iterations before their use
  int ahead = 0;
  int depth = 0;
  bool inFlight = false;                   ///< the wait for its MMA is deferred by one iteration
  SpecialisableLoop *previous = nullptr;   ///< the loop before it whose circular buffers it shares
  unsigned groups = 0;                     ///< of loads
  llvm::SmallVector<mlir::Value> barriers; ///< circular, of each group, once they are made
  mlir::Operation *lastWait = nullptr;     ///< after the loop, once the MMA's wait is deferred

  /// A stage is free one iteration later where the wait for its MMA is deferred.
  int depthOfCopies() const { return inFlight ? depth : ahead + 1; }

  /// Whether the addresses of a copy are computed from what `load` gives.
  bool copiesDependOn(LoadOp load) const {
    return llvm::any_of(
        copies, [&](const CopiedLoad &copy) { return isIndexOf(loop, load, copy.staged.load); });
  }

  /// Of the producer and of the consumers.
  llvm::SmallVector<StagedLoad> stagedLoads() const {
    auto staged = llvm::map_to_vector(loads, [](const ProducerLoad &load) { return load.staged; });
    for (const CopiedLoad &copy : copies)
      staged.push_back(copy.staged);
    return staged;
  }
};

/// How many polls ahead of its consumers a producer is at most.
constexpr int pollsAhead = 2;

/// The loops that a producer loads for, and what a CTA then takes of an SM.
struct ProducerPlan {
  std::vector<SpecialisableLoop> loops;
  llvm::SmallVector<AtomicRmwOp> polls; ///< that the producer does in the consumers' place
  CtaDemand demand;
  ProducerStart start;
  int warps = 1; ///< of the producer, with the helper warp and those that copy vectors
};

/// What a plan may assume: options of the passes that make one.
struct ProducerChoices {
  bool thirdCta = false;        ///< added stages do not cost the third CTA per SM
  bool bufferedValues = true;   ///< tiles that no MMA reads unchanged may have stages
  bool tmaValues = true;        ///< and the producer may fill these; else all warps prefetch them
  bool mixedTransports = false; ///< consumers may copy what TMA cannot load
  bool copiedVectors = true;    ///< and the producer vectors that it cannot
  bool pastStores = true;       ///< the producer may pass the loop's own stores (EarlierEffect.h)
};

/// The loops with MMAs of staged loads, other than that over programs.
llvm::SmallVector<mlir::scf::ForOp> loadDotLoops(mlir::func::FuncOp kernel);

/// The two mbarriers of a stage, full and empty, as a buffer of one stage.
nv::BufferType barriersOfStage(mlir::MLIRContext *context);

/// Plans a producer for every loop of `kernel` with staged loads and MMAs; none where one of these
/// loops is not specialisable. Programs are run as the kernel stands (`Grid`), as MakePersistent
/// would leave it, or StreamK after that. The leaves of the accesses are those of `affine`.
std::optional<ProducerPlan> planProducer(mlir::func::FuncOp kernel, AffineAnalysis &affine,
                                         nv::ProgramMap map, ProducerChoices choices,
                                         Refusal &refusal);

} // namespace pantile
