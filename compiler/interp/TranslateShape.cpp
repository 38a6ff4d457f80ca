//===- TranslateShape.cpp - creation and shape of tiles, and dots -------------------------===//
// Needs: see Translator.h.
// Gives: instructions of the operations that move elements, and of tile.dot.
// How:   reshape and expand_dims keep row-major order and cost nothing; every other operation is a
//        copy between strided boxes.
//===------------------------------------------------------------------------------------===//
#include "interp/Control.h"
#include "interp/Translator.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace pantile::interp {
namespace {

/// Elements between neighbours along each dimension, row-major.
SmallVector<uint32_t> stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<uint32_t> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * static_cast<uint32_t>(shape[dim]);
  return strides;
}

/// The same copy with as few dimensions as possible: those of size 1 are dropped, those that are
/// contiguous with one another on both sides become one.
StridedCopy simplify(const StridedCopy &copy) {
  StridedCopy simple;
  for (size_t dim = 0; dim < copy.sizes.size(); ++dim) {
    if (copy.sizes[dim] == 1)
      continue;
    bool continues = !simple.sizes.empty() &&
                     simple.srcStrides.back() == copy.srcStrides[dim] * copy.sizes[dim] &&
                     simple.dstStrides.back() == copy.dstStrides[dim] * copy.sizes[dim];
    if (continues) {
      simple.sizes.back() *= copy.sizes[dim];
      simple.srcStrides.back() = copy.srcStrides[dim];
      simple.dstStrides.back() = copy.dstStrides[dim];
      continue;
    }
    simple.sizes.push_back(copy.sizes[dim]);
    simple.srcStrides.push_back(copy.srcStrides[dim]);
    simple.dstStrides.push_back(copy.dstStrides[dim]);
  }
  if (simple.sizes.empty())
    return {{1}, {1}, {1}};
  return simple;
}

StridedCopy contiguousTo(ArrayRef<int64_t> sizes, SmallVector<uint32_t> srcStrides) {
  SmallVector<uint32_t> dst = stridesOf(sizes);
  return {{sizes.begin(), sizes.end()},
          {srcStrides.begin(), srcStrides.end()},
          {dst.begin(), dst.end()}};
}

} // namespace

void Translator::emitStrided(Reg dst, Reg src, Elem elem, StridedCopy copy) {
  builder.code().copies.push_back(simplify(copy));
  builder.emit(kernels().strided(sizeOf(elem)), {dst, src}, 1,
               static_cast<uint32_t>(builder.code().copies.size() - 1), 0);
}

Reg Translator::emitPermute(Reg src, Elem elem, uint32_t table, uint32_t count) {
  Reg dst = builder.newReg(uint64_t(count) * sizeOf(elem));
  builder.emit(kernels().permute(sizeOf(elem)), {dst, src}, count, table, 0);
  return dst;
}

LogicalResult Translator::visitArange(ArangeOp op) {
  Reg dst = define(op, true);
  builder.emit(runArange, {dst}, countOf(op.getType()), op.getStart(), 0);
  return success();
}

LogicalResult Translator::visitSplat(SplatOp op) {
  Reg src = reg(op.getSrc()), dst = define(op, src.constant);
  builder.emit(kernels().fill(sizeOf(*elemOf(op.getType()))), {dst, src}, countOf(op.getType()), 0,
               0);
  return success();
}

LogicalResult Translator::visitBroadcast(BroadcastOp op) {
  auto from = cast<RankedTensorType>(op.getSrc().getType()),
       to = cast<RankedTensorType>(op.getType());
  Reg src = reg(op.getSrc());
  if (from.getShape() == to.getShape())
    return bind(op, src), success();
  SmallVector<uint32_t> strides = stridesOf(from.getShape());
  for (auto [stride, size] : llvm::zip(strides, from.getShape()))
    stride = size == 1 ? 0 : stride;
  emitStrided(define(op, src.constant), src, *elemOf(to), contiguousTo(to.getShape(), strides));
  return success();
}

LogicalResult Translator::visitTrans(TransOp op) {
  auto from = cast<RankedTensorType>(op.getSrc().getType()),
       to = cast<RankedTensorType>(op.getType());
  Reg src = reg(op.getSrc());
  SmallVector<uint32_t> all = stridesOf(from.getShape()), strides;
  for (int32_t dim : op.getOrder())
    strides.push_back(all[dim]);
  emitStrided(define(op, src.constant), src, *elemOf(to), contiguousTo(to.getShape(), strides));
  return success();
}

LogicalResult Translator::visitJoin(JoinOp op) {
  Elem elem = *elemOf(op.getType());
  uint32_t half = countOf(op.getLhs().getType());
  Reg lhs = reg(op.getLhs()), rhs = reg(op.getRhs());
  Reg dst = define(op);
  Reg odd = dst;
  odd.addend += sizeOf(elem);
  emitStrided(dst, lhs, elem, {{half}, {1}, {2}});
  emitStrided(odd, rhs, elem, {{half}, {1}, {2}});
  return success();
}

LogicalResult Translator::visitSplit(SplitOp op) {
  Elem elem = *elemOf(op.getLhs().getType());
  uint32_t half = countOf(op.getLhs().getType());
  Reg src = reg(op.getSrc()), odd = src;
  odd.addend += sizeOf(elem);
  emitStrided(define(op.getLhs()), src, elem, {{half}, {2}, {1}});
  emitStrided(define(op.getRhs()), odd, elem, {{half}, {2}, {1}});
  return success();
}

Reg Translator::widened(Reg tile, Type type) {
  const uint32_t count = countOf(type);
  Reg wide = builder.newReg(uint64_t(count) * sizeOf(Elem::F32));
  builder.emit(kernels().convert(ConvertOp::Float, *elemOf(type), Elem::F32), {wide, tile}, count,
               0, 0);
  return wide;
}

LogicalResult Translator::visitDot(DotOp op) {
  auto lhs = cast<ShapedType>(op.getLhs().getType()), rhs = cast<ShapedType>(op.getRhs().getType());
  return emitDot(op, reg(op.getLhs()), reg(op.getRhs()), reg(op.getAcc()), {lhs, rhs},
                 op.getPrecision() == Precision::Tf32);
}

LogicalResult Translator::emitDot(Value result, Reg left, Reg right, Reg sum,
                                  std::array<ShapedType, 2> types, bool tf32) {
  auto [lhs, rhs] = types;
  auto acc = cast<RankedTensorType>(result.getType());
  Elem elem = *elemOf(lhs);
  if (elem != *elemOf(rhs)) { // two formats of 8 bits
    left = widened(left, lhs);
    right = widened(right, rhs);
    elem = Elem::F32;
  }
  Handler run = kernels().dot(elem, *elemOf(acc));
  if (!run)
    return unsupported(result.getDefiningOp(), "on such elements");
  int64_t rank = acc.getRank();
  DotShape shape;
  shape.batch = rank == 3 ? static_cast<uint32_t>(acc.getDimSize(0)) : 1;
  shape.m = static_cast<uint32_t>(acc.getDimSize(rank - 2));
  shape.n = static_cast<uint32_t>(acc.getDimSize(rank - 1));
  shape.k = static_cast<uint32_t>(lhs.getDimSize(rank - 1));
  shape.tf32 = elemOf(lhs) == Elem::F32 && tf32;
  Reg scratch = builder.newReg(kernels().dotScratchBytes(shape, elem));
  shape.scratch = scratch.id;
  Operands operands{{}, left, right, sum};
  operands.dst = define(result);
  builder.code().dots.push_back(shape);
  builder.emit(run, operands, 1, static_cast<uint32_t>(builder.code().dots.size() - 1), 0,
               {scratch});
  return success();
}

std::optional<LogicalResult> Translator::visitShape(Operation *op) {
  if (isa<ReshapeOp, ExpandDimsOp, UnsplatOp, ConvertLayoutOp>(op)) {
    bind(op->getResult(0), reg(op->getOperand(0)));
    return success();
  }
  if (isa<ub::PoisonOp>(op)) {
    auto count = static_cast<size_t>(bytesOf(op->getResult(0).getType()));
    builder.code().constants.emplace_back(count);
    builder.emit(runConstant, {define(op->getResult(0), true)}, 1,
                 static_cast<uint32_t>(builder.code().constants.size() - 1), 0);
    return success();
  }
  if (isa<ProgramIdOp, NumProgramsOp>(op)) {
    auto axis = op->getAttrOfType<IntegerAttr>("axis");
    builder.emit(isa<ProgramIdOp>(op) ? runProgramId : runNumPrograms, {define(op->getResult(0))},
                 1, static_cast<uint32_t>(axis.getInt()), 0);
    return success();
  }
  if (auto arange = dyn_cast<ArangeOp>(op))
    return visitArange(arange);
  if (auto splat = dyn_cast<SplatOp>(op))
    return visitSplat(splat);
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return visitBroadcast(broadcast);
  if (auto trans = dyn_cast<TransOp>(op))
    return visitTrans(trans);
  if (auto join = dyn_cast<JoinOp>(op))
    return visitJoin(join);
  if (auto split = dyn_cast<SplitOp>(op))
    return visitSplit(split);
  if (auto dot = dyn_cast<DotOp>(op))
    return visitDot(dot);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return visitReduce(reduce);
  if (auto scan = dyn_cast<ScanOp>(op))
    return visitScan(scan);
  return std::nullopt;
}

} // namespace pantile::interp
