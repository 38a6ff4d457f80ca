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

namespace {

/// The one user of `tile`, or of what its elements become.
OpOperand *onlyUseOf(Value tile) {
  while (tile.hasOneUse()) {
    Operation *user = *tile.user_begin();
    if (!isa<nv::RoundTf32Op, ConvertLayoutOp>(user))
      return &*tile.use_begin();
    tile = user->getResult(0);
  }
  return nullptr;
}

/// The MMA that what `load` gives goes on to: in registers, or through a buffer of its own.
std::optional<BufferReader> readerOf(nv::LocalLoadOp load, Block *block) {
  OpOperand *use = onlyUseOf(load.getResult());
  if (!use || use->getOwner()->getBlock() != block)
    return std::nullopt;
  if (auto product = dyn_cast<nv::AsyncMmaOpInterface>(use->getOwner()))
    return use->get() == product.getLhs()
               ? std::optional(BufferReader{product, 0, load, load.getBuffer()})
               : std::nullopt;
  auto store = dyn_cast<nv::LocalStoreOp>(use->getOwner());
  auto alloc = store ? store.getBuffer().getDefiningOp<nv::AllocOp>() : nv::AllocOp();
  const SmallVector<BufferReader> readers =
      alloc ? readersOf(alloc, block) : SmallVector<BufferReader>();
  if (readers.size() != 1 || readers[0].at != readers[0].product)
    return std::nullopt;
  return BufferReader{readers[0].product, readers[0].operand, load, load.getBuffer()};
}
} // namespace

bool isRounded(nv::AllocOp alloc) {
  return llvm::any_of(alloc->getUsers(), llvm::IsaPred<nv::RoundBufferOp>);
}

SmallVector<BufferReader> readersOf(nv::AllocOp alloc, Block *block) {
  SmallVector<BufferReader> readers;
  auto collect = [&](OpOperand &use) {
    if (isa<nv::LocalStoreOp, nv::DeallocOp, nv::RoundBufferOp>(use.getOwner()))
      return true;
    if (auto load = dyn_cast<nv::LocalLoadOp>(use.getOwner())) {
      const auto reader = readerOf(load, block);
      if (reader)
        readers.push_back(*reader);
      return reader.has_value();
    }
    auto product = dyn_cast<nv::AsyncMmaOpInterface>(use.getOwner());
    if (!product || product->getBlock() != block)
      return false;
    readers.push_back({product, &use == &product.getLhsMutable() ? 0 : 1, product, use.get()});
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
