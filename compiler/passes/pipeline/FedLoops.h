//===- FedLoops.h - the loops whose products a producer can feed --------------------------===//
// Needs: StageOperands ran; loads still write the buffers that the products read.
// Gives: for each such loop what its producer loads, and through how many slots.
// How:   see FedLoops.cpp for what a loop must be like.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/TmaAccess.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "support/Target.h"

namespace pantile {

/// A load that the producer takes over.
struct Raised {
  StagedLoad staged;
  mlir::Operation *first;    ///< to read it: `product`, or the load of what goes on to that
  nv::WgmmaOp product, last; ///< the first and the last that read it
  TmaAccess access;
  bool isReadByThreads = false; ///< who hand it on to the MMA
};

/// A loop whose products are fed by the producer.
struct FedLoop {
  mlir::scf::ForOp loop;
  std::vector<Raised> loads;
  int slots = 0;
  bool inFlight = false;     ///< one product stays under way into the next iteration
  FedLoop *before = nullptr; ///< the loop in front whose rings it goes on with
  llvm::SmallVector<mlir::Value> rings, barriers;
};

/// Loads of one product arrive together: the number of the group of each.
llvm::SmallVector<unsigned> groupsOf(FedLoop &fed);

/// Every loop with products of `function`, or none if one of them cannot be fed: then a remark says
/// why. Leaves of the accesses are those of `affine`.
std::vector<FedLoop> collectFedLoops(mlir::func::FuncOp function, const Target &target,
                                     AffineAnalysis &affine);

} // namespace pantile
