//===- RequestTest.cpp - options of the assembler, and source to kernels --------------------===//
#include "pantile/Request.h"
#include "target/Ptx.h"
#include <gmock/gmock.h>

using namespace pantile;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr const char *source = R"(
import triton
import triton.language as tl

@triton.jit
def first(p, BLOCK: tl.constexpr):
    tl.store(p + tl.arange(0, BLOCK), BLOCK)

@triton.jit
def second(p, n):
    tl.store(p, n)
)";

CompileRequest requestFor(const char *kernel, const char *signature) {
  CompileRequest request;
  request.kernel = kernel;
  request.signature = signature;
  return request;
}

TEST(Request, NamesTheStageThatATargetLacks) {
  Result<Specialized> made = specializeText(source, "k.py", requestFor("second", "*i32, i32"));
  ASSERT_TRUE(made) << made.error().rendered;
  Result<std::string> text = stageText(made->program, made->specialization, Options(), Stage::Ptx);
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("`cpu` has no stage `ptx`"));
}

TEST(Request, SaysWhatIsMissing) {
  Result<Kernel> none = compileText(source, "k.py", requestFor("third", ""));
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("third"));
  Result<Kernel> noBlock = compileText(source, "k.py", requestFor("first", "*i32"));
  ASSERT_FALSE(noBlock);
  EXPECT_THAT(noBlock.error().message, HasSubstr("`BLOCK` has no value"));
  CompileRequest request = requestFor("first", "*i32, i32");
  request.definitions["BLOCK"] = int64_t(4);
  Result<Kernel> tooMany = compileText(source, "k.py", request);
  ASSERT_FALSE(tooMany);
  EXPECT_EQ(tooMany.error().kind, ErrorKind::Launch);
}

TEST(Request, GivesTheTextOfAStage) {
  CompileRequest request = requestFor("first", "*i32");
  request.definitions["BLOCK"] = int64_t(8);
  Result<Specialized> made = specializeText(source, "k.py", request);
  ASSERT_TRUE(made) << made.error().rendered;
  Result<std::string> text =
      stageText(made->program, made->specialization, request.options, Stage::Tile);
  ASSERT_TRUE(text) << text.error().rendered;
  EXPECT_THAT(*text, HasSubstr("tensor<8x"));
}

TEST(Assembler, SplitsItsOptions) {
  Options options;
  EXPECT_THAT(splitOptions(options), ElementsAre());
  options.assemblerOptions = "  --opt-level 0\t--warn-on-spills ";
  EXPECT_THAT(splitOptions(options), ElementsAre("--opt-level", "0", "--warn-on-spills"));
}

} // namespace
