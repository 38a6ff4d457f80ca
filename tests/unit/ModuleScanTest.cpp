//===- ModuleScanTest.cpp - kernels and constants of a file, without Python -------------===//
#include "pantile/Compiler.h"
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace pantile;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

const char *const imports = "import triton\nimport triton.language as tl\n";

/// The program of `text` after the usual imports.
Program scan(const std::string &text, const ScanOptions &options = {}) {
  Result<Program> program = scanFile(imports + text, "k.py", options);
  if (!program) {
    ADD_FAILURE() << program.error().rendered;
    return {};
  }
  return std::move(*program);
}

/// What `expression` means to a kernel, assigned in the module.
ConstValue constant(const std::string &expression) {
  const Program program = scan("import math\nX = " + expression + "\n@triton.jit\ndef k(): X\n");
  return program.functions.at(0).globals.at("X");
}

std::string opaque(const ConstValue &value) {
  const auto *ref = std::get_if<OpaqueRef>(&value);
  return ref ? ref->description : "(not opaque)";
}
std::string builtin(const ConstValue &value) {
  const auto *ref = std::get_if<BuiltinRef>(&value);
  return ref ? ref->name : "(no builtin)";
}

std::vector<std::string> names(const Program &program) {
  std::vector<std::string> result;
  for (const FunctionSource &function : program.functions)
    result.push_back(function.name);
  return result;
}

std::string scanError(const std::string &text, const ScanOptions &options = {}) {
  const Result<Program> program = scanFile(imports + text, "k.py", options);
  return program ? "(no error)" : program.error().message;
}

} // namespace

TEST(ModuleScan, TakesTheKernelAndWhatItReaches) {
  const Program program = scan("@triton.autotune(configs=[triton.Config({'B': 1})], key=['n'])\n"
                               "@triton.jit\n"
                               "def kernel(x, n, ACT: tl.constexpr = \"\"):\n"
                               "    leaky(x)  # see below\n"
                               "\n"
                               "def wrapper(x):\n"
                               "    kernel[(1,)](x, 3)\n"
                               "\n"
                               "@triton.jit\n"
                               "def leaky(x):\n"
                               "    return kernel(x)\n"
                               "@triton.jit\n"
                               "def unused(x): wrapper(x)\n",
                               {"kernel", {}, {}});
  EXPECT_THAT(names(program), ElementsAre("kernel", "leaky"));
  EXPECT_EQ(program.kernel, 0u);
  const FunctionSource &kernel = program.functions[0];
  EXPECT_EQ(kernel.text,
            "def kernel(x, n, ACT: tl.constexpr = \"\"):\n    leaky(x)  # see below\n");
  EXPECT_EQ(kernel.firstLine, 5);
  EXPECT_EQ(kernel.file, "k.py");
  EXPECT_EQ(kernel.globals.at("leaky"), ConstValue(FunctionRef{1}));
  EXPECT_EQ(program.functions[1].globals.at("kernel"), ConstValue(FunctionRef{0}));
  EXPECT_FALSE(kernel.globals.contains("x"));
}

TEST(ModuleScan, ConstantExpressions) {
  EXPECT_EQ(constant("4 * 2 ** 3 - 7 // 2"), ConstValue(int64_t(29)));
  EXPECT_EQ(constant("-7 // 2"), ConstValue(int64_t(-4)));
  EXPECT_EQ(constant("-7 % 3"), ConstValue(int64_t(2)));
  EXPECT_EQ(constant("1 << 20 | 0xF"), ConstValue(int64_t(1048591)));
  EXPECT_EQ(constant("1.5e3 / 2"), ConstValue(750.0));
  EXPECT_EQ(constant("7 / 2"), ConstValue(3.5));
  EXPECT_EQ(constant("tl.constexpr(3)"), ConstValue(int64_t(3)));
  EXPECT_EQ(constant("tl.constexpr(3).value + 1"), ConstValue(int64_t(4)));
  EXPECT_EQ(constant("'a' + \"b\""), ConstValue(std::string("ab")));
  EXPECT_EQ(constant("-1.5j * 2 + 1"), ConstValue(std::complex(1.0, -3.0)));
  EXPECT_EQ(constant("2 / 1j - True"), ConstValue(std::complex(-1.0, -2.0)));
  EXPECT_EQ(constant("None"), ConstValue());
  EXPECT_EQ(constant("True and not False"), ConstValue(true));
  EXPECT_EQ(constant("1 < 2 <= 2 != 3"), ConstValue(true));
  EXPECT_EQ(constant("max(3, 4) if 'b' in 'abc' else 0"), ConstValue(int64_t(4)));
  EXPECT_EQ(constant("triton.cdiv(10, 4) + triton.next_power_of_2(5)"), ConstValue(int64_t(11)));
  EXPECT_EQ(constant("(1, 2, 3)[-1]"), ConstValue(int64_t(3)));
  EXPECT_EQ(constant("float('inf')"), ConstValue(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(constant("math.pi"), ConstValue(3.141592653589793));
  EXPECT_EQ(constant("int(math.log2(1024))"), ConstValue(int64_t(10)));
  EXPECT_EQ(constant("tl.float16"), ConstValue(DTypeName{"fp16"}));
}

TEST(ModuleScan, WhatPythonAloneCouldTellIsOpaque) {
  const std::string message = "a value that is not a compile-time constant";
  EXPECT_EQ(opaque(constant("len(open('x').read())")), message);
  EXPECT_EQ(opaque(constant("1 // 0")), message);
  EXPECT_EQ(opaque(constant("1j / 0")), message);
  EXPECT_EQ(opaque(constant("1j // 2")), message);
  EXPECT_EQ(opaque(constant("2 ** 64")), message);
  EXPECT_EQ(opaque(constant("{'a': 1}")), message);
  EXPECT_EQ(opaque(constant("lambda x: x")), "a Python function");
}

TEST(ModuleScan, Imports) {
  const Program program =
      scan("import torch\n"
           "import math\n"
           "import pantile as pt\n"
           "from triton import language as lang, cdiv\n"
           "from triton.language import load, float32 as f32\n"
           "from triton.language.extra import libdevice\n"
           "from triton.language.math import rsqrt\n"
           "from .other import thing\n"
           "import triton.testing\n"
           "@triton.jit\n"
           "def k(): torch, math, pt, lang, cdiv, load, f32, libdevice, rsqrt, thing, triton\n");
  const auto &globals = program.functions[0].globals;
  EXPECT_EQ(opaque(globals.at("torch")), "the module `torch`");
  EXPECT_EQ(builtin(globals.at("math")), "math.");
  EXPECT_EQ(builtin(globals.at("pt")), "triton.");
  EXPECT_EQ(builtin(globals.at("lang")), "tl.");
  EXPECT_EQ(builtin(globals.at("cdiv")), "triton.cdiv");
  EXPECT_EQ(builtin(globals.at("load")), "load");
  EXPECT_EQ(globals.at("f32"), ConstValue(DTypeName{"fp32"}));
  EXPECT_EQ(builtin(globals.at("libdevice")), "tl.extra.libdevice.");
  EXPECT_EQ(builtin(globals.at("rsqrt")), "tl.math.rsqrt");
  EXPECT_EQ(opaque(globals.at("thing")), "a name imported from `.other`, whose text was not given");
  EXPECT_EQ(builtin(globals.at("triton")), "triton.");
}

TEST(ModuleScan, StarImportBindsTheLanguage) {
  const Result<Program> program = scanFile("from triton.language import *\nimport triton\n"
                                           "@triton.jit\ndef k(): load, float16, missing\n",
                                           "k.py", {});
  ASSERT_TRUE(program) << program.error().rendered;
  const auto &globals = program->functions[0].globals;
  EXPECT_EQ(builtin(globals.at("load")), "load");
  EXPECT_EQ(globals.at("float16"), ConstValue(DTypeName{"fp16"}));
  EXPECT_FALSE(globals.contains("missing"));
}

TEST(ModuleScan, Decorators) {
  const auto kernels = [](const std::string &text) {
    std::vector<std::string> result;
    const auto listing = listKernels(text, "k.py");
    for (const KernelListing &kernel : *listing)
      result.push_back(kernel.name);
    return result;
  };
  EXPECT_THAT(kernels("import pantile\n@pantile.jit\ndef a(): pass\n"), ElementsAre("a"));
  EXPECT_THAT(kernels("from triton import jit as j\n@j\ndef a(): pass\n"), ElementsAre("a"));
  EXPECT_THAT(kernels("import triton as t\n@t.jit(noinline=True)\ndef a(): pass\n"),
              ElementsAre("a"));
  EXPECT_THAT(kernels("@jit\ndef a(): pass\n"), ElementsAre("a"));
  EXPECT_THAT(kernels("from numba import jit\n@jit\ndef a(): pass\n"), ElementsAre());
  EXPECT_THAT(kernels("import numba\n@numba.jit\ndef a(): pass\n"), ElementsAre());
  EXPECT_THAT(kernels("import triton\ndef a(): pass\nb = triton.heuristics({})(triton.jit(a))\n"),
              ElementsAre("a"));
  EXPECT_THAT(kernels("import triton\nif HAVE:\n    @other\n    @triton.jit\n    def a(): pass\n"),
              ElementsAre("a"));
}

TEST(ModuleScan, NoinlineIsKept) {
  EXPECT_TRUE(scan("@triton.jit(noinline=True)\ndef k(): pass\n").functions[0].noinline_);
  EXPECT_FALSE(scan("@triton.jit\ndef k(): pass\n").functions[0].noinline_);
}

TEST(ModuleScan, KernelsInsideFunctionsSeeTheirNames) {
  const Program program = scan("SIZE = 1\n"
                               "def test(param):\n"
                               "    SIZE = 2\n"
                               "    @triton.jit\n"
                               "    def k(x,\n"
                               "          y):\n"
                               "        SIZE, param, helper(x)\n"
                               "    @triton.jit\n"
                               "    def helper(x):\n"
                               "        return x\n",
                               {"k", {}, {}});
  EXPECT_THAT(names(program), ElementsAre("k", "helper"));
  const FunctionSource &kernel = program.functions[0];
  EXPECT_EQ(kernel.text, "def k(x,\n      y):\n    SIZE, param, helper(x)\n");
  EXPECT_EQ(kernel.indent, 4);
  EXPECT_EQ(kernel.firstLine, 7);
  EXPECT_EQ(kernel.globals.at("SIZE"), ConstValue(int64_t(2)));
  EXPECT_EQ(opaque(kernel.globals.at("param")), "a parameter of `test`");
}

TEST(ModuleScan, ConditionsThatTheTextDecides) {
  const Program program = scan("import torch\nA = 4\n"
                               "if A == 4:\n    B = 1\nelse:\n    B = 2\n"
                               "if torch.cuda.is_available():\n    C = 1\nelse:\n    C = 2\n"
                               "if __name__ == '__main__':\n    A = 5\n"
                               "@triton.jit\ndef k(): A, B, C\n");
  const auto &globals = program.functions[0].globals;
  EXPECT_EQ(globals.at("A"), ConstValue(int64_t(4)));
  EXPECT_EQ(globals.at("B"), ConstValue(int64_t(1)));
  EXPECT_EQ(opaque(globals.at("C")), "a value that depends on a condition outside the kernel");
}

TEST(ModuleScan, DefinesOverrideTheText) {
  ScanOptions options;
  options.defines = {{"A", int64_t(7)}, {"D", std::string("s")}};
  const Program program = scan("A = 1\nB = A + 1\n@triton.jit\ndef k(): A, B, D\n", options);
  const auto &globals = program.functions[0].globals;
  EXPECT_EQ(globals.at("A"), ConstValue(int64_t(7)));
  EXPECT_EQ(globals.at("B"), ConstValue(int64_t(8)));
  EXPECT_EQ(globals.at("D"), ConstValue(std::string("s")));
}

TEST(ModuleScan, AssignmentsOfAllKinds) {
  const Program program = scan("A, (B, C) = 1, (2, 3)\nA += 10\nD: tl.constexpr = 4\nE = F = 5\n"
                               "@triton.jit\ndef k(): A, B, C, D, E, F\n");
  const auto &globals = program.functions[0].globals;
  const std::map<std::string, int64_t> expected = {{"A", 11}, {"B", 2}, {"C", 3},
                                                   {"D", 4},  {"E", 5}, {"F", 5}};
  for (const auto &[name, value] : expected)
    EXPECT_EQ(globals.at(name), ConstValue(value)) << name;
}

TEST(ModuleScan, TheRestOfTheFileNeedNotParse) {
  const Program program = scan("this is no Python ( [\nclass ?:\n"
                               "@triton.jit\ndef k(x):\n    y = = 1\n    z = (2\n    return\n"
                               "def after(:\n");
  EXPECT_EQ(program.functions[0].text, "def k(x):\n    y = = 1\n    z = (2\n    return\n");
}

TEST(ModuleScan, NamesOfTheLanguageNeedNoImport) {
  const Result<Program> program = scanFile("@triton.jit\ndef k(x): tl.load(x)\n", "k.py", {});
  ASSERT_TRUE(program) << program.error().rendered;
  EXPECT_EQ(builtin(program->functions[0].globals.at("tl")), "tl.");
}

TEST(ModuleScan, IncludedFiles) {
  const auto path = std::filesystem::path(testing::TempDir()) / "shapes.py";
  std::ofstream(path)
      << "import triton\nBLOCK = 32\n@triton.jit\ndef helper(x): return x + BLOCK\n";
  ScanOptions options;
  options.includeFiles = {path.string()};
  const Program program = scan("from shapes import helper as h, BLOCK\nimport shapes\n"
                               "@triton.jit\ndef k(x): h(x) + BLOCK + shapes.BLOCK\n",
                               options);
  EXPECT_THAT(names(program), ElementsAre("k", "helper"));
  EXPECT_EQ(program.functions[0].globals.at("h"), ConstValue(FunctionRef{1}));
  EXPECT_EQ(program.functions[0].globals.at("BLOCK"), ConstValue(int64_t(32)));
  EXPECT_EQ(program.functions[0].globals.at("shapes.BLOCK"), ConstValue(int64_t(32)));
  EXPECT_EQ(program.functions[1].file, path.string());
  options.includeFiles = {"/no/such/file.py"};
  EXPECT_THAT(scanError("", options), HasSubstr("cannot read `/no/such/file.py`"));
}

TEST(ModuleScan, TheKernelThatIsMeant) {
  const std::string two = "@triton.jit\ndef a(): b()\n@triton.jit\ndef b(): pass\n";
  EXPECT_THAT(names(scan(two)), ElementsAre("a", "b"));
  EXPECT_EQ(scanError(two + "@triton.jit\ndef c(): pass\n"),
            "which kernel is meant? k.py has `a`, `c`");
  EXPECT_EQ(scanError(two, {"d", {}, {}}), "there is no jit function `d` in k.py; it has `a`, `b`");
  EXPECT_EQ(scanError("def f(): pass\n", {"f", {}, {}}),
            "`f` is a Python function without the jit decorator");
  EXPECT_EQ(scanError("x = 1\n"), "there is no jit function in k.py");
}

TEST(ModuleScan, ListsParametersAsWritten) {
  const auto kernels = listKernels(
      "import triton\n@triton.jit\ndef k(x_ptr, n: tl.constexpr=2 , *r): pass\n", "k.py");
  ASSERT_TRUE(kernels);
  ASSERT_EQ(kernels->size(), 1u);
  EXPECT_EQ((*kernels)[0].name, "k");
  EXPECT_EQ((*kernels)[0].line, 3);
  EXPECT_THAT((*kernels)[0].parameters, ElementsAre("x_ptr", "n: tl.constexpr=2", "*r"));
}
