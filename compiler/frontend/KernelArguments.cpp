//===- KernelArguments.cpp - a kernel's arguments from texts ------------------------------===//
// Needs: parameters as kernelParameters() gives them.
// Gives: parseConstant, evaluateExpression, parseDefinitions, specialize and unusedDefinitions of
//        pantile/Request.h; an error names the parameter.
// How:   split the signature at commas; match names first, then fill the rest from the left.
//===-----------------------------------------------------------------------------------===//
#include "frontend/LanguageModules.h"
#include "frontend/ModuleConstants.h"
#include "frontend/Parser.h"
#include "pantile/Request.h"
#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

namespace pantile {
namespace {

std::string_view trim(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

/// The first comma outside of brackets, or the end.
size_t nextComma(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' || text[i] == '[' || text[i] == '<';
    depth -= text[i] == ')' || text[i] == ']' || text[i] == '>';
    if (text[i] == ',' && depth <= 0)
      return i;
  }
  return text.size();
}

std::vector<std::string_view> splitAtCommas(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!trim(text).empty()) {
    size_t comma = nextComma(text);
    parts.push_back(trim(text.substr(0, comma)));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

Error usage(std::string message) {
  return {ErrorKind::Launch, message, "error: " + message + "\n", {}};
}

template <typename Number> std::optional<Number> parseNumber(std::string_view text, auto... base) {
  Number value{};
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  if (status != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<int64_t> parseInteger(std::string_view text) {
  bool negative = text.starts_with('-');
  std::string_view digits = text.substr(negative ? 1 : 0);
  if (digits.starts_with("0x") || digits.starts_with("0X"))
    if (auto value = parseNumber<int64_t>(digits.substr(2), 16))
      return negative ? -*value : *value;
  return parseNumber<int64_t>(text);
}

/// `tl.float16`.
std::optional<DTypeName> parseDType(std::string_view text) {
  if (!text.starts_with("tl."))
    return std::nullopt;
  ConstValue named = moduleAttribute("tl.", text.substr(3));
  auto *dtype = std::get_if<DTypeName>(&named);
  return dtype ? std::optional(*dtype) : std::nullopt;
}

/// A specification with the parameter's name before it, if one was given.
struct SignatureEntry {
  std::string_view name, spec;
};

SignatureEntry parseEntry(std::string_view text) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    return {{}, text};
  return {trim(text.substr(0, equals)), trim(text.substr(equals + 1))};
}

ArgSpec constantSpec(const ConstValue &value) {
  ArgSpec spec;
  spec.kind = ArgSpec::Kind::Constant;
  spec.value = value;
  return spec;
}

/// Consumes the entries of a signature: by name if they have one, else in order.
class Signature {
public:
  explicit Signature(std::string_view text) {
    for (std::string_view part : splitAtCommas(text)) {
      SignatureEntry entry = parseEntry(part);
      if (entry.name.empty())
        positional.push_back(entry.spec);
      else
        named[std::string(entry.name)] = entry.spec;
    }
  }
  std::optional<std::string_view> take(const ParameterInfo &parameter) {
    auto it = named.find(parameter.name);
    if (it != named.end()) {
      std::string_view spec = it->second;
      named.erase(it);
      return spec;
    }
    if (parameter.isConstexpr || next == positional.size())
      return std::nullopt;
    return positional[next++];
  }
  std::optional<Error> leftOver() const {
    if (!named.empty())
      return usage("the signature names `" + named.begin()->first +
                   "`, which is no parameter of the kernel or is set by `-D`");
    if (next < positional.size())
      return usage("the signature has " + std::to_string(positional.size()) +
                   " types in order, but only " + std::to_string(next) + " parameters take one");
    return std::nullopt;
  }

private:
  std::vector<std::string_view> positional;
  std::map<std::string, std::string_view> named;
  size_t next = 0;
};

Result<ArgSpec> specializeOne(const ParameterInfo &parameter, Signature &signature,
                              const Definitions &definitions) {
  if (auto it = definitions.find(parameter.name); it != definitions.end())
    return constantSpec(it->second);
  if (auto spec = signature.take(parameter)) {
    Result<ArgSpec> parsed = parseArgSpec(*spec);
    if (!parsed)
      return usage("parameter `" + parameter.name + "`: " + parsed.error().message);
    return *parsed;
  }
  if (parameter.hasDefault)
    return constantSpec(parameter.defaultValue);
  if (parameter.isConstexpr)
    return usage("the constexpr parameter `" + parameter.name + "` has no value: give `-D " +
                 parameter.name + "=...`");
  return usage("the signature has no type for parameter `" + parameter.name + "`");
}

} // namespace

ConstValue parseConstant(std::string_view text) {
  text = trim(text);
  if (text == "None")
    return std::monostate();
  if (text == "True" || text == "true")
    return true;
  if (text == "False" || text == "false")
    return false;
  if (auto integer = parseInteger(text))
    return *integer;
  if (auto real = parseNumber<double>(text))
    return *real;
  if (auto type = parseDType(text))
    return *type;
  bool quoted = text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
  return std::string(quoted ? text.substr(1, text.size() - 2) : text);
}

Result<ConstValue> evaluateExpression(std::string_view text, const Definitions &names) {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  const BufferId buffer = sources.addBuffer("expression", std::string(text));
  const ast::ExprPtr parsed = parseExpression(sources, buffer, diagnostics);
  if (!parsed)
    return usage("`" + std::string(text) + "`: " + diagnostics.toError().message);
  auto lookup = [&](std::string_view name) -> std::optional<ConstValue> {
    if (auto it = names.find(std::string(name)); it != names.end())
      return it->second;
    const bool isOfTriton = name == "cdiv" || name == "next_power_of_2";
    return isOfTriton ? std::optional(BuiltinRef{"triton." + std::string(name)}) : std::nullopt;
  };
  std::string why;
  std::optional<ConstValue> value = evaluateConstant(*parsed, lookup, &why);
  if (value)
    return std::move(*value);
  return usage("`" + std::string(text) + "`: " + (why.empty() ? "it has no value" : why));
}

Result<Definitions> parseDefinitions(const std::vector<std::string> &definitions) {
  Definitions values;
  for (const std::string &definition : definitions) {
    size_t equals = definition.find('=');
    std::string name(trim(std::string_view(definition).substr(0, equals)));
    if (equals == std::string::npos || name.empty())
      return usage("expected `-D NAME=value`, not `-D " + definition + "`");
    if (!values.emplace(name, parseConstant(std::string_view(definition).substr(equals + 1)))
             .second)
      return usage("`" + name + "` is defined twice");
  }
  return values;
}

Result<Specialization> specialize(const std::vector<ParameterInfo> &parameters,
                                  std::string_view signature, const Definitions &definitions) {
  Signature entries(signature);
  Specialization result;
  for (const ParameterInfo &parameter : parameters) {
    Result<ArgSpec> spec = specializeOne(parameter, entries, definitions);
    if (!spec)
      return spec.error();
    result.args.push_back(*spec);
  }
  if (auto error = entries.leftOver())
    return *error;
  return result;
}

std::vector<std::string> unusedDefinitions(const Program &program,
                                           const std::vector<ParameterInfo> &parameters,
                                           const Definitions &definitions) {
  std::set<std::string> known;
  for (const ParameterInfo &parameter : parameters)
    known.insert(parameter.name);
  for (const FunctionSource &function : program.functions)
    for (const auto &[name, value] : function.globals)
      known.insert(name);
  std::vector<std::string> unused;
  for (const auto &[name, value] : definitions)
    if (!known.contains(name))
      unused.push_back(name);
  return unused;
}

} // namespace pantile
