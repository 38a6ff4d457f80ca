//===- BufferReaders.cpp - which products read a staged buffer, and one buffer for all ------===//
#include "passes/pipeline/BufferReaders.h"

using namespace mlir;

namespace pantile {
namespace {

/// Calls `visit` for each use of the buffer and of its views; false as soon as a call is.
bool forEachUse(Value buffer, llvm::function_ref<bool(OpOperand &)> visit) {
  for (OpOperand &use : buffer.getUses()) {
    auto view = dyn_cast<nv::BufferTransOp>(use.getOwner());
    if (view ? !forEachUse(view.getResult(), visit) : !visit(use))
      return false;
  }
  return true;
}

/// The buffer of `store`, if that is its only writer and all in one block.
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

Operation *deallocOf(nv::AllocOp alloc) {
  for (Operation *user : alloc->getUsers())
    if (isa<nv::DeallocOp>(user))
      return user;
  return nullptr;
}

/// Readers of `other` read `kept`, which lives on until they are done.
void merge(nv::AllocOp kept, nv::AllocOp other, nv::LocalStoreOp store) {
  Operation *end = deallocOf(kept), *otherEnd = deallocOf(other);
  if (end->isBeforeInBlock(otherEnd))
    end->moveBefore(otherEnd);
  otherEnd->erase();
  store.erase();
  other.replaceAllUsesWith(kept.getResult());
  other.erase();
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
    if (!alloc || !deallocOf(alloc) || (kept && kept.getType() != alloc.getType()))
      return;
    if (kept)
      merge(kept, alloc, store);
    else
      kept = alloc;
  }
}
} // namespace

SmallVector<BufferReader> readersOf(nv::AllocOp alloc, Block *block) {
  SmallVector<BufferReader> readers;
  auto collect = [&](OpOperand &use) {
    if (isa<nv::LocalStoreOp, nv::DeallocOp>(use.getOwner()))
      return true;
    auto product = dyn_cast<nv::WgmmaOp>(use.getOwner());
    if (!product || product->getBlock() != block)
      return false;
    readers.push_back({product, static_cast<int>(use.getOperandNumber())});
    return true;
  };
  if (!forEachUse(alloc, collect))
    return {};
  llvm::sort(readers, [](const BufferReader &a, const BufferReader &b) {
    return a.product->isBeforeInBlock(b.product);
  });
  return readers;
}

void shareStagedBuffers(scf::ForOp loop) {
  for (LoadOp load : llvm::to_vector(loop.getBody()->getOps<LoadOp>()))
    if (!load->hasOneUse())
      shareBuffersOf(load);
}

} // namespace pantile
