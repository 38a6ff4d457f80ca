//===- AxisBits.cpp - which bits of (register, lane, warp) run along one dimension ----------===//
#include "layout/AxisBits.h"
#include "llvm/ADT/STLExtras.h"

using namespace pantile;

AxisBits AxisBits::of(const LinearLayout &layout, int dim) {
  AxisBits result;
  const LinearLayout::FreeBits free = layout.freeBits();
  auto collect = [&](Where where, const LinearLayout::Bases &bases, unsigned replicas) {
    for (auto [i, basis] : llvm::enumerate(bases))
      if (basis[dim] != 0 && !(replicas >> i & 1))
        result.bits.push_back({where, static_cast<int>(i), basis[dim]});
  };
  collect(Reg, layout.reg(), free.reg);
  collect(Lane, layout.lane(), free.lane);
  collect(Warp, layout.warp(), free.warp);
  llvm::stable_sort(result.bits, [](const Bit &a, const Bit &b) { return a.weight < b.weight; });
  return result;
}

int AxisBits::mask(Where where) const { return maskBelow(where, bits.size()); }

int AxisBits::maskBelow(Where where, size_t position) const {
  int mask = 0;
  for (const Bit &bit : llvm::ArrayRef(bits).take_front(position))
    if (bit.where == where)
      mask |= bit.mask();
  return mask;
}
