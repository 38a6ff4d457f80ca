//===- MaskedStores.cpp - elements that reach only stores which mask them off --------------===//
// Gives: see MaskedStores.h.
//===--------------------------------------------------------------------------------------===//
#include "analysis/MaskedStores.h"

using namespace mlir;

namespace pantile {
namespace {

/// Whether `mask` is false wherever `bound + index[dim] >= 0`.
bool masks(AffineAnalysis &affine, Value mask, int dim, const Polynomial &bound) {
  auto bounds = affine.bounds(mask);
  return bounds && llvm::any_of(*bounds, [&](const AffineBound &have) {
           if (have.isLower)
             return false;
           for (auto [d, coefficient] : llvm::enumerate(have.coefficients))
             if (coefficient.constant() != (static_cast<int>(d) == dim ? 1 : 0))
               return false;
           return have.offset == bound;
         });
}

/// The dimension of the result that the operand's `dim` becomes.
int resultDim(TransOp trans, int dim) {
  return llvm::find(trans.getOrder(), dim) - trans.getOrder().begin();
}

/// Calls `follow` with the values that the elements reach next; false where an operation other than
/// a store with such a mask uses them.
bool followUse(AffineAnalysis &affine, OpOperand &use, int dim, const Polynomial &bound,
               llvm::function_ref<void(Value)> follow) {
  Operation *user = use.getOwner();
  unsigned index = use.getOperandNumber();
  if (auto store = dyn_cast<StoreOp>(user))
    return use.get() == store.getValue() && store.getMask() &&
           masks(affine, store.getMask(), dim, bound);
  if (auto atomic = dyn_cast<AtomicRmwOp>(user))
    return use.get() == atomic.getValue() && atomic->use_empty() && atomic.getMask() &&
           masks(affine, atomic.getMask(), dim, bound);
  if (isa<scf::YieldOp>(user)) {
    if (auto branch = dyn_cast<scf::IfOp>(user->getParentOp())) {
      follow(branch.getResult(index));
      return true;
    }
    auto loop = dyn_cast<scf::ForOp>(user->getParentOp());
    if (!loop)
      return false;
    follow(loop.getResult(index));
    follow(loop.getRegionIterArg(index));
    return true;
  }
  if (auto mma = dyn_cast<nv::AsyncMmaOpInterface>(user); mma && use.get() == mma.getAcc()) {
    follow(mma.getResult());
    return true;
  }
  if (isa<nv::MmaWaitOpInterface>(user)) {
    if (index < user->getNumResults()) // else it only keeps the registers live
      follow(user->getResult(index));
    return true;
  }
  if (auto loop = dyn_cast<scf::ForOp>(user); loop && index >= loop.getNumControlOperands()) {
    follow(loop.getTiedLoopResult(&use));
    follow(loop.getTiedLoopRegionIterArg(&use));
    return true;
  }
  if (isa<nv::StorePartialOp>(
          user)) // a partial tile of the same elements, which another CTA reduces
    return true;
  if (isa<ConvertLayoutOp, TransOp>(user) || user->hasTrait<OpTrait::Elementwise>()) {
    follow(user->getResult(0));
    return true;
  }
  return false;
}
} // namespace

bool reachesMaskedStoresAlone(AffineAnalysis &affine, Value start, int dim,
                              const Polynomial &bound) {
  using ValueAndDim = std::pair<Value, int>;
  SmallVector<ValueAndDim> work{{start, dim}};
  llvm::DenseSet<ValueAndDim> seen{{start, dim}};
  while (!work.empty()) {
    const auto [value, at] = work.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      auto trans = dyn_cast<TransOp>(use.getOwner());
      const int next = trans ? resultDim(trans, at) : at;
      auto follow = [&](Value onward) {
        if (seen.insert({onward, next}).second)
          work.push_back({onward, next});
      };
      if (!followUse(affine, use, at, bound, follow))
        return false;
    }
  }
  return true;
}

} // namespace pantile
