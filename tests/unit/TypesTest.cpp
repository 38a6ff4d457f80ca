// The rules by which operands of an operation find a common type, and the names of types.
#include "frontend/Types.h"
#include <gtest/gtest.h>
#include <limits>

using namespace pantile;

namespace {
PromotionOperand typed(Scalar scalar) { return {scalar, false}; }
PromotionOperand number(Scalar literal) { return {literal, true}; }

std::string common(PromotionOperand a, PromotionOperand b, bool division = false) {
  std::optional<DType> forward = promote(a, b, division), backward = promote(b, a, division);
  EXPECT_EQ(forward, backward);
  return forward ? forward->name() : "none";
}
} // namespace

TEST(Types, HigherKindWins) {
  EXPECT_EQ(common(typed(Scalar::I32), typed(Scalar::F16)), "fp16");
  EXPECT_EQ(common(typed(Scalar::I64), typed(Scalar::BF16)), "bf16");
  EXPECT_EQ(common(typed(Scalar::I1), typed(Scalar::U8)), "uint8");
}

TEST(Types, FloatsOfOneKind) {
  EXPECT_EQ(common(typed(Scalar::F64), typed(Scalar::F32)), "fp64");
  EXPECT_EQ(common(typed(Scalar::F16), typed(Scalar::F32)), "fp32");
  EXPECT_EQ(common(typed(Scalar::F16), typed(Scalar::BF16)), "fp16");
  EXPECT_EQ(common(typed(Scalar::F16), typed(Scalar::F8E5)), "fp16");
  EXPECT_EQ(common(typed(Scalar::BF16), typed(Scalar::BF16)), "bf16");
  EXPECT_EQ(common(typed(Scalar::BF16), typed(Scalar::F8E4)), "fp32");
  EXPECT_EQ(common(typed(Scalar::F8E5), typed(Scalar::F8E5)), "fp8e5");
  EXPECT_EQ(common(typed(Scalar::F8E5), typed(Scalar::F8E4)), "fp16");
}

TEST(Types, DivisionWidensHalves) {
  EXPECT_EQ(common(typed(Scalar::F16), typed(Scalar::F16), true), "fp32");
  EXPECT_EQ(common(typed(Scalar::BF16), typed(Scalar::BF16), true), "fp32");
  EXPECT_EQ(common(typed(Scalar::F16), number(Scalar::I32), true), "fp32");
  EXPECT_EQ(common(typed(Scalar::F64), typed(Scalar::F16), true), "fp64");
}

TEST(Types, IntegersByRankThenUnsigned) {
  EXPECT_EQ(common(typed(Scalar::I32), typed(Scalar::I64)), "int64");
  EXPECT_EQ(common(typed(Scalar::I32), typed(Scalar::U32)), "uint32");
  EXPECT_EQ(common(typed(Scalar::I64), typed(Scalar::U32)), "int64");
  EXPECT_EQ(common(typed(Scalar::U64), typed(Scalar::I64)), "uint64");
  EXPECT_EQ(common(typed(Scalar::I8), typed(Scalar::U16)), "uint16");
}

TEST(Types, NumbersFollowATypedOperandOfTheirKindOrAbove) {
  EXPECT_EQ(common(typed(Scalar::F16), number(Scalar::F32)), "fp16");
  EXPECT_EQ(common(typed(Scalar::F8E4), number(Scalar::F32)), "fp8e4nv");
  EXPECT_EQ(common(typed(Scalar::I8), number(Scalar::I32)), "int8");
  EXPECT_EQ(common(typed(Scalar::I8), number(Scalar::F32)), "fp32");
  EXPECT_EQ(common(typed(Scalar::I1), number(Scalar::I32)), "int32");
}

TEST(Types, PointersHaveNoCommonType) {
  PromotionOperand pointer{DType(Scalar::F16).pointerTo(), false};
  EXPECT_EQ(common(pointer, typed(Scalar::I32)), "none");
}

TEST(Types, LiteralsTakeTheFirstTypeWithRoom) {
  EXPECT_EQ(literalType(BigInt(-1))->name(), "int32");
  EXPECT_EQ(literalType(BigInt(0x7fffffff))->name(), "int32");
  EXPECT_EQ(literalType(BigInt(0x80000000))->name(), "uint32");
  EXPECT_EQ(literalType(BigInt(0x100000000))->name(), "int64");
  EXPECT_EQ(literalType(BigInt(std::numeric_limits<uint64_t>::max()))->name(), "uint64");
  EXPECT_FALSE(literalType(BigInt(std::numeric_limits<uint64_t>::max()) + 1));
  EXPECT_EQ(literalType(1e38).name(), "fp32");
  EXPECT_EQ(literalType(1e39).name(), "fp64");
  EXPECT_EQ(literalType(1e-40).name(), "fp64");
  EXPECT_EQ(literalType(std::numeric_limits<double>::infinity()).name(), "fp32");
}

TEST(Types, RangesOfIntegers) {
  EXPECT_TRUE(fitsInto(-128, Scalar::I8));
  EXPECT_FALSE(fitsInto(128, Scalar::I8));
  EXPECT_TRUE(fitsInto(255, Scalar::U8));
  EXPECT_FALSE(fitsInto(-1, Scalar::U64));
  EXPECT_FALSE(fitsInto(2, Scalar::I1));
}

TEST(Types, NamesBothWays) {
  for (const char *name :
       {"i1", "u8", "i64", "fp8e5", "fp8e4nv", "bf16", "*fp16", "*kfp32", "**i8"})
    EXPECT_EQ(parseDType(name)->shortName(), name);
  EXPECT_EQ(parseDType("float16"), DType(Scalar::F16));
  EXPECT_EQ(parseDType("*u8")->name(), "pointer<uint8>");
  EXPECT_TRUE(parseDType("*kfp32")->isConst);
  EXPECT_FALSE(parseDType("fp17"));
  EXPECT_EQ((Type{Scalar::F16, {64, 32}}).name(), "fp16[64, 32]");
}

TEST(Types, ShapesBroadcastFromTheRight) {
  EXPECT_EQ(broadcastShapes({64, 1}, {32}), (Shape{64, 32}));
  EXPECT_EQ(broadcastShapes({}, {4, 8}), (Shape{4, 8}));
  EXPECT_EQ(broadcastShapes({1, 8}, {4, 1}), (Shape{4, 8}));
  EXPECT_FALSE(broadcastShapes({16}, {32}));
}
