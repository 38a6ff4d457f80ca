//===- Shares.cpp - which iterations of which programs a block runs, on the device --------===//
// Gives: see Shares.h.
//===--------------------------------------------------------------------------------------===//
#include "passes/pipeline/Shares.h"
#include "ir/SplitPrograms.h"

using namespace mlir;

namespace pantile {
namespace {

/// Of a program; more, and those of all that are cut could not be counted in 32 bits.
constexpr int64_t mostTrips = (int64_t(1) << 31) / (2 * mostSplitBlocks);

void takeParts(Numbers &n, Share &s, Value has) {
  Value none = n.of(0), one = n.of(1), trips = n.max(s.trips, one);
  s.begin = n.add(n.mul(s.place, s.each), n.min(s.place, s.larger));
  s.end = n.add(n.add(s.begin, s.each), n.count(n.less(s.place, s.larger)));
  s.last = n.div(n.sub(s.end, one), trips);
  s.parts = n.pick(has, n.add(n.sub(s.last, n.div(s.begin, trips)), one), none);
}

/// If programs are cut, all beyond whole waves and one a block of the cycles.
void takeWhole(Numbers &n, Share &s, Value count, Value pays, Value isInCycle) {
  Value none = n.of(0), waves = n.div(count, s.stride);
  Value rest = n.sub(count, n.mul(waves, s.stride));
  Value passed = n.add(rest, n.pick(isInCycle, s.stride, none));
  s.whole = n.add(s.block, n.pick(pays, passed, none));
  Value left = n.max(n.add(n.sub(count, s.whole), n.sub(s.stride, n.of(1))), none);
  s.rounds = n.add(s.parts, n.div(left, s.stride));
}

} // namespace

Share findShare(OpBuilder &b, scf::ForOp programs, Value trips, int64_t gain) {
  Numbers n(b, programs.getLoc());
  Type i32 = b.getI32Type();
  auto cut = nv::WorkRangeOp::create(b, programs.getLoc(), i32, i32, i32);
  Value count = programs.getUpperBound(), blocks = programs.getStep();
  Value none = n.of(0), one = n.of(1);
  Share s;
  s.trips = trips;
  s.block = programs.getLowerBound(), s.stride = blocks;
  s.cycles = n.max(cut.getCycles(), one);
  s.place = n.div(s.block, s.cycles);
  s.cycle = n.sub(s.block, n.mul(s.place, s.cycles));
  Value total = n.mul(cut.getPrograms(), s.trips);
  Value sharers = n.max(n.min(cut.getBlocks(), n.div(total, n.of(2 * gain))), one);
  Value each = n.div(total, sharers);
  s.each = n.max(each, one);
  s.larger = n.sub(total, n.mul(each, sharers));
  // 0 without iterations: then nothing is cut, as blocks without a share would have no program.
  Value parts = n.div(n.add(s.trips, n.sub(s.each, one)), s.each);
  Value isMore = n.less(blocks, count); // than a wave: a program and a part of one
  Value saved = n.sub(n.add(s.trips, n.pick(isMore, s.trips, none)), each);
  Value pays = n.both(n.less(none, cut.getCycles()), n.less(n.mul(parts, n.of(gain)), saved));
  pays = n.both(pays, n.less(s.trips, n.of(mostTrips)));
  takeParts(n, s, n.both(pays, n.less(s.place, sharers)));
  takeWhole(n, s, count, pays, n.less(s.place, cut.getBlocks()));
  return s;
}

Round findRound(Numbers &n, const Share &s, Value number) {
  Round r;
  Value none = n.of(0), isPart = n.less(number, s.parts);
  Value inCycle = n.sub(s.last, number);
  r.start = n.mul(inCycle, s.trips);
  Value turn = n.mul(n.sub(number, s.parts), s.stride);
  r.program = n.pick(isPart, n.add(n.mul(inCycle, s.cycles), s.cycle), n.add(s.whole, turn));
  r.first = n.max(n.pick(isPart, n.sub(s.begin, r.start), none), none);
  r.last = n.pick(isPart, n.min(n.sub(s.end, r.start), s.trips), s.trips);
  return r;
}

Value firstBlock(Numbers &n, const Share &s, const Round &r) {
  Value more = n.add(s.each, n.of(1)), border = n.mul(s.larger, more);
  Value behind = n.add(s.larger, n.div(n.sub(r.start, border), s.each));
  Value place = n.pick(n.less(r.start, border), n.div(r.start, more), behind);
  Value other = n.add(n.mul(place, s.cycles), s.cycle);
  return n.pick(n.less(n.of(0), r.first), other, s.block);
}

} // namespace pantile
