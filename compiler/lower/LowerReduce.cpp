//===- LowerReduce.cpp - combine the elements along one dimension ----------------------------===//
// Needs: result layouts that are the operand's without the dimension.
// Gives: the result in every thread that holds it.
// How:   First registers: as a tree, or as a few chains if each step can be a fused multiply-add.
//        Then lanes: one butterfly shuffle per lane bit of the axis. Then warps, if several hold
//        the axis: the partial results are written to scratch, and each thread combines those that
//        it needs. If there are as many as lanes, and the same for all threads, each lane loads one
//        and shuffles follow.
//        Replicas must agree to the bit, so if the combination is not commutative, lanes order its
//        operands by position. If that is over many bits, only the first lane of a row has its
//        operands in order, and its result is broadcast: a shuffle in place of many selects.
//        If the extent is no power of two, absent registers are skipped. If some threads are
//        outside, a segment of the axis has elements inside exactly if its first element is
//        (segmentIsInside); the upper of two segments is combined only then.
//===-----------------------------------------------------------------------------------===//
#include "analysis/Scratch.h"
#include "ir/Machine.h"
#include "lower/Combine.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include <bit>
#include <utility>

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

FailureOr<Values> Combiner::operator()(ValueList first, ValueList second) {
  Values arguments(first);
  arguments.append(second.begin(), second.end());
  return l.inlineRegion(region, arguments);
}

bool Combiner::isCommutative() {
  Block &block = region.front();
  if (block.getOperations().size() != 2)
    return false;
  return isa<arith::AddIOp, arith::AddFOp, arith::MulIOp, arith::MulFOp, arith::AndIOp,
             arith::OrIOp, arith::XOrIOp, arith::MaxSIOp, arith::MaxUIOp, arith::MinSIOp,
             arith::MinUIOp, arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
             arith::MinNumFOp>(block.front());
}

namespace {
class Reduction {
public:
  Reduction(Lowering &l, ReduceOp op)
      : l(l), op(op), dim(op.getAxis()), layout(l.layout(op.getSrcs()[0].getType())),
        axis(AxisBits::of(layout, dim)), combine(l, op.getCombine()) {}

  LogicalResult run() {
    if (failed(reduceRegisters()) || failed(reduceLanes()) || failed(reduceWarps()))
      return failure();
    return setResults();
  }

private:
  /// Reduces within each thread; the results are in the registers whose axis bits are clear.
  LogicalResult reduceRegisters() {
    for (int reg = 0; reg < layout.numRegs(); ++reg) {
      Values row;
      for (Value src : op.getSrcs())
        row.push_back(l.get(src)[reg]);
      rows.push_back(row);
    }
    if (failed(addProducts()))
      return failure();
    for (const AxisBits::Bit &bit : axis.bits) {
      if (bit.where != AxisBits::Reg || (done & bit.mask()))
        continue;
      done |= bit.mask();
      for (int reg = 0; reg < layout.numRegs(); ++reg)
        if (!(reg & done) && failed(takeIn(reg, reg | bit.mask())))
          return failure();
    }
    // Registers that replicate others are not combined further.
    const unsigned free = layout.freeBits().reg;
    for (int reg = 0; reg < layout.numRegs(); ++reg)
      if (!(reg & (done | free)))
        kept.push_back(reg);
    return success();
  }

  /// Combines the segment of register `upper` into that of `reg`, which is below it on the axis.
  LogicalResult takeIn(int reg, int upper) {
    if (!layout.isPresent(upper))
      return success();
    return combineInto(rows[reg], rows[reg], rows[upper], segmentIsInside(upper, 0, 0));
  }

  /// Whether the segment that starts at register `reg` of this thread, or at its lane with
  /// `cleared` bits clear and `set` bits set along the axis, starts inside; null if it does in all
  /// threads.
  llvm::Value *segmentIsInside(int reg, int64_t cleared, int64_t set) {
    const int64_t extent = layout.shape()[dim];
    if (llvm::isPowerOf2_64(extent) || !layout.isPartial(reg | done))
      return nullptr;
    llvm::Value *first = l.coordinates(layout, dim)[reg];
    if (cleared | set)
      first = l.b.CreateOr(l.b.CreateAnd(first, l.b.getInt32(~static_cast<uint32_t>(cleared))),
                           l.b.getInt32(static_cast<uint32_t>(set)));
    return l.b.CreateICmpULT(first, l.b.getInt32(static_cast<uint32_t>(extent)));
  }

  /// Reduces sums of products in chains: a multiplication, then one fused multiply-add per element;
  /// a tree needs half as many instructions more. Four independent chains hide the latency.
  LogicalResult addProducts() {
    if (op.getSrcs().size() != 1 || !op.getSrcs()[0].getDefiningOp<arith::MulFOp>() ||
        !isa<arith::AddFOp>(op.getCombine().front().front()) || !combine.isCommutative())
      return success();
    int lightBits = 2;
    int heavy = 0;
    for (const AxisBits::Bit &bit : axis.bits)
      if (bit.where == AxisBits::Reg && lightBits-- <= 0)
        heavy |= bit.mask();
    for (int reg = 0; reg < layout.numRegs(); ++reg)
      for (int next = heavy & -heavy; !(reg & heavy) && next != 0; next = (next - heavy) & heavy)
        if (failed(takeIn(reg, reg | next)))
          return failure();
    done |= heavy;
    return success();
  }

  LogicalResult reduceLanes() {
    int lanes = 0;
    for (const AxisBits::Bit &bit : axis.bits)
      lanes |= bit.where == AxisBits::Lane ? bit.mask() : 0;
    isBroadcast = broadcastsFirst(lanes);
    int64_t below = 0;
    for (const AxisBits::Bit &bit : axis.bits)
      if (bit.where == AxisBits::Lane) {
        if (failed(combineLanes(bit.mask(), below, bit.weight)))
          return failure();
        below |= bit.weight;
      }
    broadcastFirst(lanes);
    return success();
  }

  /// Whether to broadcast the result of the first of the lanes that differ in `mask`, whose own
  /// elements are always the lower ones, instead of ordering operands in every lane.
  bool broadcastsFirst(int mask) {
    const int64_t selects = 2 * std::popcount(static_cast<unsigned>(mask));
    return !combine.isCommutative() && !hasPartialSegments() &&
           selects > machineOf(op).memory.selectsOfShuffle;
  }

  void broadcastFirst(int mask) {
    if (!std::exchange(isBroadcast, false))
      return;
    llvm::Value *first = l.b.CreateAnd(l.lane(), l.b.getInt32(~mask));
    for (int reg : kept)
      if (layout.isPresent(reg))
        for (llvm::Value *&value : rows[reg])
          value = l.shuffleFrom(value, first);
  }

  bool hasPartialSegments() const {
    return llvm::any_of(kept, [&](int reg) { return layout.isPartial(reg | done); }) &&
           !llvm::isPowerOf2_64(layout.shape()[dim]);
  }

  /// Combines each lane with the one whose index differs in `mask`, `weight` further along the
  /// axis; lanes that differ in `below` have been combined.
  LogicalResult combineLanes(int mask, int64_t below = 0, int64_t weight = 0) {
    llvm::Value *isUpper =
        isBroadcast || (combine.isCommutative() && !hasPartialSegments())
            ? nullptr
            : l.b.CreateICmpNE(l.b.CreateAnd(l.lane(), l.b.getInt32(mask)), l.b.getInt32(0));
    for (int reg : kept) {
      Values own = rows[reg], other;
      if (!layout.isPresent(reg))
        continue;
      for (llvm::Value *value : own)
        other.push_back(l.shuffleXor(value, mask));
      if (isUpper)
        for (auto [mine, theirs] : llvm::zip(own, other)) {
          llvm::Value *lower = l.b.CreateSelect(isUpper, theirs, mine);
          theirs = l.b.CreateSelect(isUpper, mine, theirs);
          mine = lower;
        }
      llvm::Value *isInside = weight ? segmentIsInside(reg, below, weight) : nullptr;
      if (failed(combineInto(rows[reg], own, other, isInside)))
        return failure();
    }
    return success();
  }

  /// Byte offset of a basis's element among the results, without the axis.
  int64_t resultOffset(const LinearLayout::Coord &coord, unsigned bits) const {
    int64_t flat = 0;
    for (int d = 0; d < layout.rank(); ++d)
      if (d != dim)
        flat = flat * layout.hull()[d] + coord[d];
    return flat * bits / 8;
  }

  LogicalResult reduceWarps() {
    const int warpMask = axis.mask(AxisBits::Warp);
    if (warpMask == 0)
      return success();
    auto scratch = l.scratch(op);
    if (failed(scratch))
      return failure();
    const int parts = 1 << llvm::popcount(static_cast<unsigned>(warpMask));
    int64_t start = *scratch;
    std::vector<std::function<Values(int part)>> readers;
    for (auto [i, src] : llvm::enumerate(op.getSrcs())) {
      const unsigned bits = storageBits(elementTypeOf(src.getType()));
      const int64_t bytes = reduceScratchBytes(layout, dim, bits), partBytes = bytesOfPart(bits);
      Values offsets = partOffsets(start, bits, partBytes, true);
      Values mine;
      for (int reg : kept)
        mine.push_back(rows[reg][i]);
      l.inFirstThreads(storers(), [&] { l.storeShared(mine, bits, offsets, bits / 8); });
      llvm::Type *type = rows[0][i]->getType();
      readers.push_back([this, start, bits, partBytes, type](int part) {
        return l.loadShared(
            type, bits, partOffsets(start + part * partBytes, bits, partBytes, false), bits / 8);
      });
      start += bytes;
    }
    l.barrier();
    if (parts == layout.numLanes() && layout.rank() == 1 && layout.fillsHull())
      return combineParts(*scratch);
    for (int part = 0; part < parts; ++part)
      if (startOfPart(part) < layout.shape()[dim] && failed(combinePart(part, readers)))
        return failure();
    return success();
  }

  /// Combines the partial results of one position, one per lane.
  LogicalResult combineParts(int64_t start) {
    rows[kept[0]].clear();
    for (Value src : op.getSrcs()) {
      const Type element = elementTypeOf(src.getType());
      const unsigned bits = storageBits(element);
      llvm::Value *place = l.b.CreateMul(l.lane(), l.b.getInt32(bytesOfPart(bits)));
      Values offsets{l.b.CreateAdd(place, l.b.getInt32(start))};
      rows[kept[0]].push_back(l.loadShared(l.type(element), bits, offsets, bits / 8)[0]);
      start += reduceScratchBytes(layout, dim, bits);
    }
    isBroadcast = broadcastsFirst(layout.numLanes() - 1);
    for (int mask = 1; mask < layout.numLanes(); mask *= 2)
      if (failed(combineLanes(mask)))
        return failure();
    broadcastFirst(layout.numLanes() - 1);
    return success();
  }

  /// The first position along the axis that the warps of a part hold.
  int64_t startOfPart(int part) const {
    int64_t start = 0;
    int bit = 0;
    for (const AxisBits::Bit &axisBit : axis.bits)
      if (axisBit.where == AxisBits::Warp)
        start |= part >> bit++ & 1 ? axisBit.weight : 0;
    return start;
  }

  LogicalResult combinePart(int part, ArrayRef<std::function<Values(int)>> readers) {
    std::vector<Values> columns;
    for (const auto &reader : readers)
      columns.push_back(reader(part));
    for (auto [i, reg] : llvm::enumerate(kept)) {
      if (!layout.isPresent(reg))
        continue;
      Values row;
      for (const Values &column : columns)
        row.push_back(column[i]);
      if (part == 0)
        rows[reg] = row;
      else if (failed(combineInto(rows[reg], rows[reg], row)))
        return failure();
    }
    return success();
  }

  /// After the shuffles, lanes along the axis are replicas, too.
  LinearLayout::FreeBits storers() const {
    LinearLayout::FreeBits free = layout.freeBits();
    free.lane = layout.removeDim(dim).freeBits().lane;
    return free;
  }

  int64_t bytesOfPart(unsigned bits) const {
    int64_t count = 1;
    for (int64_t extent : layout.hull())
      count *= extent;
    return count / layout.hull()[dim] * bits / 8;
  }

  /// Offsets of the kept registers' results; `own`: in the part of this thread's warp.
  Values partOffsets(int64_t start, unsigned bits, int64_t partBytes, bool own) {
    SmallVector<int64_t> ofLane, ofWarp, ofReg;
    for (const auto &basis : layout.lane())
      ofLane.push_back(resultOffset(basis, bits));
    int64_t part = partBytes;
    SmallVector<int64_t> partOfWarp(layout.warp().size(), 0);
    for (const AxisBits::Bit &bit : axis.bits)
      if (bit.where == AxisBits::Warp)
        partOfWarp[bit.index] = part, part *= 2;
    for (auto [i, basis] : llvm::enumerate(layout.warp()))
      ofWarp.push_back(resultOffset(basis, bits) | (own ? partOfWarp[i] : 0));
    for (int reg : kept)
      ofReg.push_back(layout.isPresent(reg) ? resultOffset(layout.apply(reg, 0, 0), bits) : -1);
    return l.sharedOffsets(l.b.getInt32(start), ofLane, ofWarp, ofReg);
  }

  LogicalResult setResults() {
    for (auto [i, result] : llvm::enumerate(op.getResults())) {
      if (!isa<RankedTensorType>(result.getType())) {
        l.set(result, rows[0][i]);
        continue;
      }
      Values mine;
      for (int reg : kept)
        mine.push_back(rows[reg][i]);
      auto registers = registersOf(op, layout.removeDim(dim), l.layout(result.getType()));
      if (failed(registers))
        return failure();
      l.set(result, pick(mine, *registers));
    }
    return success();
  }

  /// `secondIsInside`: whether `second` takes part; null if it does in all threads.
  LogicalResult combineInto(Values &to, ValueList first, ValueList second,
                            llvm::Value *secondIsInside = nullptr) {
    auto combined = combine(first, second);
    if (failed(combined))
      return failure();
    if (secondIsInside)
      for (auto [made, alone] : llvm::zip_equal(*combined, first))
        made = l.b.CreateSelect(secondIsInside, made, alone);
    to = *combined;
    return success();
  }

  Lowering &l;
  ReduceOp op;
  const int dim;
  const LinearLayout &layout;
  AxisBits axis;
  Combiner combine;
  std::vector<Values> rows;
  llvm::SmallVector<int> kept;
  int done = 0;
  bool isBroadcast = false; ///< only the first lane of a row orders its operands
};

LogicalResult lowerReduce(Lowering &l, ReduceOp op) { return Reduction(l, op).run(); }
} // namespace

void lower::addReduce(Handlers &h) { h.add<ReduceOp>(lowerReduce); }
