//===- PtxTest.cpp - PTX to machine code by every assembler of this machine ---------------===//
#include "target/Ptx.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace pantile;
using testing::HasSubstr;

namespace {

constexpr std::string_view emptyKernel = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p) { ret; }
)";

Options hopper() {
  Options options;
  options.target = "sm_90a";
  return options;
}

using Find = Result<std::unique_ptr<Assembler>> (*)();

struct Kind {
  const char *name;
  Find find;
};

class EachAssembler : public testing::TestWithParam<Kind> {
protected:
  void SetUp() override {
    Result<std::unique_ptr<Assembler>> found = GetParam().find();
    if (!found)
      GTEST_SKIP() << found.error().message;
    assembler = std::move(*found);
  }
  std::unique_ptr<Assembler> assembler;
};

TEST_P(EachAssembler, GivesAnElfFileAndTheRegisters) {
  Result<Cubin> cubin = assembler->assemble(emptyKernel, "k", hopper());
  ASSERT_TRUE(cubin) << cubin.error().rendered;
  EXPECT_EQ(cubin->bytes.substr(0, 4), "\x7f"
                                       "ELF");
  EXPECT_GT(cubin->registers, 0);
  EXPECT_EQ(cubin->spills, 0);
}

TEST_P(EachAssembler, NamesTheKernelAndTheLineOfBadPtx) {
  Result<Cubin> cubin = assembler->assemble(std::string(emptyKernel) + "nonsense", "k", hopper());
  ASSERT_FALSE(cubin);
  EXPECT_EQ(cubin.error().kind, ErrorKind::Assembler);
  EXPECT_THAT(cubin.error().message, HasSubstr("`k`"));
  EXPECT_THAT(cubin.error().rendered, HasSubstr("line 5"));
}

TEST_P(EachAssembler, SaysWhoItIs) {
  EXPECT_THAT(assembler->description(), HasSubstr("."));
  EXPECT_FALSE(assembler->identity().empty());
}

INSTANTIATE_TEST_SUITE_P(Ptx, EachAssembler,
                         testing::Values(Kind{"ptxas", [] { return findPtxas(0); }},
                                         Kind{"nvjitlink", [] { return findNvJitLink(0); }}),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Ptx, AnAssemblerNewerThanTheDriverIsPassedOver) {
  Result<std::unique_ptr<Assembler>> found = findPtxas(/*maxVersion=*/9000);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("no usable `ptxas`"));
}

TEST(Ptx, ReadsRegistersAndSpills) {
  Cubin cubin;
  readResourceUsage("ptxas info    : Function properties for k\n"
                    "    16 bytes stack frame, 24 bytes spill stores, 20 bytes spill loads\n"
                    "ptxas info    : Used 168 registers, used 3 barriers, 540 bytes cmem[0]\n",
                    cubin);
  EXPECT_EQ(cubin.registers, 168);
  EXPECT_EQ(cubin.spills, 24);
}

TEST(Ptx, TooMuchSharedMemoryIsTheMachinesError) {
  Error error = assemblerError("ptxas", "k",
                               "ptxas error   : Entry function 'k' uses too much shared data "
                               "(0x3a000 bytes, 0x38c00 max)\n");
  EXPECT_EQ(error.kind, ErrorKind::Resources);
}

} // namespace
