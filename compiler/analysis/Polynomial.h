//===- Polynomial.h - integer polynomials over scalar values -----------------------===//
// Needs: nothing of MLIR: a value is a number, from a table of the user.
// Gives: sums of products with 64-bit coefficients, as in address arithmetic.
// How:   A map from sorted products to non-zero coefficients, so equal polynomials compare equal.
//        Overflow of a coefficient makes the result, and what is computed from it, invalid.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace pantile {

class Polynomial {
public:
  using Product = std::vector<unsigned>; ///< sorted numbers of values; empty: the constant term

  Polynomial() = default;
  Polynomial(int64_t constant) { add({}, constant); }
  static Polynomial of(unsigned value);
  static Polynomial invalid();

  bool isValid() const { return valid; }
  bool isZero() const { return valid && terms.empty(); }
  std::optional<int64_t> constant() const;
  const std::map<Product, int64_t> &products() const { return terms; }
  bool uses(unsigned value) const;
  bool onlyUses(llvm::function_ref<bool(unsigned)> allowed) const;

  Polynomial operator+(const Polynomial &other) const;
  Polynomial operator-(const Polynomial &other) const;
  Polynomial operator*(const Polynomial &other) const;
  bool operator==(const Polynomial &other) const = default;

  /// The quotient, where every coefficient is a multiple of `divisor`.
  std::optional<Polynomial> dividedBy(int64_t divisor) const;
  /// For a single product: the part of this that is a multiple of it, divided by it. `rest` gets
  /// the other products.
  Polynomial dividedBy(const Polynomial &single, Polynomial &rest) const;

private:
  void add(Product product, int64_t coefficient);
  std::map<Product, int64_t> terms;
  bool valid = true;
};

} // namespace pantile
