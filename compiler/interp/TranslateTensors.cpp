//===- TranslateTensors.cpp - tensor maps, mbarriers and persistent kernels -----------===//
// Needs: see Translator.h.
// Gives: instructions of producers and of persistent kernels.
// How:   A producer's operations run at its position, the kernel's start. Programs run in the order
//        of their numbers: the raster order of a launch does not change results.
//===------------------------------------------------------------------------------------------===//
#include "interp/Control.h"
#include "interp/Tensors.h"
#include "interp/Translator.h"
#include "mlir/IR/AffineExpr.h"
#include <functional>
#include <numeric>

using namespace mlir;

namespace pantile::interp {

Reg Translator::wideConstant(int64_t value) {
  const auto *bytes = reinterpret_cast<const std::byte *>(&value);
  builder.code().constants.emplace_back(bytes, bytes + sizeof(value));
  Reg constant = builder.newReg(sizeof(value), true);
  builder.emit(runConstant, {constant}, 1,
               static_cast<uint32_t>(builder.code().constants.size() - 1), 0);
  return constant;
}

/// Evaluates polynomials of symbols, the kernel's arguments, and of their quotients and remainders, in 64
/// bits.
Reg Translator::valueOf(AffineExpr expr, func::FuncOp kernel) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return wideConstant(constant.getValue());
  Reg result = builder.newReg(sizeof(int64_t));
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    BlockArgument argument = kernel.getArgument(symbol.getPosition());
    builder.emit(kernels().convert(ConvertOp::SignedInt, *elemOf(argument.getType()), Elem::I64),
                 {result, reg(argument)}, 1, 0, 0);
    return result;
  }
  auto both = cast<AffineBinaryOpExpr>(expr);
  const BinaryOp op = both.getKind() == AffineExprKind::Add   ? BinaryOp::Add
                      : both.getKind() == AffineExprKind::Mul ? BinaryOp::Mul
                      : both.getKind() == AffineExprKind::Mod ? BinaryOp::RemS
                                                              : BinaryOp::DivS;
  Reg lhs = valueOf(both.getLHS(), kernel), rhs = valueOf(both.getRHS(), kernel);
  builder.emit(kernels().binary(op, Elem::I64), {result, lhs, rhs}, 1, 0, 0);
  return result;
}

Reg Translator::packed(ArrayRef<Reg> numbers, uint64_t bytes) {
  Reg all = builder.newReg(numbers.size() * bytes), place = all;
  for (Reg number : numbers) {
    emitCopy(place, number, bytes);
    place.addend += bytes;
  }
  return all;
}

LogicalResult Translator::visitTensorMap(nv::TensorMapOp op) {
  auto kernel = op->getParentOfType<func::FuncOp>();
  Reg base = builder.newReg(sizeof(int64_t));
  builder.emit(
      kernels().binary(BinaryOp::Add, Elem::I64),
      {base, reg(kernel.getArgument(op.getBase())), valueOf(op.getOffset().getResult(0), kernel)},
      1, 0, 0);
  SmallVector<Reg> numbers{base};
  for (AffineMap map : {op.getExtents(), op.getStrides()})
    for (AffineExpr expr : map.getResults())
      numbers.push_back(valueOf(expr, kernel));
  bind(op, packed(numbers, sizeof(int64_t)));
  return success();
}

TensorBox Translator::boxOf(nv::TensorMapOp map) {
  TensorBox box;
  box.argument = static_cast<int>(map.getBase());
  box.elem = *elemOf(map.getElement());
  box.sizes.assign(map.getBox().begin(), map.getBox().end());
  return box;
}

LogicalResult Translator::visitTmaLoad(nv::TmaLoadOp op) {
  auto type = cast<nv::BufferType>(op.getBuffer().getType());
  ArrayRef<int64_t> shape = type.getShape();
  const int32_t fast = type.getSwizzle().getOrder().front();
  TensorBox box = boxOf(op.getMap().getDefiningOp<nv::TensorMapOp>());
  const bool isRowMajor = fast == static_cast<int32_t>(shape.size()) - 1;
  const int64_t count = std::accumulate(box.sizes.begin(), box.sizes.end(),
                                        shape[fast] / box.sizes[0], std::multiplies<int64_t>());
  if ((!isRowMajor && shape.size() != 2) || count != ShapedType::getNumElements(shape))
    return unsupported(op, "of such a buffer");
  box.elem = *elemOf(type.getElementType());
  box.panels = static_cast<uint32_t>(shape[fast] / box.sizes.front());
  box.fastStride = isRowMajor ? 1 : static_cast<uint32_t>(shape[1]);
  box.slowStride = isRowMajor ? static_cast<uint32_t>(shape[fast]) : 1;
  const uint64_t bytes = ShapedType::getNumElements(shape) * sizeOf(box.elem);
  SmallVector<Reg> coords;
  for (Value coord : op.getCoords())
    coords.push_back(reg(coord));
  Reg tile = builder.newReg(bytes);
  builder.code().boxes.push_back(box);
  builder.emit(runTensorLoad, {tile, reg(op.getMap()), packed(coords, sizeof(int32_t))}, 1,
               static_cast<uint32_t>(builder.code().boxes.size() - 1), placeOf(op.getLoc()));
  builder.emit(runPost, {{}, addressOf(op.getBuffer()), tile, addressOf(op.getBarrier())}, bytes,
               producerOf(op), placeOf(op.getLoc()));
  return success();
}

/// The number of the producer that `op` belongs to.
uint32_t Translator::producerOf(Operation *op) {
  auto producer = op->getParentOfType<nv::ProducerOp>();
  uint32_t number = 0;
  for (Operation *other = producer; other && (other = other->getPrevNode());)
    number += isa<nv::ProducerOp>(other);
  return number;
}

/// The map's box is what one warp stores; here the whole tile is written at once.
LogicalResult Translator::visitTmaStore(nv::TmaStoreOp op) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  if (type.getRank() != 2 || op.getCoords().size() != 2)
    return unsupported(op, "of such a tile");
  TensorBox box = boxOf(op.getMap().getDefiningOp<nv::TensorMapOp>());
  const auto fast = static_cast<unsigned>(op.getFast());
  box.elem = *elemOf(type);
  box.sizes = {static_cast<int32_t>(type.getDimSize(fast)),
               static_cast<int32_t>(type.getDimSize(1 - fast))};
  box.fastStride = fast == 1 ? 1 : static_cast<uint32_t>(type.getDimSize(1));
  box.slowStride = fast == 1 ? static_cast<uint32_t>(type.getDimSize(1)) : 1;
  box.adds = op.getAdds();
  SmallVector<Reg> coords{reg(op.getCoords()[0]), reg(op.getCoords()[1])};
  builder.code().boxes.push_back(box);
  builder.emit(runTensorStore,
               {{}, reg(op.getMap()), packed(coords, sizeof(int32_t)), reg(op.getValue())}, 1,
               static_cast<uint32_t>(builder.code().boxes.size() - 1), placeOf(op.getLoc()));
  return success();
}

std::optional<LogicalResult> Translator::visitBlocks(Operation *op) {
  Handler run = isa<nv::CtaIdOp>(op)          ? runCtaId
                : isa<nv::NumCtasOp>(op)      ? runNumCtas
                : isa<nv::ProgramCountOp>(op) ? runProgramCount
                                              : nullptr;
  if (run || isa<nv::ProgramAtOp>(op))
    builder.code().isPersistent = true;
  if (run) {
    builder.emit(run, {define(op->getResult(0))}, 1, 0, 0);
    return success();
  }
  if (auto at = dyn_cast<nv::ProgramAtOp>(op)) {
    Reg program = reg(at.getProgram());
    builder.emit(runProgramAt, {define(at), program}, 1, at.getAxis(), 0);
    return success();
  }
  if (auto ordered = dyn_cast<nv::RasterProgramOp>(op))
    return bind(ordered, reg(ordered.getPosition())), success();
  return std::nullopt;
}

std::optional<LogicalResult> Translator::visitTensors(Operation *op) {
  if (auto done = visitBlocks(op))
    return done;
  if (isa<nv::TmaStoreWaitOp, nv::ReleaseOp, nv::PingPongWaitOp, nv::PingPongArriveOp,
          nv::ForkProducerOp, nv::DismissProducerOp>(op))
    return success();
  if (auto map = dyn_cast<nv::TensorMapOp>(op))
    return visitTensorMap(map);
  if (auto load = dyn_cast<nv::TmaLoadOp>(op))
    return visitTmaLoad(load);
  if (auto store = dyn_cast<nv::TmaStoreOp>(op))
    return visitTmaStore(store);
  if (auto producer = dyn_cast<nv::ProducerOp>(op))
    return visitBlock(producer.getBody().front());
  if (isa<nv::MbarrierInitOp>(op)) {
    builder.code().hasBarriers = true;
    return success();
  }
  if (auto expect = dyn_cast<nv::ExpectOp>(op)) {
    builder.emit(runExpect, {{}, addressOf(expect.getBarrier())}, 1, producerOf(op),
                 placeOf(op->getLoc()));
    return success();
  }
  if (auto wait = dyn_cast<nv::MbarrierWaitOp>(op)) {
    if (!wait.getEmpty()) // a producer's copies never wait for an empty stage
      builder.emit(runAwait, {{}, addressOf(wait.getBarrier()), reg(wait.getParity())}, 1, 0,
                   placeOf(op->getLoc()));
    return success();
  }
  if (auto acquire = dyn_cast<nv::AcquireOp>(op)) {
    builder.emit(runAwait, {{}, addressOf(acquire.getBarrier()), reg(acquire.getParity())}, 1, 0,
                 placeOf(op->getLoc()));
    return success();
  }
  return std::nullopt;
}

} // namespace pantile::interp
