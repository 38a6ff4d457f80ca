//===- LayoutPlan.cpp - the backward half: which layouts are wanted ----------------===//
// Needs: the anchors that LayoutPlanForward.cpp found.
// Gives: the members that query the plan.
//===-------------------------------------------------------------------------------===//
#include "passes/layout/LayoutPlan.h"

#include "analysis/Scratch.h"
#include "ir/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace pantile {

namespace {

/// The loop result that corresponds to an iteration argument.
OpResult carriedResult(BlockArgument argument) {
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  return loop ? loop.getTiedLoopResult(argument) : OpResult();
}
} // namespace

/// Whether what is stored may go through shared memory from one layout to the other.
static bool fitsIntoShared(StoreOp store, LayoutAttr from, LayoutAttr to) {
  auto tile = cast<RankedTensorType>(store.getValue().getType());
  const unsigned bits = storageBits(tile.getElementType());
  const int64_t most = machineOf(store).sm.sharedBytesOfCta;
  return tile.getNumElements() * bits / 8 <= most / 2 || // no scratch is twice as large as its tile
         conversionBytes(from.getLinear(), to.getLinear(), bits) <= most;
}

bool LayoutPlan::isFree(Value value) const { return isTile(value) && !native(value); }

bool LayoutPlan::isFree(Operation *op) const {
  return op->getNumResults() > 0 && op->getNumRegions() == 0 &&
         llvm::all_of(op->getResults(), [&](Value result) { return isFree(result); });
}

bool LayoutPlan::isWideningCast(Operation *op) {
  return isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(op);
}

ArrayRef<LayoutAttr> LayoutPlan::versions(OpResult carried) const {
  auto entry = carriedVersions.find(carried);
  return entry == carriedVersions.end() ? ArrayRef<LayoutAttr>() : entry->second.getArrayRef();
}

LayoutAttr LayoutPlan::wantedFor(OpOperand &use, LayoutAttr result) {
  Operation *op = use.getOwner();
  const LinearLayout layout = result.getLinear();
  auto make = [&](const LinearLayout &l) { return LayoutAttr::get(op->getContext(), l); };
  return TypeSwitch<Operation *, LayoutAttr>(op)
      .Case([&](ExpandDimsOp expand) { return make(layout.removeDim(expand.getAxis())); })
      .Case([&](BroadcastOp broadcast) {
        LinearLayout source = layout;
        auto from = broadcast.getSrc().getType().getShape(), to = broadcast.getType().getShape();
        for (size_t d = 0; d < from.size(); ++d)
          if (from[d] != to[d])
            source = source.collapseDim(d);
        return make(source);
      })
      .Case([&](TransOp trans) {
        SmallVector<int> inverse(trans.getOrder().size());
        for (auto [to, from] : llvm::enumerate(trans.getOrder()))
          inverse[from] = to;
        return make(layout.transpose(inverse));
      })
      .Case([&](ReshapeOp reshape) {
        const auto shape = reshape.getSrc().getType().getShape();
        assert(LinearLayout::reshapesInPlace(layout.shape(), shape) && "others have an anchor");
        return make(layout.reshape(shape));
      })
      .Case([&](ExtractSliceOp extract) { return make(extract.slice().wholeOf(layout)); })
      .Default([&](Operation *) { return result; });
}

LayoutAttr LayoutPlan::wanted(OpOperand &use) const {
  Operation *op = use.getOwner();
  // The rewriter may have put a conversion of a loaded tile there, which has its layout.
  LayoutAttr own = native(use.get());
  if (!own)
    own = dyn_cast_or_null<LayoutAttr>(cast<RankedTensorType>(use.get().getType()).getEncoding());
  if (auto work = workLayout.find(op); work != workLayout.end())
    return work->second;
  if (auto dot = dyn_cast<DotOp>(op)) {
    if (use.getOperandNumber() == 2)
      return choice.dotResult(dot);
    if (LayoutAttr layout = choice.dotOperand(dot, use.getOperandNumber()))
      return layout;
  } else if (isa<ExtractSliceOp, InsertSliceOp, ExtractOp>(op)) {
    return wantedByPart(use);
  } else if (own && isa<TransOp, ReshapeOp>(op)) {
    return own;
  } else if (op->getNumResults() > 0) {
    // Elementwise operations work in the layout of their result.
    LayoutAttr layout = native(op->getResult(0));
    if (layout && cast<RankedTensorType>(use.get().getType()).getShape() ==
                      cast<RankedTensorType>(op->getResult(0).getType()).getShape())
      return layout;
  }
  return own ? own : choice.fallback(use.get().getType());
}

void LayoutPlan::chooseStoreLayouts(FunctionOpInterface function) {
  function.walk([&](StoreOp store) {
    if (!isTile(store.getPtr()))
      return;
    LayoutAttr own = native(store.getValue());
    const bool ofDot = own && anchorOf(store.getValue()).strength == Dot;
    const bool keep =
        own && ((options.storesInPlace && ofDot) ||
                choice.accessesWell(own, store.getPtr(), store.getMask()) ||
                (!ofDot && choice.storesDirectly(own, store.getPtr(), store.getMask())));
    LayoutAttr chosen = keep ? own : choice.access(store.getPtr(), store.getMask());
    if (!keep && ofDot)
      if (LayoutAttr inWarps = choice.accessInWarps(own, store.getPtr(), store.getMask()))
        chosen = inWarps;
    if (ofDot && !fitsIntoShared(store, own, chosen)) {
      chosen = own;
      remarkMissed(store.getLoc(), Technique::GlobalMemory)
          << "results of dots are stored in the accumulator's layout: scratch for another layout "
             "does not fit into shared memory";
    }
    workLayout[store] = chosen;
  });
}

void LayoutPlan::demandAll(FunctionOpInterface function) {
  function.walk([&](Operation *op) { demandOperands(op); });
}

void LayoutPlan::demandOperands(Operation *op) {
  if (isFree(op))
    return;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (OpResult result : loop.getResults())
      if (LayoutAttr layout = native(result))
        demandCarried(result, layout);
    return;
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (OpResult result : branch.getResults())
      if (LayoutAttr layout = native(result))
        demandCarried(result, layout);
    return;
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    for (auto [argument, init, yielded] :
         llvm::zip(loop.getBeforeArguments(), loop.getInits(), loop.getYieldedValues()))
      if (LayoutAttr layout = native(argument)) {
        demand(init, layout);
        demand(yielded, layout);
      }
    for (auto [result, value] : llvm::zip(loop.getResults(), loop.getConditionOp().getArgs()))
      if (LayoutAttr layout = native(result))
        demand(value, layout);
    return;
  }
  if (isa<scf::YieldOp, scf::ConditionOp>(op))
    return;
  for (OpOperand &use : op->getOpOperands())
    if (isTile(use.get()))
      demand(use.get(), wanted(use));
}

void LayoutPlan::demand(Value value, LayoutAttr layout) {
  if (!demanded.insert({value, layout}).second)
    return;
  const LayoutAttr own = native(value);
  Operation *op = value.getDefiningOp();
  if (own && (own == layout || !isWideningCast(op)))
    return;
  if (!op)
    return demandCarried(carriedResult(cast<BlockArgument>(value)), layout);
  if (isa<scf::ForOp, scf::IfOp>(op))
    return demandCarried(cast<OpResult>(value), layout);
  for (OpOperand &use : op->getOpOperands())
    if (isTile(use.get()))
      demand(use.get(), wantedFor(use, layout));
}

void LayoutPlan::demandCarried(OpResult carried, LayoutAttr layout) {
  if (!native(carried))
    carriedVersions[carried].insert(layout);
  const unsigned index = carried.getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(carried.getOwner())) {
    demand(loop.getInitArgs()[index], layout);
    demand(loop.getYieldedValues()[index], layout);
    return;
  }
  auto branch = cast<scf::IfOp>(carried.getOwner());
  demand(branch.thenYield().getOperand(index), layout);
  demand(branch.elseYield().getOperand(index), layout);
}

} // namespace pantile
