//===- LowerShape.cpp - reshapes, broadcasts and other changes of shape ---------------------===//
// Needs: layouts that keep every element in its thread (AssignLayouts chooses them).
// Gives: renumbered registers; no instructions but for `arange`.
// How:   The operand's layout is transformed like the shape. Then each register of the result is
//        looked up in it.
//===-----------------------------------------------------------------------------------===//
#include "lower/Lowering.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
/// The result's registers from the operand's, whose layout became `mapped`.
LogicalResult setMapped(Lowering &l, Operation *op, Value src, const LinearLayout &mapped,
                        Value result) {
  auto registers = registersOf(op, mapped, l.layout(result.getType()));
  if (failed(registers))
    return failure();
  l.set(result, pick(l.get(src), *registers));
  return success();
}

LogicalResult lowerArange(Lowering &l, ArangeOp op) {
  Values values = l.coordinates(l.layout(op.getType()), 0);
  if (const int start = op.getStart())
    for (llvm::Value *&value : values)
      value = l.b.CreateAdd(value, l.b.getInt32(start), "", false, true);
  l.set(op, values);
  return success();
}

LogicalResult lowerSplat(Lowering &l, SplatOp op) {
  l.set(op, Values(l.count(op.getType()), l.scalar(op.getSrc())));
  return success();
}

LogicalResult lowerUnsplat(Lowering &l, UnsplatOp op) {
  l.set(op.getResult(), l.get(op.getSrc()).front());
  return success();
}

LogicalResult lowerExpandDims(Lowering &l, ExpandDimsOp op) {
  return setMapped(l, op, op.getSrc(), l.layout(op.getSrc().getType()).expandDims(op.getAxis()),
                   op.getResult());
}

/// Along the dimensions that grow, every thread must hold the operand's one element.
LogicalResult lowerBroadcast(Lowering &l, BroadcastOp op) {
  const LinearLayout &have = l.layout(op.getSrc().getType()), &result = l.layout(op.getType());
  auto collapse = [&](LinearLayout::Bases bases) {
    for (auto &basis : bases)
      for (auto [extent, coordinate] : llvm::zip(have.shape(), basis))
        coordinate = extent == 1 ? 0 : coordinate;
    return bases;
  };
  const LinearLayout want(have.shape(), collapse(result.reg()), collapse(result.lane()),
                          collapse(result.warp()), result.numWarps());
  auto registers = registersOf(op, have, want);
  if (failed(registers))
    return failure();
  l.set(op, pick(l.get(op.getSrc()), *registers));
  return success();
}

/// Byte offsets of a layout's elements in a dense row-major copy at `start`; null for absent ones.
Values denseOffsets(Lowering &l, const LinearLayout &layout, int64_t start, unsigned bits) {
  Values flat(layout.numRegs(), l.b.getInt32(0));
  for (auto [dim, extent] : llvm::enumerate(layout.shape()))
    for (auto [sum, at] : llvm::zip_equal(flat, l.coordinates(layout, dim)))
      sum = l.b.CreateAdd(l.b.CreateMul(sum, l.b.getInt32(extent)), at);
  for (auto [reg, offset] : llvm::enumerate(flat))
    offset = layout.isPresent(reg)
                 ? l.b.CreateAdd(l.b.CreateMul(offset, l.b.getInt32(bits / 8)), l.b.getInt32(start))
                 : nullptr;
  return flat;
}

/// Reshapes through a dense copy in scratch, if the operand's layout has no image.
LogicalResult reshapeThroughShared(Lowering &l, ReshapeOp op) {
  auto scratch = l.scratch(op);
  if (failed(scratch))
    return failure();
  const Type from = op.getSrc().getType(), to = op.getType(), element = elementTypeOf(to);
  const unsigned bits = storageBits(element);
  const LinearLayout &src = l.layout(from), &result = l.layout(to);
  l.inFirstThreads(src.freeBits(), [&] {
    l.storeShared(l.get(op.getSrc()), bits, denseOffsets(l, src, *scratch, bits), bits / 8,
                  l.inside(from));
  });
  l.barrier();
  Values offsets = denseOffsets(l, result, *scratch, bits);
  for (auto [offset, isInside] : llvm::zip_equal(offsets, l.inside(to)))
    if (isInside)
      offset = l.b.CreateSelect(isInside, offset, l.b.getInt32(*scratch));
  l.set(op, l.loadShared(l.type(element), bits, offsets, bits / 8));
  return success();
}

LogicalResult lowerReshape(Lowering &l, ReshapeOp op) {
  if (!LinearLayout::reshapesInPlace(op.getSrc().getType().getShape(), op.getType().getShape()))
    return reshapeThroughShared(l, op);
  const LinearLayout mapped = l.layout(op.getSrc().getType()).reshape(op.getType().getShape());
  const LinearLayout &result = l.layout(op.getType());
  if (op.getAllowReorder() && !mapped.sameThreads(result) && mapped.numRegs() == result.numRegs()) {
    l.set(op, l.get(op.getSrc()));
    return success();
  }
  return setMapped(l, op, op.getSrc(), mapped, op.getResult());
}

LogicalResult lowerTrans(Lowering &l, TransOp op) {
  return setMapped(l, op, op.getSrc(), l.layout(op.getSrc().getType()).transpose(op.getOrder()),
                   op.getResult());
}

LogicalResult lowerJoin(Lowering &l, JoinOp op) {
  Values pairs;
  for (auto [x, y] : llvm::zip_equal(l.get(op.getLhs()), l.get(op.getRhs())))
    pairs.append({x, y});
  auto registers = registersOf(op, l.layout(op.getLhs().getType()).appendPairDim(),
                               l.layout(op.getResult().getType()));
  if (failed(registers))
    return failure();
  l.set(op.getResult(), pick(pairs, *registers));
  return success();
}

LogicalResult lowerSplit(Lowering &l, SplitOp op) {
  const LinearLayout pairs = l.layout(op.getLhs().getType()).appendPairDim();
  auto registers = registersOf(op, l.layout(op.getSrc().getType()), pairs);
  if (failed(registers))
    return failure();
  Values ordered = pick(l.get(op.getSrc()), *registers), halves[2];
  for (auto [i, value] : llvm::enumerate(ordered))
    halves[i % 2].push_back(value);
  l.set(op.getLhs(), halves[0]);
  l.set(op.getRhs(), halves[1]);
  return success();
}
} // namespace

void lower::addShape(Handlers &h) {
  h.add<ArangeOp>(lowerArange);
  h.add<SplatOp>(lowerSplat);
  h.add<UnsplatOp>(lowerUnsplat);
  h.add<ExpandDimsOp>(lowerExpandDims);
  h.add<BroadcastOp>(lowerBroadcast);
  h.add<ReshapeOp>(lowerReshape);
  h.add<TransOp>(lowerTrans);
  h.add<JoinOp>(lowerJoin);
  h.add<SplitOp>(lowerSplit);
}
