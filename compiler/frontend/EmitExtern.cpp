//===- EmitExtern.cpp - see EmitExtern.h ------------------------------------------------===//
// Needs: Libdevice.def.
// Gives: callExtern, and the handler of libdevice's functions.
//===------------------------------------------------------------------------------------===//
#include "frontend/EmitExtern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>

using namespace pantile;
using llvm::StringRef;

namespace {
using Operands = llvm::SmallVector<Runtime, 4>;

const ExternOverload *overloadFor(const ExternFunction &function, const Operands &operands) {
  for (const ExternOverload &overload : function.overloads)
    if (llvm::equal(overload.operands, operands,
                    [](DType wanted, const Runtime &x) { return wanted == x.type.element; }))
      return &overload;
  return nullptr;
}

/// All operands in the type that they promote to, pair by pair.
std::optional<Operands> promoteAll(Emitter &e, const Operands &operands, SourceSpan span) {
  Runtime common = operands.front();
  for (const Runtime &operand : operands) {
    auto both = e.promoted(operand, common, span);
    if (!both)
      return std::nullopt;
    common = both->second;
  }
  Operands result;
  for (const Runtime &operand : operands) {
    auto both = e.promoted(operand, common, span);
    if (!both)
      return std::nullopt;
    result.push_back(both->first);
  }
  return result;
}

std::optional<Operands> broadcastAll(Emitter &e, const Operands &operands, SourceSpan span) {
  Shape shape;
  for (const Runtime &operand : operands) {
    std::optional<Shape> common = broadcastShapes(shape, operand.type.shape);
    if (!common) {
      e.error(span, "cannot broadcast `" + operand.type.name() + "` to the shape " +
                        shapeText(shape) + " of the other operands");
      return std::nullopt;
    }
    shape = *common;
  }
  Operands result;
  for (const Runtime &operand : operands)
    result.push_back(e.broadcastTo(operand, shape));
  return result;
}

template <typename Range> std::string typeList(const Range &types) {
  std::string text;
  for (DType type : types)
    text += (text.empty() ? "`" : ", `") + type.name() + "`";
  return types.size() == 1 ? text : "(" + text + ")";
}

Value mismatch(Emitter &e, const ExternFunction &function, const Operands &operands,
               SourceSpan span) {
  std::string wanted;
  for (const auto &[i, overload] : llvm::enumerate(function.overloads)) {
    const bool last = i + 1 == function.overloads.size();
    wanted += (i == 0 ? "" : last ? " or " : ", ") + typeList(overload.operands);
  }
  llvm::SmallVector<DType, 4> got;
  for (const Runtime &operand : operands)
    got.push_back(operand.type.element);
  return e.error(span, "`" + function.name + "` takes " + wanted + ", got " + typeList(got));
}

Value emitCallOf(Emitter &e, const ExternFunction &function, const ExternOverload &overload,
                 const Operands &operands) {
  const bool isTest = overload.result.isBool();
  Type type{isTest ? DType(Scalar::I32) : overload.result,
            operands.empty() ? Shape() : operands.front().type.shape};
  llvm::SmallVector<mlir::Value> values;
  for (const Runtime &operand : operands)
    values.push_back(operand.ir);
  Runtime result{ExternCallOp::create(e.b, e.loc(), e.irType(type), overload.symbol, values,
                                      function.library, function.pure),
                 type};
  return isTest ? Value(*e.cast(result, Scalar::I1, e.here())) : Value(result);
}

ExternOverload parseOverload(StringRef text) {
  ExternOverload overload;
  auto [operands, rest] = text.split(" > ");
  auto [result, symbol] = rest.split(' ');
  for (StringRef operand : llvm::split(operands, ' '))
    overload.operands.push_back(*parseDType(std::string_view(operand)));
  overload.result = *parseDType(std::string_view(result));
  overload.symbol = symbol.str();
  return overload;
}

const llvm::StringMap<ExternFunction> &libdevice() {
  static const auto *table = [] {
    auto *functions = new llvm::StringMap<ExternFunction>();
    auto add = [&](StringRef name, StringRef overloads) {
      ExternFunction function{("libdevice." + name).str(), "", true, {}};
      for (StringRef overload : llvm::split(overloads, "; "))
        function.overloads.push_back(parseOverload(overload));
      functions->try_emplace(name, std::move(function));
    };
#define LIBDEVICE(name, parameters, overloads, doc) add(#name, overloads);
#include "frontend/Libdevice.def"
    return functions;
  }();
  return *table;
}
} // namespace

Value pantile::callExtern(Emitter &e, const ExternFunction &function, llvm::ArrayRef<Value> args,
                          SourceSpan span) {
  Operands operands;
  for (const Value &arg : args) {
    std::optional<Runtime> operand = e.runtime(arg, span);
    if (!operand)
      return Failed();
    operands.push_back(*operand);
  }
  const ExternOverload *overload = overloadFor(function, operands);
  if (!overload && operands.size() > 1) {
    std::optional<Operands> promoted = promoteAll(e, operands, span);
    if (!promoted)
      return Failed();
    overload = overloadFor(function, *promoted);
    if (overload)
      operands = *promoted;
  }
  if (!overload)
    return mismatch(e, function, operands, span);
  std::optional<Operands> shaped = broadcastAll(e, operands, span);
  return shaped ? emitCallOf(e, function, *overload, *shaped) : Value(Failed());
}

Value pantile::emitLibdevice(Emitter &e, const BoundCall &call) {
  return callExtern(e, libdevice().find(call.row->name)->second, call.values, call.span);
}

namespace {
/// `{(types of the operands): (symbol, type of the result)}`, as a tuple of pairs.
bool readOverloads(const Value &table, std::vector<ExternOverload> &overloads) {
  auto isPair = [](const Value &value) { return value.isTuple() && value.elements().size() == 2; };
  if (!table.isTuple() || table.elements().empty())
    return false;
  for (const Value &row : table.elements()) {
    if (!isPair(row) || !row.elements()[0].isTuple() || !isPair(row.elements()[1]))
      return false;
    ExternOverload overload;
    for (const Value &operand : row.elements()[0].elements()) {
      if (!operand.is<DType>())
        return false;
      overload.operands.push_back(operand.as<DType>());
    }
    const std::vector<Value> &target = row.elements()[1].elements();
    if (!target[0].is<std::string>() || !target[1].is<DType>() || target[1].as<DType>().isComplex())
      return false;
    overload.symbol = target[0].as<std::string>();
    overload.result = target[1].as<DType>();
    overloads.push_back(std::move(overload));
  }
  return true;
}
} // namespace

Value pantile::emitExternElementwise(Emitter &e, const BoundCall &call) {
  auto name = e.needString(call["lib_name"], call.at("lib_name"), "`lib_name`");
  auto path = e.needString(call["lib_path"], call.at("lib_path"), "`lib_path`");
  auto pure = e.needBool(call["is_pure"], call.at("is_pure"), "`is_pure`");
  if (!name || !path || !pure)
    return Failed();
  const Value &args = call["args"];
  if (!args.isTuple())
    return e.error(call.at("args"), "`args` is a list, got " + kindText(args));
  const bool isLibdevice = path->empty() || StringRef(*path).contains("libdevice");
  ExternFunction function{"extern_elementwise", isLibdevice ? "" : *path, *pure, {}};
  if (!readOverloads(call["arg_type_symbol_dict"], function.overloads))
    return e.error(call.at("arg_type_symbol_dict"),
                   "`arg_type_symbol_dict` is a dictionary from tuples of operand types to "
                   "(symbol, result type)");
  return callExtern(e, function, args.elements(), call.span);
}
