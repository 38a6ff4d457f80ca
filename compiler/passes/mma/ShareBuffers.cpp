//===- ShareBuffers.cpp - see ShareBuffers.h ----------------------------------------------===//
#include "passes/mma/ShareBuffers.h"
#include "analysis/BufferReaders.h"

using namespace mlir;

namespace pantile {
namespace {

/// The buffer of `store`, if `store` is its only writer and all its uses are in one MLIR block.
nv::AllocOp ownBuffer(nv::LocalStoreOp store) {
  auto alloc = store.getBuffer().getDefiningOp<nv::AllocOp>();
  if (!alloc || alloc->getBlock() != store->getBlock())
    return {};
  auto isOwn = [&](OpOperand &use) {
    Operation *user = use.getOwner();
    return user->getBlock() == store->getBlock() && (user == store || !isa<nv::LocalStoreOp>(user));
  };
  return forEachUse(alloc, isOwn) ? alloc : nv::AllocOp();
}

void shareBuffersOf(LoadOp load) {
  SmallVector<nv::LocalStoreOp> stores;
  for (Operation *user : load->getUsers()) {
    auto store = dyn_cast<nv::LocalStoreOp>(user);
    if (!store || store->getBlock() != load->getBlock())
      return;
    stores.push_back(store);
  }
  llvm::sort(stores, [](auto a, auto b) { return a->isBeforeInBlock(b); });
  nv::AllocOp kept;
  for (nv::LocalStoreOp store : stores) {
    nv::AllocOp alloc = ownBuffer(store);
    if (!alloc || !deallocOf(alloc) ||
        (kept && (kept.getType() != alloc.getType() || isRounded(kept) != isRounded(alloc))))
      return;
    if (kept)
      mergeBuffers(kept, alloc);
    else
      kept = alloc;
  }
}
} // namespace

Operation *deallocOf(nv::AllocOp alloc) {
  auto it = llvm::find_if(alloc->getUsers(), llvm::IsaPred<nv::DeallocOp>);
  return it == alloc->user_end() ? nullptr : *it;
}

void mergeBuffers(nv::AllocOp kept, nv::AllocOp other) {
  Operation *end = deallocOf(kept), *otherEnd = deallocOf(other);
  if (end->isBeforeInBlock(otherEnd))
    end->moveBefore(otherEnd);
  for (Operation *user : llvm::make_early_inc_range(other->getUsers()))
    if (isa<nv::DeallocOp, nv::LocalStoreOp, nv::RoundBufferOp>(user))
      user->erase();
  other.replaceAllUsesWith(kept.getResult());
  other.erase();
}

void shareStagedBuffers(scf::ForOp loop) {
  for (LoadOp load : llvm::to_vector(loop.getBody()->getOps<LoadOp>()))
    if (!load->hasOneUse())
      shareBuffersOf(load);
}

} // namespace pantile
