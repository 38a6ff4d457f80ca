//===- Window.cpp - see Window.h ----------------------------------------------------------===//
#include "frontend/Window.h"

using namespace pantile;
namespace arith = mlir::arith;

Runtime pantile::windowIndex(Emitter &e, const Runtime &offset, int64_t count) {
  Type type{Scalar::I32, {count}};
  Runtime first = e.splat(offset, type.shape);
  if (count == 1)
    return first;
  mlir::Value steps = ArangeOp::create(e.b, e.loc(), e.irType(type), 0u, uint32_t(count));
  return {e.b.createOrFold<arith::AddIOp>(e.loc(), steps, first.ir), type};
}

void pantile::addWindowDimension(Emitter &e, Window &window, const Runtime &offset, int64_t count) {
  std::optional<BigInt> known = e.knownInt(offset);
  window.indices.push_back(windowIndex(e, offset, count));
  window.isNeverNegative.push_back(known && *known >= 0);
}

namespace {
/// `tile`, of rank 1, along dimension `dim` of `rank`.
Runtime alongDimension(Emitter &e, Runtime tile, size_t dim, size_t rank) {
  for (size_t d = 0; d < rank; ++d)
    if (d != dim)
      tile = e.expandDims(tile, int64_t(d)).as<Runtime>();
  return tile;
}

Runtime inside(Emitter &e, const Window &window, size_t dim) {
  SourceSpan span = e.here();
  DType wider = window.sizes[dim].type.element;
  if (window.indices[dim].type.element.bits() > wider.bits())
    wider = window.indices[dim].type.element;
  Runtime size = *e.cast(window.sizes[dim], wider, span);
  Runtime index = *e.cast(window.indices[dim], wider, span);
  auto compare = [&](arith::CmpIPredicate predicate, const Runtime &bound) -> mlir::Value {
    mlir::Value splat = e.splat(bound, index.type.shape).ir;
    return e.b.createOrFold<arith::CmpIOp>(e.loc(), predicate, index.ir, splat);
  };
  mlir::Value mask = compare(arith::CmpIPredicate::slt, size);
  if (!window.isNeverNegative[dim]) {
    Runtime zero = e.constant(size.type.element, BigInt(0));
    mask = e.b.createOrFold<arith::AndIOp>(e.loc(), compare(arith::CmpIPredicate::sge, zero), mask);
  }
  return {mask, index.type.withElement(Scalar::I1)};
}

Shape shapeOfWindow(const Window &window) {
  Shape shape;
  for (const Runtime &index : window.indices)
    shape.push_back(index.type.shape[0]);
  return shape;
}
} // namespace

Runtime pantile::windowPointers(Emitter &e, const Window &window) {
  SourceSpan span = e.here();
  size_t rank = window.indices.size();
  Value pointers = window.base;
  for (size_t dim = 0; dim < rank; ++dim) {
    Runtime index = *e.cast(window.indices[dim], Scalar::I64, span);
    mlir::Value stride = e.splat(window.strides[dim], index.type.shape).ir;
    Runtime steps{e.b.createOrFold<arith::MulIOp>(e.loc(), index.ir, stride), index.type};
    pointers = e.addPointer(pointers, alongDimension(e, steps, dim, rank), span);
  }
  return e.broadcastTo(pointers.as<Runtime>(), shapeOfWindow(window));
}

Value pantile::windowMask(Emitter &e, const Window &window, llvm::ArrayRef<int64_t> checked) {
  Value mask = None();
  size_t rank = window.indices.size();
  for (int64_t dim : checked) {
    Runtime part = alongDimension(e, inside(e, window, size_t(dim)), size_t(dim), rank);
    mask = mask.isNone() ? Value(part) : e.logical(true, mask, part, e.here());
  }
  return mask.isNone() ? mask : Value(e.broadcastTo(mask.as<Runtime>(), shapeOfWindow(window)));
}

std::optional<std::vector<Value>> pantile::needScalars(Emitter &e, const Value &value, DType dtype,
                                                       SourceSpan span, llvm::StringRef what) {
  std::vector<Value> items = value.isTuple() ? value.elements() : std::vector<Value>{value};
  std::vector<Value> scalars;
  for (const Value &item : items) {
    auto *runtime = item.dynAs<Runtime>();
    bool isInteger = runtime ? !runtime->type.isTile() && runtime->type.element.isInt()
                             : item.is<BigInt>() || item.is<bool>();
    if (!isInteger) {
      if (!item.failed())
        e.error(span, what.str() + " must be integers, got " + kindText(item));
      return std::nullopt;
    }
    std::optional<BigInt> known = runtime ? e.knownInt(item) : std::nullopt;
    const bool isWider = runtime && runtime->type.element.bits() > dtype.bits();
    if (isWider && !known) {
      e.error(span, what.str() + " must be `" + dtype.name() + "`, got " + kindText(item) +
                        "; convert with `.to(tl." + dtype.name() + ")`");
      return std::nullopt;
    }
    auto scalar = isWider   ? e.number(*known, dtype, span)
                  : runtime ? e.cast(*runtime, dtype, span)
                            : e.number(item, dtype, span);
    if (!scalar)
      return std::nullopt;
    scalars.push_back(*scalar);
  }
  return scalars;
}

llvm::SmallVector<Runtime, 5> pantile::scalarsOf(const Value &tuple) {
  llvm::SmallVector<Runtime, 5> scalars;
  for (const Value &element : tuple.elements())
    scalars.push_back(element.as<Runtime>());
  return scalars;
}

Shape pantile::shapeOf(const Value &tuple) {
  Shape shape;
  for (const Value &element : tuple.elements())
    shape.push_back(int64_t(element.as<BigInt>()));
  return shape;
}

Value pantile::tupleOf(llvm::ArrayRef<int64_t> sizes) {
  std::vector<Value> elements;
  for (int64_t size : sizes)
    elements.push_back(BigInt(size));
  return Value::tuple(std::move(elements));
}
