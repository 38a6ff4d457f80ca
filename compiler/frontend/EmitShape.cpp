//===- EmitShape.cpp - operations that change a tile's shape only -----------------------===//
// Needs: tiles, or scalars where a scalar has a meaning.
// Gives: tile.expand_dims, broadcast, reshape, trans, join, split, unsplat.
// How:   starred shape arguments come as one tuple, which may hold one tuple itself.
//===------------------------------------------------------------------------------------===//
#include "frontend/Emitter.h"
#include <numeric>

using namespace pantile;

Value Emitter::expandDims(const Runtime &value, int64_t axis) {
  if (!value.type.isTile())
    return splat(value, {1});
  Type type = value.type;
  type.shape.insert(type.shape.begin() + axis, 1);
  return Runtime{ExpandDimsOp::create(b, loc(), irType(type), value.ir, uint32_t(axis)), type};
}

Value Emitter::transpose(const Runtime &value, llvm::ArrayRef<int32_t> order) {
  Type type{value.type.element, {}};
  for (int32_t dim : order)
    type.shape.push_back(value.type.shape[dim]);
  return Runtime{TransOp::create(b, loc(), irType(type), value.ir, order), type};
}

Runtime Emitter::reshaped(const Runtime &value, llvm::ArrayRef<int64_t> shape, bool canReorder) {
  if (llvm::ArrayRef<int64_t>(value.type.shape) == shape)
    return value;
  if (!value.type.isTile())
    return splat(value, shape);
  Type type{value.type.element, Shape(shape)};
  if (shape.empty())
    return {UnsplatOp::create(b, loc(), irType(type), value.ir), type};
  return {ReshapeOp::create(b, loc(), irType(type), value.ir, canReorder), type};
}

namespace {

/// `*dims` or one tuple of them.
Value unpacked(const Value &star) {
  bool isNested = star.elements().size() == 1 && star.elements()[0].isTuple();
  return isNested ? star.elements()[0] : star;
}
} // namespace

Value pantile::emitBroadcast(Emitter &e, const BoundCall &call) {
  auto x = e.runtime(call["input"], call.at("input")),
       y = e.runtime(call["other"], call.at("other"));
  auto both = x && y ? e.broadcastPair(*x, *y, call.span) : std::nullopt;
  return both ? Value::tuple({both->first, both->second}) : Value(Failed());
}

Value pantile::emitBroadcastTo(Emitter &e, const BoundCall &call) {
  auto value = e.runtime(call["input"], call.at("input"));
  auto shape = e.needShape(unpacked(call["shape"]), call.at("shape"), "a shape");
  if (!value || !shape)
    return Failed();
  auto common = broadcastShapes(value->type.shape, *shape);
  if (!common || *common != *shape)
    return e.error(call.span,
                   "cannot broadcast `" + value->type.name() + "` to " + shapeText(*shape));
  return e.broadcastTo(*value, *shape);
}

Value pantile::emitExpandDims(Emitter &e, const BoundCall &call) {
  auto value = e.runtime(call["input"], call.at("input"));
  auto axes = e.needInts(call["axis"], call.at("axis"), "`axis`");
  if (!value || !axes)
    return Failed();
  size_t rank = value->type.rank() + axes->size();
  for (int64_t &axis : *axes) {
    auto normal = e.needAxis(BigInt(axis), call.at("axis"), rank);
    if (!normal)
      return Failed();
    axis = *normal;
  }
  llvm::sort(*axes);
  if (std::adjacent_find(axes->begin(), axes->end()) != axes->end())
    return e.error(call.at("axis"),
                   "expand_dims received duplicate axes: `axis` names a dimension twice");
  Value result = *value;
  for (int64_t axis : *axes)
    result = e.expandDims(result.as<Runtime>(), axis);
  return result;
}

Value pantile::emitSqueeze(Emitter &e, const BoundCall &call) {
  auto value = e.needTile(call["x"], call.at("x"), "`x`");
  auto dim = value ? e.needAxis(call["dim"], call.at("dim"), value->type.rank()) : std::nullopt;
  if (!dim)
    return Failed();
  Shape shape = value->type.shape;
  if (shape[*dim] != 1)
    return e.error(call.at("dim"), "`squeeze` removes a dimension of size 1, got dimension " +
                                       std::to_string(*dim) + " of `" + value->type.name() + "`");
  shape.erase(shape.begin() + *dim);
  return e.reshaped(*value, shape);
}

Value pantile::emitUnsqueeze(Emitter &e, const BoundCall &call) {
  auto value = e.runtime(call["x"], call.at("x"));
  auto dim = value ? e.needAxis(call["dim"], call.at("dim"), value->type.rank() + 1) : std::nullopt;
  return dim ? e.expandDims(*value, *dim) : Value(Failed());
}

Value pantile::emitReshape(Emitter &e, const BoundCall &call) {
  auto value = e.runtime(call["input"], call.at("input"));
  auto canReorder = e.needBool(call["can_reorder"], call.at("can_reorder"), "`can_reorder`");
  Value dims = unpacked(call["shape"]);
  auto shape = e.needShape(dims, call.at("shape"), "a shape");
  if (!value || !shape || !canReorder)
    return Failed();
  int64_t count = Type{value->type.element, *shape}.count();
  if (count != value->type.count())
    return e.error(call.span, "reshape() cannot change total number of elements in tensor: `" +
                                  value->type.name() + "` of " +
                                  std::to_string(value->type.count()) + " elements to " +
                                  shapeText(*shape) + " of " + std::to_string(count));
  return e.reshaped(*value, *shape, *canReorder);
}

Value pantile::emitRavel(Emitter &e, const BoundCall &call) {
  auto value = e.runtime(call["x"], call.at("x"));
  auto canReorder = e.needBool(call["can_reorder"], call.at("can_reorder"), "`can_reorder`");
  if (!value || !canReorder)
    return Failed();
  return e.reshaped(*value, {value->type.count()}, *canReorder);
}

namespace {
Value permuted(Emitter &e, const BoundCall &call, const Value &dims) {
  auto value = e.needTile(call["input"], call.at("input"), "`input`");
  auto ints = value ? e.needInts(dims, call.at("dims"), "a dimension") : std::nullopt;
  if (!ints)
    return Failed();
  llvm::SmallVector<int32_t> order;
  std::vector<bool> seen(value->type.rank(), false);
  for (int64_t dim : *ints) {
    auto axis = e.needAxis(BigInt(dim), call.at("dims"), value->type.rank());
    if (!axis)
      return Failed();
    if (seen[*axis])
      return e.error(call.at("dims"), "permute dims must be a permutation: dimension " +
                                          std::to_string(dim) + " is named twice");
    seen[*axis] = true;
    order.push_back(int32_t(*axis));
  }
  if (order.size() != value->type.rank())
    return e.error(call.at("dims"), "permute dims must have the same length as input shape: `" +
                                        value->type.name() + "` has " +
                                        std::to_string(value->type.rank()) + " dimensions, got " +
                                        std::to_string(order.size()));
  return e.transpose(*value, order);
}
} // namespace

Value pantile::emitPermute(Emitter &e, const BoundCall &call) {
  return permuted(e, call, unpacked(call["dims"]));
}

Value pantile::emitTrans(Emitter &e, const BoundCall &call) {
  Value dims = unpacked(call["dims"]);
  if (!dims.elements().empty())
    return permuted(e, call, dims);
  auto value = e.needTile(call["input"], call.at("input"), "`input`");
  if (!value)
    return Failed();
  if (value->type.rank() < 2)
    return e.error(call.span, "cannot transpose `" + value->type.name() + "` of rank 1");
  llvm::SmallVector<int32_t> order(value->type.rank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return e.transpose(*value, order);
}

Value Emitter::withSignOf(const Value &first, const Value &other, SourceSpan span) {
  auto *x = first.dynAs<Runtime>(), *y = other.dynAs<Runtime>();
  if (!x || !y || !x->type.element.isInt() || !y->type.element.isInt() ||
      x->type.element.bits() != y->type.element.bits())
    return other;
  return Value(*cast(*y, x->type.element, span));
}

Value pantile::emitJoin(Emitter &e, const BoundCall &call) {
  const Value second = e.withSignOf(call["a"], call["b"], call.at("b"));
  auto both = e.promoted(call["a"], second, call.span, false, "`join`");
  if (!both)
    return Failed();
  bool isScalar = !both->first.type.isTile();
  Runtime lhs = isScalar ? e.splat(both->first, {1}) : both->first;
  Runtime rhs = isScalar ? e.splat(both->second, {1}) : both->second;
  Type type = lhs.type;
  type.shape.push_back(2);
  Runtime joined{JoinOp::create(e.b, e.loc(), e.irType(type), lhs.ir, rhs.ir), type};
  return isScalar ? e.reshaped(joined, {2}) : joined;
}

Value pantile::emitSplit(Emitter &e, const BoundCall &call) {
  auto value = e.needTile(call["a"], call.at("a"), "`a`");
  if (!value)
    return Failed();
  if (value->type.shape.back() != 2)
    return e.error(call.span, "the last dimension of `split`'s operand must be 2, got `" +
                                  value->type.name() + "`");
  bool toScalars = value->type.rank() == 1;
  Runtime whole = toScalars ? e.reshaped(*value, {1, 2}) : *value;
  Type type = whole.type;
  type.shape.pop_back();
  auto split = SplitOp::create(e.b, e.loc(), e.irType(type), e.irType(type), whole.ir);
  Runtime lhs{split.getLhs(), type}, rhs{split.getRhs(), type};
  return toScalars ? Value::tuple({e.reshaped(lhs, {}), e.reshaped(rhs, {})})
                   : Value::tuple({lhs, rhs});
}

Value pantile::emitItem(Emitter &e, const BoundCall &call) {
  auto value = e.runtime(call["input"], call.at("input"));
  if (!value)
    return Failed();
  if (value->type.count() != 1)
    return e.error(call.span, "`item` takes one element, got `" + value->type.name() + "`");
  return e.reshaped(*value, {});
}

/// The index of each element of `x` along `axis`.
Value pantile::emitIndexAlong(Emitter &e, const BoundCall &call) {
  auto value = e.needTile(call["x"], call.at("x"), "the operand");
  auto axis = value ? e.needAxis(call["axis"], call.at("axis"), value->type.rank()) : std::nullopt;
  if (!axis)
    return Failed();
  int64_t size = value->type.shape[*axis];
  Type line{Scalar::I32, {size}};
  Value index = Runtime{ArangeOp::create(e.b, e.loc(), e.irType(line), 0, uint32_t(size)), line};
  for (size_t dim = 0; dim < value->type.rank(); ++dim)
    if (dim != size_t(*axis))
      index = e.expandDims(index.as<Runtime>(), int64_t(dim));
  return e.broadcastTo(index.as<Runtime>(), value->type.shape);
}
