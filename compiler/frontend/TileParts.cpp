//===- TileParts.cpp - see TileParts.h --------------------------------------------------===//
// Needs: see TileParts.h.
// Gives: tile.extract_slice, insert_slice, extract and exchange; tile.gather and selections.
// How:   an element of the whole that a part replaces is one whose distance from the offset is a
//        multiple of the stride and small enough, along every dimension.
//===------------------------------------------------------------------------------------===//
#include "frontend/TileParts.h"

using namespace pantile;

namespace {
bool areAllPowersOfTwo(const Shape &shape) { return llvm::all_of(shape, llvm::isPowerOf2_64); }

void remarkOnGather(Emitter &e, const char *verb, const Shape &from, const Shape &to) {
  const Shape &odd = areAllPowersOfTwo(from) ? to : from;
  mlir::emitRemark(e.loc()) << "this part is " << verb
                            << " by gathers, through shared memory: shape " << shapeText(odd)
                            << " is not of powers of two";
}

/// Arithmetic on a line of indices along one dimension.
struct Line {
  Emitter &e;
  Value value;

  static Line counting(Emitter &e, int64_t count) {
    const Type type{Scalar::I32, {count}};
    return {e, Runtime{ArangeOp::create(e.b, e.loc(), e.irType(type), 0, uint32_t(count)), type}};
  }
  Line with(ast::BinaryOp op, int64_t number) const {
    return {e, e.binary(op, value, BigInt(number), e.here())};
  }
  Value compared(ast::CompareOp op, int64_t number) const {
    return e.compare(op, value, BigInt(number), e.here());
  }
  const Runtime &tile() const { return value.as<Runtime>(); }
  /// No index below 0 or above `last`.
  Line within(int64_t last) const {
    const Runtime low = *e.number(BigInt(0), Scalar::I32, e.here());
    const Runtime high = *e.number(BigInt(last), Scalar::I32, e.here());
    const Shape &shape = tile().type.shape;
    mlir::Value result =
        mlir::arith::MaxSIOp::create(e.b, e.loc(), tile().ir, e.splat(low, shape).ir);
    result = mlir::arith::MinSIOp::create(e.b, e.loc(), result, e.splat(high, shape).ir);
    return {e, Runtime{result, tile().type}};
  }
};

/// A line along dimension `axis` of tiles of a rank.
Runtime alongAxis(Emitter &e, Runtime line, size_t rank, size_t axis) {
  for (size_t dim = 0; dim < rank; ++dim)
    if (dim != axis)
      line = e.expandDims(line, int64_t(dim)).as<Runtime>();
  return line;
}

/// `tile` at the indices of the line, for which it has as many elements along `axis`.
Runtime gathered(Emitter &e, const Runtime &tile, const Runtime &line, size_t axis) {
  Type type = tile.type;
  type.shape[axis] = line.type.shape[0];
  const Runtime index = e.broadcastTo(alongAxis(e, line, type.rank(), axis), type.shape);
  return {GatherOp::create(e.b, e.loc(), e.irType(type), tile.ir, index.ir, uint32_t(axis)), type};
}
} // namespace

Runtime pantile::takePart(Emitter &e, const Runtime &tile, const Places &places,
                          const Shape &shape) {
  Type type{tile.type.element, shape};
  if (areAllPowersOfTwo(tile.type.shape) && areAllPowersOfTwo(shape))
    return {ExtractSliceOp::create(e.b, e.loc(), e.irType(type), tile.ir, places.offsets,
                                   places.strides),
            type};
  remarkOnGather(e, "taken", tile.type.shape, shape);
  Runtime result = tile;
  for (auto [axis, count] : llvm::enumerate(shape)) {
    if (count == tile.type.shape[axis])
      continue;
    const Line line = Line::counting(e, count)
                          .with(ast::BinaryOp::Mul, places.strides[axis])
                          .with(ast::BinaryOp::Add, places.offsets[axis]);
    result = gathered(e, result, line.tile(), axis);
  }
  return result;
}

Runtime pantile::putPart(Emitter &e, const Runtime &part, const Runtime &whole,
                         const Places &places) {
  const Shape &to = whole.type.shape, &from = part.type.shape;
  if (areAllPowersOfTwo(to) && areAllPowersOfTwo(from))
    return {InsertSliceOp::create(e.b, e.loc(), e.irType(whole.type), part.ir, whole.ir,
                                  places.offsets, places.strides),
            whole.type};
  remarkOnGather(e, "put", to, from);
  Runtime spread = part;
  Value isReplaced = None();
  for (auto [axis, count] : llvm::enumerate(from)) {
    if (count == to[axis])
      continue;
    const int64_t stride = places.strides[axis];
    const Line distance =
        Line::counting(e, to[axis]).with(ast::BinaryOp::Sub, places.offsets[axis]);
    spread = gathered(
        e, spread, distance.with(ast::BinaryOp::FloorDiv, stride).within(count - 1).tile(), axis);
    Value here = e.logical(true, distance.compared(ast::CompareOp::Ge, 0),
                           distance.compared(ast::CompareOp::Le, stride * (count - 1)), e.here());
    if (stride > 1)
      here = e.logical(true, here,
                       distance.with(ast::BinaryOp::Mod, stride).compared(ast::CompareOp::Eq, 0),
                       e.here());
    const Runtime flags = alongAxis(e, here.as<Runtime>(), to.size(), axis);
    isReplaced = isReplaced.isNone() ? Value(flags) : e.logical(true, isReplaced, flags, e.here());
  }
  if (isReplaced.isNone())
    return part;
  const Runtime mask = e.broadcastTo(isReplaced.as<Runtime>(), to);
  return {mlir::arith::SelectOp::create(e.b, e.loc(), mask.ir, spread.ir, whole.ir), whole.type};
}

Runtime pantile::takeAt(Emitter &e, const Runtime &tile, const Runtime &index, int64_t axis) {
  Type type = tile.type;
  type.shape[axis] = 1;
  if (!areAllPowersOfTwo(tile.type.shape)) {
    remarkOnGather(e, "taken", tile.type.shape, type.shape);
    return gathered(e, tile, e.splat(index, {1}), axis);
  }
  return {ExtractOp::create(e.b, e.loc(), e.irType(type), tile.ir, index.ir, uint32_t(axis)), type};
}

Runtime pantile::turnRound(Emitter &e, const Runtime &tile, int64_t axis) {
  const int64_t extent = tile.type.shape[axis];
  if (llvm::isPowerOf2_64(extent))
    return {ExchangeOp::create(e.b, e.loc(), e.irType(tile.type), tile.ir, uint32_t(axis),
                               uint32_t(extent - 1)),
            tile.type};
  const Line line =
      Line::counting(e, extent).with(ast::BinaryOp::Mul, -1).with(ast::BinaryOp::Add, extent - 1);
  return gathered(e, tile, line.tile(), axis);
}
