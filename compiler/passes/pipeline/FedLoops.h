//===- FedLoops.h - the loops whose products a producer can feed --------------------------===//
// Needs: StageOperands ran; loads still write the buffers that the products read.
// Gives: for each such loop what its producer loads, and through how many stages; how much of an SM
//        a CTA takes then. Nothing is changed: passes that choose between kernels with and without a
//        producer ask for both plans.
// How:   see FedLoops.cpp for what a loop must be like.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/TmaAccess.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "support/MachineModel.h"

namespace pantile {

/// A load that the producer takes over.
struct Raised {
  StagedLoad staged;
  mlir::Operation *first; ///< to read it: `product`, or the load of what goes on to that
  nv::AsyncMmaOpInterface product, last; ///< the first and the last that read it
  TmaAccess access;
  bool isReadByThreads = false; ///< who hand it on to the MMA
};

/// A loop whose products are fed by the producer.
struct FedLoop {
  mlir::scf::ForOp loop;
  std::vector<Raised> loads;
  int depth = 0;
  bool inFlight = false;     ///< one product stays under way into the next iteration
  FedLoop *before = nullptr; ///< the loop in front whose circular buffers it goes on with
  llvm::SmallVector<mlir::Value> rings, barriers;
};

/// What a producer does for a kernel, and what a CTA takes then.
struct ProducerPlan {
  std::vector<FedLoop> loops;
  CtaDemand demand;
  int warps = 1; ///< of the producer, the courier's among them
};

/// Why there is none: `at` is null where no loop of the kernel has products of what it loads.
struct Refusal {
  mlir::Operation *at = nullptr, *culprit = nullptr;
  std::string reason;
};

/// How programs are run: as the kernel stands, or as MakePersistent would leave it.
enum class ProgramMap { AsIs, Persistent };

/// What a plan may count on; the options of the passes that ask for one.
struct ProducerChoices {
  bool thirdCta = false; ///< stages that are added do not take the place of a third CTA of an SM
  bool bufferedValues = true; ///< tiles that no MMA reads as they are may have stages of all warps
};

/// Says so in a remark and in `nv.candidates`.
void remarkOn(mlir::func::FuncOp kernel, const Refusal &refusal);

/// Loads of one product arrive together: the number of the group of each.
llvm::SmallVector<unsigned> groupsOf(FedLoop &fed);

/// How a producer feeds every loop with products of `kernel`; none where it cannot feed one of them.
/// Leaves of the accesses are those of `affine`.
std::optional<ProducerPlan> planProducer(mlir::func::FuncOp kernel, AffineAnalysis &affine,
                                         ProgramMap map, ProducerChoices choices, Refusal &refusal);

} // namespace pantile
