//===- LowerScan.cpp - inclusive prefix combination along one dimension ----------------------===//
// How:   Sklansky's scan. The position along the axis is a binary number whose bits are register,
//        lane or warp bits. From the lowest bit up: every element whose bit is set is combined with
//        the total of the segment below it, which is in that segment's last element.
//        A register bit needs no communication, a lane bit one shuffle of the total. Consecutive
//        warp bits are done at once, through scratch; after that every thread of a segment has its
//        total, and higher bits keep these totals up to date, so that lanes shuffle them and
//        registers use them directly.
//        A reversed scan exchanges set and clear; the segment above, with which an element is
//        combined then, may be outside an extent that is no power of two.
//===-----------------------------------------------------------------------------------===//
#include "analysis/Scratch.h"
#include "lower/Combine.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
class Scan {
public:
  Scan(Lowering &l, ScanOp op)
      : l(l), op(op), layout(l.layout(op.getSrcs()[0].getType())),
        axis(AxisBits::of(layout, op.getAxis())), combine(l, op.getCombine()),
        reverse(op.getReverse()) {}

  LogicalResult run() {
    for (int reg = 0; reg < layout.numRegs(); ++reg) {
      Values row;
      for (Value src : op.getSrcs())
        row.push_back(l.get(src)[reg]);
      rows.push_back(row);
    }
    for (size_t i = 0; i < axis.bits.size(); ++i) {
      const AxisBits::Where where = axis.bits[i].where;
      if (failed(where == AxisBits::Reg    ? stepRegisters(i)
                 : where == AxisBits::Warp ? stepWarps(i)
                 : followsWarps(i)         ? stepLanesAfterWarps(i)
                                           : stepLanes(i)))
        return failure();
    }
    for (auto [i, result] : llvm::enumerate(op.getResults())) {
      Values column;
      for (const Values &row : rows)
        column.push_back(row[i]);
      l.set(result, column);
    }
    return success();
  }

private:
  /// The register, among those that differ from `reg` in lower axis bits, that has the segment's
  /// total.
  int lastOfSegment(int reg, int lighter) const { return reverse ? reg & ~lighter : reg | lighter; }

  /// Whether `totals` are valid.
  bool followsWarps(size_t position) const { return axis.maskBelow(AxisBits::Warp, position) != 0; }

  LogicalResult stepRegisters(size_t position) {
    const int bit = axis.bits[position].mask(), lighter = axis.maskBelow(AxisBits::Reg, position);
    std::map<int, Values> segments = followsWarps(position) ? totals : std::map<int, Values>();
    for (int reg = 0; reg < layout.numRegs(); ++reg) {
      if (((reg & bit) != 0) == reverse || !layout.isPresent(reg))
        continue;
      const int last = lastOfSegment(reg ^ bit, lighter);
      if (!layout.isPresent(last))
        continue; // nothing above
      auto [segment, isNew] = segments.try_emplace(last);
      // Lanes may hold lower positions: then the total is in another lane.
      if (isNew)
        segment->second = laneTotal(rows[last], position, 0);
      llvm::Value *isThere = segmentAbove(reg, axis.bits[position].weight);
      if (failed(take(reg, segment->second, isThere)))
        return failure();
      if (auto own = totals.find(reg);
          own != totals.end() && !isa<llvm::PoisonValue>(own->second[0])) {
        auto both = combine(segment->second, own->second);
        if (failed(both))
          return failure();
        own->second = chosen(isThere, *both, own->second);
      }
    }
    return success();
  }

  /// `row` of the last lane of the segment of lower positions, with `flip` toggled.
  Values laneTotal(const Values &row, size_t position, int flip) {
    const int lighter = axis.maskBelow(AxisBits::Lane, position);
    if (lighter == 0 && flip == 0)
      return row;
    llvm::Value *from = l.lane();
    if (lighter)
      from = reverse ? l.b.CreateAnd(from, l.b.getInt32(~lighter))
                     : l.b.CreateOr(from, l.b.getInt32(lighter));
    if (flip)
      from = reverse ? l.b.CreateOr(from, l.b.getInt32(flip))
                     : l.b.CreateAnd(from, l.b.getInt32(~flip));
    Values total;
    for (llvm::Value *value : row)
      total.push_back(l.shuffleFrom(value, from));
    return total;
  }

  LogicalResult stepLanes(size_t position) {
    const int bit = axis.bits[position].mask(), lighter = axis.maskBelow(AxisBits::Reg, position);
    llvm::Value *isSet =
        l.b.CreateICmpNE(l.b.CreateAnd(l.lane(), l.b.getInt32(bit)), l.b.getInt32(0));
    llvm::Value *takes = reverse ? l.b.CreateNot(isSet) : isSet;
    std::map<int, Values> segments;
    const std::vector<Values> before = rows;
    for (int reg = 0; reg < layout.numRegs(); ++reg) {
      const int last = lastOfSegment(reg, lighter);
      auto [it, isNew] = segments.try_emplace(last);
      if (isNew)
        it->second = laneTotal(before[last], position, bit);
      if (failed(take(reg, it->second,
                      l.masked(takes, segmentAbove(reg, axis.bits[position].weight)))))
        return failure();
    }
    return success();
  }

  /// For a reversed scan, whether the segment of `weight` elements above that of register `reg`
  /// starts inside; null if it does in all threads, or in a forward scan.
  llvm::Value *segmentAbove(int reg, int64_t weight) {
    return reverse ? isInside(reg, ~(weight - 1), weight) : nullptr;
  }

  /// Whether position (p & kept) + further is inside the axis, p being the position of `reg`.
  llvm::Value *isInside(int reg, int64_t kept, int64_t further) {
    const int dim = op.getAxis();
    const int64_t extent = layout.shape()[dim];
    if (llvm::isPowerOf2_64(extent))
      return nullptr;
    llvm::Value *place = l.coordinates(layout, dim)[reg];
    place = l.b.CreateAnd(place, l.b.getInt32(static_cast<uint32_t>(kept)));
    place = l.b.CreateAdd(place, l.b.getInt32(static_cast<uint32_t>(further)));
    return l.b.CreateICmpULT(place, l.b.getInt32(static_cast<uint32_t>(extent)));
  }

  /// `then` where `condition` holds, else `other`; a null condition holds everywhere.
  Values chosen(llvm::Value *condition, ValueList then, ValueList other) {
    Values result(then);
    if (condition)
      for (auto [value, rest] : llvm::zip_equal(result, other))
        value = l.b.CreateSelect(condition, value, rest);
    return result;
  }

  /// Every lane has the total of its segment, so that its partner's is one shuffle away.
  LogicalResult stepLanesAfterWarps(size_t position) {
    const int bit = axis.bits[position].mask(), lighter = axis.maskBelow(AxisBits::Reg, position);
    llvm::Value *isSet =
        l.b.CreateICmpNE(l.b.CreateAnd(l.lane(), l.b.getInt32(bit)), l.b.getInt32(0));
    llvm::Value *takes = reverse ? l.b.CreateNot(isSet) : isSet;
    std::map<int, Values> neighbours;
    for (auto &[last, total] : totals) {
      if (isa<llvm::PoisonValue>(total[0])) {
        neighbours[last] = total; // of absent registers
        continue;
      }
      Values first, second;
      for (llvm::Value *own : total) {
        llvm::Value *other = l.shuffleXor(own, bit);
        neighbours[last].push_back(other);
        first.push_back(l.b.CreateSelect(takes, other, own));
        second.push_back(l.b.CreateSelect(takes, own, other));
      }
      auto both = combine(first, second);
      if (failed(both))
        return failure();
      // Without a segment above, the lower lane's own total is that of both.
      total =
          reverse ? chosen(upperInside(last, axis.bits[position].weight), *both, second) : *both;
    }
    for (int reg = 0; reg < layout.numRegs(); ++reg)
      if (failed(take(reg, neighbours[lastOfSegment(reg, lighter)],
                      l.masked(takes, segmentAbove(reg, axis.bits[position].weight)))))
        return failure();
    return success();
  }

  /// Whether the upper of the two segments of `weight` that contain `reg` starts inside.
  llvm::Value *upperInside(int reg, int64_t weight) {
    return isInside(reg, ~(2 * weight - 1), weight);
  }

  /// rows[reg] = total before rows[reg], where `takes` (or everywhere).
  LogicalResult take(int reg, const Values &total, llvm::Value *takes) {
    if (!layout.isPresent(reg) || isa<llvm::PoisonValue>(total[0]))
      return success();
    auto combined = combine(total, rows[reg]);
    if (failed(combined))
      return failure();
    for (auto [old, made] : llvm::zip(rows[reg], *combined))
      old = takes ? l.b.CreateSelect(takes, made, old) : made;
    return success();
  }

  //===- warps: all bits of a run at once ---------------------------------------------------===//

  LogicalResult stepWarps(size_t position) {
    if (position > 0 && axis.bits[position - 1].where == AxisBits::Warp)
      return success(); // done with the first of the run
    auto scratch = l.scratch(op);
    if (failed(scratch))
      return failure();
    llvm::SmallVector<int> run;
    for (size_t i = position; i < axis.bits.size() && axis.bits[i].where == AxisBits::Warp; ++i)
      run.push_back(axis.bits[i].index);
    const int lighter = axis.maskBelow(AxisBits::Reg, position);
    llvm::SmallVector<int> groups; // registers that have totals
    for (int reg = 0; reg < layout.numRegs(); ++reg)
      if (lastOfSegment(reg, lighter) == reg)
        groups.push_back(reg);

    std::vector<int64_t> starts;
    for (auto [i, src] : llvm::enumerate(op.getSrcs())) {
      const unsigned bits = storageBits(elementTypeOf(src.getType()));
      starts.push_back(*scratch + used);
      used += scanScratchBytes(layout, axis, position, bits);
      Values mine;
      for (int reg : groups)
        mine.push_back(followsWarps(position) ? totals[reg][i]
                                              : laneTotal(rows[reg], position, 0)[i]);
      l.storeShared(mine, bits, totalOffsets(starts.back(), bits, groups.size(), ~0, 0), bits / 8);
    }
    l.barrier();
    return combineWarps(run, groups, lighter, starts, axis.bits[position].weight);
  }

  /// Offsets of this thread's totals in `start`; warp bits outside `keep` are replaced by `warp`'s.
  Values totalOffsets(int64_t start, unsigned bits, size_t groups, int keep, int warp) {
    const int64_t bytes = bits / 8, laneCount = layout.numLanes();
    SmallVector<int64_t> ofLane, ofWarp, ofReg;
    for (size_t i = 0; i < layout.lane().size(); ++i)
      ofLane.push_back(bytes << i);
    for (size_t i = 0; i < layout.warp().size(); ++i)
      ofWarp.push_back(keep >> i & 1 ? bytes * laneCount << i : 0);
    for (size_t group = 0; group < groups; ++group)
      ofReg.push_back((int64_t(group) * layout.warpHull() + warp) * laneCount * bytes);
    return l.sharedOffsets(l.b.getInt32(start), ofLane, ofWarp, ofReg);
  }

  /// Every thread reads the totals of all parts of the run and combines those before its own.
  LogicalResult combineWarps(ArrayRef<int> run, ArrayRef<int> groups, int lighter,
                             ArrayRef<int64_t> starts, int64_t weight) {
    const int parts = 1 << run.size();
    int mask = 0;
    SmallVector<int64_t> placeOfWarp(layout.warp().size(), 0);
    for (auto [i, bit] : llvm::enumerate(run))
      mask |= 1 << bit, placeOfWarp[bit] = int64_t(1) << i;
    llvm::Value *place = l.linear({}, placeOfWarp);
    std::map<int, Values> prefixes; // by the register that holds a group's total
    for (int step = 0; step < parts; ++step) {
      const int part = reverse ? parts - 1 - step : step;
      llvm::Value *isMine = l.b.CreateICmpEQ(place, l.b.getInt32(part));
      const std::vector<Values> columns = readPart(part, run, mask, groups.size(), starts);
      for (auto [group, reg] : llvm::enumerate(groups)) {
        Values total;
        for (const Values &column : columns)
          total.push_back(column[group]);
        if (step == 0) {
          totals[reg] = prefixes[reg] = total;
          continue;
        }
        if (!layout.isPresent(reg))
          continue;
        for (auto [prefix, sum] : llvm::zip(prefixes[reg], totals[reg]))
          prefix = l.b.CreateSelect(isMine, sum, prefix);
        auto sum = combine(totals[reg], total);
        if (failed(sum))
          return failure();
        llvm::Value *isThere =
            reverse ? isInside(reg, ~(parts * weight - 1), (part + 1) * weight) : nullptr;
        totals[reg] = chosen(isThere, *sum, total);
      }
    }
    llvm::Value *takes = l.b.CreateICmpNE(place, l.b.getInt32(reverse ? parts - 1 : 0));
    for (int reg = 0; reg < layout.numRegs(); ++reg)
      if (failed(take(reg, prefixes[lastOfSegment(reg, lighter)],
                      l.masked(takes, segmentAbove(reg, weight)))))
        return failure();
    return success();
  }

  /// The totals of one part of a run, one column per operand.
  std::vector<Values> readPart(int part, ArrayRef<int> run, int mask, size_t groups,
                               ArrayRef<int64_t> starts) {
    const int kept = ~mask & ~static_cast<int>(layout.replicasOfAbsent());
    int warp = 0;
    for (auto [i, bit] : llvm::enumerate(run))
      warp |= (part >> i & 1) << bit;
    std::vector<Values> columns;
    for (auto [i, src] : llvm::enumerate(op.getSrcs())) {
      const unsigned bits = storageBits(elementTypeOf(src.getType()));
      columns.push_back(l.loadShared(rows[0][i]->getType(), bits,
                                     totalOffsets(starts[i], bits, groups, kept, warp), bits / 8));
    }
    return columns;
  }

  Lowering &l;
  ScanOp op;
  const LinearLayout &layout;
  AxisBits axis;
  Combiner combine;
  const bool reverse;
  std::vector<Values> rows;
  std::map<int, Values> totals; // after the warps: of whole segments, by their last register
  int64_t used = 0;
};

LogicalResult lowerScan(Lowering &l, ScanOp op) {
  if (l.layout(op.getSrcs()[0].getType()) != l.layout(op.getResults()[0].getType()))
    return op.emitError("layouts of operand and result of a scan differ");
  return Scan(l, op).run();
}
} // namespace

void lower::addScan(Handlers &h) { h.add<ScanOp>(lowerScan); }
