//===- EmitIndex.cpp - brackets after a value, read and assigned ------------------------===//
// Needs: tuples and strings with constant indices; tiles with what TileIndex takes.
// Gives: elements and parts, and assignment to them.
// How:   Nothing changes in place: `x[a:b] = y` assigns the changed tile to `x`, and `x[i][a:b] =
//        y` first changes `x[i]`.
//===------------------------------------------------------------------------------------===//
#include "frontend/Complex.h"
#include "frontend/TileIndex.h"

using namespace pantile;
using ast::Expr;

namespace {
/// The elements of `items` that a slice with constant bounds selects.
std::vector<Value> sliced(const std::vector<Value> &items, std::optional<BigInt> lower,
                          std::optional<BigInt> upper, BigInt step) {
  BigInt size = items.size();
  auto clampTo = [&](BigInt bound) {
    bound = bound < 0 ? bound + size : bound;
    BigInt low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    return std::min(std::max(bound, low), high);
  };
  BigInt start = lower ? clampTo(*lower) : step > 0 ? 0 : size - 1;
  BigInt stop = upper ? clampTo(*upper) : step > 0 ? size : -1;
  std::vector<Value> result;
  for (BigInt i = start; step > 0 ? i < stop : i > stop; i += step)
    result.push_back(items[size_t(i)]);
  return result;
}
} // namespace

static Value subscriptTuple(Emitter &e, const Value &tuple, const Value &index, SourceSpan span) {
  const auto &items = tuple.elements();
  if (auto *slice = index.dynAs<SliceValue>()) {
    auto bound = [&](const std::shared_ptr<const Value> &v) -> std::optional<BigInt> {
      return v ? e.needInt(*v, span, "a slice's bound") : std::nullopt;
    };
    BigInt step = bound(slice->step).value_or(1);
    if (step == 0)
      return e.error(span, "a slice's step is 0");
    return Value::tuple(sliced(items, bound(slice->lower), bound(slice->upper), step));
  }
  std::optional<BigInt> position = e.needInt(index, span, "a tuple's index");
  if (!position)
    return Failed();
  BigInt size = items.size(), normal = *position < 0 ? *position + size : *position;
  if (normal < 0 || normal >= size)
    return e.error(span, "index " + bigIntText(*position) + " is out of the range of a tuple of " +
                             std::to_string(items.size()));
  return items[size_t(normal)];
}

static Value subscriptText(Emitter &e, const Value &text, const Value &index, SourceSpan span) {
  Value letters = Value::tuple(*e.itemsOf(text, span, "an index"));
  Value part = subscriptTuple(e, letters, index, span);
  if (!part.isTuple())
    return part;
  std::string joined;
  for (const Value &letter : part.elements())
    joined += letter.as<std::string>();
  return joined;
}

/// A scalar has no dimension that `:` could keep: each `None` makes one.
static Value subscriptScalar(Emitter &e, const Runtime &scalar, llvm::ArrayRef<IndexPart> parts,
                             SourceSpan span) {
  size_t made = 0;
  for (const IndexPart &part : parts) {
    auto *slice = part.value.dynAs<SliceValue>();
    const bool isWhole = slice && !slice->lower && !slice->upper && !slice->step;
    made += part.value.isNone();
    if (isWhole || part.value.isNone())
      continue;
    if (scalar.type.element.isPointer())
      return e.error(span, "a pointer cannot be indexed; `tl.load` takes pointers plus offsets",
                     ErrorKind::Unsupported);
    return e.error(span,
                   "unsupported tensor index: a scalar has no dimensions; it is indexed with "
                   "`None` and `:` only",
                   ErrorKind::Unsupported);
  }
  return e.splat(scalar, Shape(made, 1));
}

static Value subscriptComplex(Emitter &e, const Value &value, llvm::ArrayRef<IndexPart> parts,
                              bool isTuple, SourceSpan span) {
  auto complex = complexParts(e, value, span);
  if (!complex)
    return Failed();
  Value re = e.subscript(complex->re, parts, isTuple, span);
  Value im = re.failed() ? re : e.subscript(complex->im, parts, isTuple, span);
  return complexOfParts(re, im);
}

Value Emitter::subscript(const Value &value, llvm::ArrayRef<IndexPart> parts, bool isTuple,
                         SourceSpan span) {
  if (value.isTuple() || value.is<std::string>()) {
    Value index = parts.front().value;
    if (isTuple) {
      std::vector<Value> elements;
      for (const IndexPart &part : parts)
        elements.push_back(part.value);
      index = Value::tuple(std::move(elements));
    }
    return value.isTuple() ? subscriptTuple(*this, value, index, span)
                           : subscriptText(*this, value, index, span);
  }
  if (value.isComplex())
    return subscriptComplex(*this, value, parts, isTuple, span);
  std::optional<Runtime> tile;
  if (value.isRuntime() || value.isNumber())
    tile = runtime(value, span);
  if (!tile)
    return error(span, "a " + kindText(value) + " cannot be indexed");
  if (!tile->type.isTile())
    return subscriptScalar(*this, *tile, parts, span);
  auto index = TileIndex::of(*this, *tile, parts, span);
  return index ? index->taken(*this, *tile) : Value(Failed());
}

std::optional<Emitter::Brackets> Emitter::brackets(const Expr &index) {
  Brackets result;
  auto *tuple = llvm::dyn_cast<ast::Tuple>(&index);
  const bool isPlain = tuple && llvm::none_of(tuple->elements, [](const ast::ExprPtr &element) {
                         return llvm::isa<ast::Starred>(element.get());
                       });
  if (isPlain) {
    result.isTuple = true;
    for (const ast::ExprPtr &element : tuple->elements)
      result.parts.push_back({expr(*element), element->span});
  } else {
    const Value value = expr(index);
    result.isTuple = value.isTuple();
    if (value.isTuple())
      for (const Value &element : value.elements())
        result.parts.push_back({element, index.span});
    else
      result.parts.push_back({value, index.span});
  }
  if (llvm::any_of(result.parts, [](const IndexPart &part) { return part.value.failed(); }))
    return std::nullopt;
  return result;
}

Value Emitter::evalSubscript(const ast::Subscript &node) {
  Value value = expr(*node.value);
  auto *of = llvm::dyn_cast<ast::Attribute>(node.value.get());
  if (of && of->attr == "shape" && value.isTuple() && value.elements().empty())
    return error(node.span, "a scalar or a pointer has no dimensions; a kernel takes the sizes of "
                            "arrays as arguments");
  auto index = brackets(*node.index);
  if (value.failed() || !index)
    return Failed();
  return subscript(value, index->parts, index->isTuple, node.span);
}

//===- assignment -----------------------------------------------------------------------===//

/// `x[i][j]`: what is between the brackets, outermost first, and what `x` and `x[i]` are.
struct Emitter::IndexedPlace {
  const Expr *root = nullptr;
  llvm::SmallVector<const ast::Subscript *, 2> nodes;
  llvm::SmallVector<TileIndex, 2> indices;
  llvm::SmallVector<Value, 2> values; ///< before each pair of brackets

  /// Evaluates all but the element itself; false after an error.
  bool evaluate(Emitter &e, const ast::Subscript &target) {
    for (const Expr *at = &target;;) {
      auto *node = llvm::dyn_cast<ast::Subscript>(at);
      if (!node) {
        root = at;
        break;
      }
      nodes.insert(nodes.begin(), node);
      at = node->value.get();
    }
    Value value = e.expr(*root);
    if (value.failed() || !canChange(e, value))
      return false;
    for (const ast::Subscript *node : nodes) {
      Emitter::Place place(e, node->span);
      if (!values.empty())
        value = old(e);
      auto index = value.failed() ? std::nullopt : e.brackets(*node->index);
      if (!index)
        return false;
      const Runtime *tile = tileOf(value);
      if (!tile) {
        e.error(node->span,
                "assignment to an index of a " + kindText(value) +
                    " is not supported in a kernel; `tl.store` writes to memory, and tuples do not "
                    "change",
                ErrorKind::Unsupported);
        return false;
      }
      auto made = TileIndex::of(e, *tile, index->parts, node->span);
      if (!made)
        return false;
      indices.push_back(std::move(*made));
      values.push_back(value);
    }
    return true;
  }

  /// The changed tile must have a name that can be given to it.
  bool canChange(Emitter &e, const Value &value) const {
    if (!tileOf(value))
      return true; // which is refused for what it is
    auto *name = llvm::dyn_cast<ast::Name>(root);
    if (name ? e.frame->variables.contains(name->id) : llvm::isa<ast::Attribute>(root))
      return true;
    e.error(root->span,
            name ? "`" + name->id +
                       "` is a tile of the function around this one, and a tile does not change; "
                       "return the tile with other elements"
                 : "a part of a tile that has no name is assigned to; an assignment to an index "
                   "gives the name before the brackets the tile with other elements",
            ErrorKind::Unsupported);
    return false;
  }

  /// The tile itself, or one of the parts of a complex one; null for anything else.
  static const Runtime *tileOf(const Value &value) {
    auto *tile = (value.isComplex() ? value.elements()[0] : value).dynAs<Runtime>();
    return tile && tile->type.isTile() ? tile : nullptr;
  }

  Value old(Emitter &e) const {
    const Value &whole = values.back();
    if (!whole.isComplex())
      return indices.back().taken(e, whole.as<Runtime>());
    return complexOfParts(indices.back().taken(e, whole.elements()[0].as<Runtime>()),
                          indices.back().taken(e, whole.elements()[1].as<Runtime>()));
  }

  Value replacedAt(Emitter &e, size_t i, const Value &value, SourceSpan span) const {
    const Value &whole = values[i];
    if (!whole.isComplex())
      return indices[i].replaced(e, whole.as<Runtime>(), value, span);
    auto parts = complexParts(e, value, span, /*isCast=*/true);
    if (!parts)
      return Failed();
    Value re = indices[i].replaced(e, whole.elements()[0].as<Runtime>(), parts->re, span);
    Value im = indices[i].replaced(e, whole.elements()[1].as<Runtime>(), parts->im, span);
    return complexOfParts(re, im);
  }

  void replace(Emitter &e, Value value, SourceSpan span) const {
    for (size_t i = nodes.size(); i-- > 0 && !value.failed();) {
      Emitter::Place place(e, nodes[i]->span);
      value = replacedAt(e, i, value, span);
    }
    e.assign(*root, value);
  }
};

void Emitter::assignIndexed(const ast::Subscript &target, const Value &value, SourceSpan span) {
  IndexedPlace place;
  if (place.evaluate(*this, target))
    place.replace(*this, value, span);
  else if (llvm::isa<ast::Name>(place.root))
    assign(*place.root, Failed());
}

void Emitter::augAssignIndexed(const ast::AugAssign &node, const ast::Subscript &target) {
  IndexedPlace place;
  if (!place.evaluate(*this, target)) {
    if (llvm::isa<ast::Name>(place.root))
      assign(*place.root, Failed());
    return;
  }
  Value old = place.old(*this);
  Value operand = expr(*node.value);
  place.replace(*this, binaryOf(node.op, old, *node.target, operand, *node.value, node.span),
                node.value->span);
}
