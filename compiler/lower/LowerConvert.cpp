//===- LowerConvert.cpp - a tile held by other registers, lanes and warps --------------------===//
// How:   conversionKind (analysis/Scratch.h) decides, as it did for the allocation: new register
//        numbers, shuffles inside warps, or a trip through swizzled shared memory.
//===-----------------------------------------------------------------------------------===//
#include "analysis/Scratch.h"
#include "lower/Matrices.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
Values convertByShuffles(Lowering &l, ValueList values, const LinearLayout::ShufflePlan &plan) {
  auto widen = [](ArrayRef<int> parts) { return SmallVector<int64_t>(parts.begin(), parts.end()); };
  llvm::Value *laneOfLane = l.linear(widen(plan.srcLaneOfLane), {});
  llvm::Value *regOfLane = l.linear(widen(plan.srcRegOfLane), {});
  Values result;
  for (auto [reg, lane] : llvm::zip(plan.srcReg, plan.srcLane)) {
    llvm::Value *from = lane ? l.b.CreateXor(laneOfLane, l.b.getInt32(lane)) : laneOfLane;
    llvm::Value *chosen = nullptr;
    for (int choice : plan.regChoices) {
      llvm::Value *candidate = l.shuffleFrom(values[reg ^ choice], from);
      chosen = chosen ? l.b.CreateSelect(l.b.CreateICmpEQ(regOfLane, l.b.getInt32(choice)),
                                         candidate, chosen)
                      : candidate;
    }
    result.push_back(chosen);
  }
  return result;
}

LogicalResult lowerConvert(Lowering &l, ConvertLayoutOp op) {
  const LinearLayout &from = l.layout(op.getSrc().getType()), &to = l.layout(op.getType());
  Type element = elementTypeOf(op.getType());
  const unsigned bits = storageBits(element);
  ValueList values = l.get(op.getSrc());
  switch (conversionKind(from, to, bits)) {
  case ConversionKind::Registers:
    l.set(op.getResult(), pick(values, *from.registerMoves(to)));
    return success();
  case ConversionKind::Shuffles:
    l.set(op.getResult(), convertByShuffles(l, values, *from.shufflePlan(to)));
    return success();
  case ConversionKind::Shared:
    break;
  }
  auto scratch = l.scratch(op);
  if (failed(scratch))
    return failure();
  const SharedLayout shared = conversionScratch(to, bits);
  llvm::Value *base = l.b.getInt32(*scratch);
  l.inFirstThreads(from.freeBits(), [&] { storeTile(l, values, base, shared, from); });
  l.barrier();
  l.set(op.getResult(), loadTile(l, base, shared, to, l.type(element)));
  return success();
}
} // namespace

void lower::addConvert(Handlers &h) { h.add<ConvertLayoutOp>(lowerConvert); }
