//===- EmitCall.cpp - binding arguments and inlining jit functions ----------------------===//
// Needs: a callee and evaluated arguments.
// Gives: the result of a call: of an operation by its handler, of a jit function by emitting its
//        body here, of a class or a type's method by computing with constants.
// How:   Each inlined call is a Frame with its own variables; compile-time arguments stay
//        compile-time values inside, so recursion on them ends at compile time.
//===------------------------------------------------------------------------------------===//
#include "frontend/Complex.h"
#include "frontend/Parser.h"
#include "frontend/Stdlib.h"
#include <llvm/Support/SaveAndRestore.h>

using namespace pantile;
using llvm::StringRef;

namespace {
constexpr int maxCallDepth = 256;

bool isHiddenKeyword(StringRef name) {
  return name == "_semantic" || name == "_builder" || name == "_generator";
}

std::string countText(size_t count, const char *what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// One operation accepts a dictionary; there it is a tuple of pairs.
Value passedValue(Emitter &e, const Value &callee, const ast::Expr &node) {
  auto *builtin = callee.dynAs<BuiltinValue>();
  auto *braces = llvm::dyn_cast<ast::UnsupportedExpr>(&node);
  if (!builtin || builtin->row->name != "extern_elementwise" || !braces || braces->items.empty())
    return e.expr(node);
  std::vector<Value> pairs;
  for (const auto &[key, value] : braces->items) {
    pairs.push_back(Value::tuple({e.expr(*key), e.expr(*value)}));
    if (pairs.back().elements()[0].failed() || pairs.back().elements()[1].failed())
      return Failed();
  }
  return Value::tuple(std::move(pairs));
}
} // namespace

Value Emitter::evalCall(const ast::Call &node) {
  Value callee = expr(*node.callee);
  llvm::SmallVector<CallArg, 8> args;
  bool failed = callee.failed();
  for (const ast::ExprPtr &arg : node.args) {
    auto *starred = llvm::dyn_cast<ast::Starred>(arg.get());
    Value value = starred ? expr(*starred->value) : passedValue(*this, callee, *arg);
    failed |= value.failed();
    if (!starred) {
      args.push_back({value, arg->span, {}, {}});
    } else if (value.isTuple()) {
      for (const Value &element : value.elements())
        args.push_back({element, arg->span, {}, {}});
    } else if (!value.failed()) {
      failed = error(arg->span, "`*` takes a tuple, got " + kindText(value)).failed();
    }
  }
  for (const ast::Keyword &keyword : node.keywords) {
    if (keyword.name.empty())
      return error(keyword.value->span, "`**` in a call is not supported in a kernel",
                   ErrorKind::Unsupported);
    Value value = passedValue(*this, callee, *keyword.value);
    failed |= value.failed();
    args.push_back({value, keyword.value->span, keyword.name, keyword.nameSpan});
  }
  return failed ? Value(Failed()) : call(callee, std::move(args), node.span);
}

Value Emitter::call(const Value &callee, llvm::SmallVector<CallArg, 8> args, SourceSpan span) {
  llvm::erase_if(args, [](const CallArg &arg) { return isHiddenKeyword(arg.keyword); });
  if (auto *function = callee.dynAs<FunctionValue>())
    return callFunction(*function, args, span);
  if (auto *inner = callee.dynAs<std::shared_ptr<const ClosureValue>>())
    return callParsed(*(*inner)->function, args, span, &(*inner)->captured);
  if (auto *builtin = callee.dynAs<BuiltinValue>())
    return callBuiltin(*builtin->row, args, span);
  if (auto *type = callee.dynAs<ClassValue>())
    return callClass(*type, args, span);
  if (auto *method = callee.dynAs<MethodValue>())
    return callMethod(*method, std::move(args), span);
  return callee.failed() ? callee
                         : error(span, (callee.is<OpaqueValue>() ? "" : "a ") + kindText(callee) +
                                           " cannot be called");
}

/// The parameters that have to be given, as text: "`start`, `end`".
static std::string requiredParams(const BuiltinRow &row) {
  std::string text;
  for (const BuiltinParam &param : row.params)
    if (param.isRequired && !param.isStar && !param.isKeywords)
      text += (text.empty() ? "`" : ", `") + param.name + "`";
  return text;
}

/// The error of an operation that needs an order but has a complex operand.
static std::optional<Value> refusedOrder(Emitter &e, const BuiltinRow &row,
                                         llvm::ArrayRef<CallArg> args) {
  if (!ordersElements(row))
    return std::nullopt;
  for (const CallArg &arg : args)
    if (arg.value.isComplex())
      return e.error(arg.span, "`" + row.name + "` takes no " + kindText(arg.value) +
                                   ": complex numbers have no order; `tl.abs`, `.real` and "
                                   "`.imag` have one");
  return std::nullopt;
}

Value Emitter::callBuiltin(const BuiltinRow &row, llvm::ArrayRef<CallArg> args, SourceSpan span) {
  if (std::optional<Value> refused = refusedOrder(*this, row, args))
    return *refused;
  if (!row.handler)
    return callFunction(FunctionValue{*findLibraryFunction(row.name), true}, args, span);
  llvm::SaveAndRestore binding(frame->bindsCall, true);
  BoundCall bound{&row, span, {}, {}};
  std::vector<bool> isGiven(row.params.size(), false);
  std::vector<Value> rest;
  TupleValue byName;
  for (const BuiltinParam &param : row.params) {
    bound.values.push_back(param.defaultValue);
    bound.spans.push_back(span);
  }
  std::string name = "`" + row.name + "`";
  size_t next = 0;
  for (const CallArg &arg : args) {
    size_t slot = next;
    if (!arg.keyword.empty()) {
      auto known = llvm::find_if(row.params, [&](auto &p) { return p.name == arg.keyword; });
      slot = known - row.params.begin();
      if (known == row.params.end() && row.takesKeywords()) {
        byName.elements.push_back(arg.value);
        byName.fields.push_back(arg.keyword.str());
        bound.spans.back() = arg.span;
        continue;
      }
      if (known == row.params.end() || known->isStar)
        return error(arg.keywordSpan, name + " has no parameter `" + arg.keyword.str() + "`");
    } else if (slot < row.params.size() && row.params[slot].isStar) {
      rest.push_back(arg.value);
      bound.spans[slot] = rest.size() == 1 ? arg.span : bound.spans[slot].to(arg.span);
      continue;
    } else if (slot >= row.params.size()) {
      return error(span, name + " takes at most " + countText(row.params.size(), "argument") +
                             ", got " + std::to_string(args.size()));
    } else {
      ++next;
    }
    if (isGiven[slot])
      return error(arg.span, name + " got two values for `" + row.params[slot].name + "`");
    isGiven[slot] = true;
    bound.values[slot] = arg.value;
    bound.spans[slot] = arg.span;
  }
  for (auto [i, param] : llvm::enumerate(row.params)) {
    if (param.isKeywords)
      bound.values[i] = Value::structure(byName);
    else if (param.isStar && !isGiven[i])
      bound.values[i] = Value::tuple(rest);
    else if (param.isRequired && !isGiven[i])
      return error(span, name + " lacks the argument `" + param.name + "`; it takes " +
                             requiredParams(row));
  }
  Place at(*this, span);
  if (std::optional<Value> result = callByParts(*this, bound))
    return *result;
  return row.handler(*this, bound);
}

Value Emitter::callLibrary(StringRef name, llvm::ArrayRef<Value> args, SourceSpan span) {
  llvm::SmallVector<CallArg, 8> bound;
  for (const Value &value : args)
    bound.push_back({value, span, {}, {}});
  return callFunction(FunctionValue{*findLibraryFunction(name), true}, bound, span);
}

ParsedFunction *Emitter::parsed(const FunctionValue &function) {
  auto &cache = function.inLibrary ? parsedLibrary : parsedProgram;
  const auto &functions = function.inLibrary ? libraryFunctions() : program.functions;
  cache.resize(functions.size());
  std::unique_ptr<ParsedFunction> &slot = cache[function.index];
  if (!slot) {
    const FunctionSource &source = functions[function.index];
    slot = std::make_unique<ParsedFunction>();
    slot->source = &source;
    slot->inLibrary = function.inLibrary;
    BufferId buffer = sources.addBuffer(source.file, source.text, source.firstLine, source.indent);
    slot->owned = parseFunction(sources, buffer, diagnostics);
    slot->def = slot->owned.get();
    if (slot->def)
      slot->assigned = AssignedNames(*slot->def);
  }
  return slot->def ? slot.get() : nullptr;
}

bool Emitter::bindParameters(const ast::FunctionDef &def, llvm::ArrayRef<CallArg> args,
                             SourceSpan span, Frame &callee) {
  std::string name = "`" + def.name + "`";
  std::pair<SourceSpan, std::string> note{def.nameSpan, name + " is defined here"};
  for (const ast::Param &param : def.params)
    if (param.star == ast::StarKind::Kwargs)
      return error(param.span,
                   "`**` in parameters is not supported in a kernel; name each parameter",
                   ErrorKind::Unsupported),
             false;
  std::vector<Value> rest;
  size_t next = 0;
  for (const CallArg &arg : args) {
    const ast::Param *param = nullptr;
    if (!arg.keyword.empty()) {
      auto known = llvm::find_if(def.params, [&](auto &p) { return p.name == arg.keyword; });
      if (known == def.params.end() || known->star != ast::StarKind::None)
        return error(arg.keywordSpan, name + " has no parameter `" + arg.keyword.str() + "`",
                     ErrorKind::Type, note),
               false;
      param = &*known;
    } else if (next < def.params.size() && def.params[next].star == ast::StarKind::Args) {
      rest.push_back(arg.value);
      continue;
    } else if (next >= def.params.size() || def.params[next].keywordOnly) {
      return error(span,
                   name + " takes " + countText(def.params.size(), "argument") + ", got " +
                       std::to_string(args.size()),
                   ErrorKind::Type, note),
             false;
    } else {
      param = &def.params[next++];
    }
    // Existing kernels annotate tiles as constexpr, too: a value that is no constant stays
    // unchanged.
    Value value = arg.value;
    if (isConstexprAnnotation(param->annotation.get()))
      value = knownValue(value).value_or(value);
    if (callee.variables.contains(param->name))
      return error(arg.span, name + " got two values for `" + param->name + "`", ErrorKind::Type,
                   note),
             false;
    callee.variables[param->name] = {value, param->nameSpan, nextVersion++};
  }
  for (const ast::Param &param : def.params)
    if (param.star == ast::StarKind::Args)
      callee.variables[param.name] = {Value::tuple(rest), param.nameSpan, nextVersion++};
  return true;
}

/// Runs in the callee's frame, so that defaults see its globals.
bool Emitter::fillDefaults(const ast::FunctionDef &def, SourceSpan span, Frame &callee) {
  for (const ast::Param &param : def.params) {
    if (callee.variables.contains(param.name))
      continue;
    if (!param.defaultValue) {
      frame = callee.caller;
      error(span, "`" + def.name + "` lacks the argument `" + param.name + "`", ErrorKind::Type,
            {{param.span, "`" + param.name + "` has no default"}});
      return false;
    }
    Value value = expr(*param.defaultValue);
    if (value.failed())
      return false;
    callee.variables[param.name] = {value, param.nameSpan, nextVersion++};
  }
  return true;
}

Value Emitter::callFunction(const FunctionValue &function, llvm::ArrayRef<CallArg> args,
                            SourceSpan span, const ClassSource *constructs) {
  if (!function.inLibrary && program.functions[function.index].host)
    return callHost(function, args, span);
  ParsedFunction *target = parsed(function);
  return target ? callParsed(*target, args, span, nullptr, constructs) : Value(Failed());
}

Value Emitter::closure(const ast::FunctionDef &def) {
  std::unique_ptr<ParsedFunction> &slot = innerFunctions[&def];
  if (!slot) {
    slot = std::make_unique<ParsedFunction>();
    slot->source = frame->function->source;
    slot->inLibrary = frame->function->inLibrary;
    slot->def = &def;
    slot->assigned = AssignedNames(def);
  }
  Variables captured = frame->captured ? *frame->captured : Variables();
  for (const auto &[name, variable] : frame->variables)
    captured[name] = variable;
  return std::make_shared<const ClosureValue>(ClosureValue{slot.get(), std::move(captured)});
}

Value Emitter::callParsed(const ParsedFunction &target, llvm::ArrayRef<CallArg> args,
                          SourceSpan span, const Variables *captured,
                          const ClassSource *constructs) {
  const ast::FunctionDef &def = *target.def;
  if (frame->depth >= maxCallDepth)
    return error(span, "calls nest deeper than " + std::to_string(maxCallDepth) +
                           ": the recursion of `" + def.name + "` does not end");
  Frame callee;
  callee.function = &target;
  callee.caller = frame;
  callee.captured = captured;
  callee.constructs = constructs;
  callee.callSpan = span;
  callee.depth = frame->depth + 1;
  Place at(*this, span);
  callee.callerLoc = loc();
  {
    llvm::SaveAndRestore binding(frame->bindsCall, true);
    if (!bindParameters(def, args, span, callee))
      return Failed();
  }
  Frame *caller = frame;
  frame = &callee;
  Value result = Failed();
  if (fillDefaults(def, span, callee)) {
    block(def.body);
    result = constructs ? finishConstructor(callee) : finishCall(callee, span);
  }
  frame = caller;
  cachedLoc = {};
  return result;
}

Value Emitter::finishConstructor(Frame &callee) {
  const FlowState &flow = callee.flow;
  if (flow.value.failed())
    return Failed();
  if (flow.flow != Flow::Falls && !flow.value.isNone())
    return error(flow.returned, "`__init__` returns no value");
  return callee.variables[callee.function->def->params.front().name].value;
}

Value Emitter::finishCall(Frame &callee, SourceSpan span) {
  if (callee.flow.flow == Flow::Falls)
    return None();
  if (callee.flow.flow == Flow::Maybe && !callee.flow.value.isNone() && !callee.flow.value.failed())
    return error(callee.flow.returned,
                 "`" + callee.function->def->name + "` returns a value on some paths only");
  return callee.flow.value;
}

namespace {
Value convertConstant(Emitter &e, StringRef type, const Value &value, SourceSpan span) {
  if (type == "bool")
    return *constantTruth(value);
  if (type == "str")
    return constantText(value);
  if (auto *text = value.dynAs<std::string>()) {
    StringRef trimmed = StringRef(*text).trim();
    double real;
    int64_t integer;
    if (type == "float" && !trimmed.getAsDouble(real))
      return real;
    if (type == "int" && !trimmed.getAsInteger(10, integer))
      return BigInt(integer);
  }
  if (type == "float" && value.isNumber())
    return *constantDouble(value);
  bool hasInteger = !value.is<double>() || std::abs(value.as<double>()) < 0x1p100;
  if (type == "int" && value.isNumber() && hasInteger)
    return value.is<double>() ? BigInt(value.as<double>()) : *constantInt(value);
  return e.error(span, "`" + type.str() + "` takes no " +
                           (value.is<std::string>() ? "`" + constantText(value, true) + "`"
                                                    : kindText(value)));
}
} // namespace

Value Emitter::callClass(const ClassValue &type, llvm::ArrayRef<CallArg> args, SourceSpan span) {
  if (type.source)
    return construct(*type.source, args, span);
  if (type.name == "tuple" && (args.empty() || args[0].value.isTuple()))
    return args.empty() ? Value::tuple({}) : args[0].value;
  if (args.size() != 1 || !args[0].keyword.empty())
    return error(span, "`" + type.name + "` takes 1 argument, got " + std::to_string(args.size()));
  const Value &value = args[0].value;
  if (type.name == "tuple") {
    auto items = itemsOf(value, args[0].span, "`tuple`");
    return items ? Value::tuple(std::move(*items)) : Value(Failed());
  }
  if (type.name == "dtype") {
    auto *name = value.dynAs<std::string>();
    std::optional<DType> dtype = name ? parseDType(*name) : std::nullopt;
    return dtype ? Value(*dtype)
                 : error(args[0].span, "`dtype` takes the name of an element type, got " +
                                           (name ? "`" + *name + "`" : kindText(value)));
  }
  if (type.name == "constexpr") {
    if (auto known = knownValue(value))
      return *known;
    return error(args[0].span, "`constexpr` takes a compile-time value, got " + kindText(value));
  }
  if (auto *x = value.dynAs<Runtime>()) {
    std::optional<Runtime> result;
    if (type.name == "int")
      result =
          x->type.element.isInt() && !x->type.element.isBool() ? *x : cast(*x, Scalar::I32, span);
    else if (type.name == "float")
      result = x->type.element.isFloat() ? *x : cast(*x, Scalar::F32, span);
    else if (type.name == "bool")
      result = cast(*x, Scalar::I1, span);
    else
      return error(span, "`" + type.name + "` takes no run-time value");
    return result ? Value(*result) : Value(Failed());
  }
  if (value.isComplex() && type.name == "bool")
    if (std::optional<Runtime> flag = toBool(value, span))
      return Value(*flag);
  if (value.isComplex())
    return error(args[0].span,
                 "`" + type.name + "` takes no " + kindText(value) + "; `.real` is its real part");
  return convertConstant(*this, type.name, value, args[0].span);
}

namespace {
/// What the methods of types give that are no questions.
std::optional<Value> describeDType(DType dtype, StringRef method) {
  const std::string name = dtype.name();
  if (method == "codegen_name") {
    if (StringRef(name).starts_with("fp"))
      return Value("float" + name.substr(2));
    return Value(StringRef(name).starts_with("bf") ? "bfloat" + name.substr(2) : name);
  }
  if (!dtype.isInt())
    return std::nullopt;
  if (method == "get_int_max_value")
    return Value((BigInt(1) << (dtype.bits() - (dtype.isSigned() ? 1 : 0))) - 1);
  if (method == "get_int_min_value")
    return Value(dtype.isSigned() ? -(BigInt(1) << (dtype.bits() - 1)) : BigInt(0));
  return std::nullopt;
}

std::optional<bool> askDType(DType dtype, StringRef question) {
  if (question == "is_fp8")
    return dtype.isFp8();
  if (question == "is_floating" || question == "is_standard_floating")
    return dtype.isFloat() && (question == "is_floating" || !dtype.isFp8());
  if (question == "is_int")
    return dtype.isInt();
  if (question == "is_int_signed")
    return dtype.isInt() && dtype.isSigned();
  if (question == "is_int_unsigned")
    return dtype.isInt() && !dtype.isSigned();
  if (question == "is_bool")
    return dtype.isBool();
  if (question == "is_ptr")
    return dtype.isPointer();
  if (question == "is_const")
    return dtype.isPointer() && dtype.isConst;
  if (question == "is_block" || question == "is_tuple")
    return false;
  if (question == "is_dtype")
    return true;
  if (question.consume_front("is_"))
    if (auto other = parseDType(std::string_view(question.data(), question.size())))
      return dtype == *other;
  return std::nullopt;
}
} // namespace

Value Emitter::callMethod(const MethodValue &method, llvm::SmallVector<CallArg, 8> args,
                          SourceSpan span) {
  const Value &self = *method.self;
  if (isSequenceMethod(self, method.name))
    return callSequenceMethod(method, args, span);
  if (auto *type = self.dynAs<TypeValue>())
    return type->isPointer == (method.name == "is_ptr");
  if (self.isStruct())
    return callStructMethod(method, args, span);
  if (auto *dtype = self.dynAs<DType>()) {
    if (std::optional<Value> answer = describeDType(*dtype, method.name))
      return *answer;
    std::optional<bool> answer = askDType(*dtype, method.name);
    return answer ? Value(*answer) : error(span, "a type has no method `" + method.name + "`");
  }
  args.insert(args.begin(), {self, span, {}, {}});
  return callBuiltin(*findBuiltin("tl", method.name), args, span);
}
