//===- TranslateBuffers.cpp - shared buffers, asynchronous copies and MMAs, run in sequence --===//
// Needs: see Translator.h.
// Gives: instructions of the `nv` dialect, so that the IR after any pass can be compared with the
//        IR before all passes.
// How:   A program runs as one thread, and each operation is done before the next starts: a copy
//        completes when it is issued; waits and barriers do nothing. A buffer is a register with
//        one row-major tile per stage; buffers that have offsets in shared memory are at these
//        offsets of one register. Both start as bytes that are NaN, so that reading a tile before
//        it is written shows in the results.
//===------------------------------------------------------------------------------------------===//
#include "interp/Buffers.h"
#include "interp/Control.h"
#include "interp/Memory.h"
#include "interp/Tensors.h"
#include "interp/Translator.h"
#include "ir/CopyFill.h"
#include "ir/Launch.h"

using namespace mlir;

namespace pantile::interp {
namespace {

/// Operations that synchronise threads and engines, which is nothing in a program that runs in
/// sequence; and hints.
bool hasNoValue(Operation *op) {
  return isa<nv::CommitOp, nv::WaitOp, nv::FenceAsyncOp, nv::BarrierOp, nv::DeallocOp, nv::SettleOp,
             nv::PrefetchOp, nv::RoundBufferOp>(op); // MMAs round their operands
}

uint64_t elementsOf(nv::BufferType type) { return ShapedType::getNumElements(type.getShape()); }

RankedTensorType tileOf(nv::BufferType type) {
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

} // namespace

/// A stage of a buffer, possibly with the two dimensions exchanged; `index` is null for a buffer of
/// one.
struct Translator::Stage {
  Reg buffer;
  nv::BufferType stored; ///< the type of one stage in memory
  unsigned depth;
  Value index;
  bool isTransposed;
};

Translator::Stage Translator::stageOf(Value buffer) {
  if (auto trans = buffer.getDefiningOp<nv::BufferTransOp>()) {
    Stage stage = stageOf(trans.getBuffer());
    stage.isTransposed = !stage.isTransposed;
    return stage;
  }
  if (auto chosen = buffer.getDefiningOp<nv::SelectStageOp>()) {
    Stage stage = stageOf(chosen.getBuffer());
    stage.index = chosen.getIndex();
    return stage;
  }
  if (auto current = buffer.getDefiningOp<nv::CurrentStageOp>())
    return stageOf(current.getChannel()); // the first, as no iteration begins before the last ends
  auto type = cast<nv::BufferType>(buffer.getType());
  return {reg(buffer), type.getStageType(), type.getDepth(), nullptr, false};
}

Reg Translator::transposed(Reg tile, ArrayRef<int64_t> shape, Elem elem) {
  const auto rows = static_cast<uint32_t>(shape[0]), columns = static_cast<uint32_t>(shape[1]);
  Reg result = builder.newReg(uint64_t(rows) * columns * sizeOf(elem));
  emitStrided(result, tile, elem, {{columns, rows}, {1, columns}, {rows, 1}});
  return result;
}

Reg Translator::loadStage(Value buffer) {
  const Stage stage = stageOf(buffer);
  const Elem elem = *elemOf(stage.stored.getElementType());
  const uint64_t bytes = elementsOf(stage.stored) * sizeOf(elem);
  Reg tile = builder.newReg(bytes);
  if (stage.index)
    builder.emit(runLoadStage, {tile, stage.buffer, reg(stage.index)}, bytes, stage.depth, 0);
  else
    emitCopy(tile, stage.buffer, bytes);
  return stage.isTransposed ? transposed(tile, stage.stored.getShape(), elem) : tile;
}

void Translator::storeStage(Reg tile, Value buffer) {
  const Stage stage = stageOf(buffer);
  const Elem elem = *elemOf(stage.stored.getElementType());
  const uint64_t bytes = elementsOf(stage.stored) * sizeOf(elem);
  if (stage.isTransposed)
    tile = transposed(tile, cast<nv::BufferType>(buffer.getType()).getShape(), elem);
  if (stage.index)
    builder.emit(runStoreStage, {stage.buffer, tile, reg(stage.index)}, bytes, stage.depth, 0);
  else
    emitCopy(stage.buffer, tile, bytes);
}

Reg Translator::addressOf(Value buffer) {
  const Stage stage = stageOf(buffer);
  const uint64_t bytes = elementsOf(stage.stored) * sizeOf(*elemOf(stage.stored.getElementType()));
  Reg address = builder.newReg(sizeof(uint64_t));
  Reg index = stage.index ? reg(stage.index) : wideConstant(0);
  builder.emit(runStageAddress, {address, stage.buffer, index}, bytes, stage.depth, 0);
  return address;
}

LogicalResult Translator::visitAlloc(nv::BufferOpInterface op) {
  nv::BufferType type = op.getBuffer().getType();
  const uint64_t bytes =
      type.getDepth() * elementsOf(type) * sizeOf(*elemOf(type.getElementType()));
  if (!op.getOffset()) {
    Reg buffer = builder.newReg(bytes);
    builder.emit(runFillBytes, {buffer}, bytes, 0, 0);
    bind(op.getBuffer(), buffer);
    return success();
  }
  if (shared.id == Reg::none) {
    const auto size = static_cast<uint64_t>(pantile::Launch::of(op).sharedBytes);
    shared = builder.newReg(size);
    builder.liveFromStart(shared);
  }
  if (*op.getOffset() + bytes > static_cast<uint64_t>(pantile::Launch::of(op).sharedBytes))
    return unsupported(op, "past the end of shared memory");
  Reg buffer = shared;
  buffer.addend = *op.getOffset();
  builder.emit(runFillBytes, {buffer}, bytes, 0, 0);
  bind(op.getBuffer(), buffer);
  return success();
}

LogicalResult Translator::visitCopyAsync(nv::CopyAsyncOp op) {
  if (op->hasAttr(names::onlyZeros)) // the other copies store them here, too
    return success();
  Access access = accessOf(op.getPtr());
  access.masked = op.getMask() != nullptr;
  size_t skip = 0;
  if (op.getEnable())
    skip = builder.emit(runJumpUnless, {{}, reg(op.getEnable())}, 1, 0, 0);
  Reg tile = builder.newReg(uint64_t(access.rows) * access.cols * sizeOf(access.elem));
  builder.code().accesses.push_back(access);
  builder.emit(runLoad, {tile, reg(op.getPtr()), op.getMask() ? reg(op.getMask()) : Reg()}, 1,
               static_cast<uint32_t>(builder.code().accesses.size() - 1), placeOf(op.getLoc()));
  if (op.getBarrier())
    builder.emit(runPost, {{}, addressOf(op.getBuffer()), tile, addressOf(op.getBarrier())},
                 uint64_t(access.rows) * access.cols * sizeOf(access.elem), producerOf(op),
                 placeOf(op.getLoc()));
  else
    storeStage(tile, op.getBuffer());
  if (op.getEnable())
    builder.setTarget(skip, builder.position());
  return success();
}

Reg Translator::zeroTile(Type type) {
  builder.code().constants.emplace_back(static_cast<size_t>(bytesOf(type)));
  Reg zero = builder.newReg(bytesOf(type), true);
  builder.emit(runConstant, {zero}, 1, static_cast<uint32_t>(builder.code().constants.size() - 1),
               0);
  return zero;
}

LogicalResult Translator::visitWgmma(nv::WgmmaOp op) {
  auto rhs = cast<nv::BufferType>(op.getRhs().getType());
  auto buffer = dyn_cast<nv::BufferType>(op.getLhs().getType());
  auto lhs = buffer ? tileOf(buffer) : cast<RankedTensorType>(op.getLhs().getType());
  Reg left = buffer ? loadStage(op.getLhs()) : reg(op.getLhs());
  Reg acc = op.getInitZero() ? zeroTile(op.getType()) : reg(op.getAcc());
  return emitDot(op, left, loadStage(op.getRhs()), acc, {lhs, tileOf(rhs)}, /*tf32=*/true);
}

LogicalResult Translator::visitFma(nv::FmaOp op) {
  auto lhs = cast<nv::BufferType>(op.getLhs().getType()),
       rhs = cast<nv::BufferType>(op.getRhs().getType());
  return emitDot(op, loadStage(op.getLhs()), loadStage(op.getRhs()), reg(op.getAcc()),
                 {tileOf(lhs), tileOf(rhs)}, /*tf32=*/false);
}

std::optional<LogicalResult> Translator::visitBuffers(Operation *op) {
  if (hasNoValue(op) || isa<nv::CurrentStageOp, nv::SelectStageOp, nv::BufferTransOp>(
                            op)) // resolved where they are used
    return success();
  if (auto alloc = dyn_cast<nv::BufferOpInterface>(op))
    return visitAlloc(alloc);
  if (auto copy = dyn_cast<nv::CopyAsyncOp>(op))
    return visitCopyAsync(copy);
  if (auto load = dyn_cast<nv::LocalLoadOp>(op))
    return bind(load, loadStage(load.getBuffer())), success();
  if (auto store = dyn_cast<nv::LocalStoreOp>(op))
    return storeStage(reg(store.getValue()), store.getBuffer()), success();
  if (auto wgmma = dyn_cast<nv::WgmmaOp>(op))
    return visitWgmma(wgmma);
  if (auto fma = dyn_cast<nv::FmaOp>(op))
    return visitFma(fma);
  if (auto wait = dyn_cast<nv::WgmmaWaitOp>(op)) {
    for (auto [value, result] : llvm::zip(wait.getValues(), wait.getResults()))
      bind(result, reg(value));
    return success();
  }
  if (isa<nv::CopyRegistersOp, nv::RoundTf32Op>(op))
    return bind(op->getResult(0), reg(op->getOperand(0))), success();
  return std::nullopt;
}

} // namespace pantile::interp
