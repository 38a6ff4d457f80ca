//===- LowerConvert.cpp - layout conversions -------------------------------------------------===//
// How:   conversionKind (analysis/Scratch.h) decides, as it does for the allocation: renumbered
//        registers, shuffles within warps, of elements or of halves of words, or a store to and a load
//        from swizzled shared memory, synchronised over all warps or within each warp.
//===-----------------------------------------------------------------------------------===//
#include "analysis/Scratch.h"
#include "layout/HalfExchange.h"
#include "layout/WarpConversion.h"
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
      if (chosen && isa<llvm::PoisonValue>(values[reg ^ choice]))
        continue; // no lane selects an absent register
      llvm::Value *candidate = l.shuffleFrom(values[reg ^ choice], from);
      chosen = chosen && !isa<llvm::PoisonValue>(chosen)
                   ? l.b.CreateSelect(l.b.CreateICmpEQ(regOfLane, l.b.getInt32(choice)), candidate,
                                      chosen)
                   : candidate;
    }
    result.push_back(chosen);
  }
  return result;
}

/// Converts two words at a time: each round sends a half of each, and takes a half of each.
Values convertByHalves(Lowering &l, ValueList values, const HalfExchange &plan, llvm::Type *element,
                       unsigned bits) {
  constexpr int64_t low = 0x5410, high = 0x7632, swapped = 0x4444; // selectors of prmt
  auto onBit = [&](int bit, int64_t value) {
    SmallVector<int64_t> ofLane(plan.laneBits.size(), 0);
    ofLane[bit] = value;
    return l.linear(ofLane, {});
  };
  auto permute = [&](llvm::Value *a, llvm::Value *b, llvm::Value *selector, int64_t flip) {
    return l.b.CreateIntrinsic(l.b.getInt32Ty(), llvm::Intrinsic::nvvm_prmt,
                               {a, b, l.b.CreateXor(selector, l.b.getInt32(flip))});
  };
  SmallVector<int64_t> ofLane(plan.laneBits.size(), 0);
  for (auto [from, to] : llvm::enumerate(plan.laneBits))
    ofLane[to] ^= int64_t(1) << from;
  llvm::Value *source = l.linear(ofLane, {}), *sends = onBit(plan.sendingHalf, low ^ high),
              *takes = onBit(plan.takingHalf, swapped);
  Values result(values.size(), nullptr);
  for (const HalfExchange::Words &words : plan.words) {
    const Values own = l.pack(pick(values, words.from), bits);
    llvm::Value *taken[2];
    for (int round : {0, 1})
      taken[round] = l.shuffleFrom(permute(own[0], own[1], sends, round ? high : low),
                                   l.b.CreateXor(source, l.b.getInt32(round << plan.sendingHalf)));
    const Values both = l.unpack(
        {permute(taken[0], taken[1], takes, low), permute(taken[0], taken[1], takes, high)},
        element, bits, static_cast<int>(words.to.size()));
    for (auto [reg, value] : llvm::zip_equal(words.to, both))
      result[reg] = value;
  }
  return result;
}

/// Converts piece by piece through the warp's own part of the scratch at `start`.
Values convertInWarps(Lowering &l, ValueList values, const WarpConversion &plan, int64_t start,
                      llvm::Type *element) {
  llvm::Value *own = l.b.CreateMul(l.warp(), l.b.getInt32(plan.bytesOfWarp()), "", true, true);
  llvm::Value *base = l.b.CreateAdd(own, l.b.getInt32(start), "", true, true);
  Values result(values.size(), llvm::PoisonValue::get(element));
  for (auto [fromRegs, toRegs] : llvm::zip_equal(plan.fromRegs, plan.toRegs)) {
    const Values own = pick(values, fromRegs);
    if (llvm::all_of(own, [](llvm::Value *value) { return isa<llvm::PoisonValue>(value); }))
      continue; // of absent registers
    l.warpBarrier();
    storeTile(l, own, base, plan.shared, plan.from);
    l.warpBarrier();
    Values piece = loadTile(l, base, plan.shared, plan.to, element);
    for (auto [reg, value] : llvm::zip_equal(toRegs, piece))
      result[reg] = value;
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
  case ConversionKind::HalfShuffles:
    l.set(op.getResult(),
          convertByHalves(l, values, *halfExchange(from, to, bits), l.type(element), bits));
    return success();
  case ConversionKind::WarpShared:
  case ConversionKind::Shared:
    break;
  }
  auto scratch = l.scratch(op);
  if (failed(scratch))
    return failure();
  if (auto plan = warpConversion(from, to, bits)) {
    l.set(op.getResult(), convertInWarps(l, values, *plan, *scratch, l.type(element)));
    return success();
  }
  const SharedLayout shared = conversionScratch(from, to, bits);
  llvm::Value *base = l.b.getInt32(*scratch);
  // Scratch covers the hull: elements outside the shape are stored, too.
  l.inFirstThreads(from.freeBits(), [&] { storeTile(l, values, base, shared, from); });
  l.barrier();
  l.set(op.getResult(), loadTile(l, base, shared, to, l.type(element)));
  return success();
}
} // namespace

void lower::addConvert(Handlers &h) { h.add<ConvertLayoutOp>(lowerConvert); }
