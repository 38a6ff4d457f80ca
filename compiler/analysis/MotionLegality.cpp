//===- MotionLegality.cpp - see MotionLegality.h --------------------------------------------===//
#include "analysis/MotionLegality.h"
#include "analysis/BufferReaders.h"

using namespace mlir;

namespace pantile {
namespace {

/// Whether `op` is part of a store into a buffer that is allocated after `mma` is issued.
bool fillsLaterBuffer(Operation *op, Operation *mma) {
  if (isa<nv::AllocOp, nv::FenceAsyncOp>(op))
    return true;
  auto store = dyn_cast<nv::LocalStoreOp>(op);
  Operation *buffer = store ? store.getBuffer().getDefiningOp<nv::AllocOp>() : nullptr;
  return buffer && buffer->getBlock() == op->getBlock() && mma->isBeforeInBlock(buffer);
}

bool freesOtherBuffer(Operation *op, nv::AsyncMmaOpInterface mma) {
  return isa<nv::DeallocOp>(op) && !freesOperand(op, mma);
}

/// Whether all that `op` does is to write global memory, and to order nothing by that.
bool onlyWritesGlobal(Operation *op) {
  auto atomic = dyn_cast<AtomicRmwOp>(op);
  return isa<StoreOp>(op) ||
         (atomic && atomic->use_empty() && atomic.getSem() == MemSemantic::Relaxed);
}

} // namespace

bool hasNoEffects(Operation *op) {
  return op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>() &&
         isMemoryEffectFree(op);
}

bool leavesSharedMemory(Operation *op) {
  return hasNoEffects(op) || isa<LoadOp, nv::LocalLoadOp, nv::AsyncMmaOpInterface,
                                 nv::MmaWaitOpInterface, nv::ReleaseOp>(op);
}

bool isStageSelection(Operation *op) {
  return hasNoEffects(op) && llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

bool isStableLoad(Operation *op) {
  auto load = dyn_cast<LoadOp>(op);
  return load && !load.getIsVolatile() && load.getCache() != CacheModifier::Cv;
}

Value barriersOfRead(Operation *op) {
  auto load = dyn_cast<nv::LocalLoadOp>(op);
  return load ? barriersOf(stageOf(load.getBuffer()).buffer) : Value();
}

bool freesOperand(Operation *op, nv::AsyncMmaOpInterface mma) {
  auto dealloc = dyn_cast<nv::DeallocOp>(op);
  if (!dealloc)
    return false;
  Value freed = stageOf(dealloc.getBuffer()).buffer;
  for (; mma; mma = mma.getAcc().getDefiningOp<nv::AsyncMmaOpInterface>())
    for (Value buffer : mma.getBuffersRead())
      if (stageOf(buffer).buffer == freed)
        return true;
  return false;
}

bool mayPass(nv::AsyncMmaOpInterface mma, Operation *op) {
  Value held = mma.getHeldRegisters();
  const bool readsHeld = held && !isa<nv::AsyncMmaOpInterface, nv::MmaWaitOpInterface>(op) &&
                         llvm::is_contained(op->getOperands(), held);
  return (leavesSharedMemory(op) || freesOtherBuffer(op, mma)) && !readsHeld;
}

bool mayPass(nv::MmaWaitOpInterface wait, Operation *op) {
  Operation *mma = wait.getValues()[0].getDefiningOp();
  return leavesSharedMemory(op) || onlyWritesGlobal(op) || fillsLaterBuffer(op, mma) ||
         freesOtherBuffer(op, cast<nv::AsyncMmaOpInterface>(mma));
}

bool mayPass(LoadOp load, Operation *op) {
  return isStableLoad(load) &&
         (leavesSharedMemory(op) || isa<nv::CopyAsyncOp, nv::CommitOp, nv::MbarrierWaitOp>(op));
}

bool mayOverlapStages(scf::ForOp loop) {
  return llvm::all_of(loop.getBody()->without_terminator(), [](Operation &op) {
    auto filled = dyn_cast<nv::MbarrierWaitOp>(op);
    return (filled && !filled.getEmpty()) || isStableLoad(&op) || isMemoryEffectFree(&op) ||
           isa<nv::AsyncMmaOpInterface, nv::MmaWaitOpInterface, nv::ReleaseOp>(op) ||
           barriersOfRead(&op);
  });
}

} // namespace pantile
