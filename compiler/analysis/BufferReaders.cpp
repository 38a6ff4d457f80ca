//===- BufferReaders.cpp - which MMAs read a staged buffer ---------------------------------===//
#include "analysis/BufferReaders.h"
#include "analysis/MmaWaits.h"
#include "ir/Machine.h"

using namespace mlir;

namespace pantile {

bool forEachUse(Value buffer, llvm::function_ref<bool(OpOperand &)> visit) {
  for (OpOperand &use : buffer.getUses()) {
    auto view = dyn_cast<nv::BufferTransOp>(use.getOwner());
    if (view ? !forEachUse(view.getResult(), visit) : !visit(use))
      return false;
  }
  return true;
}

Value viewedBuffer(Value buffer) {
  while (auto view = buffer.getDefiningOp<nv::BufferTransOp>())
    buffer = view.getBuffer();
  return buffer;
}

BufferStage stageOf(Value view) {
  view = viewedBuffer(view);
  auto selected = view.getDefiningOp<nv::SelectStageOp>();
  return selected ? BufferStage{selected.getBuffer(), selected.getIndex()} : BufferStage{view, {}};
}

/// The mbarrier on which `copy` into `stage` completes; null if it is no such copy.
static Value completesOn(Operation *copy, Value stage) {
  if (auto load = dyn_cast<nv::TmaLoadOp>(copy); load && load.getBuffer() == stage)
    return load.getBarrier();
  auto load = dyn_cast<nv::CopyAsyncOp>(copy);
  return load && load.getBuffer() == stage ? Value(load.getBarrier()) : Value();
}

Value barriersOf(Value buffer) {
  for (Operation *stage : buffer.getUsers())
    if (isa<nv::SelectStageOp>(stage))
      for (Operation *user : stage->getUsers())
        if (Value barrier = completesOn(user, stage->getResult(0)))
          return stageOf(barrier).buffer;
  return {};
}

bool outlastsIteration(scf::ForOp loop, Value buffer, ArrayRef<StagedLoad> loads) {
  auto alloc = viewedBuffer(buffer).getDefiningOp<nv::AllocOp>();
  return alloc &&
         (loop.isDefinedOutsideOfLoop(alloc) ||
          llvm::any_of(loads, [&](const StagedLoad &load) { return load.alloc == alloc; }));
}

bool lacksStagesToOverlap(nv::AsyncMmaOpInterface mma) {
  const int64_t least = machineOf(mma).occupancy.stagesOfOverlap;
  return llvm::any_of(mma.getBuffersRead(), [&](Value buffer) {
    const BufferStage read = stageOf(buffer);
    return read.index && cast<nv::BufferType>(read.buffer.getType()).getDepth() < least;
  });
}

nv::AsyncMmaOpInterface deferrableMma(scf::ForOp loop, ArrayRef<StagedLoad> loads) {
  nv::AsyncMmaOpInterface mma = loneAccumulation(loop);
  const bool outlasts = mma && outlastsIteration(loop, mma.getLhs(), loads) &&
                        outlastsIteration(loop, mma.getRhs(), loads);
  return outlasts ? mma : nv::AsyncMmaOpInterface();
}

namespace {

/// The only use of `tile`, after conversions.
OpOperand *onlyUseOf(Value tile) {
  while (tile.hasOneUse()) {
    Operation *user = *tile.user_begin();
    if (!isa<nv::RoundTf32Op, ConvertLayoutOp>(user))
      return &*tile.use_begin();
    tile = user->getResult(0);
  }
  return nullptr;
}

/// The MMA that alone uses the tile of `load`: in registers, or through another buffer, which other
/// loops may use for tiles of theirs.
std::optional<BufferReader> readerOf(nv::LocalLoadOp load, Block *block) {
  OpOperand *use = onlyUseOf(load.getResult());
  if (!use || use->getOwner()->getBlock() != block)
    return std::nullopt;
  if (auto mma = dyn_cast<nv::AsyncMmaOpInterface>(use->getOwner()))
    return use->get() == mma.getLhs() ? std::optional(BufferReader{mma, 0, load, load.getBuffer()})
                                      : std::nullopt;
  auto store = dyn_cast<nv::LocalStoreOp>(use->getOwner());
  std::optional<BufferReader> reader;
  auto isOnly = [&](OpOperand &use) {
    auto mma = dyn_cast<nv::AsyncMmaOpInterface>(use.getOwner());
    if (!mma || mma->getBlock() != block)
      return mma || isa<nv::LocalStoreOp, nv::DeallocOp>(use.getOwner());
    if (reader)
      return false;
    reader = {mma, &use == &mma.getLhsMutable() ? 0 : 1, load, load.getBuffer()};
    return true;
  };
  const bool isBuffer = store && store.getBuffer().getDefiningOp<nv::AllocOp>();
  return isBuffer && forEachUse(store.getBuffer(), isOnly) ? reader : std::nullopt;
}
} // namespace

bool isRounded(nv::AllocOp alloc) {
  return llvm::any_of(alloc->getUsers(), llvm::IsaPred<nv::RoundBufferOp>);
}

Operation *BufferReader::end() const { return mma ? waitOf(mma).getOperation() : at; }

SmallVector<BufferReader> readersOf(nv::AllocOp alloc, Block *block) {
  SmallVector<BufferReader> readers;
  auto collect = [&](OpOperand &use) {
    if (isa<nv::LocalStoreOp, nv::DeallocOp, nv::RoundBufferOp>(use.getOwner()))
      return true;
    if (auto load = dyn_cast<nv::LocalLoadOp>(use.getOwner())) {
      readers.push_back(readerOf(load, block).value_or(BufferReader{{}, 0, load, use.get()}));
      return load->getBlock() == block;
    }
    auto mma = dyn_cast<nv::AsyncMmaOpInterface>(use.getOwner());
    if (!mma || mma->getBlock() != block)
      return false;
    readers.push_back({mma, &use == &mma.getLhsMutable() ? 0 : 1, mma, use.get()});
    return true;
  };
  if (!forEachUse(alloc, collect))
    return {};
  llvm::sort(readers, [](const BufferReader &a, const BufferReader &b) {
    return a.end()->isBeforeInBlock(b.end());
  });
  return readers;
}

} // namespace pantile
