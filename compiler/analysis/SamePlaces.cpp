//===- SamePlaces.cpp - which accesses of a kernel go through the same pointers -----------===//
// Gives: see SamePlaces.h.
//===--------------------------------------------------------------------------------------===//
#include "analysis/SamePlaces.h"
#include "analysis/StagedLoad.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace pantile {

SamePlaces::SamePlaces(func::FuncOp function) {
  llvm::MapVector<Value, SmallVector<Operation *>> byBase;
  function.walk([&](Operation *op) {
    if (isa<LoadOp, StoreOp, AtomicRmwOp, AtomicCasOp>(op))
      byBase[baseOf(op->getOperand(0))].push_back(op);
  });
  for (auto &[base, accesses] : byBase)
    if (accesses.size() > 1 && !llvm::all_of(accesses, llvm::IsaPred<LoadOp>))
      number(accesses);
}

void SamePlaces::number(ArrayRef<Operation *> accesses) {
  const size_t first = places.size();
  for (Operation *access : accesses) {
    Place place{access->getOperand(0), affine.tile(access->getOperand(0))};
    if (place.form && place.form->wrappedDim >= 0)
      place.form.reset();
    auto others = llvm::make_range(places.begin() + first, places.end());
    auto known = llvm::find_if(others, [&](const Place &other) { return isSame(other, place); });
    numbers[access] = known - places.begin();
    if (known == places.end())
      places.push_back(std::move(place));
  }
}

bool SamePlaces::isSame(const Place &a, const Place &b) const {
  return a.ptr == b.ptr ||
         (a.form && b.form && a.ptr.getType() == b.ptr.getType() && a.form->base == b.form->base &&
          a.form->offset == b.form->offset && a.form->coefficients == b.form->coefficients);
}

std::optional<unsigned> SamePlaces::of(Operation *access) const {
  auto known = numbers.find(access);
  return known == numbers.end() ? std::nullopt : std::optional(known->second);
}

bool SamePlaces::isSameInEachRound(Operation *access, Operation *loop) const {
  auto isOutside = [&](Value value) {
    return !loop->isAncestor(value.getParentRegion()->getParentOp());
  };
  const Place &place = places[*of(access)];
  if (!place.form)
    return isOutside(place.ptr);
  auto leavesAreOutside = [&](const Polynomial &polynomial) {
    return polynomial.onlyUses([&](unsigned leaf) { return isOutside(affine.leaf(leaf)); });
  };
  return isOutside(place.form->base) && leavesAreOutside(place.form->offset) &&
         llvm::all_of(place.form->coefficients, leavesAreOutside);
}

} // namespace pantile
