//===- TensorMaps.cpp - the recipes of a module's tensor maps -----------------------------===//
// Needs: `nv.tensor_map`s whose expressions are sums of products of symbols, quotients of symbols by
//        constants, and constants.
// Gives: hostPolynomial, tensorMapRecipes.
// How:   an expression is multiplied out; symbol i is launch argument i, and the last three are the
//        extents of the grid.
//===------------------------------------------------------------------------------------===//
#include "TensorMaps.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace pantile {
namespace {

int argOf(int symbol, int numArgs) {
  return symbol < numArgs ? symbol : HostPolynomial::gridArg + symbol - numArgs;
}

/// Of a quotient of a symbol; also of `s mod c`, which MLIR makes of s - (s floordiv c) * c.
HostPolynomial ofQuotient(AffineBinaryOpExpr expr, int numArgs) {
  auto symbol = cast<AffineSymbolExpr>(expr.getLHS());
  const int64_t divisor = cast<AffineConstantExpr>(expr.getRHS()).getValue();
  const int arg = argOf(static_cast<int>(symbol.getPosition()), numArgs);
  const HostPolynomial::Factor quotient{arg, divisor};
  if (expr.getKind() == AffineExprKind::FloorDiv)
    return {{{1, {quotient}}}};
  return {{{1, {arg}}, {-divisor, {quotient}}}};
}

std::vector<HostPolynomial> polynomials(nv::TensorMapOp op, AffineMap map) {
  const int numArgs = static_cast<int>(op->getParentOfType<func::FuncOp>().getNumArguments());
  std::vector<HostPolynomial> result;
  for (AffineExpr expr : map.getResults())
    result.push_back(hostPolynomial(expr, numArgs));
  return result;
}

std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  type.print(os);
  return text;
}
} // namespace

HostPolynomial hostPolynomial(AffineExpr expr, int numArgs) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() ? HostPolynomial{{{constant.getValue(), {}}}} : HostPolynomial();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return {{{1, {argOf(static_cast<int>(symbol.getPosition()), numArgs)}}}};
  auto both = cast<AffineBinaryOpExpr>(expr);
  if (both.getKind() == AffineExprKind::FloorDiv || both.getKind() == AffineExprKind::Mod)
    return ofQuotient(both, numArgs);
  HostPolynomial lhs = hostPolynomial(both.getLHS(), numArgs),
                 rhs = hostPolynomial(both.getRHS(), numArgs), result;
  if (both.getKind() == AffineExprKind::Add) {
    result = lhs;
    result.terms.insert(result.terms.end(), rhs.terms.begin(), rhs.terms.end());
    return result;
  }
  assert(both.getKind() == AffineExprKind::Mul && "what hostExpr makes");
  for (const auto &a : lhs.terms)
    for (const auto &b : rhs.terms) {
      HostPolynomial::Term term{a.coefficient * b.coefficient, a.factors};
      term.factors.insert(term.factors.end(), b.factors.begin(), b.factors.end());
      result.terms.push_back(std::move(term));
    }
  return result;
}

std::vector<TensorMapRecipe> tensorMapRecipes(ModuleOp module) {
  std::vector<TensorMapRecipe> recipes;
  module.walk([&](nv::TensorMapOp op) {
    TensorMapRecipe recipe;
    recipe.base = static_cast<int>(op.getBase());
    recipe.offset = polynomials(op, op.getOffset())[0];
    recipe.element = textOf(op.getElement());
    recipe.extents = polynomials(op, op.getExtents());
    recipe.strides = polynomials(op, op.getStrides());
    recipe.box.assign(op.getBox().begin(), op.getBox().end());
    recipe.swizzle = static_cast<int>(op.getSpan());
    recipe.nonNegative.assign(op.getNonNegative().begin(), op.getNonNegative().end());
    if (op.getMultiples())
      for (auto [value, of] : llvm::zip(polynomials(op, *op.getMultiples()), *op.getDivisors()))
        recipe.multiples.push_back({value, of});
    if (op.getConditions())
      recipe.conditions = polynomials(op, *op.getConditions());
    recipe.mayBeEmpty = op.getMayBeEmpty();
    recipe.isWritten =
        llvm::any_of(op->getUsers(), [](Operation *user) { return isa<nv::TmaStoreOp>(user); });
    recipes.push_back(std::move(recipe));
  });
  return recipes;
}

} // namespace pantile
