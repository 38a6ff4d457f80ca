//===- EmitNames.cpp - what names and attributes mean -----------------------------------===//
// Gives: look-up of a name (local variable, global of the snapshot, Python's own), of a name
//        of the language, and of attributes of values and types.
// How:   All spellings of a language name resolve to `tl.NAME`: the math and core modules have the
//        same operations. libdevice's modules have operations of their own.
//===------------------------------------------------------------------------------------===//
#include "frontend/Emitter.h"
#include "frontend/Stdlib.h"
#include <cmath>
#include <limits>
#include <llvm/ADT/StringSwitch.h>

using namespace pantile;
using llvm::StringRef;

namespace {
const char *const languageModules[] = {"tl.math.",
                                       "tl.core.",
                                       "tl.standard.",
                                       "tl.random.",
                                       "tl.extra.libdevice.",
                                       "tl.extra.cuda.libdevice.",
                                       "tl.libdevice.",
                                       "libdevice.",
                                       "triton.language.",
                                       "pantile.language.",
                                       "tl."};

constexpr int64_t maxTileElements = 1 << 20;

/// "tl.math.exp" -> "exp"; nothing for a name outside the language's modules.
std::optional<StringRef> languageLeaf(StringRef name) {
  for (const char *module : languageModules)
    if (name.consume_front(module))
      return name;
  if (!name.contains('.'))
    return name;
  return std::nullopt;
}

bool isModuleName(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"tl.math", "tl.core", "tl.standard", "tl.random", "tl.extra", "tl.target_info"}, true)
      .Cases({"tl.extra.libdevice", "tl.extra.cuda", "tl.extra.cuda.libdevice"}, true)
      .Cases({"triton.language", "triton.language.extra", "tl.libdevice"}, true)
      .Default(false);
}

std::optional<Value> hostConstant(StringRef name) {
  return llvm::StringSwitch<std::optional<Value>>(name)
      .Case("math.pi", Value(M_PI))
      .Case("math.e", Value(M_E))
      .Case("math.tau", Value(2 * M_PI))
      .Case("math.inf", Value(std::numeric_limits<double>::infinity()))
      .Case("math.nan", Value(std::numeric_limits<double>::quiet_NaN()))
      .Cases({"tl.TRITON_MAX_TENSOR_NUMEL", "tl.core.TRITON_MAX_TENSOR_NUMEL"},
             Value(BigInt(maxTileElements)))
      .Default(std::nullopt);
}

bool isClassName(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"constexpr", "tensor", "dtype", "tuple", "const", "slice"}, true)
      .Cases({"tensor_descriptor", "tensor_descriptor_base", "tensor_descriptor_type"}, true)
      .Cases({"tuple_type", "constexpr_type"}, true)
      .Default(false);
}

std::optional<DType> dtypeOfLanguage(StringRef name) {
  if (name == "pi32_t")
    return DType(Scalar::I32).pointerTo();
  bool looksRight = name.starts_with("int") || name.starts_with("uint") ||
                    name.starts_with("float") || name == "bfloat16" || name == "complex64" ||
                    name == "void";
  return looksRight ? parseDType(std::string_view(name.data(), name.size())) : std::nullopt;
}

/// The replacement for a name of NumPy or torch; empty for other names.
StringRef counterpartOf(StringRef name) {
  return llvm::StringSwitch<StringRef>(name)
      .Case("astype", "`.to(dtype)` converts")
      .Cases({"mean", "average"}, "`tl.sum` divided by the count gives it")
      .Cases({"concatenate", "concat", "hstack", "vstack"}, "`tl.cat` concatenates tiles")
      .Case("stack", "`tl.join` puts tiles side by side")
      .Cases({"matmul", "mm", "bmm"}, "`tl.dot` multiplies matrices")
      .Case("clip", "`tl.clamp` limits values")
      .Cases({"ones", "ones_like", "full_like"}, "`tl.full` fills a tile")
      .Cases({"empty", "empty_like"}, "`tl.zeros` makes a tile")
      .Case("transpose", "`tl.trans` swaps dimensions")
      .Cases({"array", "asarray"}, "tiles come from `tl.arange`, `tl.full` and `tl.load`")
      .Case("prod", "`tl.reduce` takes any function")
      .Case("squeeze", "`tl.reshape` drops dimensions")
      .Case("unsqueeze", "`tl.expand_dims` adds a dimension")
      .Default("");
}

/// libdevice's own functions come first in its modules; `tl.math` once held them all.
const BuiltinRow *operationNamed(StringRef name, StringRef leaf) {
  const bool inLibdevice = name.contains("libdevice");
  const bool inMath = name.starts_with("tl.math.");
  const BuiltinRow *own = findBuiltin("tl", leaf);
  const BuiltinRow *other = inLibdevice || inMath ? findBuiltin("libdevice", leaf) : nullptr;
  const bool preferOther = inLibdevice || leaf == "max" || leaf == "min";
  return other && (preferOther || !own) ? other : own;
}
} // namespace

Value Emitter::languageName(StringRef name, SourceSpan span, bool quiet) {
  StringRef moduleName = name;
  if (moduleName.consume_back(".") || isModuleName(name)) {
    std::string prefix = moduleName == "triton.language" || moduleName == "pantile.language"
                             ? "tl."
                             : moduleName.str() + ".";
    return ModuleValue{prefix};
  }
  if (auto constant = hostConstant(name))
    return *constant;
  for (StringRef host : {"math.", "triton.", "pantile."}) {
    StringRef leaf = name;
    if (!leaf.consume_front(host) || leaf.contains('.'))
      continue;
    if (const BuiltinRow *row = findBuiltin("host", leaf))
      return BuiltinValue{row};
    if (host != "math." && leaf == "cdiv")
      return BuiltinValue{findBuiltin("tl", leaf)};
  }
  if (StringRef cuda = name; cuda.consume_front("tl.extra.cuda.") || cuda.consume_front("cuda."))
    if (const BuiltinRow *row = findBuiltin("cuda", cuda))
      return BuiltinValue{row};
  if (StringRef question = name;
      question.consume_front("tl.target_info.") || question.consume_front("target_info."))
    if (const BuiltinRow *row = findBuiltin("target_info", question))
      return BuiltinValue{row};
  std::optional<StringRef> leaf = languageLeaf(name);
  if (leaf) {
    if (leaf->consume_front("PropagateNan"))
      return leaf->empty() ? Value(ModuleValue{"tl.PropagateNan."}) : Value(*leaf == ".ALL");
    if (auto dtype = dtypeOfLanguage(*leaf))
      return *dtype;
    if (isClassName(*leaf))
      return ClassValue{leaf->str()};
    const BuiltinRow *row = operationNamed(name, *leaf);
    if (row)
      return BuiltinValue{row};
  }
  if (quiet)
    return Failed();
  std::string shown = name.contains('.') ? name.str() : "tl." + name.str();
  const std::string space = name.contains("libdevice") ? "libdevice" : "tl";
  std::string near = leaf ? nearestBuiltin(space, *leaf) : "";
  std::string hint = near.empty() ? "" : "; did you mean `" + space + "." + near + "`?";
  if (StringRef other = leaf ? counterpartOf(*leaf) : ""; !other.empty())
    hint = "; " + other.str();
  else if (leaf && findBuiltin("libdevice", *leaf))
    hint = "; `tl.extra.libdevice` has it";
  return error(span, "there is no `" + shown + "` in the language" + hint);
}

Value Emitter::resolveSnapshot(const Value &value, SourceSpan span) {
  if (auto *module = value.dynAs<ModuleValue>())
    return languageName(module->prefix, span);
  if (!value.isStruct())
    return value;
  std::vector<Value> elements;
  for (const Value &element : value.elements())
    elements.push_back(resolveSnapshot(element, span));
  return value.withElements(std::move(elements));
}

namespace {
std::string nearestVariable(const Variables &variables, StringRef name) {
  std::string best;
  unsigned bestDistance = name.size() > 4 ? 3 : name.size() > 2 ? 2 : 0;
  for (const auto &[known, variable] : variables) {
    unsigned distance = name.edit_distance(known);
    if (distance < bestDistance) {
      best = known.str();
      bestDistance = distance;
    }
  }
  return best;
}

/// What to write instead of a global that kernels cannot use, as the end of a message.
std::string insteadOfGlobal(StringRef name, StringRef description) {
  if (description.consume_front("the plain value ")) {
    StringRef text = description.substr(0, description.rfind(", not a "));
    return "; `" + name.str() + " = tl.constexpr(" + text.str() + ")` makes it one";
  }
  if (description.contains("without the jit decorator"))
    return "; the jit decorator makes it one that kernels call";
  if (description.starts_with("the module "))
    return "; `tl` has the functions of kernels";
  return "";
}

/// The language's own name for what was written without its module.
std::string nameInLanguage(StringRef name) {
  bool known = findBuiltin("tl", name) || isClassName(name) || dtypeOfLanguage(name);
  return known ? "tl." + name.str() : "";
}

bool isPythonClass(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"int", "float", "bool", "str", "tuple", "list"}, true)
      .Default(false);
}
} // namespace

Value Emitter::lookUp(StringRef name, SourceSpan span) {
  auto local = frame->variables.find(name);
  if (local != frame->variables.end()) {
    auto *defect = local->second.value.dynAs<std::shared_ptr<const DefectValue>>();
    return defect ? error(span, (*defect)->message, ErrorKind::Type, (*defect)->notes)
                  : local->second.value;
  }
  if (frame->captured)
    if (auto seen = frame->captured->find(name); seen != frame->captured->end())
      return seen->second.value;
  const auto &globals = frame->function->source->globals;
  if (auto found = globals.find(name.str()); found != globals.end()) {
    Value value = resolveSnapshot(fromProgram(found->second), span);
    if (auto *opaque = value.dynAs<OpaqueValue>())
      return error(span, "the global variable `" + name.str() + "` is " + opaque->description +
                             ", which a kernel cannot use" +
                             insteadOfGlobal(name, opaque->description));
    return value;
  }
  if (frame->function->inLibrary) {
    if (const BuiltinRow *row = findBuiltin("lib", name))
      return BuiltinValue{row};
    if (name == "tl" || name == "math")
      return ModuleValue{name.str() + "."};
    if (auto index = findLibraryFunction(name))
      return FunctionValue{*index, true};
  }
  if (const BuiltinRow *row = findBuiltin("py", name))
    return BuiltinValue{row};
  if (isPythonClass(name))
    return ClassValue{name == "list" ? "tuple" : name.str()};
  std::string near = nameInLanguage(name);
  if (near.empty())
    near = nearestVariable(frame->variables, name);
  return error(span, "`" + name.str() + "` is not defined" +
                         (near.empty() ? "" : "; did you mean `" + near + "`?"));
}

Value Emitter::runtimeAttribute(const Runtime &value, StringRef name) {
  const Type &type = value.type;
  if (name == "dtype")
    return type.element;
  if (name == "type")
    return type.isTile() ? Value(TypeValue{type}) : Value(type.element);
  if (name == "numel")
    return BigInt(type.count());
  if (name == "shape") {
    std::vector<Value> sizes;
    for (int64_t size : type.shape)
      sizes.push_back(BigInt(size));
    return Value::tuple(std::move(sizes));
  }
  if (name == "T" && type.rank() == 2)
    return transpose(value, {1, 0});
  if ((name == "real" || name == "imag") && type.element.isNumber())
    return name == "real" ? value : zero(type);
  const BuiltinRow *row = findBuiltin("tl", name);
  if (row && row->isMethod)
    return MethodValue{std::make_shared<Value>(value), name.str()};
  return Failed();
}

namespace {
struct FloatFormat {
  int mantissa, bias;
};
std::optional<FloatFormat> floatFormat(DType dtype) {
  switch (dtype.scalar) {
  case Scalar::F8E4B15:
    return FloatFormat{3, 15};
  case Scalar::F8E4:
    return FloatFormat{3, 7};
  case Scalar::F8E4B8:
    return FloatFormat{3, 8};
  case Scalar::F8E5:
    return FloatFormat{2, 15};
  case Scalar::F8E5B16:
    return FloatFormat{2, 16};
  case Scalar::F16:
    return FloatFormat{10, 15};
  case Scalar::BF16:
    return FloatFormat{7, 127};
  case Scalar::F32:
    return FloatFormat{23, 127};
  case Scalar::F64:
    return FloatFormat{52, 1023};
  default:
    return std::nullopt;
  }
}
} // namespace

Value Emitter::dtypeAttribute(DType dtype, StringRef name) {
  if (name == "scalar" || name == "value")
    return dtype;
  if (name == "element_ty" && dtype.isPointer())
    return dtype.pointee();
  if (name == "name")
    return dtype.name();
  if (name == "primitive_bitwidth" || name == "int_bitwidth")
    return BigInt(dtype.bits());
  if (name == "itemsize")
    return BigInt((dtype.bits() + 7) / 8);
  if (auto format = dtype.isFloat() ? floatFormat(dtype) : std::nullopt) {
    if (name == "fp_mantissa_width")
      return BigInt(format->mantissa);
    if (name == "exponent_bias")
      return BigInt(format->bias);
  }
  const bool isLimit = name == "get_int_max_value" || name == "get_int_min_value";
  if (name.starts_with("is_") || name == "to_int" || name == "to_ir" || name == "codegen_name" ||
      (isLimit && dtype.isInt()))
    return MethodValue{std::make_shared<Value>(dtype), name.str()};
  return Failed();
}

namespace {
/// `x.type` of a tile: its shape, and the attributes of its element type; of a block pointer: what
/// it points to.
std::optional<Value> tileTypeAttribute(const TypeValue &value, StringRef name) {
  const Type &type = value.type;
  if (name == "is_block" || name == "is_ptr")
    return Value(MethodValue{std::make_shared<Value>(value), name.str()});
  if (name == "value")
    return Value(value);
  if (value.isPointer)
    return name == "scalar"       ? std::optional<Value>(value)
           : name == "element_ty" ? std::optional<Value>(TypeValue{type})
                                  : std::nullopt;
  if (name == "element_ty" || name == "scalar")
    return Value(type.element);
  if (name == "numel")
    return Value(BigInt(type.count()));
  if (name == "shape") {
    std::vector<Value> sizes;
    for (int64_t size : type.shape)
      sizes.push_back(BigInt(size));
    return Value::tuple(std::move(sizes));
  }
  if (name == "block_shape" || name == "get_block_shapes")
    return tileTypeAttribute(value, "shape");
  return std::nullopt;
}

} // namespace

Value Emitter::attribute(const Value &value, StringRef name, SourceSpan span, bool quiet) {
  if (value.failed())
    return value;
  if (auto *module = value.dynAs<ModuleValue>())
    return languageName(module->prefix + name.str(), span, quiet);
  Value result;
  if (auto *tile = value.dynAs<Runtime>()) {
    result = runtimeAttribute(*tile, name);
  } else if (auto *dtype = value.dynAs<DType>()) {
    result = dtypeAttribute(*dtype, name);
  } else if (value.isStruct()) {
    return structAttribute(value, name, span, quiet);
  } else if (auto *cls = value.dynAs<ClassValue>(); cls && cls->source) {
    result = memberOf(*cls->source, name, span);
    if (result.failed() && name == "value")
      return value;
  } else if (auto *type = value.dynAs<TypeValue>()) {
    auto found = tileTypeAttribute(*type, name);
    result = found ? *found : dtypeAttribute(type->type.element, name);
  } else if (value.isNumber()) {
    if (name == "value")
      return value;
    if (std::optional<Runtime> scalar = runtime(value, span))
      result = runtimeAttribute(*scalar, name);
  } else if (name == "value") {
    return value;
  }
  if (isSequenceMethod(value, name) && result.failed())
    return MethodValue{std::make_shared<Value>(value), name.str()};
  if (result.failed() && !quiet) {
    StringRef other = value.isRuntime() ? counterpartOf(name) : "";
    return error(span, "a " + kindText(value) + " has no attribute `" + name.str() + "`" +
                           (other.empty() ? "" : "; " + other.str()));
  }
  return result;
}
