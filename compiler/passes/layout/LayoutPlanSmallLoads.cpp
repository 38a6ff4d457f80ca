//===- LayoutPlanSmallLoads.cpp - loads that work where their values are used --===//
// Needs: a whole plan, made without knowing of such loads.
// Gives: LayoutPlan::moved, for a second plan.
// How:   a vector that a larger tile repeats (a bias, a scale, the statistics of rows) is wanted in
//        one layout, which holds every element many times. To load it there costs about as many
//        accesses as to fetch it from shared memory, which the first level cache is, and saves the
//        trip there with its barrier. Computations on the vector come along.
//===--------------------------------------------------------------------------===//
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

/// The layouts in which `value` and what is computed from it element by element are used; the
/// search ends at the second. Values meet again on many ways (the steps of a sort), so each is seen
/// once.
void LayoutPlan::collectWishes(Value value, llvm::SmallSetVector<LayoutAttr, 2> &wishes) const {
  llvm::SmallSetVector<Value, 8> reached;
  reached.insert(value);
  for (size_t next = 0; next < reached.size() && wishes.size() < 2; ++next)
    for (OpOperand &use : reached[next].getUses())
      if (!collectWish(use, wishes))
        reached.insert(use.getOwner()->getResult(0));
}

/// False if the wish of `use` is that of its operation's result.
bool LayoutPlan::collectWish(OpOperand &use, llvm::SmallSetVector<LayoutAttr, 2> &wishes) const {
  Operation *op = use.getOwner();
  const LayoutAttr own = native(use.get());
  if (isFree(op)) {
    for (const auto &[result, layout] : demanded)
      if (result == op->getResult(0))
        wishes.insert(wantedFor(use, layout));
  } else if (op->getNumRegions() > 0 || op->hasTrait<OpTrait::IsTerminator>() || isa<DotOp>(op)) {
    wishes.insert(own); // a product's operands pass through shared memory anyway
  } else if (isPureElementwise(op) && native(op->getResult(0)) == own) {
    return false;
  } else {
    wishes.insert(wanted(use));
  }
  return true;
}

/// Addresses and masks are computed again, so they must not themselves come from memory.
bool LayoutPlan::canLoadIn(LoadOp load, LayoutAttr layout) const {
  const LinearLayout own = native(load.getResult()).getLinear(), wish = layout.getLinear();
  if (load.getIsVolatile() || replicaBits(wish) <= replicaBits(own) ||
      llvm::any_of(load->getOperands(), [&](Value operand) { return native(operand); }))
    return false;
  const int64_t mostAccesses = machineOf(load).memory.smallLoads; // cheaper than the trip
  // Lanes that take several neighbours each are far apart then, and every one is an access.
  const int64_t most =
      choice.isStrided(load.getPtr())
          ? std::min(mostAccesses,
                     2 * choice.accesses(native(load.getResult()), load.getPtr(), load.getMask()))
          : mostAccesses;
  const ConversionKind trip = conversionKind(own, wish, storageBits(elementTypeOf(load.getType())));
  return trip != ConversionKind::Registers && trip != ConversionKind::Shuffles &&
         choice.accesses(layout, load.getPtr(), load.getMask()) <= most;
}

void LayoutPlan::moveSmallLoads(FunctionOpInterface function) {
  function.walk([&](LoadOp load) {
    if (!native(load.getResult()))
      return;
    llvm::SmallSetVector<LayoutAttr, 2> wishes;
    collectWishes(load.getResult(), wishes);
    if (wishes.size() == 1 && canLoadIn(load, wishes.front()))
      moved[load] = wishes.front();
  });
}

} // namespace pantile
