//===- LayoutPlanSlices.cpp - layouts of parts of tiles ----------------------------===//
// Needs: anchors of the operands, as far as they are known.
// Gives: LayoutPlan's anchors and requested layouts for tile.extract_slice, insert_slice and extract.
// How:   A part stays in the threads that hold it in the whole tile. If only some warps hold it, it
//        goes through shared memory instead, and is distributed over all threads. A part of a free
//        tile is free: its whole tile is rematerialised, where that is not much larger. An inserted
//        part is moved to the threads whose elements it replaces; if the whole tile is free, that
//        gets the part's layout.
//===-------------------------------------------------------------------------------===//
#include "layout/AxisBits.h"
#include "passes/layout/LayoutPlan.h"

using namespace mlir;

namespace pantile {

namespace {
/// A whole tile is rematerialised for a part if it has at most so many times as many elements.
constexpr int64_t mostOfFreeWhole = 16;

LayoutAttr attribute(Operation *op, const LinearLayout &layout) {
  return LayoutAttr::get(op->getContext(), layout);
}

bool isFreePart(ExtractSliceOp op) {
  return op.slice().isLinear() &&
         op.getSrc().getType().getNumElements() <= mostOfFreeWhole * op.getType().getNumElements();
}

/// Whether several threads hold the same element.
bool hasReplicas(const LinearLayout &layout) {
  const LinearLayout::FreeBits free = layout.freeBits();
  return free.lane != 0 || free.warp != 0;
}
} // namespace

void LayoutPlan::anchorSlice(Operation *op) {
  auto extract = cast<ExtractSliceOp>(op);
  const Anchor source = anchorOf(extract.getSrc());
  if (!source.layout && isFreePart(extract))
    return;
  const TileSlice slice = extract.slice();
  const LayoutAttr whole =
      source.layout ? source.layout : choice.fallback(extract.getSrc().getType());
  const LinearLayout part = slice.partOf(whole.getLinear());
  const SliceMoves moves =
      SliceMoves::of(slice, whole.getLinear(), part, storageBits(elementTypeOf(extract.getType())));
  if (moves.registers || moves.shuffles)
    anchor(extract.getResult(), {attribute(op, part), std::max(source.strength, Fallback)});
  else
    anchor(extract.getResult(), {choice.fallback(extract.getType()), Fallback});
}

void LayoutPlan::anchorInsertion(Operation *op) {
  auto insert = cast<InsertSliceOp>(op);
  Anchor whole = anchorOf(insert.getDest());
  const Anchor part = anchorOf(insert.getSrc());
  const TileSlice slice = insert.slice();
  if (!whole.layout && part.layout && slice.isLinear() && !hasReplicas(part.layout.getLinear()))
    whole = {attribute(op, slice.wholeOf(part.layout.getLinear())), part.strength};
  anchor(insert.getResult(), orFallback(whole, insert.getType()));
}

void LayoutPlan::anchorExtract(Operation *op) {
  auto extract = cast<ExtractOp>(op);
  const Anchor source = orFallback(anchorOf(extract.getSrc()), extract.getSrc().getType());
  const LinearLayout layout = source.layout.getLinear();
  const int axis = static_cast<int>(extract.getAxis());
  if (AxisBits::of(layout, axis).mask(AxisBits::Warp) == 0)
    anchor(extract.getResult(), {attribute(op, layout.collapseDim(axis)), source.strength});
  else
    anchor(extract.getResult(), {choice.fallback(extract.getType()), Fallback});
}

LayoutAttr LayoutPlan::wantedByPart(OpOperand &use) const {
  auto insert = dyn_cast<InsertSliceOp>(use.getOwner());
  const LayoutAttr own = native(use.get());
  if (insert && use.getOperandNumber() == 1)
    return native(insert.getResult());
  if (insert) {
    const LinearLayout whole = native(insert.getResult()).getLinear();
    if (insert.slice().addsInRegisters(whole))
      return attribute(insert, insert.slice().partOf(whole));
  }
  return own ? own : choice.fallback(use.get().getType());
}

} // namespace pantile
