//===- BufferReaders.cpp - which products read a staged buffer ----------------------------===//
#include "analysis/BufferReaders.h"

using namespace mlir;

namespace pantile {

bool forEachUse(Value buffer, llvm::function_ref<bool(OpOperand &)> visit) {
  for (OpOperand &use : buffer.getUses()) {
    auto view = dyn_cast<nv::BufferTransOp>(use.getOwner());
    if (view ? !forEachUse(view.getResult(), visit) : !visit(use))
      return false;
  }
  return true;
}

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

} // namespace pantile
