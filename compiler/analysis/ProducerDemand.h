//===- ProducerDemand.h - the shared memory of a CTA with a producer -----------------------===//
// Needs: the loops that the producer loads for, with their loads, groups and depths.
// Gives: the bytes of circular buffers and their mbarriers, and of what is live next to them.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/SpecialisableLoops.h"

namespace pantile {

/// Circular buffers of `loops` and of `polls` polls, with their mbarriers.
int64_t circularBytes(mlir::func::FuncOp kernel, llvm::ArrayRef<SpecialisableLoop> loops,
                      size_t polls);

/// Other operands than those of circular buffers, and scratch that is live next to these. `placed`:
/// what is not live at one time shares bytes; else only scratch does.
int64_t bytesNextTo(mlir::func::FuncOp kernel, llvm::ArrayRef<SpecialisableLoop> loops,
                    bool isPersistent, bool placed);

} // namespace pantile
