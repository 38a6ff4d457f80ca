//===- PythonFunctions.cpp - Python's functions on numbers ------------------------------===//
#include "frontend/PythonFunctions.h"
#include <cmath>
#include <llvm/ADT/STLExtras.h>

namespace pantile {
namespace {
using Arguments = llvm::ArrayRef<Number>;
using llvm::StringRef;

FoldedNumber gives(Number number) { return {number, {}}; }
FoldedNumber refuses(std::string why) { return {std::nullopt, std::move(why)}; }

/// `x` has no fraction.
FoldedNumber integer(double x) {
  return std::fabs(x) < 0x1p100 ? gives(BigInt(x)) : refuses("no integer has this value");
}

FoldedNumber truncated(const Number &x) {
  const auto whole = integerOf(x);
  return whole ? gives(*whole) : integer(std::trunc(doubleOf(x)));
}

FoldedNumber magnitude(const Number &x) {
  const auto whole = integerOf(x);
  return whole ? gives(*whole < 0 ? -*whole : *whole) : gives(std::fabs(doubleOf(x)));
}

FoldedNumber extreme(Arguments arguments, ast::CompareOp better) {
  Number best = arguments[0];
  for (const Number &next : arguments.drop_front())
    if (numbersOrdered(better, next, best))
      best = next;
  return gives(best);
}

FoldedNumber ceilDiv(const Number &x, const Number &by) {
  const auto dividend = integerOf(x);
  if (!dividend || !integerOf(by))
    return {};
  const FoldedNumber down = foldNumbers(ast::BinaryOp::FloorDiv, -*dividend, by);
  return down.value ? gives(-std::get<BigInt>(*down.value)) : down;
}

FoldedNumber nextPowerOf2(const Number &x) {
  const auto least = integerOf(x);
  if (!least)
    return {};
  if (*least <= 0)
    return gives(BigInt(0));
  if (*least > BigInt(1) << 100)
    return refuses("the next power of two is too large");
  BigInt power = 1;
  while (power < *least)
    power *= 2;
  return gives(power);
}

/// A function of the module math with one argument.
FoldedNumber ofMath(StringRef name, double x) {
  if (name == "ceil" || name == "floor")
    return integer(name == "ceil" ? std::ceil(x) : std::floor(x));
  if (name == "exp")
    return gives(std::exp(x));
  if (name != "sqrt" && name != "log" && name != "log2")
    return {};
  if (x < 0 || (x == 0 && name != "sqrt"))
    return refuses("`math." + name.str() + "` is not defined for this number");
  return gives(name == "sqrt" ? std::sqrt(x) : name == "log" ? std::log(x) : std::log2(x));
}

FoldedNumber ofOne(StringRef function, const Number &x) {
  if (const auto whole = integerOf(x);
      whole && (function == "math.ceil" || function == "math.floor"))
    return gives(*whole); // also beyond what a double holds
  if (function.consume_front("math."))
    return ofMath(function, doubleOf(x));
  if (function == "int")
    return truncated(x);
  if (function == "float")
    return gives(doubleOf(x));
  if (function == "bool")
    return gives(doubleOf(x) != 0);
  if (function == "abs")
    return magnitude(x);
  return function == "triton.next_power_of_2" ? nextPowerOf2(x) : FoldedNumber();
}
} // namespace

FoldedNumber foldCall(StringRef function, Arguments arguments) {
  if (arguments.empty())
    return {};
  if (function == "min" || function == "max")
    return extreme(arguments, function == "min" ? ast::CompareOp::Lt : ast::CompareOp::Gt);
  if (arguments.size() == 1)
    return ofOne(function, arguments[0]);
  if (arguments.size() != 2)
    return {};
  if (function == "math.pow")
    return foldNumbers(ast::BinaryOp::Pow, doubleOf(arguments[0]), doubleOf(arguments[1]));
  return function == "triton.cdiv" ? ceilDiv(arguments[0], arguments[1]) : FoldedNumber();
}

} // namespace pantile
