//===- EmitComplex.cpp - operations on complex numbers ----------------------------------===//
// Needs: complex values, see Complex.h.
// Gives: `complex`, `conj` and the attributes of complex values; operations on both parts; dot.
// How:   An operation that moves elements without changing them runs once per part. A dot is four
//        dots of fp32, two per part, the second of which accumulates on the first.
//===------------------------------------------------------------------------------------===//
#include "frontend/Complex.h"
#include <llvm/ADT/StringSwitch.h>

using namespace pantile;
using llvm::StringRef;

Value pantile::emitComplex(Emitter &e, const BoundCall &call) {
  const Value &re = call["real"], &im = call["imag"];
  for (StringRef name : {"real", "imag"})
    if (call[name].isComplex())
      return e.error(call.at(name), "`complex` takes real numbers, got " + kindText(call[name]));
  if (re.isNumber() && im.isNumber())
    return complexValue({*constantDouble(re), *constantDouble(im)});
  auto first = complexParts(e, re, call.at("real")), second = complexParts(e, im, call.at("imag"));
  auto both = first && second ? e.broadcastPair(first->re, second->re, call.span) : std::nullopt;
  return both ? complexValue({both->first, both->second}) : Value(Failed());
}

Value pantile::emitConj(Emitter &e, const BoundCall &call) {
  const Value &x = call["x"];
  if (!x.isComplex()) {
    auto real = e.runtime(x, call.at("x"));
    return real ? x : Value(Failed());
  }
  Value opposite = e.unary(ast::UnaryOp::Neg, x.elements()[1], call.span);
  return x.withElements({x.elements()[0], opposite});
}

Value pantile::complexAttribute(Emitter &e, const Value &complex, StringRef name) {
  const Type type = complexType(complex);
  const Value &re = complex.elements()[0];
  if (name == "real" || name == "imag")
    return complex.elements()[name == "imag"];
  if (name == "value" && complexConstant(complex))
    return complex;
  if (name == "dtype")
    return type.element;
  if (name == "type")
    return type.isTile() ? Value(TypeValue{type}) : Value(type.element);
  if (name == "numel" || name == "shape")
    return e.attribute(re, name, e.here());
  const BuiltinRow *row = findBuiltin("tl", name == "T" && type.rank() == 2 ? "trans" : name);
  if (row && name == "T")
    return e.callBuiltin(*row, {{complex, e.here(), {}, {}}}, e.here());
  return row && row->isMethod ? Value(MethodValue{std::make_shared<Value>(complex), name.str()})
                              : Value(Failed());
}

//===- both parts alike -----------------------------------------------------------------===//

bool pantile::ordersElements(const BuiltinRow &row) {
  return llvm::StringSwitch<bool>(row.name)
      .Cases({"max", "min", "argmax", "argmin", "maximum", "minimum", "clamp"}, true)
      .Cases({"sort", "topk", "bitonic_merge"}, true)
      .Default(false);
}

namespace {
using Names = llvm::SmallVector<StringRef, 2>;

/// The parameters of an operation that takes elements from them and changes none.
Names movedBy(const BuiltinRow &row) {
  if (row.space != "tl" && row.space != "lib")
    return {};
  return llvm::StringSwitch<Names>(row.name)
      .Cases({"expand_dims", "reshape", "permute", "trans", "item", "broadcast_to"}, {"input"})
      .Case("view", {"input"})
      .Cases({"squeeze", "unsqueeze", "ravel", "exchange", "index_along"}, {"x"})
      .Case("split", {"a"})
      .Case("join", {"a", "b"})
      .Cases({"broadcast", "cat"}, {"input", "other"})
      .Case("stack", {"tensors"})
      .Case("pad", {"array", "constant_values"})
      .Case("gather", {"src"})
      .Default({});
}

bool holdsComplex(const Value &value) {
  return value.isComplex() || (value.isTuple() && llvm::any_of(value.elements(), holdsComplex));
}

/// `value` with all that it holds as complex values; nothing after an error.
std::optional<Value> allComplex(Emitter &e, const Value &value, SourceSpan span) {
  if (value.isNone())
    return value;
  if (!value.isTuple()) {
    auto parts = complexParts(e, value, span);
    return parts ? std::optional(complexValue(*parts)) : std::nullopt;
  }
  std::vector<Value> elements;
  for (const Value &element : value.elements()) {
    auto complex = allComplex(e, element, span);
    if (!complex)
      return std::nullopt;
    elements.push_back(*complex);
  }
  return value.withElements(std::move(elements));
}

Value partOf(const Value &value, size_t part) {
  if (value.isComplex())
    return value.elements()[part];
  if (!value.isTuple())
    return value;
  std::vector<Value> elements;
  for (const Value &element : value.elements())
    elements.push_back(partOf(element, part));
  return value.withElements(std::move(elements));
}

/// The opposite of `partOf`.
Value withParts(const Value &re, const Value &im) {
  if (re.isRuntime())
    return complexOfParts(re, im);
  std::vector<Value> elements;
  for (auto [first, second] : llvm::zip_equal(re.elements(), im.elements()))
    elements.push_back(withParts(first, second));
  return re.withElements(std::move(elements));
}
} // namespace

std::optional<Value> pantile::callByParts(Emitter &e, const BoundCall &call) {
  const Names names = movedBy(*call.row);
  if (llvm::none_of(names, [&](StringRef name) { return holdsComplex(call[name]); }))
    return std::nullopt;
  BoundCall calls[] = {call, call};
  for (StringRef name : names) {
    auto complex = allComplex(e, call[name], call.at(name));
    if (!complex)
      return Value(Failed());
    for (size_t part : {0, 1})
      calls[part].values[call.index(name)] = partOf(*complex, part);
  }
  Value re = call.row->handler(e, calls[0]);
  if (re.failed() || call.row->name == "index_along")
    return re;
  Value im = call.row->handler(e, calls[1]);
  return im.failed() ? im : withParts(re, im);
}

//===- dot ------------------------------------------------------------------------------===//

namespace {
/// The parts of an operand; a real one has no second.
struct DotOperand {
  Value re, im;
};

std::optional<DotOperand> dotOperand(Emitter &e, const BoundCall &call, StringRef name) {
  const Value &value = call[name];
  if (value.isComplex()) {
    auto parts = complexParts(e, value, call.at(name));
    return parts ? std::optional(DotOperand{parts->re, parts->im}) : std::nullopt;
  }
  auto tile = e.needTile(value, call.at(name), ("`" + name + "`").str());
  if (tile && tile->type.element == DType(Scalar::F32))
    return DotOperand{*tile, None()};
  if (tile)
    e.error(call.at(name),
            "`dot` with an operand of `complex64` takes `complex64` and `fp32`, got `" +
                tile->type.element.name() + "`");
  return std::nullopt;
}

bool checkResult(Emitter &e, const BoundCall &call) {
  const Value &wanted = call["out_dtype"];
  const SourceSpan at = call.at("out_dtype");
  auto dtype = wanted.isNone() ? DType(Scalar::C64) : e.needDType(wanted, at, "`out_dtype`");
  // Without the argument it is float32, which is the type of the parts.
  if (dtype && (*dtype == DType(Scalar::C64) || *dtype == DType(Scalar::F32)))
    return true;
  if (dtype)
    e.error(at, "a dot of `complex64` gives `complex64`, got `" + dtype->name() + "`");
  return false;
}

struct DotParts {
  Emitter &e;
  const BoundCall &call;

  /// The dot of `x` and `y` onto `acc`; `acc` itself if one of them is absent.
  Value onto(const Value &acc, const Value &x, const Value &y) {
    if (acc.failed() || x.isNone() || y.isNone())
      return acc;
    BoundCall part = call;
    part.values[call.index("input")] = x;
    part.values[call.index("other")] = y;
    part.values[call.index("acc")] = acc;
    part.values[call.index("out_dtype")] = None();
    return emitDot(e, part);
  }
};
} // namespace

Value pantile::complexDot(Emitter &e, const BoundCall &call) {
  auto x = dotOperand(e, call, "input"), y = dotOperand(e, call, "other");
  if (!x || !y || !checkResult(e, call))
    return Failed();
  Value re = None(), im = None();
  if (!call["acc"].isNone()) {
    auto acc = complexParts(e, call["acc"], call.at("acc"));
    if (!acc)
      return Failed();
    re = acc->re;
    im = acc->im;
  }
  Value opposite = x->im.isNone() || y->im.isNone() ? Value(None())
                                                    : e.unary(ast::UnaryOp::Neg, x->im, call.span);
  DotParts dot{e, call};
  re = dot.onto(dot.onto(re, x->re, y->re), opposite, y->im);
  im = dot.onto(dot.onto(im, x->re, y->im), x->im, y->re);
  return complexOfParts(re, im);
}
