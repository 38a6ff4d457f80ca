//===- LayoutPlanSmallLoads.cpp - loads in the layout of their users ---------------===//
// Needs: a complete plan, made without such loads.
// Gives: LayoutPlan::moved and LayoutPlan::repeated, for a second plan.
// How:   A vector that a larger tile repeats (a bias, a scale, the statistics of rows) is wanted in
//        one layout that holds every element many times. To load it in that layout takes about as
//        many accesses as to read it from shared memory, since L1 is the same memory. It saves the
//        conversion through shared memory and its barriers. Computations on the vector move with
//        it. If two larger tiles repeat the vector, it is loaded and computed once per layout, next
//        to the original load.
//===-------------------------------------------------------------------------------===//
#include "analysis/Scratch.h"
#include "ir/Machine.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/layout/LayoutPlan.h"

#include <bit>

using namespace mlir;

namespace pantile {

namespace {
int replicaBits(const LinearLayout &layout) {
  const LinearLayout::FreeBits free = layout.freeBits();
  return std::popcount(free.lane) + std::popcount(free.warp);
}
} // namespace

/// The layouts in which the result of `load`, and what is computed from it elementwise, are used.
/// The search ends at one more layout than a vector is loaded in. Each value is visited once, since
/// there may be many paths to it (the steps of a sort).
void LayoutPlan::collectWishes(LoadOp load, Wishes &wishes) const {
  const size_t most = machineOf(load).memory.layoutsOfSmallLoad;
  llvm::SmallSetVector<Value, 8> reached;
  reached.insert(load.getResult());
  for (size_t next = 0; next < reached.size() && wishes.size() <= most; ++next)
    for (OpOperand &use : reached[next].getUses())
      if (!collectWish(use, wishes))
        reached.insert(use.getOwner()->getResult(0));
}

/// Returns false if `use` is wanted as its operation's result is.
bool LayoutPlan::collectWish(OpOperand &use, Wishes &wishes) const {
  Operation *op = use.getOwner();
  const LayoutAttr own = native(use.get());
  if (isFree(op)) {
    for (const auto &[result, layout] : demanded)
      if (result == op->getResult(0))
        wishes.insert(wantedFor(use, layout));
  } else if (op->getNumRegions() > 0 || op->hasTrait<OpTrait::IsTerminator>() || isa<DotOp>(op)) {
    wishes.insert(own); // a dot's operands go through shared memory anyway
  } else if (isPureElementwise(op) && native(op->getResult(0)) == own) {
    return false;
  } else {
    wishes.insert(wanted(use));
  }
  return true;
}

/// Whether to load in each of the layouts is cheaper than the trips through shared memory. Addresses
/// and masks are rematerialised, so they must not depend on loads.
bool LayoutPlan::canLoadIn(LoadOp load, const Wishes &wishes) const {
  const LinearLayout own = native(load.getResult()).getLinear();
  if (load.getIsVolatile() ||
      llvm::any_of(load->getOperands(), [&](Value operand) { return native(operand); }))
    return false;
  auto isTrip = [&](LayoutAttr wish) {
    const ConversionKind kind =
        conversionKind(own, wish.getLinear(), storageBits(elementTypeOf(load.getType())));
    return replicaBits(wish.getLinear()) > replicaBits(own) && kind != ConversionKind::Registers &&
           kind != ConversionKind::Shuffles;
  };
  const int64_t mostAccesses = machineOf(load).memory.smallLoads; // cheaper than the trip
  // With strided addresses, lanes that hold several elements each are far apart: every element is
  // an access of its own.
  const int64_t most =
      choice.isStrided(load.getPtr())
          ? std::min(mostAccesses,
                     2 * choice.accesses(native(load.getResult()), load.getPtr(), load.getMask()))
          : mostAccesses;
  int64_t accesses = 0;
  for (LayoutAttr wish : wishes)
    accesses += choice.accesses(wish, load.getPtr(), load.getMask());
  return llvm::all_of(wishes, isTrip) && accesses <= most;
}

void LayoutPlan::moveSmallLoads(FunctionOpInterface function) {
  function.walk([&](LoadOp load) {
    if (!native(load.getResult()))
      return;
    Wishes wishes;
    collectWishes(load, wishes);
    const size_t most = machineOf(load).memory.layoutsOfSmallLoad;
    if (wishes.empty() || wishes.size() > most || !canLoadIn(load, wishes))
      return;
    if (wishes.size() == 1)
      moved[load] = wishes.front();
    else
      repeated.insert(load);
  });
}

} // namespace pantile
