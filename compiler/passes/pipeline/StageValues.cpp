//===- StageValues.cpp - see StageValues.h ------------------------------------------------===//
// Needs: as ScheduleLoops, of which this is a part.
// Gives: loads whose tiles no MMA reads unchanged are staged like operands, so that ScheduleLoops
//        can prefetch them: weights that are unpacked first, or a tile that is added to an
//        accumulator.
// How:   the tile is loaded from its buffer at its first use, in the layout to which it would have
//        been converted. Rows and columns stay in registers (PrefetchLoads). A buffer must leave as
//        many CTAs per SM as there were, or two.
//===--------------------------------------------------------------------------------------===//
#include "passes/pipeline/StageValues.h"
#include "analysis/PrefetchLegality.h"
#include "ir/FindOps.h"
#include "ir/Machine.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

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

/// Whether `load` gives a matrix that only operations of the loop body itself use.
bool isMatrix(scf::ForOp loop, LoadOp load) {
  const int64_t least = machineOf(loop).tiles.leastStagedAxis;
  auto tile = dyn_cast<RankedTensorType>(load.getType());
  return tile && tile.getRank() == 2 && tile.getElementType().isIntOrFloat() &&
         storageBits(tile.getElementType()) >= 8 && !load->use_empty() &&
         llvm::all_of(tile.getShape(), [&](int64_t extent) { return extent >= least; }) &&
         llvm::none_of(load->getUsers(), [&](Operation *user) {
           return isa<nv::LocalStoreOp>(user) || loop.getBody() != user->getBlock() ||
                  isa<scf::YieldOp>(user);
         });
}

/// Stages `load` through a buffer of `type`.
void stage(LoadOp load, nv::BufferType type) {
  OpBuilder builder(load);
  Location loc = load.getLoc();
  auto alloc = nv::AllocOp::create(builder, loc, type, IntegerAttr());
  SmallVector<Operation *> users(load->getUsers());
  llvm::sort(users, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  auto read = [&](Operation *user, Type tile) {
    builder.setInsertionPoint(user);
    return nv::LocalLoadOp::create(builder, loc, tile, alloc).getResult();
  };
  Value whole;
  Operation *last = users.back();
  for (Operation *user : users) {
    if (auto convert = dyn_cast<ConvertLayoutOp>(user)) {
      Value converted = read(user, convert.getType());
      last = user == last ? converted.getDefiningOp() : last;
      convert.replaceAllUsesWith(converted);
      convert.erase();
      continue;
    }
    if (!whole)
      whole = read(user, load.getType());
    user->replaceUsesOfWith(load, whole);
  }
  builder.setInsertionPointAfter(last);
  nv::DeallocOp::create(builder, loc, alloc);
  builder.setInsertionPointAfter(load);
  nv::LocalStoreOp::create(builder, loc, load.getResult(), alloc);
}

/// The buffer that `load` is staged through; null where it is not worth one.
nv::BufferType bufferIfStaged(scf::ForOp loop, LoadOp load, int stages,
                              const AxisInfoAnalysis &axes, const Target &target) {
  if (!isMatrix(loop, load) || repeats(load, axes))
    return {};
  auto tile = cast<RankedTensorType>(load.getType());
  const nv::BufferType type = stageFor(tile, layoutOf(tile).fastestDim());
  const int64_t enough =
      std::min(target.machine().occupancy.ctasToKeep, ctasWithBuffers(loop, {}, stages, target));
  const bool hasRoom = ctasWithBuffers(loop, type, stages, target) >= std::max<int64_t>(enough, 1);
  return hasRoom && prefetchCopyOf(loop, load, type, axes).bytes > 0 ? type : nv::BufferType();
}
} // namespace

LoadOp valueToStage(scf::ForOp loop, int stages, const Target &target) {
  auto isValue = [&](LoadOp load) { return isMatrix(loop, load); };
  auto loads = llvm::make_filter_range(loop.getBody()->getOps<LoadOp>(), isValue);
  if (loads.empty())
    return {};
  const AxisInfoAnalysis axes(loop->getParentOfType<ModuleOp>());
  auto it = llvm::find_if(loads, [&](LoadOp load) {
    return bufferIfStaged(loop, load, stages, axes, target) != nv::BufferType();
  });
  return it == loads.end() ? LoadOp() : *it;
}

void stageValues(scf::ForOp loop, int stages, const AxisInfoAnalysis &axes, const Target &target) {
  if (!multiplies(loop))
    return;
  auto kernel = loop->getParentOfType<func::FuncOp>();
  if (containsOp<nv::ProducerOp>(kernel))
    return;
  for (LoadOp load : llvm::make_early_inc_range(loop.getBody()->getOps<LoadOp>()))
    if (nv::BufferType type = bufferIfStaged(loop, load, stages, axes, target))
      stage(load, type);
}

} // namespace pantile
