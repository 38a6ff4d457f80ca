//===- Constexpr.cpp - see Constexpr.h --------------------------------------------------===//
#include "frontend/Constexpr.h"
#include "frontend/PythonArithmetic.h"
#include <cmath>
#include <llvm/ADT/StringRef.h>

using namespace pantile;
using ast::BinaryOp;
using ast::CompareOp;
using ast::UnaryOp;

namespace {
constexpr int64_t maxElements = 1 << 20; ///< of a tuple or string

std::optional<Number> numberOf(const Value &value) {
  if (auto *flag = value.dynAs<bool>())
    return *flag;
  if (auto *integer = value.dynAs<BigInt>())
    return *integer;
  auto *real = value.dynAs<double>();
  return real ? std::optional<Number>(*real) : std::nullopt;
}

/// `unfit` says what has no such operator.
Folded asFolded(const FoldedNumber &folded, const std::string &unfit) {
  if (!folded.value)
    return {{}, folded.error.empty() ? unfit : folded.error};
  return {std::visit([](auto number) { return Value(number); }, *folded.value), {}};
}

Folded repeated(const std::vector<Value> &elements, BigInt count) {
  std::vector<Value> result;
  if (count > maxElements || (count > 0 && count * BigInt(elements.size()) > maxElements))
    return {{}, "the tuple is too long"};
  for (BigInt i = 0; i < count; ++i)
    result.insert(result.end(), elements.begin(), elements.end());
  return {Value::tuple(std::move(result)), {}};
}

std::string floatText(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[40];
  for (int digits = 1; digits <= 17; ++digits) {
    snprintf(buffer, sizeof buffer, "%.*g", digits, value);
    if (strtod(buffer, nullptr) == value)
      break;
  }
  double magnitude = std::fabs(value);
  std::string text = buffer;
  if (magnitude >= 1e16 || (magnitude != 0 && magnitude < 1e-4))
    return text;
  if (text.find('e') != std::string::npos) {
    snprintf(buffer, sizeof buffer, "%.0f", value);
    text = buffer;
  }
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

/// As Python: a part that is an integer has no point, and a real part of zero is left out.
std::string complexText(double re, double im) {
  auto part = [](double value) {
    std::string text = floatText(value);
    return llvm::StringRef(text).ends_with(".0") ? text.substr(0, text.size() - 2) : text;
  };
  if (re == 0 && !std::signbit(re))
    return part(im) + "j";
  const bool isSigned = std::signbit(im) && !std::isnan(im);
  return "(" + part(re) + (isSigned ? "" : "+") + part(im) + "j)";
}

std::string tupleText(const TupleValue &tuple) {
  std::string text = "(";
  for (size_t i = 0; i < tuple.elements.size(); ++i)
    text += (i ? ", " : "") + constantText(tuple.elements[i], true);
  return text + (tuple.elements.size() == 1 ? ",)" : ")");
}

} // namespace

bool pantile::isFoldable(const Value &value) {
  if (value.isTuple())
    return true;
  return value.isLiteral();
}

Folded pantile::foldBinary(BinaryOp op, const Value &lhs, const Value &rhs) {
  if (lhs.isTuple() || rhs.isTuple()) {
    if (op == BinaryOp::Add && lhs.isTuple() && rhs.isTuple()) {
      if (lhs.elements().size() + rhs.elements().size() > maxElements)
        return {{}, "the tuple is too long"};
      std::vector<Value> all = lhs.elements();
      all.insert(all.end(), rhs.elements().begin(), rhs.elements().end());
      return {Value::tuple(std::move(all)), {}};
    }
    auto count = constantInt(lhs.isTuple() ? rhs : lhs);
    if (op == BinaryOp::Mul && count)
      return repeated((lhs.isTuple() ? lhs : rhs).elements(), *count);
  }
  if (lhs.is<std::string>() && rhs.is<std::string>() && op == BinaryOp::Add) {
    if (lhs.as<std::string>().size() + rhs.as<std::string>().size() > maxElements)
      return {{}, "the string is too long"};
    return {lhs.as<std::string>() + rhs.as<std::string>(), {}};
  }
  const std::string unfit = std::string("`") + ast::spelling(op) + "` takes no " + kindText(lhs) +
                            " and " + kindText(rhs);
  const auto a = numberOf(lhs), b = numberOf(rhs);
  return a && b ? asFolded(foldNumbers(op, *a, *b), unfit) : Folded{{}, unfit};
}

Folded pantile::foldUnary(UnaryOp op, const Value &operand) {
  if (op == UnaryOp::Not)
    return {!constantTruth(operand).value_or(true), {}};
  const std::string unfit =
      std::string("`") + ast::spelling(op) + "` takes no " + kindText(operand);
  const auto number = numberOf(operand);
  return number ? asFolded(foldNumber(op, *number), unfit) : Folded{{}, unfit};
}

bool pantile::constantsEqual(const Value &a, const Value &b) {
  if (a.isNumber() && b.isNumber())
    return numbersEqual(*numberOf(a), *numberOf(b));
  if (sameStructure(a, b))
    return std::equal(a.elements().begin(), a.elements().end(), b.elements().begin(),
                      b.elements().end(), constantsEqual);
  auto same = [&]<typename T>(const T *) {
    return a.is<T>() && b.is<T>() && a.as<T>() == b.as<T>();
  };
  if (a.is<TypeValue>() && b.is<TypeValue>())
    return a.as<TypeValue>().type == b.as<TypeValue>().type &&
           a.as<TypeValue>().isPointer == b.as<TypeValue>().isPointer;
  if (a.isRuntime() && b.isRuntime())
    return a.as<Runtime>().ir == b.as<Runtime>().ir;
  return same((None *)nullptr) || same((std::string *)nullptr) || same((DType *)nullptr) ||
         same((FunctionValue *)nullptr) || same((std::shared_ptr<const ClosureValue> *)nullptr) ||
         same((BuiltinValue *)nullptr) || same((ModuleValue *)nullptr) ||
         same((ClassValue *)nullptr);
}

std::optional<bool> pantile::foldOrder(CompareOp op, const Value &lhs, const Value &rhs) {
  if (lhs.isNumber() && rhs.isNumber())
    return numbersOrdered(op, *numberOf(lhs), *numberOf(rhs));
  if (lhs.is<std::string>() && rhs.is<std::string>())
    return isOrdered(op, lhs.as<std::string>(), rhs.as<std::string>());
  if (!lhs.isTuple() || !rhs.isTuple())
    return std::nullopt;
  const auto &a = lhs.elements(), &b = rhs.elements();
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (!constantsEqual(a[i], b[i]))
      return foldOrder(op, a[i], b[i]);
  return isOrdered(op, a.size(), b.size());
}

std::optional<bool> pantile::constantTruth(const Value &value) {
  if (value.isRuntime() || value.failed())
    return std::nullopt;
  if (value.isComplex()) {
    auto re = constantDouble(value.elements()[0]), im = constantDouble(value.elements()[1]);
    return re && im ? std::optional(*re != 0 || *im != 0) : std::nullopt;
  }
  if (value.isNone())
    return false;
  if (value.isNumber())
    return *constantDouble(value) != 0;
  if (auto *text = value.dynAs<std::string>())
    return !text->empty();
  if (value.isTuple())
    return !value.elements().empty();
  return true;
}

std::optional<double> pantile::constantDouble(const Value &value) {
  const auto number = numberOf(value);
  return number ? std::optional(doubleOf(*number)) : std::nullopt;
}

std::optional<BigInt> pantile::constantInt(const Value &value) {
  const auto number = numberOf(value);
  return number ? integerOf(*number) : std::nullopt;
}

std::string pantile::bigIntText(BigInt value) {
  if (value == 0)
    return "0";
  bool negative = value < 0;
  std::string digits;
  for (; value != 0; value /= 10) {
    int digit = int(value % 10);
    digits.insert(digits.begin(), char('0' + (digit < 0 ? -digit : digit)));
  }
  return negative ? "-" + digits : digits;
}

std::string pantile::constantText(const Value &value, bool repr) {
  if (value.isNone())
    return "None";
  if (auto *flag = value.dynAs<bool>())
    return *flag ? "True" : "False";
  if (auto *integer = value.dynAs<BigInt>())
    return bigIntText(*integer);
  if (auto *real = value.dynAs<double>())
    return floatText(*real);
  if (auto *text = value.dynAs<std::string>())
    return repr ? "'" + *text + "'" : *text;
  if (auto *dtype = value.dynAs<DType>())
    return dtype->name();
  if (auto *type = value.dynAs<TypeValue>())
    return type->type.name();
  if (value.isTuple())
    return tupleText(*value.as<TupleRef>());
  if (value.isComplex() && constantTruth(value))
    return complexText(*constantDouble(value.elements()[0]), *constantDouble(value.elements()[1]));
  return "<" + kindText(value) + ">";
}

std::string pantile::kindText(const Value &value) {
  if (value.isNone())
    return "None";
  if (value.is<bool>())
    return "bool";
  if (value.is<BigInt>())
    return "int";
  if (value.is<double>())
    return "float";
  if (value.is<std::string>())
    return "string";
  if (value.is<DType>() || value.is<TypeValue>() || value.is<ClassValue>())
    return "type";
  if (value.isTuple())
    return "tuple";
  if (value.isComplex()) {
    auto *part = value.elements()[0].dynAs<Runtime>();
    return part ? "`" + Type{Scalar::C64, part->type.shape}.name() + "`" : "complex";
  }
  if (value.isStruct(StructKind::BlockPointer))
    return "block pointer";
  if (value.isStruct(StructKind::Descriptor))
    return "tensor descriptor";
  if (value.isStruct())
    return "`" + value.as<TupleRef>()->cls->name + "`";
  if (value.isFunction() || value.is<BuiltinValue>() || value.is<MethodValue>())
    return "function";
  if (value.is<ModuleValue>())
    return "module";
  if (value.is<SliceValue>())
    return "slice";
  if (value.is<RangeValue>())
    return "range";
  if (auto *opaque = value.dynAs<OpaqueValue>())
    return opaque->description;
  if (auto *runtime = value.dynAs<Runtime>())
    return "`" + runtime->type.name() + "`";
  return "value";
}

namespace {
std::string partsText(const Value &value) {
  std::string text;
  for (const Value &part : value.elements())
    text += (text.empty() ? "" : ", ") + (part.isStruct()    ? partsText(part)
                                          : part.isLiteral() ? "`" + constantText(part, true) + "`"
                                                             : kindText(part));
  return "(" + text + ")";
}
} // namespace

std::pair<std::string, std::string> pantile::contrastText(const Value &a, const Value &b) {
  std::pair<std::string, std::string> texts{kindText(a), kindText(b)};
  if (texts.first == texts.second && a.isStruct() && b.isStruct()) {
    texts.first += " " + partsText(a);
    texts.second += " " + partsText(b);
  }
  return texts;
}

Value pantile::fromSnapshot(const ConstValue &value, llvm::ArrayRef<ClassSource> classes) {
  struct Visitor {
    llvm::ArrayRef<ClassSource> classes;
    Value operator()(std::monostate) const { return None(); }
    Value operator()(bool flag) const { return flag; }
    Value operator()(int64_t integer) const { return BigInt(integer); }
    Value operator()(uint64_t integer) const { return BigInt(integer); }
    Value operator()(double real) const { return real; }
    Value operator()(std::complex<double> value) const {
      return Value::structure({{value.real(), value.imag()}, {}, StructKind::Complex});
    }
    Value operator()(const std::string &text) const { return text; }
    Value operator()(const DTypeName &dtype) const {
      if (auto known = parseDType(dtype.name))
        return *known;
      return OpaqueValue{"the type `" + dtype.name + "`"};
    }
    Value operator()(const FunctionRef &function) const { return FunctionValue{function.index}; }
    Value operator()(const BuiltinRef &builtin) const { return ModuleValue{builtin.name}; }
    Value operator()(const OpaqueRef &opaque) const { return OpaqueValue{opaque.description}; }
    Value operator()(const std::shared_ptr<const ConstTuple> &tuple) const {
      std::vector<Value> elements;
      for (const ConstValue &element : tuple->elements)
        elements.push_back(fromSnapshot(element, classes));
      const ClassSource *cls = nullptr;
      if (tuple->classIndex && *tuple->classIndex < classes.size())
        cls = &classes[*tuple->classIndex];
      StructKind kind = cls && cls->isAggregate ? StructKind::Aggregate : StructKind::Tuple;
      return Value::structure({std::move(elements), tuple->fields, kind, cls});
    }
    Value operator()(const ClassRef &cls) const {
      if (cls.index >= classes.size())
        return OpaqueValue{"a class of another program"};
      return ClassValue{classes[cls.index].name, &classes[cls.index]};
    }
  };
  return std::visit(Visitor{classes}, value);
}
