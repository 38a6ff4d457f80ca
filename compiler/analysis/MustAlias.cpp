//===- MustAlias.cpp - which accesses of a kernel must alias -----------------------===//
// Gives: see MustAlias.h.
//===-------------------------------------------------------------------------------===//
#include "analysis/MustAlias.h"
#include "analysis/StagedLoad.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace pantile {

MustAlias::MustAlias(func::FuncOp function) {
  llvm::MapVector<Value, SmallVector<Operation *>> byBase;
  function.walk([&](Operation *op) {
    if (isa<LoadOp, StoreOp, AtomicRmwOp, AtomicCasOp>(op))
      byBase[baseOf(op->getOperand(0))].push_back(op);
  });
  for (auto &[base, accesses] : byBase)
    if (accesses.size() > 1 && !llvm::all_of(accesses, llvm::IsaPred<LoadOp>))
      number(accesses);
}

void MustAlias::number(ArrayRef<Operation *> accesses) {
  const size_t first = locations.size();
  for (Operation *access : accesses) {
    Location location{access->getOperand(0), affine.tile(access->getOperand(0))};
    if (location.form && location.form->wrappedDim >= 0)
      location.form.reset();
    auto others = llvm::make_range(locations.begin() + first, locations.end());
    auto known =
        llvm::find_if(others, [&](const Location &other) { return isSame(other, location); });
    numbers[access] = known - locations.begin();
    if (known == locations.end())
      locations.push_back(std::move(location));
  }
}

bool MustAlias::isSame(const Location &a, const Location &b) const {
  return a.ptr == b.ptr ||
         (a.form && b.form && a.ptr.getType() == b.ptr.getType() && a.form->base == b.form->base &&
          a.form->offset == b.form->offset && a.form->coefficients == b.form->coefficients);
}

std::optional<unsigned> MustAlias::classOf(Operation *access) const {
  auto known = numbers.find(access);
  return known == numbers.end() ? std::nullopt : std::optional(known->second);
}

bool MustAlias::isLoopInvariant(Operation *access, Operation *loop) const {
  auto isOutside = [&](Value value) {
    return !loop->isAncestor(value.getParentRegion()->getParentOp());
  };
  const Location &location = locations[*classOf(access)];
  if (!location.form)
    return isOutside(location.ptr);
  auto leavesAreOutside = [&](const Polynomial &polynomial) {
    return polynomial.onlyUses([&](unsigned leaf) { return isOutside(affine.leaf(leaf)); });
  };
  return isOutside(location.form->base) && leavesAreOutside(location.form->offset) &&
         llvm::all_of(location.form->coefficients, leavesAreOutside);
}

} // namespace pantile
