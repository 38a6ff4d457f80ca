//===- LayoutConversion.cpp - layout conversions without memory --------------------===//
// Needs: two layouts of one shape, with as many lanes and warps.
// Gives: LinearLayout::registerMoves and LinearLayout::shufflePlan.
// How:   Each basis of the target is expressed as a XOR of bases of the source. Warps (and for
//        register moves lanes) must agree basis by basis, so that the answer is the same for all
//        threads.
//===-------------------------------------------------------------------------------===//
#include "layout/F2.h"
#include "layout/LinearLayout.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>

namespace pantile {

namespace {
using Bases = LinearLayout::Bases;

/// XOR of `values[i]` over the set bits i of `bits`.
int combine(llvm::ArrayRef<int> values, int bits) {
  int result = 0;
  for (auto [i, value] : llvm::enumerate(values))
    if (bits >> i & 1)
      result ^= value;
  return result;
}

/// combine() of all 2^n bit patterns.
llvm::SmallVector<int, 16> tabulate(llvm::ArrayRef<int> values) {
  llvm::SmallVector<int, 16> table;
  for (int bits = 0; bits < 1 << values.size(); ++bits)
    table.push_back(combine(values, bits));
  return table;
}
} // namespace

std::optional<llvm::SmallVector<int, 16>>
LinearLayout::registerMoves(const LinearLayout &to) const {
  assert(extents == to.extents);
  if (laneBases != to.laneBases || warpBases != to.warpBases || warps != to.warps)
    return std::nullopt;
  F2Span span;
  for (const Coord &basis : regBases)
    span.insert(flatten(basis));
  llvm::SmallVector<int, 8> from;
  for (const Coord &basis : to.regBases) {
    const auto mask = span.express(flatten(basis));
    if (!mask)
      return std::nullopt;
    from.push_back(static_cast<int>(*mask));
  }
  return tabulate(from);
}

std::optional<LinearLayout::ShufflePlan> LinearLayout::shufflePlan(const LinearLayout &to) const {
  assert(extents == to.extents);
  if (warpBases != to.warpBases || warps != to.warps || laneBases.size() != to.laneBases.size())
    return std::nullopt;
  F2Span span;
  for (const Bases *bases : {&regBases, &laneBases})
    for (const Coord &basis : *bases)
      span.insert(flatten(basis));

  // For each target register bit, then each target lane bit: the source bits of which it is the
  // XOR.
  llvm::SmallVector<int, 8> regs[2], lanes[2];
  const Bases *targets[2] = {&to.regBases, &to.laneBases};
  for (int part : {0, 1})
    for (auto [i, basis] : llvm::enumerate(*targets[part])) {
      const auto mask = span.express(flatten(basis));
      if (!mask)
        return std::nullopt;
      // A lane bit with one meaning in both layouts is kept, also where the source has replicas.
      const bool same = part == 1 && basis == laneBases[i];
      regs[part].push_back(same ? 0 : static_cast<int>(*mask) & (numRegs() - 1));
      lanes[part].push_back(same ? 1 << i : static_cast<int>(*mask >> regBases.size()));
    }

  ShufflePlan plan;
  plan.srcReg = tabulate(regs[0]);
  plan.srcLane = tabulate(lanes[0]);
  plan.srcRegOfLane.assign(regs[1].begin(), regs[1].end());
  plan.srcLaneOfLane.assign(lanes[1].begin(), lanes[1].end());
  for (int choice : tabulate(regs[1]))
    if (!llvm::is_contained(plan.regChoices, choice))
      plan.regChoices.push_back(choice);
  return plan;
}

} // namespace pantile
