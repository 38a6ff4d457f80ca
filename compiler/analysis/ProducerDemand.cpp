//===- ProducerDemand.cpp - see ProducerDemand.h -------------------------------------------===//
#include "analysis/ProducerDemand.h"
#include "analysis/CtasPerSm.h"
#include "analysis/SharedAllocations.h"

using namespace mlir;

namespace pantile {

int64_t circularBytes(func::FuncOp kernel, ArrayRef<SpecialisableLoop> loops, size_t polls) {
  const nv::BufferType barriers = barriersOfStage(kernel.getContext());
  int64_t bytes = static_cast<int64_t>(polls) * bufferBytes(barriers.withDepth(pollsAhead));
  int64_t mostCopied = 0; // by the consumers, which free it after each loop
  for (const SpecialisableLoop &specialisable : loops) {
    int64_t copied = 0;
    for (const CopiedLoad &copy : specialisable.copies)
      copied += bufferBytes(copy.buffer.withDepth(specialisable.depthOfCopies()));
    mostCopied = std::max(mostCopied, copied);
    if (specialisable.previous)
      continue;
    auto bytesOf = [&](nv::BufferType stage) {
      return bufferBytes(stage.withDepth(specialisable.depth));
    };
    for (const ProducerLoad &load : specialisable.loads)
      bytes += bytesOf(load.buffer);
    bytes += specialisable.groups * bytesOf(barriers);
  }
  return bytes + mostCopied;
}

int64_t bytesNextTo(func::FuncOp kernel, ArrayRef<SpecialisableLoop> loops, bool isPersistent,
                    bool placed) {
  llvm::SmallDenseSet<Operation *> circular;
  for (const SpecialisableLoop &specialisable : loops)
    for (StagedLoad load : specialisable.stagedLoads())
      if (load.alloc)
        circular.insert(load.alloc);
  if (!placed) {
    int64_t bytes = scratchWithLiveBuffers(kernel, isPersistent);
    kernel.walk([&](nv::AllocOp alloc) {
      bytes += circular.contains(alloc) ? 0 : bufferBytes(alloc.getType());
    });
    return bytes;
  }
  Operation *last = isPersistent ? nullptr : lastMma(kernel);
  SharedChange change;
  change.isGone = [&](Operation *op) {
    Operation *top = last ? kernel.getBody().front().findAncestorOpInBlock(*op) : nullptr;
    const bool isAfter = top && last->isBeforeInBlock(top) && !isa<nv::BufferOpInterface>(op);
    return isAfter || circular.contains(op);
  };
  return sharedBytesWith(kernel->getParentOfType<ModuleOp>(), change);
}

} // namespace pantile
