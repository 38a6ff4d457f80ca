//===- StagedValues.cpp - see StagedValues.h ----------------------------------------------===//
// How:   a tile that goes through a buffer is loaded from there at its first use, in the layout to
//        which it would have been converted. Such tiles are:
//        1. Matrices, such as weights that are unpacked first, or a tile that is added to an
//        accumulator. A buffer must leave as many CTAs per SM as there were, or two.
//        2. Vectors, if there is a producer: without one PrefetchLoads carries them in registers. With
//        a producer, vectors that TMA could load also stay in registers where these suffice, which
//        saves mbarriers.
//===--------------------------------------------------------------------------------------===//
#include "analysis/StagedValues.h"
#include "analysis/BufferReaders.h"
#include "analysis/CtasPerSm.h"
#include "analysis/LiveRegisters.h"
#include "analysis/PrefetchLegality.h"
#include "analysis/RegisterBudget.h"
#include "analysis/SharedAllocations.h"
#include "analysis/TmaAccess.h"
#include "ir/Machine.h"
#include "ir/Registers.h"

using namespace mlir;

namespace pantile {
namespace {

bool multiplies(scf::ForOp loop) {
  return llvm::any_of(*loop.getBody(), llvm::IsaPred<DotOp, nv::AsyncMmaOpInterface>);
}

/// Whether a thread loads one 32-bit word for several of its elements.
bool repeats(LoadOp load, const AxisInfoAnalysis &axes) {
  return axes.repeatedRegs(load.getPtr(), load.getMask(),
                           layoutOf(cast<RankedTensorType>(load.getType()))) != 0;
}

/// Whether `load` gives a tile that only operations of the loop body itself use.
bool isReadInBody(scf::ForOp loop, LoadOp load) {
  auto tile = dyn_cast<RankedTensorType>(load.getType());
  return tile && tile.getElementType().isIntOrFloat() && storageBits(tile.getElementType()) >= 8 &&
         !load->use_empty() && llvm::none_of(load->getUsers(), [&](Operation *user) {
           return isa<nv::LocalStoreOp>(user) || loop.getBody() != user->getBlock() ||
                  isa<scf::YieldOp>(user);
         });
}

bool isMatrix(scf::ForOp loop, LoadOp load) {
  const int64_t least = machineOf(loop).tiles.leastStagedAxis;
  auto tile = dyn_cast<RankedTensorType>(load.getType());
  return isReadInBody(loop, load) && tile.getRank() == 2 &&
         llvm::all_of(tile.getShape(), [&](int64_t extent) { return extent >= least; });
}

/// The buffer that `load` is staged through next to those of `others`; null where it is not worth
/// one.
nv::BufferType bufferIfStaged(scf::ForOp loop, LoadOp load, int stages,
                              ArrayRef<StagedValue> others, const AxisInfoAnalysis &axes,
                              const Target &target) {
  if (!isMatrix(loop, load) || repeats(load, axes))
    return {};
  auto tile = cast<RankedTensorType>(load.getType());
  const nv::BufferType type = stageFor(tile, layoutOf(tile).fastestDim());
  auto buffers = llvm::map_to_vector(others, [](const StagedValue &other) { return other.buffer; });
  const int64_t enough = std::min(target.machine().occupancy.ctasToKeep,
                                  ctasWithBuffers(loop, buffers, stages, target));
  buffers.push_back(type);
  const bool hasRoom =
      ctasWithBuffers(loop, buffers, stages, target) >= std::max<int64_t>(enough, 1);
  return hasRoom && prefetchCopyOf(loop, load, type, axes).bytes > 0 ? type : nv::BufferType();
}

/// Whether stages of `alloc` next to those of the loop's other loads leave as many CTAs per SM as there
/// were, or two.
bool hasRoomForStages(scf::ForOp loop, nv::AllocOp alloc) {
  const MachineModel &machine = machineOf(loop);
  CtaDemand demand = demandOf(loop->getParentOfType<func::FuncOp>());
  SharedChange change;
  auto ctas = [&] {
    demand.sharedBytes = sharedBytesWith(loop->getParentOfType<ModuleOp>(), change);
    return machine.ctasPerSm(demand);
  };
  for (StagedLoad load : findStagedLoads(loop))
    change.stages[load.alloc] = stagesOf(loop);
  const int64_t before = ctas();
  change.stages[alloc] = stagesOf(loop);
  return ctas() >= std::min(before, machine.occupancy.ctasToKeep) &&
         demand.sharedBytes <= machine.sm.sharedBytesOfCta;
}

/// By cp.async, or by TMA.
bool canBePrefetched(scf::ForOp loop, LoadOp load, nv::BufferType buffer) {
  auto module = loop->getParentOfType<ModuleOp>();
  auto target = Target::parse(moduleTarget(module));
  const AxisInfoAnalysis axes(module);
  if (prefetchCopyOf(loop, load, buffer, axes).bytes > 0)
    return true;
  AffineAnalysis affine;
  std::string reason;
  return target && target->hasTma() && target->hasAsyncMma() &&
         tmaAccess(affine, axes, load, buffer, BufferReader{}, reason);
}

/// Whether registers suffice for what the loop computes and the vectors of the next iteration.
bool canHoldVectors(scf::ForOp loop, ArrayRef<StagedValue> vectors, const Target &target) {
  const MachineModel &machine = target.machine();
  int64_t registers = liveRegistersOf(loop) + machine.registers.overheadOfLoop;
  for (StagedValue vector : vectors)
    registers += registersOf(vector.load.getResult());
  const int warps = moduleInt(loop, names::numWarps, 4);
  return registers <= RegisterBudget{machine, warps}.consumer(/*ctas=*/1);
}
} // namespace

bool movesToFirstUse(Operation *op) {
  auto convert = dyn_cast<ConvertLayoutOp>(op);
  return isa<ExpandDimsOp, BroadcastOp>(op) ||
         (convert && cast<RankedTensorType>(convert.getType()).getRank() == 1);
}

SmallVector<StagedValue> matricesToStage(scf::ForOp loop, int stages, const AxisInfoAnalysis &axes,
                                         const Target &target) {
  SmallVector<StagedValue> values;
  if (!multiplies(loop))
    return values;
  for (auto load : loop.getBody()->getOps<LoadOp>())
    if (nv::BufferType type = bufferIfStaged(loop, load, stages, values, axes, target))
      values.push_back({load, type});
  return values;
}

/// Whether a branch of the body gives tiles: what a thread holds there is in no estimate, and stages let
/// the plan ask for as many CTAs as the estimate allows.
static bool branchesOverTiles(scf::ForOp loop) {
  return llvm::any_of(loop.getBody()->getOps<scf::IfOp>(), [](scf::IfOp branch) {
    return llvm::any_of(branch.getResultTypes(), llvm::IsaPred<RankedTensorType>);
  });
}

LoadOp loadForBoth(nv::LocalStoreOp store) {
  auto load = store.getValue().getDefiningOp<LoadOp>();
  auto alloc = store.getBuffer().getDefiningOp<nv::AllocOp>();
  auto loop = dyn_cast<scf::ForOp>(store->getParentOp());
  auto isAllowed = [&](Operation *user) {
    return user == store ||
           (user->getBlock() == store->getBlock() && !isa<nv::LocalStoreOp, scf::YieldOp>(user));
  };
  if (!load || !alloc || !loop || load->hasOneUse() || load->getBlock() != loop.getBody() ||
      isRounded(alloc) || stagesOf(loop) < 2 || branchesOverTiles(loop) ||
      !llvm::all_of(load->getUsers(), isAllowed) || !hasRoomForStages(loop, alloc))
    return {};
  return canBePrefetched(loop, load, alloc.getType()) ? load : LoadOp();
}

VectorLoads vectorsOf(scf::ForOp loop, const Target &target) {
  SmallVector<StagedValue> vectors;
  for (auto load : loop.getBody()->getOps<LoadOp>()) {
    auto tile = dyn_cast<RankedTensorType>(load.getType());
    if (isReadInBody(loop, load) && tile.getRank() == 1)
      vectors.push_back({load, stageFor(tile, 0, /*mostSpan=*/0)});
  }
  const bool canBeHeld = canHoldVectors(loop, vectors, target);
  return {std::move(vectors), canBeHeld};
}

OwnLoads ownLoadsOf(scf::ForOp loop, const llvm::SmallDenseSet<Operation *> &others,
                    const AxisInfoAnalysis &axes) {
  OwnLoads own;
  int64_t most = 0;
  for (auto load : loop.getBody()->getOps<LoadOp>()) {
    auto tile = dyn_cast<RankedTensorType>(load.getType());
    if (!tile || others.contains(load) ||
        llvm::any_of(load->getUsers(), llvm::IsaPred<nv::LocalStoreOp>))
      continue;
    int64_t bytes = llvm::divideCeil(storageBits(tile.getElementType()), 8);
    for (auto [d, extent] : llvm::enumerate(tile.getShape()))
      bytes *= llvm::divideCeil(extent, axes.of(load.getPtr()).runOfEquals(d));
    own.bytes += bytes;
    if (bytes > most)
      own.largest = load, most = bytes;
  }
  return own;
}

SmallVector<Operation *> usersOf(LoadOp load) {
  llvm::SetVector<Operation *> users;
  SmallVector<Value> views{load.getResult()};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers())
      if (movesToFirstUse(user))
        views.push_back(user->getResult(0));
      else
        users.insert(load->getBlock()->findAncestorOpInBlock(*user));
  SmallVector<Operation *> sorted = users.takeVector();
  llvm::sort(sorted, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return sorted;
}

} // namespace pantile
