//===- EmitConcat.cpp - concatenate, stack and pad tiles --------------------------------===//
// Needs: tiles of one rank, whose element types have a common one.
// Gives: `cat`, `stack` and `pad`, from tile.join and from parts that are put into a whole
//        (TileParts.h).
// How:   Two tiles of one shape are joined as pairs, and a transposition moves the new dimension
//        before the concatenated one: no element leaves its thread. Four tiles are two pairs of
//        such. Tiles of several sizes are put into a whole one by one.
//===------------------------------------------------------------------------------------===//
#include "frontend/TileParts.h"
#include <numeric>

using namespace pantile;

namespace {
using Tiles = std::vector<Runtime>;

/// [a, b] along a dimension: join makes pairs, a transposition moves the new dimension before it.
Runtime pairOf(Emitter &e, const Runtime &lhs, const Runtime &rhs, int64_t dim) {
  Type type = lhs.type;
  Shape shape = type.shape;
  shape[dim] *= 2;
  llvm::SmallVector<int32_t> order(type.rank());
  std::iota(order.begin(), order.end(), 0);
  order.insert(order.begin() + dim, int32_t(type.rank()));
  type.shape.push_back(2);
  Runtime joined{JoinOp::create(e.b, e.loc(), e.irType(type), lhs.ir, rhs.ir), type};
  return e.reshaped(e.transpose(joined, order).as<Runtime>(), shape);
}

Runtime inserted(Emitter &e, const Runtime &part, const Runtime &whole,
                 llvm::ArrayRef<int32_t> offsets) {
  const llvm::SmallVector<int32_t> strides(offsets.size(), 1);
  return putPart(e, part, whole, {llvm::SmallVector<int32_t>(offsets), strides});
}

/// Concatenates along `dim`; `size` in all.
Runtime joinedAlong(Emitter &e, Tiles tiles, int64_t dim, int64_t size) {
  const bool isEven =
      (tiles.size() & (tiles.size() - 1)) == 0 &&
      llvm::all_of(tiles, [&](const Runtime &tile) { return tile.type == tiles[0].type; });
  if (isEven) {
    for (; tiles.size() > 1; tiles.resize(tiles.size() / 2))
      for (size_t i = 0; i < tiles.size() / 2; ++i)
        tiles[i] = pairOf(e, tiles[2 * i], tiles[2 * i + 1], dim);
    return tiles[0];
  }
  Type type = tiles[0].type;
  type.shape[dim] = size;
  Runtime whole = e.zero(type);
  llvm::SmallVector<int32_t> offsets(type.rank(), 0);
  for (const Runtime &tile : tiles) {
    whole = inserted(e, tile, whole, offsets);
    offsets[dim] += int32_t(tile.type.shape[dim]);
  }
  return whole;
}

/// The type that arithmetic would give both; none if there is none.
std::optional<DType> commonType(DType a, DType b) { return a == b ? a : promote({a}, {b}); }

/// The tiles of a tuple, converted to one element type; nothing after an error.
std::optional<Tiles> tilesOf(Emitter &e, const BoundCall &call, const Value &values,
                             SourceSpan span) {
  Tiles tiles;
  if (!values.isTuple() || values.elements().empty()) {
    if (!values.failed())
      e.error(span, "`" + call.row->name + "` takes a tuple of tiles, got " + kindText(values));
    return std::nullopt;
  }
  std::optional<DType> common;
  for (const Value &value : values.elements()) {
    auto tile = e.runtime(value, span);
    if (!tile)
      return std::nullopt;
    tiles.push_back(tiles.empty() ? *tile : e.withSignOf(tiles[0], *tile, span).as<Runtime>());
    const Runtime &first = tiles.front(), &last = tiles.back();
    common = commonType(common.value_or(last.type.element), last.type.element);
    if (!common || last.type.rank() != first.type.rank()) {
      e.error(span, "`" + call.row->name + "` takes tiles of one type, got `" + first.type.name() +
                        "` and `" + last.type.name() + "`");
      return std::nullopt;
    }
  }
  for (Runtime &tile : tiles)
    if (tile.type.element != *common)
      tile = *e.cast(tile, *common, span);
  return tiles;
}

/// Whether a tile may have so many elements; reports it otherwise.
bool isAllowed(Emitter &e, const Shape &shape, SourceSpan span) {
  std::vector<Value> sizes;
  for (int64_t size : shape)
    sizes.push_back(BigInt(size));
  return e.needShape(Value::tuple(std::move(sizes)), span, "a shape").has_value();
}

/// The same of `count` times as many elements along `dim`.
bool isAllowed(Emitter &e, const Runtime &tile, int64_t dim, int64_t count, SourceSpan span) {
  Shape shape = tile.type.shape;
  shape[dim] *= count;
  return isAllowed(e, shape, span);
}

Value catTuple(Emitter &e, const BoundCall &call) {
  const SourceSpan span = call.at("input");
  auto tiles = tilesOf(e, call, call["input"], span);
  auto dim =
      tiles ? e.needAxis(call["dim"], call.at("dim"), tiles->front().type.rank()) : std::nullopt;
  if (!dim)
    return Failed();
  int64_t size = 0;
  for (const Runtime &tile : *tiles) {
    Type alike = tile.type;
    alike.shape[*dim] = tiles->front().type.shape[*dim];
    if (alike != tiles->front().type)
      return e.error(span, "`cat` takes tiles that agree in all dimensions but " +
                               std::to_string(*dim) + ", got `" + tiles->front().type.name() +
                               "` and `" + tile.type.name() + "`");
    size += tile.type.shape[*dim];
  }
  Shape shape = tiles->front().type.shape;
  shape[*dim] = size;
  return isAllowed(e, shape, span) ? Value(joinedAlong(e, *tiles, *dim, size)) : Value(Failed());
}
} // namespace

Value pantile::emitCat(Emitter &e, const BoundCall &call) {
  if (call["input"].isTuple()) {
    if (!call["other"].isNone())
      return e.error(call.at("other"), "`cat` takes a tuple of tiles alone, with `dim=`");
    return catTuple(e, call);
  }
  auto lhs = e.needTile(call["input"], call.at("input"), "`input`");
  auto rhs = e.needTile(call["other"], call.at("other"), "`other`");
  if (!lhs || !rhs)
    return Failed();
  rhs = e.withSignOf(*lhs, *rhs, call.at("other")).as<Runtime>();
  if (lhs->type != rhs->type)
    return e.error(call.span, "`cat` takes two tiles of one type, got `" + lhs->type.name() +
                                  "` and `" + rhs->type.name() + "`");
  auto dim = e.needAxis(call["dim"], call.at("dim"), lhs->type.rank());
  return dim && isAllowed(e, *lhs, *dim, 2, call.span) ? Value(pairOf(e, *lhs, *rhs, *dim))
                                                       : Value(Failed());
}

Value pantile::emitStack(Emitter &e, const BoundCall &call) {
  const SourceSpan span = call.at("tensors");
  auto tiles = tilesOf(e, call, call["tensors"], span);
  auto axis = tiles ? e.needAxis(call["axis"], call.at("axis"), tiles->front().type.rank() + 1)
                    : std::nullopt;
  if (!axis)
    return Failed();
  for (const Runtime &tile : *tiles)
    if (tile.type != tiles->front().type)
      return e.error(span, "`stack` takes tiles of one type, got `" + tiles->front().type.name() +
                               "` and `" + tile.type.name() + "`");
  for (Runtime &tile : *tiles)
    tile = e.expandDims(tile, *axis).as<Runtime>();
  const int64_t count = tiles->size();
  return isAllowed(e, tiles->front(), *axis, count, span)
             ? Value(joinedAlong(e, *tiles, *axis, count))
             : Value(Failed());
}

namespace {
using Edge = std::pair<int64_t, int64_t>;

std::optional<Edge> edgeOf(Emitter &e, const Value &width, SourceSpan span) {
  constexpr int64_t most = 1 << 20; // as large as a tile
  llvm::SmallVector<int64_t, 2> sides;
  for (const Value &side : width.isTuple() ? width.elements() : std::vector<Value>{width}) {
    auto size = e.needInt(side, span, "`pad_width`");
    if (!size)
      return std::nullopt;
    sides.push_back(*size < 0 || *size > most ? -1 : int64_t(*size));
  }
  if (sides.empty() || sides.size() > 2 || llvm::any_of(sides, [](int64_t s) { return s < 0; })) {
    e.error(span, "`pad_width` takes numbers of elements before and after a dimension, at most " +
                      std::to_string(most));
    return std::nullopt;
  }
  return Edge{sides.front(), sides.back()};
}

/// As NumPy: one number, one pair for all dimensions, or a pair for each.
std::optional<std::vector<Edge>> edgesOf(Emitter &e, const BoundCall &call, size_t rank) {
  const Value &width = call["pad_width"];
  const SourceSpan span = call.at("pad_width");
  const bool isNested = width.isTuple() && llvm::any_of(width.elements(), [](const Value &part) {
                          return part.isTuple();
                        });
  std::vector<Edge> edges;
  for (size_t i = 0; i < (isNested ? width.elements().size() : 1); ++i) {
    auto edge = edgeOf(e, isNested ? width.elements()[i] : width, span);
    if (!edge)
      return std::nullopt;
    edges.push_back(*edge);
  }
  if (edges.size() == 1)
    edges.resize(rank, edges[0]);
  if (edges.size() == rank)
    return edges;
  e.error(span, "`pad_width` has " + std::to_string(edges.size()) + " pairs for " +
                    std::to_string(rank) + " dimensions");
  return std::nullopt;
}
} // namespace

Value pantile::emitPad(Emitter &e, const BoundCall &call) {
  auto tile = e.needTile(call["array"], call.at("array"), "`array`");
  auto mode = e.needString(call["mode"], call.at("mode"), "`mode`");
  auto edges = tile ? edgesOf(e, call, tile->type.rank()) : std::nullopt;
  if (!edges || !mode)
    return Failed();
  if (*mode != "constant")
    return e.error(call.at("mode"), "`pad` has the mode `constant` only, got `" + *mode + "`",
                   ErrorKind::Unsupported);
  auto value = e.converted(call["constant_values"], tile->type.element, call.at("constant_values"));
  if (!value)
    return Failed();
  if (value->type.isTile())
    return e.error(call.at("constant_values"),
                   "`constant_values` is one number, got `" + value->type.name() + "`");
  Shape shape = tile->type.shape;
  llvm::SmallVector<int32_t> offsets;
  for (auto [size, edge] : llvm::zip_equal(shape, *edges)) {
    size += edge.first + edge.second;
    offsets.push_back(int32_t(edge.first));
  }
  if (shape == tile->type.shape)
    return *tile;
  if (!isAllowed(e, shape, call.at("pad_width")))
    return Failed();
  return inserted(e, *tile, e.splat(*value, shape), offsets);
}
