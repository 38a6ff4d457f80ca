//===- PolynomialTest.cpp - arithmetic of polynomials -------------------------------------===//
#include "analysis/Polynomial.h"
#include <gtest/gtest.h>
#include <limits>

using pantile::Polynomial;

namespace {
const Polynomial x = Polynomial::of(0), y = Polynomial::of(1), z = Polynomial::of(2);

TEST(Polynomial, ProductsDoNotDependOnTheOrderOfFactors) {
  EXPECT_EQ((x + y) * (x - y), x * x - y * y);
  EXPECT_EQ(x * y * z, z * y * x);
  EXPECT_TRUE((x * y - y * x).isZero());
}

TEST(Polynomial, KnowsConstants) {
  EXPECT_EQ((Polynomial(3) * Polynomial(4) - Polynomial(5)).constant(), 7);
  EXPECT_EQ((x - x).constant(), 0);
  EXPECT_FALSE((x + Polynomial(1)).constant());
}

TEST(Polynomial, DividesByNumbersThatDivideEveryCoefficient) {
  EXPECT_EQ((x * Polynomial(64) + y * Polynomial(128)).dividedBy(64), x + y * Polynomial(2));
  EXPECT_FALSE((x * Polynomial(64) + Polynomial(1)).dividedBy(64));
  EXPECT_FALSE(x.dividedBy(0));
}

TEST(Polynomial, SplitsByAProduct) {
  Polynomial rest;
  const Polynomial quotient =
      (x * y * Polynomial(6) + x * z + Polynomial(9)).dividedBy(x * Polynomial(2), rest);
  EXPECT_EQ(quotient, y * Polynomial(3));
  EXPECT_EQ(rest, x * z + Polynomial(9));
}

TEST(Polynomial, OverflowMakesItInvalid) {
  const Polynomial large(std::numeric_limits<int64_t>::max());
  EXPECT_FALSE((large + Polynomial(1)).isValid());
  EXPECT_FALSE((x * large * Polynomial(2) + y).isValid());
  EXPECT_FALSE((large * Polynomial(2)).constant());
}

TEST(Polynomial, TellsWhatItUses) {
  EXPECT_TRUE((x * y + z).uses(1));
  EXPECT_FALSE((x * y + z).uses(3));
  EXPECT_TRUE((x * y).onlyUses([](unsigned value) { return value < 2; }));
}
} // namespace
