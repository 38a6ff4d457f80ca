//===- CacheKeyTest.cpp - a key changes with all that changes the kernel, and nothing else --===//
#include "cache/CacheKey.h"
#include <functional>
#include <gtest/gtest.h>
#include <memory>

using namespace pantile;

namespace {

/// All inputs of a key, to be changed one at a time.
struct Inputs {
  Program program;
  Specialization specialization;
  Options options;
  std::string assembler = "ptxas V13.0.88", build = "build 1";
  std::string key() const { return cacheKey({program, specialization, options, assembler, build}); }
};

/// kernel (1) calls helper (0), which reads SCALE; bystander (2) is not called.
Inputs example() {
  Inputs in;
  in.options.target = "sm_90a";
  FunctionSource helper{"helper", "def helper(x):\n  return x * SCALE\n", "k.py", 20, 0, {}, false};
  helper.globals = {{"SCALE", 2.0}, {"UNUSED", int64_t(1)}};
  FunctionSource kernel{"kernel", "def kernel(p, n, B):\n  helper(p)\n", "k.py", 10, 0, {}, false};
  kernel.globals = {{"helper", FunctionRef{0}}, {"bystander", FunctionRef{2}}};
  FunctionSource bystander{"bystander", "def bystander(): pass\n", "k.py", 30, 0, {}, false};
  in.program.functions = {helper, kernel, bystander};
  in.program.kernel = 1;
  in.program.classes = {
      {"Pair", false, {{"a", false, std::nullopt}}, {{"f", FunctionRef{0}}}, {}, {}},
      {"Unused", true, {}, {}, {}, {}}};
  in.program.functions[1].globals["p"] = ClassRef{0};
  in.specialization.args = {{ArgSpec::Kind::Pointer, "fp16", false, 16, {}},
                            {ArgSpec::Kind::Scalar, "i32", false, 1, {}},
                            {ArgSpec::Kind::Constant, "", false, 1, int64_t(64)}};
  return in;
}

std::string keyAfter(const std::function<void(Inputs &)> &change) {
  Inputs in = example();
  change(in);
  return in.key();
}

TEST(CacheKey, IsStable) {
  EXPECT_EQ(example().key(), example().key());
  EXPECT_EQ(example().key().size(), 64u);
}

TEST(CacheKey, EveryInputCounts) {
  const std::string before = example().key();
  const std::pair<const char *, std::function<void(Inputs &)>> changes[] = {
      {"kernel text", [](Inputs &in) { in.program.functions[1].text += "# x\n"; }},
      {"kernel name", [](Inputs &in) { in.program.functions[1].name = "other"; }},
      {"callee text", [](Inputs &in) { in.program.functions[0].text += "\n"; }},
      {"callee's global", [](Inputs &in) { in.program.functions[0].globals["SCALE"] = 3.0; }},
      {"global's type", [](Inputs &in) { in.program.functions[0].globals["SCALE"] = int64_t(2); }},
      {"noinline", [](Inputs &in) { in.program.functions[0].noinline_ = true; }},
      {"file", [](Inputs &in) { in.program.functions[1].file = "other.py"; }},
      {"first line", [](Inputs &in) { in.program.functions[1].firstLine = 11; }},
      {"constant", [](Inputs &in) { in.specialization.args[2].value = int64_t(128); }},
      {"constant's type", [](Inputs &in) { in.specialization.args[2].value = 64.0; }},
      {"dtype", [](Inputs &in) { in.specialization.args[0].dtype = "bf16"; }},
      {"divisibility", [](Inputs &in) { in.specialization.args[0].divisibility = 1; }},
      {"const pointer", [](Inputs &in) { in.specialization.args[0].constPointer = true; }},
      {"argument kind",
       [](Inputs &in) { in.specialization.args[1].kind = ArgSpec::Kind::Pointer; }},
      {"element of a tuple",
       [](Inputs &in) {
         in.specialization.args[1].kind = ArgSpec::Kind::Tuple;
         in.specialization.args[1].elements = {in.specialization.args[0]};
       }},
      {"element's type",
       [](Inputs &in) {
         in.specialization.args[1].kind = ArgSpec::Kind::Tuple;
         in.specialization.args[1].elements = {in.specialization.args[2]};
       }},
      {"descriptor's block",
       [](Inputs &in) {
         in.specialization.args[0].kind = ArgSpec::Kind::Descriptor;
         in.specialization.args[0].blockShape = {16, 64};
       }},
      {"descriptor's padding",
       [](Inputs &in) {
         in.specialization.args[0].kind = ArgSpec::Kind::Descriptor;
         in.specialization.args[0].blockShape = {16, 64};
         in.specialization.args[0].padsWithNan = true;
       }},
      {"class's field", [](Inputs &in) { in.program.classes[0].fields[0].name = "b"; }},
      {"field's kind", [](Inputs &in) { in.program.classes[0].fields[0].isConstexpr = true; }},
      {"class's member", [](Inputs &in) { in.program.classes[0].members["g"] = 1.5; }},
      {"target", [](Inputs &in) { in.options.target = "sm_80"; }},
      {"warps", [](Inputs &in) { in.options.numWarps = 8; }},
      {"stages", [](Inputs &in) { in.options.numStages = 4; }},
      {"ctas", [](Inputs &in) { in.options.numCtas = 2; }},
      {"registers", [](Inputs &in) { in.options.maxRegisters = 128; }},
      {"fusion", [](Inputs &in) { in.options.enableFpFusion = false; }},
      {"debug", [](Inputs &in) { in.options.debug = true; }},
      {"line info", [](Inputs &in) { in.options.lineInfo = false; }},
      {"overflow", [](Inputs &in) { in.options.sanitizeOverflow = false; }},
      {"assembler options", [](Inputs &in) { in.options.assemblerOptions = "--opt-level 0"; }},
      {"launch ABI", [](Inputs &in) { in.options.launchAbi = LaunchAbi::Triton; }},
      {"precision", [](Inputs &in) { in.options.inputPrecision = "ieee"; }},
      {"passes", [](Inputs &in) { in.options.disabledPasses = {"nv-expand-pipeline"}; }},
      {"further passes", [](Inputs &in) { in.options.enabledPasses = {"nv-expand-pipeline"}; }},
      {"assembler", [](Inputs &in) { in.assembler = "ptxas V12.8.93"; }},
      {"build", [](Inputs &in) { in.build = "build 2"; }}};
  std::set<std::string> keys = {before};
  for (const auto &[what, change] : changes)
    EXPECT_TRUE(keys.insert(keyAfter(change)).second) << what;
}

TEST(CacheKey, WhatTheKernelCannotReachDoesNotCount) {
  const std::string before = example().key();
  EXPECT_EQ(before, keyAfter([](Inputs &in) { in.program.functions[2].text += "# x\n"; }));
  EXPECT_EQ(before,
            keyAfter([](Inputs &in) { in.program.functions[0].globals["UNUSED"] = int64_t(2); }));
  EXPECT_EQ(before, keyAfter([](Inputs &in) { in.program.functions[0].globals.erase("UNUSED"); }));
  EXPECT_EQ(before, keyAfter([](Inputs &in) { in.program.classes[1].name = "Other"; }));
}

TEST(CacheKey, TheOrderOfFunctionsDoesNotCount) {
  Inputs in = example();
  std::swap(in.program.functions[0], in.program.functions[1]);
  in.program.kernel = 0;
  in.program.functions[0].globals["helper"] = FunctionRef{1};
  in.program.classes[0].members["f"] = FunctionRef{1};
  EXPECT_EQ(in.key(), example().key());
}

TEST(CacheKey, PlacesCountOnlyWithLineInformation) {
  auto plain = [](Inputs &in) { in.options.lineInfo = false; };
  auto moved = [](Inputs &in) {
    in.options.lineInfo = false, in.program.functions[1].firstLine = 99;
  };
  EXPECT_EQ(keyAfter(plain), keyAfter(moved));
}

TEST(CacheKey, AFunctionGivenAsArgumentCountsWithItsText) {
  auto pass = [](Inputs &in) { in.specialization.args[2].value = FunctionRef{2}; };
  auto passChanged = [](Inputs &in) {
    in.specialization.args[2].value = FunctionRef{2};
    in.program.functions[2].text += "# x\n";
  };
  EXPECT_NE(keyAfter(pass), keyAfter(passChanged));
}

TEST(CacheKey, TuplesCountByElement) {
  auto with = [](std::vector<ConstValue> elements) {
    return keyAfter([&](Inputs &in) {
      auto tuple = std::make_shared<ConstTuple>();
      tuple->elements = elements;
      in.specialization.args[2].value = std::shared_ptr<const ConstTuple>(tuple);
    });
  };
  EXPECT_EQ(with({int64_t(1), 2.0}), with({int64_t(1), 2.0}));
  EXPECT_NE(with({int64_t(1), 2.0}), with({int64_t(2), 2.0}));
  EXPECT_NE(with({int64_t(1), 2.0}), with({int64_t(1)}));
}

TEST(CacheKey, TheBuildHasAName) { EXPECT_GE(buildId().size(), 16u); }

} // namespace
