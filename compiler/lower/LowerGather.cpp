//===- LowerGather.cpp - gather, exchange and histogram ---------------------------------------===//
// Needs: for an exchange and a histogram's mask, operands in one layout.
// Gives: the lowering of tile.gather, tile.exchange and tile.histogram.
// How:   An exchange toggles the same bits of register, lane and warp in every thread, so it reads
//        another register, one shuffle, or the scratch entry of another thread. A gather within
//        warps shuffles every register that the element may be in; any other one reads a row-major
//        copy in scratch. A histogram adds to bins in scratch.
//===-----------------------------------------------------------------------------------===//
#include "analysis/Scratch.h"
#include "lower/RowMajor.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
//===- exchange ------------------------------------------------------------------------===//

/// Byte offsets of this thread's registers in scratch, with the bits of `moves` toggled; of the
/// warp whose bits in `replicas` are zero. Absent registers have none.
Values exchangeOffsets(Lowering &l, const LinearLayout &layout, int64_t start, unsigned bits,
                       ExchangeMoves moves, unsigned replicas = 0) {
  const int64_t bytes = bits / 8, lanes = layout.numLanes(), warps = layout.warpHull();
  SmallVector<int64_t> ofLane, ofWarp, ofReg;
  for (size_t i = 0; i < layout.lane().size(); ++i)
    ofLane.push_back(bytes << i);
  for (size_t i = 0; i < layout.warp().size(); ++i)
    ofWarp.push_back(replicas >> i & 1 ? 0 : bytes * lanes << i);
  for (int reg = 0; reg < layout.numRegs(); ++reg) {
    const int64_t slot = ((reg ^ moves.reg) * warps + moves.warp) * lanes + moves.lane;
    ofReg.push_back(layout.isPresent(reg ^ moves.reg) ? slot * bytes : -1);
  }
  return l.sharedOffsets(l.b.getInt32(start), ofLane, ofWarp, ofReg);
}

/// `theirs`, but the thread's own element where the other one lies outside of the shape, as all do
/// that an absent warp would hold.
Values keepingOwn(Lowering &l, ExchangeOp op, ExchangeMoves moves, Values theirs) {
  const LinearLayout &layout = l.layout(op.getType());
  const int64_t extent = layout.shape()[op.getAxis()];
  if (llvm::isPowerOf2_64(extent))
    return theirs;
  const bool mayBeAbsent = moves.warp != 0 && layout.numWarps() < layout.warpHull();
  ValueList own = l.get(op.getSrc());
  for (auto [reg, coordinate] : llvm::enumerate(l.coordinates(layout, op.getAxis()))) {
    const int other = int(reg) ^ moves.reg;
    if (!layout.isPresent(reg) || !layout.isPresent(other))
      theirs[reg] = own[reg];
    else if (mayBeAbsent || layout.isPartial(other)) {
      llvm::Value *from = l.b.CreateXor(coordinate, l.b.getInt32(op.getDistance()));
      llvm::Value *isInside = l.b.CreateICmpULT(from, l.b.getInt32(uint32_t(extent)));
      theirs[reg] = l.b.CreateSelect(isInside, theirs[reg], own[reg]);
    }
  }
  return theirs;
}

LogicalResult lowerExchange(Lowering &l, ExchangeOp op) {
  const LinearLayout &layout = l.layout(op.getType());
  const ExchangeMoves moves = exchangeMoves(layout, op.getAxis(), op.getDistance());
  ValueList values = l.get(op.getSrc());
  Values result;
  if (moves.warp == 0) {
    for (int reg = 0; reg < layout.numRegs(); ++reg) {
      llvm::Value *value = values[reg ^ moves.reg];
      const bool isShuffled = moves.lane && layout.isPresent(reg ^ moves.reg);
      result.push_back(isShuffled ? l.shuffleXor(value, moves.lane) : value);
    }
    l.set(op, keepingOwn(l, op, moves, result));
    return success();
  }
  auto scratch = l.scratch(op);
  if (failed(scratch))
    return failure();
  const unsigned bits = storageBits(elementTypeOf(op.getType()));
  l.storeShared(values, bits, exchangeOffsets(l, layout, *scratch, bits, {0, 0, 0}), bits / 8);
  l.barrier();
  const Values theirs =
      exchangeOffsets(l, layout, *scratch, bits, moves, layout.replicasOfAbsent());
  l.set(op, keepingOwn(l, op, moves, l.loadShared(values[0]->getType(), bits, theirs, bits / 8)));
  return success();
}

//===- gather --------------------------------------------------------------------------===//

/// The bits of `index` that `bits` select, moved to the position of their lanes or registers.
llvm::Value *scatterBits(Lowering &l, llvm::Value *index, const AxisBits &axis,
                         AxisBits::Where where) {
  llvm::Value *sum = l.b.getInt32(0);
  for (const AxisBits::Bit &bit : axis.bits) {
    if (bit.where != where)
      continue;
    const int from = llvm::Log2_64(bit.weight), to = bit.index;
    llvm::Value *part = l.b.CreateAnd(index, l.b.getInt32(static_cast<uint32_t>(bit.weight)));
    part = to >= from ? l.b.CreateShl(part, l.b.getInt32(to - from))
                      : l.b.CreateLShr(part, l.b.getInt32(from - to));
    sum = l.b.CreateOr(sum, part);
  }
  return sum;
}

/// An index within the dimension: its lowest bits, or the last one.
llvm::Value *bounded(Lowering &l, llvm::Value *index, int64_t extent) {
  index = l.b.CreateZExtOrTrunc(index, l.b.getInt32Ty());
  if (!llvm::isPowerOf2_64(extent))
    return l.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, index,
                                     l.b.getInt32(static_cast<uint32_t>(extent - 1)));
  return l.b.CreateAnd(index, l.b.getInt32(static_cast<uint32_t>(extent - 1)));
}

/// Values of the mask's submasks, in increasing order.
SmallVector<int> submasks(int mask) {
  SmallVector<int> all;
  for (int part = 0; part <= mask; ++part)
    if ((part & ~mask) == 0)
      all.push_back(part);
  return all;
}

void gatherInWarp(Lowering &l, GatherOp op) {
  const LinearLayout &layout = l.layout(op.getType());
  const AxisBits axis = AxisBits::of(layout, op.getAxis());
  const int laneMask = axis.mask(AxisBits::Lane), regMask = axis.mask(AxisBits::Reg);
  ValueList values = l.get(op.getSrc()), indices = l.get(op.getIndex());
  llvm::Value *rest = l.b.CreateAnd(l.lane(), l.b.getInt32(~laneMask));
  Values result;
  for (int reg = 0; reg < layout.numRegs(); ++reg) {
    if (!layout.isPresent(reg)) {
      result.push_back(llvm::PoisonValue::get(values[0]->getType()));
      continue;
    }
    llvm::Value *index = bounded(l, indices[reg], layout.shape()[op.getAxis()]);
    llvm::Value *lane = l.b.CreateOr(rest, scatterBits(l, index, axis, AxisBits::Lane));
    llvm::Value *wanted = scatterBits(l, index, axis, AxisBits::Reg), *chosen = nullptr;
    for (int part : submasks(regMask)) {
      llvm::Value *candidate = values[(reg & ~regMask) | part];
      if (isa<llvm::PoisonValue>(candidate) && chosen)
        continue; // absent
      if (laneMask)
        candidate = l.shuffleFrom(candidate, lane);
      chosen =
          chosen ? l.b.CreateSelect(l.b.CreateICmpEQ(wanted, l.b.getInt32(part)), candidate, chosen)
                 : candidate;
    }
    result.push_back(chosen);
  }
  l.set(op, result);
}

LogicalResult gatherThroughShared(Lowering &l, GatherOp op) {
  auto scratch = l.scratch(op);
  if (failed(scratch))
    return failure();
  const LinearLayout &src = l.layout(op.getSrc().getType()), &to = l.layout(op.getType());
  const unsigned bits = storageBits(elementTypeOf(op.getType()));
  ValueList values = l.get(op.getSrc());
  Values offsets = rowMajorOffsets(l, src.hull(), coordinatesOf(l, src), *scratch, bits);
  l.inFirstThreads(src.freeBits(), [&] { l.storeShared(values, bits, offsets, bits / 8); });
  l.barrier();
  std::vector<Values> coordinates = coordinatesOf(l, to);
  Values &along = coordinates[op.getAxis()];
  for (auto [coordinate, index] : llvm::zip_equal(along, l.get(op.getIndex())))
    if (!isa<llvm::PoisonValue>(coordinate))
      coordinate = bounded(l, index, src.shape()[op.getAxis()]);
  l.set(op, l.loadShared(values[0]->getType(), bits,
                         rowMajorOffsets(l, src.hull(), coordinates, *scratch, bits), bits / 8));
  return success();
}

LogicalResult lowerGather(Lowering &l, GatherOp op) {
  if (l.layout(op.getIndex().getType()) != l.layout(op.getType()))
    return op.emitError("layouts of the indices and the result of a gather differ");
  if (!gatherStaysInWarp(op))
    return gatherThroughShared(l, op);
  gatherInWarp(l, op);
  return success();
}

//===- histogram -----------------------------------------------------------------------===//

/// Sets every bin to zero: one store per thread and iteration.
void clearBins(Lowering &l, int64_t start, int64_t bins) {
  for (int64_t first = 0; first < bins; first += l.numThreads()) {
    llvm::Value *bin = l.b.CreateAdd(l.thread(), l.b.getInt32(static_cast<uint32_t>(first)));
    llvm::Value *isBin = l.b.CreateICmpULT(bin, l.b.getInt32(static_cast<uint32_t>(bins)));
    llvm::Value *offset = l.b.CreateAdd(l.b.CreateShl(bin, l.b.getInt32(2)), l.b.getInt32(start));
    l.assembly(l.b.getVoidTy(), "@$1 st.shared.b32 [$0], 0;", "r,b",
               {l.sharedAddress(offset), isBin});
  }
}

LogicalResult lowerHistogram(Lowering &l, HistogramOp op) {
  auto scratch = l.scratch(op);
  if (failed(scratch))
    return failure();
  const int64_t bins = op.getType().getShape()[0];
  clearBins(l, *scratch, bins);
  l.barrier();
  llvm::Value *chosen = l.firstReplica(op.getSrc().getType());
  const unsigned replicas = l.layout(op.getSrc().getType()).freeBits().reg;
  ValueList masks = op.getMask() ? l.get(op.getMask()) : ValueList();
  const Values inside = l.inside(op.getSrc().getType());
  for (auto [reg, value] : llvm::enumerate(l.get(op.getSrc()))) {
    if (reg & replicas || !l.isPresent(op.getSrc().getType(), reg))
      continue;
    llvm::Value *bin = l.b.CreateZExtOrTrunc(value, l.b.getInt32Ty());
    llvm::Value *counts = l.b.CreateICmpULT(bin, l.b.getInt32(static_cast<uint32_t>(bins)));
    if (chosen)
      counts = l.b.CreateAnd(counts, chosen);
    if (!masks.empty())
      counts = l.b.CreateAnd(counts, masks[reg]);
    counts = l.masked(counts, inside[reg]);
    llvm::Value *offset =
        l.b.CreateAdd(l.b.CreateShl(bin, l.b.getInt32(2)), l.b.getInt32(*scratch));
    l.assembly(l.b.getVoidTy(), "@$1 red.shared.add.u32 [$0], 1;", "r,b",
               {l.sharedAddress(offset), counts});
  }
  l.barrier();
  const LinearLayout &result = l.layout(op.getType());
  l.set(op,
        l.loadShared(l.b.getInt32Ty(), 32,
                     rowMajorOffsets(l, result.hull(), coordinatesOf(l, result), *scratch, 32), 4));
  return success();
}
} // namespace

void lower::addGather(Handlers &h) {
  h.add<ExchangeOp>(lowerExchange);
  h.add<GatherOp>(lowerGather);
  h.add<HistogramOp>(lowerHistogram);
}
