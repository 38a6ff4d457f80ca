//===- WorkRanges.cpp - which iterations of which tiles a CTA processes, on the device -----===//
// Gives: see WorkRanges.h.
//===--------------------------------------------------------------------------------------===//
#include "passes/programs/WorkRanges.h"
#include "ir/Tile.h"
#include "support/WorkSplit.h"

using namespace mlir;

namespace pantile {
namespace {

void placeRange(Numbers &n, WorkRange &s, Value has) {
  Value none = n.of(0), one = n.of(1), iterations = n.max(s.iterations, one);
  s.begin = n.add(n.mul(s.place, s.each), n.min(s.place, s.larger));
  s.end = n.add(n.add(s.begin, s.each), n.count(n.less(s.place, s.larger)));
  s.last = n.div(n.sub(s.end, one), iterations);
  s.units = n.pick(has, n.add(n.sub(s.last, n.div(s.begin, iterations)), one), none);
}

/// If tiles are split, those beyond the whole waves are, and one more per CTA of the cycles.
void placeWholeTiles(Numbers &n, WorkRange &s, Value count, Value pays, Value isInCycle) {
  Value none = n.of(0), waves = n.div(count, s.stride);
  Value rest = n.sub(count, n.mul(waves, s.stride));
  Value passed = n.add(rest, n.pick(isInCycle, s.stride, none));
  s.whole = n.add(s.cta, n.pick(pays, passed, none));
  Value left = n.max(n.add(n.sub(count, s.whole), n.sub(s.stride, n.of(1))), none);
  s.allUnits = n.add(s.units, n.div(left, s.stride));
}

} // namespace

WorkRange findWorkRange(OpBuilder &b, scf::ForOp programs, Value iterations, int64_t gain) {
  Numbers n(b, programs.getLoc());
  Type i32 = b.getI32Type();
  auto split = nv::WorkRangeOp::create(b, programs.getLoc(), i32, i32, i32);
  Value count = programs.getUpperBound(), ctas = programs.getStep();
  Value none = n.of(0), one = n.of(1);
  WorkRange s;
  s.iterations = iterations;
  s.cta = programs.getLowerBound(), s.stride = ctas;
  s.cycles = n.max(split.getCycles(), one);
  s.place = n.div(s.cta, s.cycles);
  s.cycle = n.sub(s.cta, n.mul(s.place, s.cycles));
  Value total = n.mul(split.getPrograms(), s.iterations);
  Value sharers = n.max(n.min(split.getCtas(), n.div(total, n.of(2 * gain))), one);
  Value each = n.div(total, sharers);
  s.each = n.max(each, one);
  s.larger = n.sub(total, n.mul(each, sharers));
  // 0 without iterations: then nothing is split, as CTAs without a range would store no tile.
  Value pieces = n.div(n.add(s.iterations, n.sub(s.each, one)), s.each);
  Value isMore = n.less(ctas, count); // than a wave: a tile and a piece of one
  Value saved = n.sub(n.add(s.iterations, n.pick(isMore, s.iterations, none)), each);
  Value pays = n.both(n.less(none, split.getCycles()), n.less(n.mul(pieces, n.of(gain)), saved));
  pays = n.both(pays, n.less(s.iterations, n.of(mostSplitIterations)));
  placeRange(n, s, n.both(pays, n.less(s.place, sharers)));
  placeWholeTiles(n, s, count, pays, n.less(s.place, split.getCtas()));
  return s;
}

WorkUnit findWorkUnit(Numbers &n, const WorkRange &s, Value number) {
  WorkUnit unit;
  Value none = n.of(0), isPiece = n.less(number, s.units);
  Value inCycle = n.sub(s.last, number);
  unit.start = n.mul(inCycle, s.iterations);
  Value onward = n.mul(n.sub(number, s.units), s.stride);
  unit.program = n.pick(isPiece, n.add(n.mul(inCycle, s.cycles), s.cycle), n.add(s.whole, onward));
  unit.first = n.max(n.pick(isPiece, n.sub(s.begin, unit.start), none), none);
  unit.last = n.pick(isPiece, n.min(n.sub(s.end, unit.start), s.iterations), s.iterations);
  return unit;
}

Value firstCta(Numbers &n, const WorkRange &s, const WorkUnit &unit) {
  Value more = n.add(s.each, n.of(1)), border = n.mul(s.larger, more);
  Value after = n.add(s.larger, n.div(n.sub(unit.start, border), s.each));
  Value place = n.pick(n.less(unit.start, border), n.div(unit.start, more), after);
  Value other = n.add(n.mul(place, s.cycles), s.cycle);
  return n.pick(n.less(n.of(0), unit.first), other, s.cta);
}

} // namespace pantile
