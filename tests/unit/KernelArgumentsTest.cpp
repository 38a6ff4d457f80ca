//===- KernelArgumentsTest.cpp - definitions and signatures as strings -------------------===//
#include "pantile/Request.h"
#include <gmock/gmock.h>

using namespace pantile;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

ParameterInfo parameter(std::string name) {
  ParameterInfo info;
  info.name = std::move(name);
  return info;
}

ParameterInfo constexprParameter(std::string name) {
  ParameterInfo info = parameter(std::move(name));
  info.isConstexpr = true;
  return info;
}

std::string messageOf(const Result<Specialization> &result) {
  return result ? std::string("no error") : result.error().message;
}

TEST(ParseConstant, KnowsTheTypesOfTheLanguage) {
  EXPECT_EQ(parseConstant("128"), ConstValue(int64_t(128)));
  EXPECT_EQ(parseConstant("-7"), ConstValue(int64_t(-7)));
  EXPECT_EQ(parseConstant("0x10"), ConstValue(int64_t(16)));
  EXPECT_EQ(parseConstant("1e-5"), ConstValue(1e-5));
  EXPECT_EQ(parseConstant("True"), ConstValue(true));
  EXPECT_EQ(parseConstant("None"), ConstValue(std::monostate()));
  EXPECT_EQ(parseConstant("tl.float16"), ConstValue(DTypeName{"fp16"}));
  EXPECT_EQ(parseConstant("leaky_relu"), ConstValue(std::string("leaky_relu")));
  EXPECT_EQ(parseConstant("\"128\""), ConstValue(std::string("128")));
  EXPECT_EQ(parseConstant(""), ConstValue(std::string()));
}

TEST(EvaluateExpression, CountsAsPythonDoes) {
  const Definitions names = {{"n", int64_t(-7)}, {"BLOCK", int64_t(4)}, {"x", 0.5}};
  auto valueOf = [&](std::string_view text) { return *evaluateExpression(text, names); };
  EXPECT_EQ(valueOf("n // 2"), ConstValue(int64_t(-4)));
  EXPECT_EQ(valueOf("n % BLOCK"), ConstValue(int64_t(1)));
  EXPECT_EQ(valueOf("2 / BLOCK"), ConstValue(0.5));
  EXPECT_EQ(valueOf("cdiv(9, BLOCK) if n < 0 else m"), ConstValue(int64_t(3)));
  EXPECT_EQ(valueOf("next_power_of_2(5) + min(n, BLOCK, 2)"), ConstValue(int64_t(1)));
  EXPECT_EQ(valueOf("1 < BLOCK <= 4"), ConstValue(true));
  const auto tuple = std::get<std::shared_ptr<const ConstTuple>>(valueOf("n, x"));
  EXPECT_EQ(tuple->elements, std::vector<ConstValue>({int64_t(-7), 0.5}));
}

TEST(EvaluateExpression, SaysWhatHasNoValue) {
  auto errorOf = [](std::string_view text) { return evaluateExpression(text, {}).error().message; };
  EXPECT_EQ(errorOf("1 // 0 + m"), "`1 // 0 + m`: division by zero");
  EXPECT_EQ(errorOf("max(1, m)"), "`max(1, m)`: `m` has no value");
  EXPECT_EQ(errorOf("f(1)"), "`f(1)`: it has no value");
  EXPECT_THAT(errorOf("(1"), HasSubstr("never closed"));
}

TEST(ParseDefinitions, RefusesWhatIsNoDefinition) {
  EXPECT_THAT(parseDefinitions({"BLOCK"}).error().message, HasSubstr("`-D BLOCK`"));
  EXPECT_THAT(parseDefinitions({"=3"}).error().message, HasSubstr("`-D =3`"));
  EXPECT_EQ(parseDefinitions({"N=1", "N=2"}).error().message, "`N` is defined twice");
}

TEST(Specialize, TakesTypesInOrderAndByName) {
  std::vector<ParameterInfo> parameters = {parameter("a"), parameter("n"), parameter("s"),
                                           constexprParameter("BLOCK")};
  Result<Specialization> result =
      specialize(parameters, "*fp16:16, s=fp32, i32:16", {{"BLOCK", int64_t(64)}});
  ASSERT_TRUE(result) << messageOf(result);
  ASSERT_EQ(result->args.size(), 4u);
  EXPECT_EQ(result->args[0].kind, ArgSpec::Kind::Pointer);
  EXPECT_EQ(result->args[0].divisibility, 16);
  EXPECT_EQ(result->args[1].dtype, "i32");
  EXPECT_EQ(result->args[2].dtype, "fp32");
  EXPECT_EQ(result->args[3].value, ConstValue(int64_t(64)));
}

TEST(Specialize, TakesTuplesAndDescriptors) {
  Result<Specialization> result =
      specialize({parameter("t"), parameter("d"), parameter("n")},
                 "(*fp16:16, (i32, 8), none), tensordesc<bf16[32, 64], nan>, i64", {});
  ASSERT_TRUE(result) << messageOf(result);
  const ArgSpec &tuple = result->args[0], &descriptor = result->args[1];
  ASSERT_EQ(tuple.elements.size(), 3u);
  EXPECT_EQ(tuple.elements[0].divisibility, 16);
  ASSERT_EQ(tuple.elements[1].elements.size(), 2u);
  EXPECT_EQ(tuple.elements[1].elements[1].value, ConstValue(int64_t(8)));
  EXPECT_EQ(tuple.elements[2].value, ConstValue(std::monostate()));
  EXPECT_EQ(descriptor.kind, ArgSpec::Kind::Descriptor);
  EXPECT_EQ(descriptor.dtype, "bf16");
  EXPECT_THAT(descriptor.blockShape, ElementsAre(32, 64));
  EXPECT_TRUE(descriptor.padsWithNan);
  EXPECT_EQ(result->args[2].dtype, "i64");
  for (const char *bad : {"(i32, fp17)", "tensordesc<fp16[]>", "tensordesc<fp16[8], one>"})
    EXPECT_NE(messageOf(specialize({parameter("t")}, bad, {})), "no error") << bad;
}

TEST(Specialize, FallsBackToDefaults) {
  ParameterInfo activation = constexprParameter("ACTIVATION");
  activation.hasDefault = true;
  activation.defaultValue = std::string("relu");
  Result<Specialization> result = specialize({activation}, "", {});
  ASSERT_TRUE(result) << messageOf(result);
  EXPECT_EQ(result->args[0].value, ConstValue(std::string("relu")));
}

TEST(Specialize, NamesWhatIsMissingOrTooMuch) {
  std::vector<ParameterInfo> parameters = {parameter("a"), constexprParameter("BLOCK")};
  Definitions block = {{"BLOCK", int64_t(64)}};
  EXPECT_THAT(messageOf(specialize(parameters, "", block)), HasSubstr("no type for parameter `a`"));
  EXPECT_THAT(messageOf(specialize(parameters, "*fp16", {})), HasSubstr("`-D BLOCK=...`"));
  EXPECT_THAT(messageOf(specialize(parameters, "*fp16, i32", block)),
              HasSubstr("2 types in order"));
  EXPECT_THAT(messageOf(specialize(parameters, "*fp16, b=i32", block)), HasSubstr("names `b`"));
  EXPECT_THAT(messageOf(specialize(parameters, "*fp17", block)), HasSubstr("parameter `a`"));
}

TEST(UnusedDefinitions, SeesParametersAndGlobals) {
  Program program;
  program.functions.resize(1);
  program.functions[0].globals["SCALE"] = int64_t(2);
  Definitions definitions = {{"BLOCK", int64_t(1)}, {"SCALE", int64_t(2)}, {"TYPO", int64_t(3)}};
  EXPECT_THAT(unusedDefinitions(program, {constexprParameter("BLOCK")}, definitions),
              ElementsAre("TYPO"));
}

} // namespace
