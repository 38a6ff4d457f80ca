//===- StageValues.cpp - see StageValues.h ------------------------------------------------===//
// How:   a tile that goes through a buffer is loaded from there at its first use, in the layout to
//        which it would have been converted.
//===--------------------------------------------------------------------------------------===//
#include "passes/mma/StageValues.h"

using namespace mlir;

namespace pantile {

/// Moves what may be late before its first use, so that `tile` is read as late.
static void sinkViews(Value tile) {
  for (Operation *view : llvm::make_filter_range(tile.getUsers(), movesToFirstUse)) {
    sinkViews(view->getResult(0));
    Operation *first = &view->getBlock()->back();
    for (Operation *user : view->getUsers()) {
      user = view->getBlock()->findAncestorOpInBlock(*user);
      first = user->isBeforeInBlock(first) ? user : first;
    }
    view->moveBefore(first);
  }
}

/// The runs of elements that `load` reads from equal addresses, with equal masks and fillings; null
/// if it has none.
static DenseI64ArrayAttr runsOf(LoadOp load) {
  const AxisInfoAnalysis axes(load->getParentOfType<ModuleOp>());
  AxisInfo::PerDim runs(cast<RankedTensorType>(load.getType()).getRank());
  for (auto [dim, run] : llvm::enumerate(runs)) {
    run = axes.of(load.getPtr()).runOfEquals(dim);
    if (load.getMask())
      run = std::min(run, axes.of(load.getMask()).runOfEquals(dim));
    if (load.getOther())
      run = std::min(run, axes.of(load.getOther()).runOfEquals(dim));
  }
  const bool repeats = llvm::any_of(runs, [](int64_t run) { return run > 1; });
  return repeats && !hasEffect<MemoryEffects::Write>(load)
             ? DenseI64ArrayAttr::get(load.getContext(), runs)
             : DenseI64ArrayAttr();
}

Operation *readFrom(nv::AllocOp alloc, LoadOp load) {
  const DenseI64ArrayAttr runs = runsOf(load);
  sinkViews(load.getResult());
  SmallVector<Operation *> users;
  llvm::copy_if(load->getUsers(), std::back_inserter(users),
                [](Operation *user) { return !isa<nv::LocalStoreOp>(user); });
  llvm::sort(users, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  OpBuilder builder(load);
  auto read = [&](Operation *user, Type tile) {
    builder.setInsertionPoint(user);
    return nv::LocalLoadOp::create(builder, load.getLoc(), tile, alloc, runs).getResult();
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
  return last;
}

StagedLoad stageValue(StagedValue value) {
  auto [load, type] = value;
  OpBuilder builder(load);
  auto alloc = nv::AllocOp::create(builder, load.getLoc(), type, IntegerAttr());
  builder.setInsertionPointAfter(readFrom(alloc, load));
  nv::DeallocOp::create(builder, load.getLoc(), alloc);
  builder.setInsertionPointAfter(load);
  auto store = nv::LocalStoreOp::create(builder, load.getLoc(), load.getResult(), alloc);
  return {load, store, alloc};
}

} // namespace pantile
