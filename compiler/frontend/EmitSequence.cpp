//===- EmitSequence.cpp - Python's functions on sequences, and methods of strings -------===//
// Needs: tuples, constant ranges and strings, whose length is known.
// Gives: zip, enumerate, reversed, sorted, map, sum, any, all and the methods of compile-time
//        strings and tuples, as Python has them. The elements may be run-time values.
//===------------------------------------------------------------------------------------===//
#include "frontend/Complex.h"
#include "frontend/TileIndex.h"
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>

using namespace pantile;
using llvm::StringRef;

namespace {
using Items = std::vector<Value>;

std::optional<Items> rangeItems(Emitter &e, const RangeValue &range, SourceSpan span) {
  constexpr size_t maxItems = 100000;
  std::string name = range.isStatic ? "`static_range`" : "a range that is unrolled";
  auto start = e.needInt(*range.start, span, "the start of " + name);
  auto stop = e.needInt(*range.stop, span, "the end of " + name);
  auto step = e.needInt(*range.step, span, "the step of " + name);
  if (!start || !stop || !step)
    return std::nullopt;
  if (*step == 0) {
    e.error(span, "the step of a range is 0");
    return std::nullopt;
  }
  Items items;
  for (BigInt i = *start; *step > 0 ? i < *stop : i > *stop; i += *step) {
    if (items.size() >= maxItems) {
      e.error(span, name + " has more than " + std::to_string(maxItems) + " iterations");
      return std::nullopt;
    }
    items.push_back(i);
  }
  return items;
}

/// The elements along the first dimension of a tile.
std::optional<Items> rowsOf(Emitter &e, const Runtime &tile, SourceSpan span,
                            const std::string &what) {
  constexpr int64_t maxRows = 256;
  if (tile.type.shape[0] > maxRows) {
    e.error(span, what + " is unrolled over the first dimension of a tile, which has " +
                      std::to_string(tile.type.shape[0]) + " elements in `" + tile.type.name() +
                      "`: more than " + std::to_string(maxRows) +
                      "; a `range` with `x[i]` makes a loop");
    return std::nullopt;
  }
  Items rows;
  for (int64_t row = 0; row < tile.type.shape[0]; ++row)
    rows.push_back(e.subscript(tile, {{BigInt(row), span}}, false, span));
  return rows;
}

std::optional<Items> complexRowsOf(Emitter &e, const Value &complex, SourceSpan span,
                                   const std::string &what) {
  auto re = rowsOf(e, complex.elements()[0].as<Runtime>(), span, what);
  auto im = re ? rowsOf(e, complex.elements()[1].as<Runtime>(), span, what) : std::nullopt;
  if (!im)
    return std::nullopt;
  Items rows;
  for (auto [first, second] : llvm::zip_equal(*re, *im))
    rows.push_back(complexOfParts(first, second));
  return rows;
}
} // namespace

std::optional<std::vector<Value>> Emitter::itemsOf(const Value &value, SourceSpan span,
                                                   const std::string &what) {
  if (value.isTuple())
    return value.elements();
  if (auto *range = value.dynAs<RangeValue>())
    return rangeItems(*this, *range, span);
  if (auto *text = value.dynAs<std::string>()) {
    Items letters;
    for (char letter : *text)
      letters.push_back(std::string(1, letter));
    return letters;
  }
  if (auto *tile = value.dynAs<Runtime>(); tile && tile->type.isTile())
    return rowsOf(*this, *tile, span, what);
  if (value.isComplex() && complexType(value).isTile())
    return complexRowsOf(*this, value, span, what);
  if (!value.failed())
    error(span, what + " takes a tuple or a range of constants, got " + kindText(value));
  return std::nullopt;
}

Value pantile::emitZip(Emitter &e, const BoundCall &call) {
  std::vector<Items> columns;
  size_t count = SIZE_MAX;
  for (const Value &value : call["args"].elements()) {
    auto items = e.itemsOf(value, call.at("args"), "`zip`");
    if (!items)
      return Failed();
    count = std::min(count, items->size());
    columns.push_back(std::move(*items));
  }
  Items rows;
  for (size_t i = 0; !columns.empty() && i < count; ++i) {
    Items row;
    for (const Items &column : columns)
      row.push_back(column[i]);
    rows.push_back(Value::tuple(std::move(row)));
  }
  return Value::tuple(std::move(rows));
}

Value pantile::emitEnumerate(Emitter &e, const BoundCall &call) {
  auto items = e.itemsOf(call["iterable"], call.at("iterable"), "`enumerate`");
  auto start = e.needInt(call["start"], call.at("start"), "`start`");
  if (!items || !start)
    return Failed();
  Items rows;
  for (Value &item : *items)
    rows.push_back(Value::tuple({*start + BigInt(rows.size()), std::move(item)}));
  return Value::tuple(std::move(rows));
}

Value pantile::emitReversed(Emitter &e, const BoundCall &call) {
  auto items = e.itemsOf(call["sequence"], call.at("sequence"), "`reversed`");
  if (!items)
    return Failed();
  return Value::tuple(Items(items->rbegin(), items->rend()));
}

Value pantile::emitSorted(Emitter &e, const BoundCall &call) {
  auto items = e.itemsOf(call["iterable"], call.at("iterable"), "`sorted`");
  auto reverse = e.needBool(call["reverse"], call.at("reverse"), "`reverse`");
  if (!items || !reverse)
    return Failed();
  const Value *odd = nullptr;
  auto less = [&](const Value &a, const Value &b) {
    auto result = foldOrder(*reverse ? ast::CompareOp::Gt : ast::CompareOp::Lt, a, b);
    odd = result ? odd : &a;
    return result.value_or(false);
  };
  for (size_t i = 1; i < items->size() && !odd; ++i)
    less((*items)[i - 1], (*items)[i]);
  if (odd)
    return e.error(call.at("iterable"), "`sorted` takes compile-time values of one kind, got " +
                                            kindText(*odd) + "; `tl.sort` sorts a tile");
  std::stable_sort(items->begin(), items->end(), less);
  return Value::tuple(std::move(*items));
}

Value pantile::emitPythonMap(Emitter &e, const BoundCall &call) {
  auto items = e.itemsOf(call["iterable"], call.at("iterable"), "`map`");
  if (!items)
    return Failed();
  Items results;
  for (const Value &item : *items) {
    results.push_back(e.call(call["function"], {{item, call.at("iterable"), {}, {}}}, call.span));
    if (results.back().failed())
      return Failed();
  }
  return Value::tuple(std::move(results));
}

Value pantile::emitPythonSum(Emitter &e, const BoundCall &call) {
  if (call["iterable"].isRuntime())
    return e.error(call.span, "`sum` adds the elements of a tuple; `tl.sum` adds those of a tile");
  auto items = e.itemsOf(call["iterable"], call.at("iterable"), "`sum`");
  if (!items)
    return Failed();
  Value total = call["start"];
  for (const Value &item : *items)
    total = e.binary(ast::BinaryOp::Add, total, item, call.span);
  return total;
}

Value pantile::emitAnyAll(Emitter &e, const BoundCall &call) {
  bool isAll = call.row->name == "all";
  auto items = e.itemsOf(call["iterable"], call.at("iterable"), "`" + call.row->name + "`");
  if (!items)
    return Failed();
  Value result = isAll;
  for (const Value &item : *items) {
    std::optional<bool> truth = e.knownTruth(item);
    if (truth && *truth != isAll)
      return !isAll;
    if (truth)
      continue;
    result = result.isRuntime() ? e.logical(isAll, result, item, call.span) : item;
  }
  auto flag = result.isRuntime() ? e.toBool(result, call.span) : std::nullopt;
  return flag ? Value(*flag) : result;
}

Value pantile::emitPow(Emitter &e, const BoundCall &call) {
  return e.binary(ast::BinaryOp::Pow, call["base"], call["exp"], call.span);
}

Value pantile::emitDivmod(Emitter &e, const BoundCall &call) {
  Value quotient = e.binary(ast::BinaryOp::FloorDiv, call["x"], call["y"], call.span);
  Value rest = e.binary(ast::BinaryOp::Mod, call["x"], call["y"], call.span);
  return quotient.failed() || rest.failed() ? Value(Failed()) : Value::tuple({quotient, rest});
}

//===- Methods --------------------------------------------------------------------------===//

namespace {
std::string replaced(std::string text, const std::string &old, const std::string &with) {
  for (size_t at = 0; !old.empty() && (at = text.find(old, at)) != text.npos; at += with.size())
    text.replace(at, old.size(), with);
  return text;
}

Items parts(StringRef text, std::optional<std::string> separator) {
  Items result;
  llvm::SmallVector<StringRef> pieces;
  if (separator)
    text.split(pieces, *separator);
  else
    llvm::SplitString(text, pieces);
  for (StringRef piece : pieces)
    result.push_back(piece.str());
  return result;
}

/// A method of `text` that takes `args`; none where Python has none.
std::optional<Value> stringMethod(StringRef text, StringRef name,
                                  llvm::ArrayRef<std::string> args) {
  if (args.empty()) {
    if (name == "upper" || name == "lower")
      return name == "upper" ? text.upper() : text.lower();
    if (name == "strip")
      return text.trim().str();
    if (name == "isdigit")
      return !text.empty() && llvm::all_of(text, llvm::isDigit);
    return name == "split" ? std::optional(Value::tuple(parts(text, {}))) : std::nullopt;
  }
  if (args.size() == 2 && name == "replace")
    return replaced(text.str(), args[0], args[1]);
  if (args.size() != 1)
    return std::nullopt;
  if (name == "startswith")
    return text.starts_with(args[0]);
  if (name == "endswith")
    return text.ends_with(args[0]);
  if (name == "count")
    return BigInt(text.count(args[0]));
  if (name == "find")
    return text.contains(args[0]) ? BigInt(text.find(args[0])) : BigInt(-1);
  if (name == "split" && !args[0].empty())
    return Value::tuple(parts(text, args[0]));
  return std::nullopt;
}

bool startsOrEnds(StringRef name) { return name == "startswith" || name == "endswith"; }
} // namespace

bool pantile::isSequenceMethod(const Value &self, StringRef name) {
  if (self.isTuple())
    return name == "index" || name == "count";
  return self.is<std::string>() && llvm::StringSwitch<bool>(name)
                                       .Cases({"upper", "lower", "strip", "isdigit"}, true)
                                       .Cases({"split", "replace", "startswith"}, true)
                                       .Cases({"endswith", "count", "find", "join"}, true)
                                       .Default(false);
}

static Value tupleMethod(Emitter &e, const Items &items, StringRef name, const Value &wanted,
                         SourceSpan span) {
  BigInt count = llvm::count_if(items, [&](const Value &v) { return constantsEqual(v, wanted); });
  if (name == "count")
    return count;
  if (count == 0)
    return e.error(span, "`" + constantText(wanted, true) + "` is not in the tuple");
  return BigInt(llvm::find_if(items, [&](const Value &v) { return constantsEqual(v, wanted); }) -
                items.begin());
}

Value Emitter::callSequenceMethod(const MethodValue &method, llvm::ArrayRef<CallArg> args,
                                  SourceSpan span) {
  const Value &self = *method.self;
  bool isTuple = self.isTuple();
  if (isTuple && args.size() == 1)
    return tupleMethod(*this, self.elements(), method.name, args[0].value, span);
  llvm::SmallVector<std::string> texts;
  bool takesMany = args.size() == 1 && args[0].value.isTuple() &&
                   (method.name == "join" || startsOrEnds(method.name));
  Items given = takesMany ? args[0].value.elements() : Items();
  if (!takesMany)
    for (const CallArg &arg : args)
      given.push_back(arg.value);
  for (const Value &value : given) {
    auto text = needString(value, span, "an argument of `" + method.name + "`");
    if (!text)
      return Failed();
    texts.push_back(*text);
  }
  if (takesMany && method.name == "join")
    return llvm::join(texts, self.as<std::string>());
  if (takesMany)
    return llvm::any_of(texts, [&](const std::string &text) {
      return stringMethod(self.as<std::string>(), method.name, text)->as<bool>();
    });
  std::optional<Value> result;
  if (!isTuple)
    result = stringMethod(self.as<std::string>(), method.name, texts);
  return result ? *result
                : error(span, "`" + method.name + "` of a " + kindText(self) + " takes no " +
                                  std::to_string(args.size()) + " arguments");
}
