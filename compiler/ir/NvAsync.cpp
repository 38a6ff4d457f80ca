//===- NvAsync.cpp - interfaces of asynchronous operations --------------------------------===//
// Gives: the methods and verifiers of the interfaces in NvAsync.td.
//===------------------------------------------------------------------------------------===//
#include "ir/Tile.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::nv;

LogicalResult nv::verifyAsync(Operation *op) {
  auto async = cast<AsyncOpInterface>(op);
  for (const auto &buffers : {async.getBuffersRead(), async.getBuffersWritten()})
    for (Value buffer : buffers)
      if (cast<BufferType>(buffer.getType()).getDepth() != 1)
        return op->emitOpError() << "async_c1: " << buffer.getType() << " has several stages";
  return success();
}

//===- copies ----------------------------------------------------------------------------===//

Engine CopyAsyncOp::getEngine() { return Engine::LoadStore; }
Completion CopyAsyncOp::getCompletion() {
  return getBarrier() ? Completion::Mbarrier : Completion::CopyGroup;
}
SmallVector<Value> CopyAsyncOp::getBuffersWritten() { return {getBuffer()}; }

Engine TmaLoadOp::getEngine() { return Engine::Tma; }
Completion TmaLoadOp::getCompletion() { return Completion::Mbarrier; }
SmallVector<Value> TmaLoadOp::getBuffersWritten() { return {getBuffer()}; }

// TMA reads the scratch while the store is in flight; the tile itself is read at the issue.
Engine TmaStoreOp::getEngine() { return Engine::Tma; }
Completion TmaStoreOp::getCompletion() { return Completion::StoreGroup; }

//===- wgmma -----------------------------------------------------------------------------===//

Engine WgmmaOp::getEngine() { return Engine::TensorCore; }
Completion WgmmaOp::getCompletion() { return Completion::MmaGroup; }

SmallVector<Value> WgmmaOp::getBuffersRead() {
  if (isa<BufferType>(getLhs().getType()))
    return {getLhs(), getRhs()};
  return {getRhs()};
}

Value WgmmaOp::getHeldRegisters() {
  return isa<RankedTensorType>(getLhs().getType()) ? getLhs() : Value();
}

/// fp16 accumulators are unpacked from 32-bit registers, and with a limit on imprecise fp8
/// accumulation the partial results are added after the wait.
bool WgmmaOp::isWaitedForAtOnce() {
  return (*this)->hasAttr(names::maxImprecise) || getAcc().getType().getElementType().isF16();
}

MmaWaitOpInterface WgmmaOp::createWait(OpBuilder &builder, Location loc, ValueRange values) {
  return WgmmaWaitOp::create(builder, loc, values);
}
