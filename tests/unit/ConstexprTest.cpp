// Compile-time values follow Python: floor division, exact integers, equality across kinds.
#include "frontend/Constexpr.h"
#include <gtest/gtest.h>

using namespace pantile;
using ast::BinaryOp;
using ast::CompareOp;
using ast::UnaryOp;

namespace {
Value integer(long value) { return BigInt(value); }
Value text(const char *value) { return std::string(value); }

std::string fold(BinaryOp op, const Value &a, const Value &b) {
  Folded folded = foldBinary(op, a, b);
  return folded.error.empty() ? constantText(folded.value, true) : "error: " + folded.error;
}
} // namespace

TEST(Constexpr, DivisionRoundsDown) {
  EXPECT_EQ(fold(BinaryOp::FloorDiv, integer(-7), integer(2)), "-4");
  EXPECT_EQ(fold(BinaryOp::Mod, integer(-7), integer(2)), "1");
  EXPECT_EQ(fold(BinaryOp::Mod, integer(7), integer(-2)), "-1");
  EXPECT_EQ(fold(BinaryOp::Div, integer(7), integer(2)), "3.5");
  EXPECT_EQ(fold(BinaryOp::FloorDiv, -7.5, integer(2)), "-4.0");
  EXPECT_EQ(fold(BinaryOp::Mod, -7.5, integer(2)), "0.5");
  EXPECT_EQ(fold(BinaryOp::Div, integer(1), integer(0)), "error: division by zero");
}

TEST(Constexpr, IntegersDoNotWrap) {
  EXPECT_EQ(fold(BinaryOp::Mul, integer(0x7fffffff), integer(0x7fffffff)), "4611686014132420609");
  EXPECT_EQ(fold(BinaryOp::Shl, integer(1), integer(64)), "18446744073709551616");
  EXPECT_EQ(fold(BinaryOp::Pow, integer(2), integer(10)), "1024");
  EXPECT_EQ(fold(BinaryOp::Pow, integer(2), integer(-1)), "0.5");
  EXPECT_EQ(fold(BinaryOp::Pow, integer(10), integer(99)), "error: the integer is too large");
  EXPECT_EQ(fold(BinaryOp::Shr, integer(-1), integer(200)), "-1");
}

TEST(Constexpr, KindsMix) {
  EXPECT_EQ(fold(BinaryOp::Add, true, integer(2)), "3");
  EXPECT_EQ(fold(BinaryOp::And, true, false), "False");
  EXPECT_EQ(fold(BinaryOp::Add, integer(1), 0.5), "1.5");
  EXPECT_EQ(fold(BinaryOp::Add, text("ab"), text("c")), "'abc'");
  EXPECT_EQ(fold(BinaryOp::Add, text("ab"), integer(1)), "error: `+` takes no string and int");
  EXPECT_EQ(fold(BinaryOp::Add, Value::tuple({integer(1)}), Value::tuple({integer(2), true})),
            "(1, 2, True)");
  EXPECT_EQ(fold(BinaryOp::Mul, Value::tuple({integer(1)}), integer(3)), "(1, 1, 1)");
}

TEST(Constexpr, UnaryOperators) {
  EXPECT_EQ(constantText(foldUnary(UnaryOp::Invert, integer(5)).value), "-6");
  EXPECT_EQ(constantText(foldUnary(UnaryOp::Neg, 1.5).value), "-1.5");
  EXPECT_EQ(constantText(foldUnary(UnaryOp::Not, text("")).value), "True");
  EXPECT_FALSE(foldUnary(UnaryOp::Invert, 1.5).error.empty());
}

TEST(Constexpr, EqualityAcrossKinds) {
  EXPECT_TRUE(constantsEqual(integer(1), true));
  EXPECT_TRUE(constantsEqual(integer(2), 2.0));
  EXPECT_FALSE(constantsEqual(integer(1), text("1")));
  EXPECT_FALSE(constantsEqual(None(), integer(0)));
  EXPECT_TRUE(constantsEqual(DType(Scalar::F16), DType(Scalar::F16)));
  EXPECT_TRUE(
      constantsEqual(Value::tuple({integer(1), text("a")}), Value::tuple({integer(1), text("a")})));
}

TEST(Constexpr, OrderOfNumbersStringsAndTuples) {
  EXPECT_EQ(foldOrder(CompareOp::Lt, integer(1), 1.5), true);
  EXPECT_EQ(foldOrder(CompareOp::Ge, text("b"), text("a")), true);
  EXPECT_EQ(foldOrder(CompareOp::Lt, Value::tuple({integer(1), integer(2)}),
                      Value::tuple({integer(1), integer(3)})),
            true);
  EXPECT_EQ(foldOrder(CompareOp::Lt, text("a"), integer(1)), std::nullopt);
}

TEST(Constexpr, TextIsPythons) {
  EXPECT_EQ(constantText(1.0), "1.0");
  EXPECT_EQ(constantText(0.1), "0.1");
  EXPECT_EQ(constantText(1e20), "1e+20");
  EXPECT_EQ(constantText(123456789.0), "123456789.0");
  EXPECT_EQ(constantText(-1.0 / 3), "-0.3333333333333333");
  EXPECT_EQ(constantText(Value::tuple({integer(1)})), "(1,)");
  EXPECT_EQ(constantText(None()), "None");
  EXPECT_EQ(constantText(DType(Scalar::BF16)), "bf16");
  EXPECT_EQ(bigIntText(-BigInt(1) << 70), "-1180591620717411303424");
}

TEST(Constexpr, TruthOfConstants) {
  EXPECT_EQ(constantTruth(integer(0)), false);
  EXPECT_EQ(constantTruth(text("x")), true);
  EXPECT_EQ(constantTruth(Value::tuple({})), false);
  EXPECT_EQ(constantTruth(None()), false);
  EXPECT_EQ(constantTruth(DType(Scalar::F16)), true);
}

TEST(Constexpr, SnapshotValues) {
  auto tuple = std::make_shared<ConstTuple>();
  tuple->elements = {int64_t(3), std::string("s"), DTypeName{"fp16"}, std::monostate()};
  tuple->fields = {"a", "b", "c", "d"};
  Value value = fromSnapshot(std::shared_ptr<const ConstTuple>(tuple));
  EXPECT_EQ(constantText(value), "(3, 's', fp16, None)");
  EXPECT_EQ(value.as<TupleRef>()->fields.size(), 4u);
}
