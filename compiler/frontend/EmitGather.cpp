//===- EmitGather.cpp - elements by index, and how often they occur ---------------------===//
// Needs: tiles; indices as integers.
// Gives: tile.gather, tile.exchange and tile.histogram.
// How:   counting takes 32-bit values: narrower ones are widened as their type says, of wider
//        ones those beyond the bins are masked off before they are narrowed.
//===------------------------------------------------------------------------------------===//
#include "frontend/Emitter.h"

using namespace pantile;

Value pantile::emitGather(Emitter &e, const BoundCall &call) {
  auto src = e.needTile(call["src"], call.at("src"), "`src`");
  auto index = e.needTile(call["index"], call.at("index"), "`index`");
  if (!src || !index)
    return Failed();
  if (!index->type.element.isInt() || index->type.element.isBool())
    return e.error(call.at("index"),
                   "index must be an integer tensor, got `" + index->type.name() + "`");
  if (src->type.rank() != index->type.rank())
    return e.error(call.span, "source and index tensors must have the same rank, got `" +
                                  src->type.name() + "` and `" + index->type.name() + "`");
  auto axis = e.needAxis(call["axis"], call.at("axis"), src->type.rank());
  if (!axis)
    return Failed();
  for (size_t dim = 0; dim < src->type.rank(); ++dim)
    if (dim != size_t(*axis) && src->type.shape[dim] != index->type.shape[dim])
      return e.error(call.span, "`src` and `index` of `gather` must agree in dimension " +
                                    std::to_string(dim) + ", got `" + src->type.name() + "` and `" +
                                    index->type.name() + "`");
  auto narrow = e.cast(*index, Scalar::I32, call.span);
  if (!narrow)
    return Failed();
  Type type{src->type.element, index->type.shape};
  return Runtime{
      GatherOp::create(e.b, e.loc(), e.irType(type), src->ir, narrow->ir, uint32_t(*axis)), type};
}

/// For the library: `x` at the index that differs in the bits of `distance`, if there is one.
Value pantile::emitExchange(Emitter &e, const BoundCall &call) {
  auto value = e.needTile(call["x"], call.at("x"), "the operand");
  auto axis = value ? e.needAxis(call["axis"], call.at("axis"), value->type.rank()) : std::nullopt;
  auto distance = e.needInt(call["distance"], call.at("distance"), "the distance");
  if (!axis || !distance)
    return Failed();
  return Runtime{ExchangeOp::create(e.b, e.loc(), e.irType(value->type), value->ir, uint32_t(*axis),
                                    uint32_t(*distance)),
                 value->type};
}

namespace {
/// The mask of a histogram in the shape of its input; an empty value for none.
std::optional<Value> maskOf(Emitter &e, const BoundCall &call, const Shape &shape) {
  if (call["mask"].isNone())
    return Value(None());
  auto mask = e.toBool(call["mask"], call.at("mask"));
  if (!mask)
    return std::nullopt;
  auto common = broadcastShapes(shape, mask->type.shape);
  if (!common || *common != shape) {
    e.error(call.at("mask"), "the mask `" + mask->type.name() +
                                 "` does not broadcast to the input of shape " + shapeText(shape));
    return std::nullopt;
  }
  return Value(e.broadcastTo(*mask, shape));
}
} // namespace

Value pantile::emitHistogram(Emitter &e, const BoundCall &call) {
  auto input = e.needTile(call["input"], call.at("input"), "`input`");
  auto bins = e.needShape(call["num_bins"], call.at("num_bins"), "`num_bins`");
  if (!input || !bins)
    return Failed();
  DType dtype = input->type.element;
  if (input->type.rank() != 1 || !dtype.isInt())
    return e.error(call.at("input"),
                   "`histogram` takes integers in one dimension, got `" + input->type.name() + "`");
  auto mask = maskOf(e, call, input->type.shape);
  if (!mask)
    return Failed();
  if (dtype.bits() == 64) {
    Value inRange = e.compare(ast::CompareOp::Lt, *input, BigInt((*bins)[0]), call.span);
    if (dtype.isSigned())
      inRange = e.logical(true, inRange,
                          e.compare(ast::CompareOp::Ge, *input, BigInt(0), call.span), call.span);
    *mask = mask->isNone() ? inRange : e.logical(true, *mask, inRange, call.span);
  }
  auto narrow = e.cast(*input, dtype.isSigned() ? Scalar::I32 : Scalar::U32, call.span);
  if (!narrow || mask->failed())
    return Failed();
  Type type{Scalar::I32, *bins};
  mlir::Value maskIr = mask->isNone() ? mlir::Value() : mask->as<Runtime>().ir;
  return Runtime{HistogramOp::create(e.b, e.loc(), e.irType(type), narrow->ir, maskIr), type};
}
