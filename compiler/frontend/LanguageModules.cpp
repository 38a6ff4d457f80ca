//===- LanguageModules.cpp - the language's modules, as files import them ---------------===//
#include "frontend/LanguageModules.h"
#include <algorithm>
#include <limits>
#include <numbers>
#include <optional>

namespace pantile {

namespace {

constexpr std::string_view languageModules[] = {
    "tl.",
    "tl.core.",
    "tl.math.",
    "tl.standard.",
    "tl.random.",
    "tl.target_info.",
    "tl.libdevice.",
    "tl.extra.",
    "tl.extra.libdevice.",
    "tl.extra.cuda.",
    "tl.extra.cuda.libdevice.",
};

struct DTypeRow {
  std::string_view longName, shortName;
};
constexpr DTypeRow dtypes[] = {
#define DTYPE(scalar, name, shortName, longName, bits, meaning) {longName, shortName},
#include "pantile/Dtypes.def"
};

std::optional<DTypeName> dtypeNamed(std::string_view name) {
  const auto row = std::ranges::find(dtypes, name, &DTypeRow::longName);
  if (row == std::end(dtypes))
    return std::nullopt;
  return DTypeName{std::string(row->shortName)};
}

std::optional<double> mathConstant(std::string_view name) {
  if (name == "pi")
    return std::numbers::pi;
  if (name == "tau")
    return 2 * std::numbers::pi;
  if (name == "e")
    return std::numbers::e;
  if (name == "inf")
    return std::numeric_limits<double>::infinity();
  if (name == "nan")
    return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

/// "triton.language.math" -> "tl.math."
std::string referenceOf(std::string_view module) {
  if (module == "math")
    return "math.";
  if (!isOwnModule(module))
    return "";
  module.remove_prefix(std::min(module.find('.'), module.size()));
  if (module.empty())
    return "triton.";
  constexpr std::string_view language = ".language";
  if (!module.starts_with(language))
    return "";
  module.remove_prefix(language.size());
  const std::string reference = "tl" + std::string(module) + ".";
  return std::ranges::find(languageModules, reference) != std::end(languageModules) ? reference
                                                                                    : "";
}

} // namespace

bool isOwnModule(std::string_view module) {
  const std::string_view root = module.substr(0, module.find('.'));
  return root == "triton" || root == "pantile";
}

ConstValue moduleValue(std::string_view module) {
  std::string reference = referenceOf(module);
  if (!reference.empty())
    return BuiltinRef{std::move(reference)};
  return OpaqueRef{"the module `" + std::string(module) + "`"};
}

ConstValue moduleAttribute(const std::string &module, std::string_view attribute) {
  const std::string name(attribute);
  if (module == "math.") {
    if (const auto constant = mathConstant(name))
      return *constant;
    return BuiltinRef{"math." + name};
  }
  if (module == "triton.") {
    if (name == "language")
      return BuiltinRef{"tl."};
    return BuiltinRef{"triton." + name};
  }
  if (std::ranges::find(languageModules, module + name + ".") != std::end(languageModules))
    return BuiltinRef{module + name + "."};
  if (const auto dtype = dtypeNamed(name))
    return *dtype;
  return BuiltinRef{module == "tl." ? name : module + name};
}

std::vector<std::string> languageNames() {
  std::vector<std::string> names = {"constexpr", "tensor", "dtype", "const", "math", "extra"};
  for (const DTypeRow &row : dtypes)
    names.emplace_back(row.longName);
#define BUILTIN(space, name, handler, method, signature, doc)                                      \
  if (std::string_view(#space) == "tl")                                                            \
    names.emplace_back(#name);
#define LIBRARY(name, method, doc) names.emplace_back(#name);
#include "frontend/Builtins.def"
  return names;
}

const std::string *asModule(const ConstValue &value) {
  const auto *builtin = std::get_if<BuiltinRef>(&value);
  return builtin && builtin->name.ends_with('.') ? &builtin->name : nullptr;
}

bool isBuiltin(const ConstValue &value, std::string_view name) {
  const auto *builtin = std::get_if<BuiltinRef>(&value);
  return builtin && builtin->name == name;
}

} // namespace pantile
