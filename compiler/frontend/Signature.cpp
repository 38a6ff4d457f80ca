//===- Signature.cpp - a kernel's parameters, and the text of a specialisation ----------===//
// Needs: the text of the kernel's function; no MLIR.
// Gives: kernelParameters and parseArgSpec of the public interface (pantile/Compiler.h).
// How:   A default is evaluated by the rules for constant expressions outside kernels; one that
//        needs Python to evaluate counts as absent.
//===------------------------------------------------------------------------------------===//
#include "frontend/Constexpr.h"
#include "frontend/ModuleConstants.h"
#include "frontend/Parser.h"
#include "pantile/Compiler.h"
#include "pantile/Request.h"
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>

using namespace pantile;
using llvm::StringRef;

namespace {
ParameterInfo describe(const ast::Param &param, const FunctionSource &source,
                       const SourceManager &sources) {
  ParameterInfo info;
  info.name = param.name;
  info.isConstexpr = isConstexprAnnotation(param.annotation.get());
  if (param.annotation)
    info.annotation = std::string(sources.text(param.annotation->span));
  if (!param.defaultValue)
    return info;
  auto lookUp = [&](std::string_view name) -> std::optional<ConstValue> {
    auto found = source.globals.find(std::string(name));
    return found == source.globals.end() ? std::nullopt : std::optional(found->second);
  };
  if (std::optional<ConstValue> value = evaluateConstant(*param.defaultValue, lookUp)) {
    info.hasDefault = true;
    info.defaultValue = *value;
  }
  return info;
}

Error badSpec(std::string_view text, const std::string &why) {
  return makeError(ErrorKind::Launch,
                   "`" + std::string(text) + "` is no type of an argument: " + why);
}

ArgSpec constantSpec(ConstValue value) {
  ArgSpec spec;
  spec.kind = ArgSpec::Kind::Constant;
  spec.value = std::move(value);
  return spec;
}

/// "128", "-1.5", "true", "None" or "none", "'text'".
std::optional<ConstValue> parseLiteral(StringRef text) {
  if (text.equals_insensitive("none"))
    return ConstValue();
  ConstValue value = parseConstant(std::string_view(text.data(), text.size()));
  const bool isText = std::holds_alternative<std::string>(value);
  const bool isBare = isText && !text.starts_with("'") && !text.starts_with("\"");
  return isBare || std::holds_alternative<DTypeName>(value) ? std::nullopt : std::optional(value);
}

/// "(i32, *fp16:16, (8,))": the types of the elements.
Result<ArgSpec> parseTupleSpec(StringRef text, StringRef inner) {
  ArgSpec spec;
  spec.kind = ArgSpec::Kind::Tuple;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= inner.size(); ++i) {
    bool isEnd = i == inner.size();
    depth += !isEnd && StringRef("([<").contains(inner[i]);
    depth -= !isEnd && StringRef(")]>").contains(inner[i]);
    if (!isEnd && (inner[i] != ',' || depth != 0))
      continue;
    StringRef part = inner.slice(start, i).trim();
    start = i + 1;
    if (part.empty() && isEnd)
      break;
    Result<ArgSpec> element = parseArgSpec(std::string_view(part.data(), part.size()));
    if (!element)
      return element;
    spec.elements.push_back(*element);
  }
  if (depth != 0)
    return badSpec(std::string_view(text.data(), text.size()), "its brackets do not match");
  return spec;
}

/// "tensordesc<fp16[64, 32]>", or "tensordesc<fp16[64, 32], nan>"; `isWide`: ":16" followed.
Result<ArgSpec> parseDescriptorSpec(StringRef text, StringRef inner, bool isWide) {
  auto fail = [&] {
    return badSpec(std::string_view(text.data(), text.size()),
                   "a descriptor is written `tensordesc<fp16[64, 32]>`");
  };
  auto [name, rest] = inner.split('[');
  auto [sizes, padding] = rest.split(']');
  std::optional<DType> dtype = parseDType(std::string_view(name.trim().data(), name.trim().size()));
  padding = padding.trim();
  bool padsWithNan = padding.consume_front(",") && padding.trim() == "nan";
  if (dtype && dtype->isComplex())
    return badSpec(std::string_view(text.data(), text.size()),
                   "a tensor descriptor has no elements of `complex64`; a pointer to them works");
  if (!dtype || !dtype->isNumber() || (!padding.empty() && !padsWithNan))
    return fail();
  ArgSpec spec;
  spec.kind = ArgSpec::Kind::Descriptor;
  spec.dtype = dtype->shortName();
  spec.padsWithNan = padsWithNan;
  spec.divisibility = isWide ? 16 : 1;
  for (StringRef size : llvm::split(sizes, ',')) {
    int64_t extent;
    if (size.trim().getAsInteger(10, extent) || extent < 1)
      return fail();
    spec.blockShape.push_back(extent);
  }
  return spec;
}
} // namespace

bool pantile::isConstexprAnnotation(const ast::Expr *annotation) {
  if (!annotation)
    return false;
  if (auto *attribute = llvm::dyn_cast<ast::Attribute>(annotation))
    return attribute->attr == "constexpr";
  if (auto *name = llvm::dyn_cast<ast::Name>(annotation))
    return name->id == "constexpr";
  auto *constant = llvm::dyn_cast<ast::Constant>(annotation);
  auto *text = constant ? std::get_if<std::string>(&constant->value) : nullptr;
  return text && StringRef(*text).ends_with("constexpr");
}

Result<std::vector<ParameterInfo>> pantile::kernelParameters(const Program &program) {
  if (program.kernel >= program.functions.size())
    return makeError(ErrorKind::Internal, "the program has no kernel");
  const FunctionSource &source = program.functions[program.kernel];
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  BufferId buffer = sources.addBuffer(source.file, source.text, source.firstLine, source.indent);
  std::unique_ptr<ast::FunctionDef> def = parseFunction(sources, buffer, diagnostics);
  if (!def || diagnostics.hasErrors())
    return diagnostics.toError();
  std::vector<ParameterInfo> parameters;
  for (const ast::Param &param : def->params)
    parameters.push_back(describe(param, source, sources));
  return parameters;
}

Result<ArgSpec> pantile::parseArgSpec(std::string_view text) {
  StringRef trimmed = StringRef(text.data(), text.size()).trim();
  if (std::optional<ConstValue> literal = parseLiteral(trimmed))
    return constantSpec(*literal);
  StringRef inner = trimmed;
  if (inner.consume_front("(") && inner.consume_back(")"))
    return parseTupleSpec(trimmed, inner);
  inner = trimmed;
  bool isWide = inner.consume_back(":16");
  if (inner.consume_front("tensordesc<") && inner.consume_back(">"))
    return parseDescriptorSpec(trimmed, inner, isWide);
  auto [name, factor] = trimmed.split(':');
  std::optional<DType> dtype = parseDType(std::string_view(name.data(), name.size()));
  if (dtype && dtype->isComplex())
    return badSpec(text,
                   "a number of type `complex64` cannot be passed; pass its parts, an array of "
                   "one element, or a constexpr");
  if (!dtype || dtype->isVoid())
    return badSpec(text, "expected `*fp16:16`, `i32`, `fp32`, ... or a literal");
  int divisibility = 1;
  if (trimmed.contains(':') && (factor.getAsInteger(10, divisibility) || divisibility < 1))
    return badSpec(text, "after `:` stands a positive integer");
  ArgSpec spec;
  if (dtype->isPointer()) {
    spec.kind = ArgSpec::Kind::Pointer;
    spec.dtype = dtype->pointee().shortName();
    spec.constPointer = dtype->isConst;
  } else if (divisibility == 1 && trimmed.contains(':') && dtype->isInt()) {
    return constantSpec(int64_t(1));
  } else {
    spec.kind = ArgSpec::Kind::Scalar;
    spec.dtype = dtype->shortName();
  }
  spec.divisibility = divisibility;
  return spec;
}
