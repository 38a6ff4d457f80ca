//===- TileIndex.cpp - parts of tiles, taken and replaced -------------------------------===//
// Needs: see TileIndex.h.
// Gives: parts of tiles (TileParts.h), and the shape operations around them.
// How:   Constants select a slice first, then run-time indices select one element each along their
//        dimensions; a negative step reverses the selection. A tile never changes: a replacement is
//        the inverse, and with a run-time index it selects the old or the new value for each
//        element.
//===------------------------------------------------------------------------------------===//
#include "frontend/TileIndex.h"
#include "frontend/TileParts.h"

using namespace pantile;

//===- what an index says ---------------------------------------------------------------===//

namespace {
bool isEllipsis(const Value &value) {
  auto *name = value.dynAs<ClassValue>();
  return name && name->name == "ellipsis";
}

/// `None` in a slice is a bound that was left out.
bool isGiven(const std::shared_ptr<const Value> &bound) { return bound && !bound->isNone(); }

std::optional<BigInt> boundOf(Emitter &e, const std::shared_ptr<const Value> &bound,
                              SourceSpan span, BigInt otherwise) {
  return isGiven(bound) ? e.needInt(*bound, span, "a slice's bound") : otherwise;
}

/// Indices of the first element and after the last one, as Python counts them.
std::optional<std::array<BigInt, 3>> boundsOf(Emitter &e, const SliceValue &slice, SourceSpan span,
                                              BigInt size) {
  auto step = boundOf(e, slice.step, span, 1);
  if (!step)
    return std::nullopt;
  if (*step == 0) {
    e.error(span, "slice step cannot be zero: a slice's step is 0");
    return std::nullopt;
  }
  const bool rises = *step > 0;
  auto clamped = [&](BigInt bound) {
    bound = bound < 0 ? bound + size : bound;
    return std::min(std::max(bound, rises ? BigInt(0) : BigInt(-1)), rises ? size : size - 1);
  };
  auto lower = boundOf(e, slice.lower, span, rises ? BigInt(0) : size - 1);
  auto upper = boundOf(e, slice.upper, span, rises ? size : -size - 1);
  if (!lower || !upper)
    return std::nullopt;
  return std::array{clamped(*lower), clamped(*upper), *step};
}
} // namespace

bool TileIndex::addSlice(Emitter &e, const SliceValue &slice, SourceSpan span, int64_t size) {
  auto bounds = boundsOf(e, slice, span, size);
  if (!bounds)
    return false;
  auto [start, stop, step] = *bounds;
  const bool rises = step > 0;
  const BigInt distance = rises ? stop - start : start - stop, stride = rises ? step : -step;
  const int64_t count = distance > 0 ? int64_t((distance + stride - 1) / stride) : 0;
  if (count == 0) {
    e.error(span,
            "a slice of dimension " + std::to_string(picks.size()) + " of `" + name +
                "` has no elements",
            ErrorKind::Unsupported);
    return false;
  }
  Pick pick;
  pick.size = count;
  pick.stride = count == 1 ? 1 : int64_t(stride);
  pick.first = int64_t(rises ? start : start - stride * (count - 1));
  pick.isReversed = !rises && count > 1;
  picks.push_back(pick);
  return true;
}

/// An unsigned 64-bit index does not count from the end: it is never negative.
static Runtime belowSign(Emitter &e, const Runtime &index) {
  const DType type = index.type.element;
  if (type.isSigned() || type.bits() != 64)
    return index;
  const Runtime most = *e.number(BigInt(INT64_MAX), type, e.here());
  return {mlir::arith::MinUIOp::create(e.b, e.loc(), index.ir, most.ir), index.type};
}

bool TileIndex::addRunTime(Emitter &e, const Runtime &index, SourceSpan span, int64_t size) {
  const DType type = index.type.element;
  if (index.type.isTile() || !type.isInt() || type.isBool()) {
    e.error(span,
            "unsupported tensor index: a tile is indexed with integers, slices, `...` and `None`, "
            "got `" +
                index.type.name() + "`; `tl.gather` takes elements by a tile of indices",
            ErrorKind::Unsupported);
    return false;
  }
  const bool isWide = type.bits() == 64 || (type.bits() == 32 && !type.isSigned());
  Emitter::Place at(e, span);
  auto typed = e.cast(belowSign(e, index), isWide ? Scalar::I64 : Scalar::I32, span);
  if (!typed)
    return false;
  Type scalar{Scalar::I32, {}};
  Pick pick;
  pick.size = size;
  pick.isDropped = true;
  pick.index = Runtime{
      WrapIndexOp::create(e.b, e.loc(), e.irType(scalar), typed->ir, uint32_t(size)), scalar};
  picks.push_back(pick);
  return true;
}

/// The item that indexes the next dimension, which has `size` elements.
bool TileIndex::addPart(Emitter &e, const IndexPart &part, int64_t size) {
  if (auto *slice = part.value.dynAs<SliceValue>())
    return addSlice(e, *slice, part.span, size);
  const auto known = e.knownValue(part.value);
  if (auto *runtime = part.value.dynAs<Runtime>(); runtime && !(known && known->is<BigInt>()))
    return addRunTime(e, *runtime, part.span, size);
  if (!known || !known->is<BigInt>()) {
    e.error(part.span,
            "unsupported tensor index: a tile is indexed with integers, slices, `...` and `None`, "
            "got a " +
                kindText(part.value),
            ErrorKind::Unsupported);
    return false;
  }
  const BigInt index = known->as<BigInt>();
  if (index < -size || index >= size) {
    e.error(part.span, "index " + bigIntText(index) + " is out of bounds for axis " +
                           std::to_string(picks.size()) + " with size " + std::to_string(size) +
                           " of `" + name + "`");
    return false;
  }
  Pick pick;
  pick.first = int64_t(index < 0 ? index + size : index);
  pick.isDropped = true;
  picks.push_back(pick);
  return true;
}

std::optional<TileIndex> TileIndex::of(Emitter &e, const Runtime &tile,
                                       llvm::ArrayRef<IndexPart> parts, SourceSpan span) {
  const size_t rank = tile.type.rank();
  size_t given = 0, ellipses = 0;
  for (const IndexPart &part : parts) {
    ellipses += isEllipsis(part.value);
    given += !isEllipsis(part.value) && !part.value.isNone();
  }
  if (ellipses > 1 || given > rank) {
    e.error(span, ellipses > 1 ? "an index can only have a single ellipsis (`...`)"
                               : "too many indices for `" + tile.type.name() + "`: it has " +
                                     std::to_string(rank) + " dimensions, but " +
                                     std::to_string(given) + " were indexed");
    return std::nullopt;
  }
  TileIndex index;
  index.name = tile.type.name();
  int64_t position = 0; // in the result
  auto addWhole = [&](size_t count) {
    for (; count > 0; --count, ++position) {
      Pick pick;
      pick.size = tile.type.shape[index.picks.size()];
      index.picks.push_back(pick);
    }
  };
  for (const IndexPart &part : parts) {
    if (part.value.isNone()) {
      index.made.push_back(position++);
    } else if (isEllipsis(part.value)) {
      addWhole(rank - given);
    } else {
      if (!index.addPart(e, part, tile.type.shape[index.picks.size()]))
        return std::nullopt;
      position += !index.picks.back().isDropped;
    }
  }
  addWhole(rank - index.picks.size());
  return index;
}

//===- shapes ---------------------------------------------------------------------------===//

Shape TileIndex::constantShape() const {
  return llvm::map_to_vector<4>(picks, [](const Pick &pick) { return pick.size; });
}

Shape TileIndex::keptShape() const {
  return llvm::map_to_vector<4>(picks, [](const Pick &pick) { return pick.index ? 1 : pick.size; });
}

Shape TileIndex::droppedShape() const {
  Shape result;
  for (const Pick &pick : picks)
    if (!pick.isDropped)
      result.push_back(pick.size);
  return result;
}

Shape TileIndex::shape() const {
  Shape result = droppedShape();
  for (int64_t position : made)
    result.insert(result.begin() + position, 1);
  return result;
}

bool TileIndex::picksAll(const Runtime &tile) const { return constantShape() == tile.type.shape; }

//===- taking ---------------------------------------------------------------------------===//

Runtime TileIndex::reversed(Emitter &e, Runtime value) const {
  for (auto [axis, pick] : llvm::enumerate(picks))
    if (pick.isReversed)
      value = turnRound(e, value, axis);
  return value;
}

Runtime TileIndex::sliced(Emitter &e, const Runtime &tile) const {
  if (picksAll(tile))
    return tile;
  Places places;
  for (const Pick &pick : picks) {
    places.offsets.push_back(int32_t(pick.first));
    places.strides.push_back(int32_t(pick.stride));
  }
  return takePart(e, tile, places, constantShape());
}

Runtime TileIndex::atIndices(Emitter &e, Runtime value) const {
  for (auto [axis, pick] : llvm::enumerate(picks)) {
    if (pick.index && pick.size > 1)
      value = takeAt(e, value, *pick.index, axis);
  }
  return value;
}

Value TileIndex::taken(Emitter &e, const Runtime &tile) const {
  Runtime part = e.reshaped(reversed(e, atIndices(e, sliced(e, tile))), droppedShape());
  if (!part.type.isTile())
    return made.empty() ? part : e.splat(part, shape());
  Value result = part;
  for (int64_t position : made)
    result = e.expandDims(result.as<Runtime>(), position);
  return result;
}

//===- replacing ------------------------------------------------------------------------===//

/// `value` as elements of the tile, in the shape of what is picked, with all its dimensions.
std::optional<Runtime> TileIndex::fitted(Emitter &e, const Runtime &tile, const Value &value,
                                         SourceSpan span) const {
  const DType element = tile.type.element;
  const bool isTyped = value.is<BigInt>() || (value.is<double>() && element.isFloat());
  auto typed = isTyped ? e.number(value, element, span) : e.converted(value, element, span);
  if (!typed)
    return std::nullopt;
  const Shape wanted = shape();
  Shape given = typed->type.shape;
  while (given.size() > wanted.size() && given.front() == 1)
    given.erase(given.begin());
  const auto common = broadcastShapes(given, wanted);
  if (!common || *common != wanted) {
    e.error(span, "could not broadcast input from shape " + shapeText(typed->type.shape) +
                      " into shape " + shapeText(wanted) + " of a part of `" + name + "`");
    return std::nullopt;
  }
  if (!typed->type.isTile())
    return e.splat(*typed, keptShape());
  Runtime broadcast = e.broadcastTo(e.reshaped(*typed, given), wanted);
  return e.reshaped(broadcast, keptShape());
}

/// `value` where slices pick, in a tile that has one element along dimensions with an index, where
/// `hasPoints` says so.
Runtime TileIndex::withSlice(Emitter &e, const Runtime &tile, const Runtime &value,
                             bool hasPoints) const {
  if (value.type.shape == tile.type.shape)
    return value;
  Places places;
  for (const Pick &pick : picks) {
    const bool isPoint = hasPoints && pick.isDropped;
    places.offsets.push_back(isPoint ? 0 : int32_t(pick.first));
    places.strides.push_back(isPoint ? 1 : int32_t(pick.stride));
  }
  return putPart(e, value, tile, places);
}

/// Which elements of a dimension of `size` are picked, as a line of flags; nothing if all are.
std::optional<Runtime> TileIndex::isPicked(Emitter &e, const Pick &pick, int64_t size) const {
  if (!pick.isDropped && pick.size == size)
    return std::nullopt;
  Type line{Scalar::I32, {size}};
  const Value places =
      Runtime{ArangeOp::create(e.b, e.loc(), e.irType(line), 0, uint32_t(size)), line};
  auto is = [&](ast::CompareOp op, const Value &lhs, const Value &rhs) {
    return e.compare(op, lhs, rhs, e.here());
  };
  auto both = [&](const Value &a, const Value &b) { return e.logical(true, a, b, e.here()); };
  if (pick.index)
    return is(ast::CompareOp::Eq, places, *pick.index).as<Runtime>();
  const BigInt first = pick.first, last = first + BigInt(pick.stride) * (pick.size - 1);
  Value result = both(is(ast::CompareOp::Ge, places, first), is(ast::CompareOp::Le, places, last));
  if (pick.stride > 1) {
    const Value distance = e.binary(ast::BinaryOp::Sub, places, first, e.here());
    const Value rest = e.binary(ast::BinaryOp::Mod, distance, BigInt(pick.stride), e.here());
    result = both(result, is(ast::CompareOp::Eq, rest, BigInt(0)));
  }
  return result.as<Runtime>();
}

/// `value`, which has one element along dimensions with an index, where these and slices pick.
Runtime TileIndex::withIndices(Emitter &e, const Runtime &tile, const Runtime &value) const {
  std::optional<Runtime> isThere;
  for (auto [axis, pick] : llvm::enumerate(picks)) {
    auto line = isPicked(e, pick, tile.type.shape[axis]);
    if (!line)
      continue;
    Value here = *line;
    for (size_t dim = 0; dim < picks.size(); ++dim)
      if (dim != axis)
        here = e.expandDims(here.as<Runtime>(), int64_t(dim));
    isThere =
        isThere ? e.logical(true, *isThere, here, e.here()).as<Runtime>() : here.as<Runtime>();
  }
  const Runtime mask = e.broadcastTo(*isThere, tile.type.shape);
  const Runtime wide = e.broadcastTo(value, tile.type.shape);
  return {mlir::arith::SelectOp::create(e.b, e.loc(), mask.ir, wide.ir, tile.ir), tile.type};
}

Value TileIndex::replaced(Emitter &e, const Runtime &tile, const Value &value,
                          SourceSpan span) const {
  auto part = fitted(e, tile, value, span);
  if (!part)
    return Failed();
  const Runtime turned = reversed(e, *part);
  if (llvm::none_of(picks, [](const Pick &pick) { return pick.index.has_value(); }))
    return withSlice(e, tile, turned, false);
  Type line = tile.type;
  for (auto [size, pick] : llvm::zip_equal(line.shape, picks))
    size = pick.isDropped ? 1 : size;
  const Runtime placed = line == turned.type ? turned : withSlice(e, e.zero(line), turned, true);
  return withIndices(e, tile, placed);
}
