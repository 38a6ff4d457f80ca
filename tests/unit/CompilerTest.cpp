//===- CompilerTest.cpp - all stages: their output, the cache, errors, threads ------------===//
#include "pantile/Compiler.h"
#include "pantile/Runtime.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

using namespace pantile;
using testing::HasSubstr;

namespace {

constexpr std::string_view header = R"(import pantile as triton
import pantile.language as tl

)";

constexpr std::string_view add = R"(@triton.jit
def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=mask) + 1.0, mask=mask)
)";

constexpr std::string_view matmul = R"(@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, BK)
    a = a_ptr + m[:, None] * K + k[None, :]
    b = b_ptr + k[:, None] * N + n[None, :]
    acc = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, K, BK):
        acc += tl.dot(tl.load(a), tl.load(b))
        a += BK
        b += BK * N
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)
)";

ArgSpec arg(const char *text) {
  Result<ArgSpec> spec = parseArgSpec(text);
  EXPECT_TRUE(spec) << text;
  return *spec;
}

Result<Kernel> compile(std::string_view text, std::vector<ArgSpec> args, const Options &options,
                       const Observe &observe = {}) {
  Result<Program> program = scanFile(std::string(header) + std::string(text), "k.py", {});
  if (!program)
    return program.error();
  return Compiler().compile(*program, {std::move(args)}, options, observe);
}

Options forTarget(std::string target) {
  Options options;
  options.target = std::move(target);
  return options;
}

std::vector<ArgSpec> addArguments(const char *block = "256") {
  return {arg("*fp32:16"), arg("*fp32:16"), arg("i32"), arg(block)};
}

/// A cache of its own for each test.
class CompilerTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("pantile-compiler-test", path));
    directory = path.str().str();
    setenv("PANTILE_CACHE_DIR", (directory + "/cache").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("PANTILE_CACHE_DIR");
    unsetenv("PANTILE_CACHE_CHECK");
    unsetenv("PANTILE_ALWAYS_COMPILE");
    llvm::sys::fs::remove_directories(directory);
  }
  std::string entryOf(const Kernel &kernel) const {
    return directory + "/cache/" + kernel->hash.substr(0, 2) + "/" + kernel->hash;
  }
  std::string directory;
};

TEST_F(CompilerTest, RunsOnTheCpu) {
  Result<Kernel> kernel = compile(add, addArguments(), forTarget("cpu"));
  ASSERT_TRUE(kernel) << kernel.error().rendered;
  std::vector<float> x(1000, 2.0f), y(1001, -1.0f);
  Result<void> done = launch(
      *kernel, {4, 1, 1}, {LaunchArg::ptr(x.data()), LaunchArg::ptr(y.data()), LaunchArg::i(1000)});
  ASSERT_TRUE(done) << done.error().rendered;
  EXPECT_EQ(std::vector<float>(y.begin(), y.end() - 1), std::vector<float>(1000, 3.0f));
  EXPECT_EQ(y.back(), -1.0f);
}

TEST_F(CompilerTest, EveryStageCanBeTheLast) {
  const std::pair<Stage, const char *> stages[] = {
      {Stage::Ast, "ast"},           {Stage::Tile, "tile"}, {Stage::Layout, "layout"},
      {Stage::Pipeline, "pipeline"}, {Stage::Mma, "mma"},   {Stage::Plan, "plan"},
      {Stage::Llvm, "llvm"},         {Stage::Ptx, "ptx"}};
  for (auto [stage, name] : stages) {
    Observe observe;
    observe.stopAfter = stage;
    Result<Kernel> kernel = compile(add, addArguments(), forTarget("sm_90a"), observe);
    ASSERT_TRUE(kernel) << name << ": " << kernel.error().rendered;
    ASSERT_TRUE((*kernel)->text.contains(name)) << name;
    EXPECT_THAT((*kernel)->text.at(name), HasSubstr("add")) << name;
    EXPECT_EQ((*kernel)->cubin, "") << name;
  }
}

TEST_F(CompilerTest, TheSecondTimeComesFromTheCache) {
  Result<Kernel> first = compile(add, addArguments(), forTarget("sm_90a"));
  ASSERT_TRUE(first) << first.error().rendered;
  EXPECT_FALSE((*first)->fromCache);
  EXPECT_GT((*first)->registers, 0);
  EXPECT_EQ((*first)->spills, 0);
  Result<Kernel> second = compile(add, addArguments(), forTarget("sm_90a"));
  ASSERT_TRUE(second);
  EXPECT_TRUE((*second)->fromCache);
  EXPECT_THAT(std::string(second->plan()), HasSubstr("assembled: "));
  EXPECT_EQ(first->plan(), second->plan());
  EXPECT_EQ((*second)->cubin, (*first)->cubin);
  EXPECT_EQ((*second)->text, (*first)->text);
  EXPECT_EQ((*second)->registers, (*first)->registers);
  EXPECT_EQ((*second)->numWarps, (*first)->numWarps);
  Result<Kernel> other = compile(add, addArguments("512"), forTarget("sm_90a"));
  ASSERT_TRUE(other);
  EXPECT_FALSE((*other)->fromCache);
}

TEST_F(CompilerTest, KernelsTellWhatLaunchesNeed) {
  const std::vector<ArgSpec> arguments = {arg("*fp16:16"), arg("*fp16:16"), arg("*fp32:16"),
                                          arg("i32:16"),   arg("128"),      arg("128"),
                                          arg("64")};
  Options options = forTarget("sm_90a");
  Result<Kernel> full = compile(matmul, arguments, options);
  ASSERT_TRUE(full) << full.error().rendered;
  EXPECT_THAT(needsBeyondArguments(**full), Not(testing::IsEmpty()));
  EXPECT_GT((*full)->numWarps, 4);
  ASSERT_TRUE((*full)->compilePlain);
  options.launchAbi = LaunchAbi::Triton;
  options.enabledPasses = {"nv-stream-k", "nv-tma-stores"};
  for (bool fromCache : {false, true}) {
    Result<Kernel> plain = compile(matmul, arguments, options);
    ASSERT_TRUE(plain) << plain.error().rendered;
    EXPECT_EQ((*plain)->fromCache, fromCache);
    EXPECT_EQ((*plain)->options.launchAbi, LaunchAbi::Triton);
    EXPECT_THAT(needsBeyondArguments(**plain), testing::IsEmpty());
    EXPECT_EQ((*plain)->numWarps, 4);
    EXPECT_FALSE((*plain)->compilePlain);
    EXPECT_NE((*plain)->hash, (*full)->hash);
  }
  Result<Kernel> fallback = (*full)->compilePlain();
  ASSERT_TRUE(fallback) << fallback.error().rendered;
  EXPECT_THAT(needsBeyondArguments(**fallback), testing::IsEmpty());
}

TEST_F(CompilerTest, ADamagedEntryIsCompiledAgainAndReportedOnce) {
  Result<Kernel> first = compile(add, addArguments(), forTarget("sm_90a"));
  ASSERT_TRUE(first) << first.error().rendered;
  {
    std::fstream file(entryOf(*first), std::ios::in | std::ios::out | std::ios::binary);
    ASSERT_TRUE(file);
    file.seekp(200);
    file.put('\x55');
  }
  Result<Kernel> again = compile(add, addArguments(), forTarget("sm_90a"));
  ASSERT_TRUE(again);
  EXPECT_FALSE((*again)->fromCache);
  EXPECT_THAT((*again)->warnings, HasSubstr("is damaged"));
  Result<Kernel> third = compile(add, addArguments(), forTarget("sm_90a"));
  ASSERT_TRUE(third);
  EXPECT_TRUE((*third)->fromCache);
  EXPECT_EQ((*third)->warnings, "");
}

TEST_F(CompilerTest, TheCheckedCacheAgreesWithAFreshCompilation) {
  ASSERT_TRUE(compile(add, addArguments(), forTarget("sm_90a")));
  setenv("PANTILE_CACHE_CHECK", "1", 1);
  Result<Kernel> checked = compile(add, addArguments(), forTarget("sm_90a"));
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_FALSE((*checked)->fromCache);
  unsetenv("PANTILE_CACHE_CHECK");
  setenv("PANTILE_ALWAYS_COMPILE", "1", 1);
  Result<Kernel> fresh = compile(add, addArguments(), forTarget("sm_90a"));
  ASSERT_TRUE(fresh);
  EXPECT_FALSE((*fresh)->fromCache);
}

/// Stores what the host function `scale` returns; counts its calls.
Result<Kernel> compileScaled(int64_t scale, int &calls) {
  Program program;
  program.functions = {{"kernel", "def kernel(p):\n    tl.store(p, scale(1.0))\n", "k.py"},
                       {"scale", "host", "k.py"}};
  program.functions[0].globals = {{"tl", BuiltinRef{"tl."}}, {"scale", FunctionRef{1}}};
  program.functions[1].host = [scale, &calls](const std::vector<ConstValue> &,
                                              const std::vector<std::string> &) {
    ++calls;
    return Result<ConstValue>(scale);
  };
  return Compiler().compile(program, {{arg("*i32")}}, forTarget("sm_90a"));
}

TEST_F(CompilerTest, AHitHasTheResultsOfNow) {
  int calls = 0;
  std::map<int64_t, std::string> codes;
  for (int64_t scale : {2, 5, 7, 5, 2, 7}) {
    calls = 0;
    Result<Kernel> kernel = compileScaled(scale, calls);
    ASSERT_TRUE(kernel) << kernel.error().rendered;
    EXPECT_EQ((*kernel)->fromCache, codes.contains(scale)) << scale;
    EXPECT_GE(calls, 1);
    EXPECT_EQ(codes.try_emplace(scale, (*kernel)->cubin).first->second, (*kernel)->cubin);
  }
  EXPECT_NE(codes[2], codes[5]);
  EXPECT_NE(codes[5], codes[7]);
}

TEST_F(CompilerTest, DumpsAreNumberedInTheOrderOfTheStages) {
  Observe observe;
  observe.dumpDir = directory + "/dump";
  Result<Kernel> kernel = compile(add, addArguments(), forTarget("sm_90a"), observe);
  ASSERT_TRUE(kernel) << kernel.error().rendered;
  std::vector<std::string> names;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(observe.dumpDir, error), end; it != end && !error;
       it.increment(error))
    names.push_back(it->path().substr(observe.dumpDir.size() + 1));
  EXPECT_THAT(names, testing::Contains("0_ast.txt"));
  EXPECT_THAT(names, testing::Contains(testing::EndsWith("_tile.mlir")));
  EXPECT_THAT(names, testing::Contains(testing::EndsWith("_tile-assign-layouts.mlir")));
  EXPECT_THAT(names, testing::Contains(testing::EndsWith("_llvm.ll")));
  EXPECT_THAT(names, testing::Contains(testing::EndsWith("_ptx.ptx")));
  EXPECT_THAT(names, testing::Contains(testing::EndsWith("_cubin.cubin")));
}

TEST_F(CompilerTest, TimesNameTheStages) {
  Result<Kernel> kernel = compile(add, addArguments(), forTarget("sm_90a"));
  ASSERT_TRUE(kernel) << kernel.error().rendered;
  std::vector<std::string> names;
  for (const auto &[name, milliseconds] : (*kernel)->timings) {
    names.push_back(name);
    EXPECT_GE(milliseconds, 0);
  }
  EXPECT_THAT(names, testing::IsSupersetOf(
                         {"parse and emit", "tile-assign-layouts", "lower", "llvm", "assemble"}));
}

TEST_F(CompilerTest, WrongOptionsAreNamed) {
  auto message = [](auto change) {
    Options options = forTarget("sm_90a");
    change(options);
    Result<Kernel> kernel = compile(add, addArguments(), options);
    return kernel ? std::string("compiled") : kernel.error().message;
  };
  EXPECT_THAT(message([](Options &o) { o.target = "sm_1"; }),
              HasSubstr("target `sm_1` is unknown"));
  EXPECT_THAT(message([](Options &o) { o.numWarps = 0; }), HasSubstr("`num_warps` is 0"));
  EXPECT_THAT(message([](Options &o) { o.numWarps = 64; }), HasSubstr("`num_warps` is 64"));
  EXPECT_THAT(message([](Options &o) { o.numStages = -1; }), HasSubstr("`num_stages` is -1"));
  EXPECT_THAT(message([](Options &o) { o.numCtas = 2; }), HasSubstr("`num_ctas` is 2"));
}

TEST_F(CompilerTest, AnUndefinedNameIsTheAuthorsErrorWithItsPlace) {
  Result<Kernel> kernel =
      compile("@triton.jit\ndef k(p):\n    tl.store(p, q)\n", {arg("*fp32")}, forTarget("cpu"));
  ASSERT_FALSE(kernel);
  EXPECT_NE(kernel.error().kind, ErrorKind::Internal);
  EXPECT_THAT(kernel.error().message, HasSubstr("`q`"));
  EXPECT_EQ(kernel.error().range.line, 6);
  EXPECT_EQ(kernel.error().range.column, 17);
  EXPECT_THAT(kernel.error().rendered, HasSubstr("tl.store(p, q)"));
}

TEST_F(CompilerTest, TooMuchSharedMemorySaysHowMuchThereIs) {
  Options options = forTarget("sm_90a");
  options.numWarps = 8;
  options.numStages = 8;
  Result<Kernel> kernel = compile(matmul,
                                  {arg("*fp16:16"), arg("*fp16:16"), arg("*fp32:16"), arg("i32:16"),
                                   arg("128"), arg("256"), arg("64")},
                                  options);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().kind, ErrorKind::Resources);
  EXPECT_THAT(kernel.error().message, HasSubstr("out of resource: shared memory"));
  EXPECT_THAT(kernel.error().message, HasSubstr("Hardware limit: 232448"));
}

TEST_F(CompilerTest, ThreadsShareACompiler) {
  Result<Program> program = scanFile(std::string(header) + std::string(add), "k.py", {});
  ASSERT_TRUE(program);
  Compiler compiler;
  std::vector<std::thread> threads;
  for (const char *block : {"32", "64", "128", "256", "32", "64"})
    threads.emplace_back([&, block] {
      Result<Kernel> kernel = compiler.compile(*program, {addArguments(block)}, forTarget("sm_80"));
      ASSERT_TRUE(kernel) << kernel.error().rendered;
      EXPECT_FALSE((*kernel)->cubin.empty());
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Version, NamesLlvmAndTheAssembler) {
  EXPECT_THAT(versionText(), HasSubstr("LLVM 22"));
  EXPECT_THAT(versionText(), HasSubstr("assembler: "));
}

} // namespace
