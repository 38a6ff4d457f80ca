//===- ModuleConstants.cpp - constant expressions outside kernels -----------------------===//
// How:   arithmetic is PythonArithmetic.h's. What Python would refuse has no value here, nor has an
//        integer of more than 64 bits.
//===------------------------------------------------------------------------------------===//
#include "frontend/ModuleConstants.h"
#include "frontend/ComplexFold.h"
#include "frontend/LanguageModules.h"
#include "frontend/PythonFunctions.h"
#include <algorithm>
#include <llvm/ADT/StringRef.h>
#include <llvm/ADT/TypeSwitch.h>
#include <llvm/Support/MathExtras.h>

namespace pantile {

using namespace ast;

namespace {

using MaybeValue = std::optional<ConstValue>;
using TuplePtr = std::shared_ptr<const ConstTuple>;

std::optional<Number> numberOf(const ConstValue &value) {
  if (const bool *b = std::get_if<bool>(&value))
    return *b;
  if (const int64_t *i = std::get_if<int64_t>(&value))
    return BigInt(*i);
  if (const uint64_t *i = std::get_if<uint64_t>(&value))
    return BigInt(*i);
  const double *d = std::get_if<double>(&value);
  return d ? std::optional<Number>(*d) : std::nullopt;
}

std::optional<BigInt> asInt(const ConstValue &value) {
  const auto number = numberOf(value);
  return number ? integerOf(*number) : std::nullopt;
}

std::optional<double> asNumber(const ConstValue &value) {
  const auto number = numberOf(value);
  return number ? std::optional(doubleOf(*number)) : std::nullopt;
}

/// None of an integer that 64 bits do not hold.
MaybeValue asConstant(const FoldedNumber &folded, std::string *why = nullptr) {
  const std::optional<Number> &number = folded.value;
  if (why && why->empty())
    *why = folded.error;
  if (!number)
    return std::nullopt;
  if (const bool *b = std::get_if<bool>(&*number))
    return *b;
  if (const double *d = std::get_if<double>(&*number))
    return *d;
  const BigInt integer = std::get<BigInt>(*number);
  if (integer >= INT64_MIN && integer <= INT64_MAX)
    return int64_t(integer);
  return integer > 0 && integer <= BigInt(UINT64_MAX) ? MaybeValue(uint64_t(integer))
                                                      : std::nullopt;
}

//===- Operators ------------------------------------------------------------------------===//

MaybeValue unary(UnaryOp op, const ConstValue &value, std::string *why) {
  if (op == UnaryOp::Not) {
    const auto truth = truthOf(value);
    return truth ? MaybeValue(!*truth) : std::nullopt;
  }
  if (const auto *c = std::get_if<std::complex<double>>(&value))
    return foldComplex(op, *c);
  const auto number = numberOf(value);
  return number ? asConstant(foldNumber(op, *number), why) : std::nullopt;
}

bool sameValue(const ConstValue &lhs, const ConstValue &rhs) {
  const auto *left = std::get_if<TuplePtr>(&lhs), *right = std::get_if<TuplePtr>(&rhs);
  if (left && right)
    return std::ranges::equal((*left)->elements, (*right)->elements, sameValue);
  const auto a = numberOf(lhs), b = numberOf(rhs);
  return a && b ? numbersEqual(*a, *b) : lhs == rhs;
}

std::optional<bool> contains(const ConstValue &item, const ConstValue &container) {
  if (const auto *tuple = std::get_if<TuplePtr>(&container))
    return std::ranges::any_of((*tuple)->elements,
                               [&](const ConstValue &e) { return sameValue(e, item); });
  const auto *text = std::get_if<std::string>(&container), *part = std::get_if<std::string>(&item);
  return text && part ? std::optional(text->find(*part) != text->npos) : std::nullopt;
}

std::optional<bool> compare(CompareOp op, const ConstValue &lhs, const ConstValue &rhs) {
  for (const ConstValue *value : {&lhs, &rhs})
    if (std::holds_alternative<OpaqueRef>(*value) ||
        std::holds_alternative<std::complex<double>>(*value))
      return std::nullopt;
  if (op == CompareOp::Eq || op == CompareOp::Ne)
    return sameValue(lhs, rhs) == (op == CompareOp::Eq);
  if (op == CompareOp::Is || op == CompareOp::IsNot)
    return (lhs == rhs) == (op == CompareOp::Is);
  if (op == CompareOp::In || op == CompareOp::NotIn) {
    const auto found = contains(lhs, rhs);
    return found ? std::optional(*found == (op == CompareOp::In)) : std::nullopt;
  }
  if (const auto a = numberOf(lhs), b = numberOf(rhs); a && b)
    return numbersOrdered(op, *a, *b);
  const auto *left = std::get_if<std::string>(&lhs), *right = std::get_if<std::string>(&rhs);
  return left && right ? std::optional(isOrdered(op, *left, *right)) : std::nullopt;
}

//===- Calls ----------------------------------------------------------------------------===//

std::optional<std::vector<Number>> numbersOf(const std::vector<ConstValue> &values) {
  std::vector<Number> numbers;
  for (const ConstValue &value : values) {
    const auto number = numberOf(value);
    if (!number)
      return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

/// `min` or `max` of texts.
MaybeValue extremeText(llvm::StringRef function, const std::vector<ConstValue> &values) {
  const std::string *best = values.empty() ? nullptr : std::get_if<std::string>(&values.front());
  for (const ConstValue &value : values) {
    const auto *text = std::get_if<std::string>(&value);
    if (!text || !best)
      return std::nullopt;
    best = (function == "min" ? *text < *best : *text > *best) ? text : best;
  }
  return best ? MaybeValue(*best) : std::nullopt;
}

/// `int` or `float` of the text of a number.
MaybeValue parse(llvm::StringRef function, llvm::StringRef text) {
  int64_t integer = 0;
  double number = 0;
  if (function == "int")
    return !text.trim().getAsInteger(10, integer) ? MaybeValue(integer) : std::nullopt;
  const bool isParsed = function == "float" && !text.trim().getAsDouble(number);
  return isParsed ? MaybeValue(number) : std::nullopt;
}

/// A function of something other than numbers: `len` of a tuple, `bool` of anything.
MaybeValue callOfOne(llvm::StringRef function, const ConstValue &value) {
  if (const auto *text = std::get_if<std::string>(&value); text && function != "bool")
    return parse(function, *text);
  const auto *tuple = std::get_if<TuplePtr>(&value);
  if (tuple && function == "len")
    return static_cast<int64_t>((*tuple)->elements.size());
  if (tuple && (function == "tuple" || function == "list"))
    return value;
  const auto truth = function == "bool" ? truthOf(value) : std::nullopt;
  return truth ? MaybeValue(*truth) : std::nullopt;
}

/// Python's own functions, under names that the module has not given another meaning, and those of
/// math and triton.
MaybeValue callFunction(llvm::StringRef function, const std::vector<ConstValue> &args,
                        std::string *why) {
  const auto *tuple = args.size() == 1 ? std::get_if<TuplePtr>(&args[0]) : nullptr;
  if (tuple && (function == "min" || function == "max"))
    return callFunction(function, (*tuple)->elements, why);
  if (function == "min" || function == "max")
    if (const MaybeValue text = extremeText(function, args))
      return text;
  if (const auto numbers = numbersOf(args))
    return asConstant(foldCall(function, *numbers), why);
  return args.size() == 1 ? callOfOne(function, args[0]) : std::nullopt;
}

MaybeValue callBuiltin(llvm::StringRef name, const std::vector<ConstValue> &args,
                       std::string *why) {
  if (name == "constexpr" && args.size() == 1)
    return args[0];
  return name.contains('.') ? callFunction(name, args, why)
         : name == "cdiv"   ? callFunction("triton.cdiv", args, why)
                            : std::nullopt;
}

//===- The walk -------------------------------------------------------------------------===//

class Evaluator {
public:
  Evaluator(NameLookup lookup, std::string *why) : lookup(lookup), why(why) {}

  MaybeValue evaluate(const Expr &expr) {
    return llvm::TypeSwitch<const Expr *, MaybeValue>(&expr)
        .Case([&](const Name *e) {
          MaybeValue value = lookup(e->id);
          if (!value && why && why->empty())
            *why = "`" + e->id + "` has no value";
          return value;
        })
        .Case([&](const Constant *e) { return literal(e->value); })
        .Case([&](const Unary *e) {
          const MaybeValue operand = evaluate(*e->operand);
          return operand ? unary(e->op, *operand, why) : std::nullopt;
        })
        .Case([&](const Binary *e) {
          const MaybeValue lhs = evaluate(*e->lhs), rhs = evaluate(*e->rhs);
          return lhs && rhs ? evaluateBinary(e->op, *lhs, *rhs, why) : std::nullopt;
        })
        .Case([&](const BoolOp *e) { return logical(*e); })
        .Case([&](const Compare *e) { return chain(*e); })
        .Case([&](const Call *e) { return call(*e); })
        .Case([&](const Attribute *e) { return attribute(*e); })
        .Case([&](const Subscript *e) { return element(*e); })
        .Case([&](const Tuple *e) { return tuple(e->elements); })
        .Case([&](const List *e) { return tuple(e->elements); })
        .Case([&](const IfExp *e) {
          const auto test = truth(*e->test);
          return test ? evaluate(*test ? *e->body : *e->orelse) : std::nullopt;
        })
        .Default([](const Expr *) { return std::nullopt; });
  }

private:
  static MaybeValue literal(const Literal &value) {
    if (std::holds_alternative<NoneValue>(value))
      return ConstValue();
    if (const bool *b = std::get_if<bool>(&value))
      return *b;
    if (const int64_t *i = std::get_if<int64_t>(&value))
      return *i;
    if (const uint64_t *i = std::get_if<uint64_t>(&value))
      return *i;
    if (const double *d = std::get_if<double>(&value))
      return *d;
    if (const auto *c = std::get_if<std::complex<double>>(&value))
      return *c;
    if (const auto *s = std::get_if<std::string>(&value))
      return *s;
    return std::nullopt;
  }

  std::optional<bool> truth(const Expr &expr) {
    const MaybeValue value = evaluate(expr);
    return value ? truthOf(*value) : std::nullopt;
  }

  MaybeValue logical(const BoolOp &op) {
    MaybeValue value;
    for (const ExprPtr &operand : op.operands) {
      value = evaluate(*operand);
      const auto isTrue = value ? truthOf(*value) : std::nullopt;
      if (!isTrue)
        return std::nullopt;
      if (*isTrue != op.isAnd)
        break;
    }
    return value;
  }

  MaybeValue chain(const Compare &node) {
    MaybeValue lhs = evaluate(*node.first);
    for (size_t i = 0; i < node.ops.size(); ++i) {
      MaybeValue rhs = evaluate(*node.rest[i]);
      const auto holds = lhs && rhs ? compare(node.ops[i], *lhs, *rhs) : std::nullopt;
      if (!holds || !*holds)
        return holds ? MaybeValue(false) : std::nullopt;
      lhs = std::move(rhs);
    }
    return true;
  }

  MaybeValue call(const Call &node) {
    std::vector<ConstValue> args;
    for (const ExprPtr &arg : node.args) {
      MaybeValue value = evaluate(*arg);
      if (!value || std::holds_alternative<OpaqueRef>(*value))
        return std::nullopt;
      args.push_back(std::move(*value));
    }
    if (!node.keywords.empty())
      return std::nullopt;
    const auto *name = llvm::dyn_cast<Name>(node.callee.get());
    const MaybeValue callee = name ? lookup(name->id) : evaluate(*node.callee);
    if (!callee)
      return name ? callFunction(name->id, args, why) : std::nullopt;
    const auto *builtin = std::get_if<BuiltinRef>(&*callee);
    return builtin ? callBuiltin(builtin->name, args, why) : std::nullopt;
  }

  MaybeValue attribute(const Attribute &node) {
    const MaybeValue value = evaluate(*node.value);
    if (!value)
      return std::nullopt;
    if (const std::string *module = asModule(*value))
      return moduleAttribute(*module, node.attr);
    // `tl.constexpr(3).value`
    const bool isConstant = asNumber(*value) || std::holds_alternative<std::string>(*value);
    return node.attr == "value" && isConstant ? value : std::nullopt;
  }

  MaybeValue element(const Subscript &node) {
    const MaybeValue value = evaluate(*node.value), index = evaluate(*node.index);
    const auto *tuple = value ? std::get_if<TuplePtr>(&*value) : nullptr;
    const auto position = index ? asInt(*index) : std::nullopt;
    if (!tuple || !position)
      return std::nullopt;
    const BigInt size = (*tuple)->elements.size();
    if (*position < -size || *position >= size)
      return std::nullopt;
    return (*tuple)->elements[size_t(*position < 0 ? *position + size : *position)];
  }

  MaybeValue tuple(const std::vector<ExprPtr> &elements) {
    auto result = std::make_shared<ConstTuple>();
    for (const ExprPtr &child : elements) {
      MaybeValue value = evaluate(*child);
      if (!value || std::holds_alternative<OpaqueRef>(*value))
        return std::nullopt;
      result->elements.push_back(std::move(*value));
    }
    return TuplePtr(std::move(result));
  }

  NameLookup lookup;
  std::string *const why;
};

} // namespace

std::optional<bool> truthOf(const ConstValue &value) {
  if (std::holds_alternative<std::monostate>(value))
    return false;
  if (const auto number = asNumber(value))
    return *number != 0;
  if (const auto *text = std::get_if<std::string>(&value))
    return !text->empty();
  if (const auto *tuple = std::get_if<TuplePtr>(&value))
    return !(*tuple)->elements.empty();
  return std::nullopt;
}

std::optional<ConstValue> evaluateBinary(BinaryOp op, const ConstValue &lhs, const ConstValue &rhs,
                                         std::string *why) {
  if (const auto a = numberOf(lhs), b = numberOf(rhs); a && b)
    return asConstant(foldNumbers(op, *a, *b), why);
  if (complexOf(lhs) && complexOf(rhs))
    return foldComplex(op, *complexOf(lhs), *complexOf(rhs));
  if (op != BinaryOp::Add)
    return std::nullopt;
  const auto *left = std::get_if<std::string>(&lhs), *right = std::get_if<std::string>(&rhs);
  if (left && right)
    return *left + *right;
  const auto *first = std::get_if<TuplePtr>(&lhs), *second = std::get_if<TuplePtr>(&rhs);
  if (!first || !second)
    return std::nullopt;
  auto joined = std::make_shared<ConstTuple>(ConstTuple{(*first)->elements, {}});
  joined->elements.insert(joined->elements.end(), (*second)->elements.begin(),
                          (*second)->elements.end());
  return TuplePtr(std::move(joined));
}

std::optional<ConstValue> evaluateConstant(const Expr &expr, NameLookup lookup, std::string *why) {
  return Evaluator(lookup, why).evaluate(expr);
}

} // namespace pantile
