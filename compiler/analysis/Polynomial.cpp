//===- Polynomial.cpp - arithmetic of polynomials -----------------------------------------===//
#include "analysis/Polynomial.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace pantile {

Polynomial Polynomial::of(unsigned value) {
  Polynomial result;
  result.add({value}, 1);
  return result;
}

Polynomial Polynomial::invalid() {
  Polynomial result;
  result.valid = false;
  return result;
}

void Polynomial::add(Product product, int64_t coefficient) {
  if (coefficient == 0)
    return;
  int64_t &total = terms[product];
  valid &= !llvm::AddOverflow(total, coefficient, total);
  if (total == 0)
    terms.erase(product);
}

std::optional<int64_t> Polynomial::constant() const {
  if (isZero())
    return 0;
  if (valid && terms.size() == 1 && terms.begin()->first.empty())
    return terms.begin()->second;
  return std::nullopt;
}

bool Polynomial::uses(unsigned value) const {
  return !onlyUses([&](unsigned other) { return other != value; });
}

bool Polynomial::onlyUses(llvm::function_ref<bool(unsigned)> allowed) const {
  return llvm::all_of(terms, [&](const auto &term) { return llvm::all_of(term.first, allowed); });
}

Polynomial Polynomial::operator+(const Polynomial &other) const {
  Polynomial sum = *this;
  sum.valid &= other.valid;
  for (const auto &[product, coefficient] : other.terms)
    sum.add(product, coefficient);
  return sum;
}

Polynomial Polynomial::operator-(const Polynomial &other) const {
  return *this + other * Polynomial(-1);
}

Polynomial Polynomial::operator*(const Polynomial &other) const {
  Polynomial result;
  result.valid = valid && other.valid;
  for (const auto &[a, coefficientA] : terms)
    for (const auto &[b, coefficientB] : other.terms) {
      Product product(a.size() + b.size());
      std::merge(a.begin(), a.end(), b.begin(), b.end(), product.begin());
      int64_t coefficient = 0;
      result.valid &= !llvm::MulOverflow(coefficientA, coefficientB, coefficient);
      result.add(std::move(product), coefficient);
    }
  return result;
}

std::optional<Polynomial> Polynomial::dividedBy(int64_t divisor) const {
  Polynomial quotient = *this;
  for (auto &[product, coefficient] : quotient.terms) {
    if (divisor == 0 || coefficient % divisor != 0)
      return std::nullopt;
    coefficient /= divisor;
  }
  return quotient;
}

Polynomial Polynomial::dividedBy(const Polynomial &single, Polynomial &rest) const {
  const auto &[divisor, by] = *single.terms.begin();
  Polynomial quotient;
  for (const auto &[product, coefficient] : terms) {
    if (coefficient % by != 0 || !std::ranges::includes(product, divisor)) {
      rest.add(product, coefficient);
      continue;
    }
    Product left;
    std::ranges::set_difference(product, divisor, std::back_inserter(left));
    quotient.add(std::move(left), coefficient / by);
  }
  return quotient;
}

} // namespace pantile
