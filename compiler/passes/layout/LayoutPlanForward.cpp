//===- LayoutPlanForward.cpp - the forward half: which tiles have a native layout ---===//
// Needs: LayoutChoice for the layouts that operations choose themselves.
// Gives: LayoutPlan's anchors, and the layouts in which reductions and pairs are computed.
// How:   Walks in program order until nothing changes. A carried value takes the stronger of its
//        initial and its yielded layout, and never a weaker one later, so the walk terminates.
//===--------------------------------------------------------------------------------===//
#include "layout/AxisBits.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/layout/LayoutPlan.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;

namespace pantile {

namespace {

/// `layout` if adjacent registers hold runs of `length` elements, else a layout in which they do.
LayoutAttr inRuns(LayoutAttr layout, int64_t length) {
  const LinearLayout linear = layout.getLinear();
  const int64_t filled = llvm::bit_floor(static_cast<uint64_t>(linear.numWarps()));
  if (linear.contiguousRegs(linear.rank() - 1) >= length)
    return layout;
  if (!linear.fillsHull()) { // runs end with rows: the front end checks that
    SmallVector<int64_t, 4> size(linear.rank(), 1), lanes = size, warps = size;
    SmallVector<int> order(linear.rank());
    std::iota(order.rbegin(), order.rend(), 0);
    size.back() = length;
    lanes.back() = linear.numLanes();
    warps.back() = filled;
    return LayoutAttr::get(layout.getContext(),
                           LinearLayout::blocked(linear.shape(), size, lanes, warps, order)
                               .withWarps(linear.numWarps()));
  }
  int64_t count = 1;
  for (int64_t extent : linear.shape())
    count *= extent;
  const LinearLayout flat =
      LinearLayout::blocked({count}, {length}, {linear.numLanes()}, {filled}, {0})
          .withWarps(linear.numWarps());
  return LayoutAttr::get(layout.getContext(), flat.reshape(linear.shape()));
}

bool isAlwaysFree(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() ||
         isa<ArangeOp, SplatOp, ExpandDimsOp, BroadcastOp>(op);
}
} // namespace

bool LayoutPlan::isPureElementwise(Operation *op) {
  return (op->hasTrait<OpTrait::Elementwise>() ||
          isa<AddPtrOp, PtrToIntOp, IntToPtrOp, PtrCastOp, MulHiUOp, PreciseDivOp, PreciseSqrtOp,
              ExternCallOp>(op)) &&
         isMemoryEffectFree(op);
}

LayoutPlan::LayoutPlan(FunctionOpInterface function, const AxisInfoAnalysis &axes, Options options)
    : choice(function, axes, options.inWarpStores), options(options) {
  plan(function);
  computeInPlace(function);
  if (!computed.empty())
    plan(function);
  moveSmallLoads(function);
  if (!moved.empty() || !repeated.empty())
    plan(function);
}

void LayoutPlan::plan(FunctionOpInterface function) {
  anchors.clear();
  workLayout.clear();
  carriedVersions.clear();
  demanded.clear();
  for (BlockArgument argument : function.getArguments())
    if (isTile(argument))
      anchor(argument, {choice.fallback(argument.getType()), Fallback});
  do {
    changed = false;
    for (Block &block : function.getFunctionBody())
      anchorBlock(block);
  } while (changed);
  chooseStoreLayouts(function);
  demandAll(function);
}

LayoutPlan::Anchor LayoutPlan::anchorOf(Value value) const { return anchors.lookup(value); }

LayoutPlan::Anchor LayoutPlan::strongest(ValueRange values) const {
  Anchor best;
  for (Value value : values)
    if (Anchor other = anchorOf(value); other.strength > best.strength)
      best = other;
  return best;
}

LayoutPlan::Anchor LayoutPlan::orFallback(Anchor anchor, Type type) const {
  return anchor.layout ? anchor : Anchor{choice.fallback(type), Fallback};
}

void LayoutPlan::anchor(Value value, Anchor to) {
  if (!isTile(value) || !to.layout)
    return;
  Anchor &now = anchors[value];
  changed |= now != to;
  now = to;
}

void LayoutPlan::anchorBlock(Block &block) {
  for (Operation &op : block)
    anchorOp(&op);
}

void LayoutPlan::anchorOp(Operation *op) {
  if (isAlwaysFree(op))
    return;
  TypeSwitch<Operation *>(op)
      .Case<scf::ForOp>([&](auto) { anchorFor(op); })
      .Case<scf::WhileOp>([&](auto) { anchorWhile(op); })
      .Case<scf::IfOp>([&](auto) { anchorIf(op); })
      .Case<LoadOp, AtomicRmwOp, AtomicCasOp>([&](auto) { anchorMemory(op); })
      .Case([&](DotOp dot) { anchor(dot.getResult(), {choice.dotResult(dot), Dot}); })
      .Case<ReduceOp, ScanOp>([&](auto) { anchorReduction(op); })
      .Case<TransOp, ReshapeOp>([&](auto) { anchorShapeChange(op); })
      .Case<JoinOp, SplitOp>([&](auto) { anchorPairs(op); })
      .Case([&](GatherOp) { anchorGather(op); })
      .Case([&](ExtractSliceOp) { anchorSlice(op); })
      .Case([&](InsertSliceOp) { anchorInsertion(op); })
      .Case([&](ExtractOp) { anchorExtract(op); })
      .Case<ExchangeOp, MapOp, InlineAsmOp, HistogramOp>([&](auto) { anchorTogether(op); })
      .Default([&](Operation *) { anchorOther(op); });
}

void LayoutPlan::anchorFor(Operation *op) {
  auto loop = cast<scf::ForOp>(op);
  auto settle = [&](ValueRange sources) {
    for (auto [argument, source, result] :
         llvm::zip(loop.getRegionIterArgs(), sources, loop.getResults())) {
      if (anchorOf(source).strength > anchorOf(argument).strength)
        anchor(argument, anchorOf(source));
      anchor(result, anchorOf(argument));
    }
  };
  settle(loop.getInitArgs());
  anchorBlock(*loop.getBody());
  settle(loop.getYieldedValues());
}

void LayoutPlan::anchorWhile(Operation *op) {
  auto loop = cast<scf::WhileOp>(op);
  // One version per carried value: more would have to agree between condition and body.
  for (auto [argument, init, yielded] :
       llvm::zip(loop.getBeforeArguments(), loop.getInits(), loop.getYieldedValues()))
    if (isTile(argument)) {
      const Anchor now = orFallback(anchorOf(argument), argument.getType());
      const Anchor other = strongest({init, yielded});
      anchor(argument, other.strength > now.strength ? other : now);
    }
  anchorBlock(*loop.getBeforeBody());
  for (auto [argument, value, result] :
       llvm::zip(loop.getAfterArguments(), loop.getConditionOp().getArgs(), loop.getResults()))
    if (isTile(argument)) {
      anchor(argument, orFallback(anchorOf(value), value.getType()));
      anchor(result, anchorOf(argument));
    }
  anchorBlock(*loop.getAfterBody());
}

void LayoutPlan::anchorIf(Operation *op) {
  auto branch = cast<scf::IfOp>(op);
  anchorBlock(*branch.thenBlock());
  if (!branch.elseBlock())
    return;
  anchorBlock(*branch.elseBlock());
  for (auto [result, a, b] : llvm::zip(branch.getResults(), branch.thenYield().getOperands(),
                                       branch.elseYield().getOperands()))
    anchor(result, strongest({a, b}));
}

void LayoutPlan::anchorMemory(Operation *op) {
  if (!isTile(op->getResult(0)))
    return;
  Value ptr, mask, value;
  TypeSwitch<Operation *>(op)
      .Case([&](LoadOp load) { ptr = load.getPtr(), mask = load.getMask(); })
      .Case([&](AtomicRmwOp rmw) {
        ptr = rmw.getPtr(), mask = rmw.getMask(), value = rmw.getValue();
      })
      .Case([&](AtomicCasOp cas) { ptr = cas.getPtr(), value = cas.getValue(); });
  if (repeated.contains(op))
    return;
  // Scattered addresses that depend on loaded values keep their layout. Atomics access one element
  // at a time, so they take the layout of their value.
  Anchor own{choice.access(ptr, mask, /*reads=*/isa<LoadOp>(op)), Memory};
  if (value && native(value))
    own = anchorOf(value);
  else if (native(ptr) && (value || !choice.isVectorAccess(ptr, mask)))
    own = anchorOf(ptr);
  if (LayoutAttr layout = moved.lookup(op))
    own = {layout, Memory};
  workLayout[op] = own.layout;
  if (LayoutAttr layout = computed.lookup(op))
    own = {layout, Dot};
  anchor(op->getResult(0), own);
}

void LayoutPlan::anchorReduction(Operation *op) {
  const Anchor work = orFallback(strongest(op->getOperands()), op->getOperand(0).getType());
  workLayout[op] = work.layout;
  if (isa<ScanOp>(op)) {
    for (Value result : op->getResults())
      anchor(result, work);
    return;
  }
  const int axis = cast<ReduceOp>(op).getAxis();
  for (Value result : op->getResults())
    if (isTile(result))
      anchor(result, {LayoutAttr::get(op->getContext(), work.layout.getLinear().removeDim(axis)),
                      work.strength});
}

void LayoutPlan::anchorShapeChange(Operation *op) {
  const Anchor source = anchorOf(op->getOperand(0));
  if (auto reshape = dyn_cast<ReshapeOp>(op);
      reshape && !LinearLayout::reshapesInPlace(reshape.getSrc().getType().getShape(),
                                                reshape.getType().getShape()))
    return anchor(op->getResult(0), {choice.fallback(reshape.getType()), Fallback});
  if (!source.layout)
    return;
  const LinearLayout layout = source.layout.getLinear();
  auto make = [&](const LinearLayout &l) { return LayoutAttr::get(op->getContext(), l); };
  if (auto trans = dyn_cast<TransOp>(op))
    anchor(op->getResult(0), {make(layout.transpose(trans.getOrder())), source.strength});
  else
    anchor(op->getResult(0),
           {make(layout.reshape(cast<ReshapeOp>(op).getType().getShape())), source.strength});
}

void LayoutPlan::anchorPairs(Operation *op) {
  auto make = [&](const LinearLayout &l) { return LayoutAttr::get(op->getContext(), l); };
  if (isa<JoinOp>(op)) {
    const Anchor half = orFallback(strongest(op->getOperands()), op->getOperand(0).getType());
    workLayout[op] = half.layout;
    anchor(op->getResult(0), {make(half.layout.getLinear().appendPairDim()), half.strength});
    return;
  }
  Anchor half = anchorOf(op->getOperand(0));
  if (half.layout) {
    const LinearLayout whole = half.layout.getLinear();
    half.layout = make(whole.removeDim(whole.rank() - 1));
  }
  half = orFallback(half, op->getResult(0).getType());
  workLayout[op] = make(half.layout.getLinear().appendPairDim());
  for (Value result : op->getResults())
    anchor(result, half);
}

/// Where `src` has the shape of `index`, both get the layout of the result: preferably one in which
/// the dimension stays inside a warp.
void LayoutPlan::anchorGather(Operation *op) {
  auto gather = cast<GatherOp>(op);
  const Anchor index = anchorOf(gather.getIndex()), src = anchorOf(gather.getSrc());
  const bool sameShape =
      gather.getSrc().getType().getShape() == gather.getIndex().getType().getShape();
  auto isInWarp = [&](const Anchor &anchor) {
    return anchor.layout &&
           AxisBits::of(anchor.layout.getLinear(), gather.getAxis()).mask(AxisBits::Warp) == 0;
  };
  Anchor own = index;
  if (sameShape && (!own.layout || (!isInWarp(own) && isInWarp(src))))
    own = src;
  anchor(gather.getResult(), orFallback(own, gather.getType()));
}

/// All tiles of an operation have one shape and get one layout, except the counts of a histogram.
void LayoutPlan::anchorTogether(Operation *op) {
  Type whole;
  for (Value value : llvm::concat<Value>(op->getOperands(), op->getResults()))
    if (!whole && isTile(value))
      whole = value.getType();
  if (!whole)
    return;
  Anchor work = orFallback(strongest(op->getOperands()), whole);
  if (auto map = dyn_cast<MapOp>(op); map && map.getPack() > 1)
    work.layout = inRuns(work.layout, map.getPack());
  workLayout[op] = work.layout;
  for (Value result : op->getResults())
    if (isTile(result))
      anchor(result, isa<HistogramOp>(op) ? orFallback({}, result.getType()) : work);
}

void LayoutPlan::anchorOther(Operation *op) {
  if (isPureElementwise(op))
    return anchor(op->getResult(0), strongest(op->getOperands()));
  for (Value result : op->getResults())
    if (isTile(result))
      anchor(result, {choice.fallback(result.getType()), Fallback});
}

} // namespace pantile
