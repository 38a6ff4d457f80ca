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

/// Loads the next left operand while the MMA that reads this one's registers is in flight.
constexpr std::string_view overwritingKernel = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 d, .param .u32 n) {
  .reg .pred %q;
  .reg .f32 %f<5>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [p];
  ld.param.u64 %rd2, [d];
  ld.param.u32 %r5, [n];
  ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];
  ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16];
$L:
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16
      {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, %rd2, 1, 1, 1, 0;
  wgmma.commit_group.sync.aligned;
  ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+32];
  wgmma.wait_group.sync.aligned 0;
  add.u64 %rd1, %rd1, 16;
  sub.u32 %r5, %r5, 1;
  setp.ne.u32 %q, %r5, 0;
  @%q bra $L;
  st.global.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};
  ret;
}
)";

/// The same PTX, with the load after the wait.
std::string waitingKernel() {
  std::string ptx(overwritingKernel);
  const std::string load = "  ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+32];\n";
  ptx.erase(ptx.find(load), load.size());
  return ptx.insert(ptx.find("  add.u64"), load);
}

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

TEST_P(EachAssembler, SaysWhyWgmmaIsSerialised) {
  Result<Cubin> cubin = assembler->assemble(overwritingKernel, "k", hopper());
  ASSERT_TRUE(cubin) << cubin.error().rendered;
  EXPECT_EQ(cubin->serialised,
            "non wgmma instructions defining input registers of a wgmma between start and end of "
            "the pipeline stage");
  cubin = assembler->assemble(waitingKernel(), "k", hopper());
  ASSERT_TRUE(cubin) << cubin.error().rendered;
  EXPECT_EQ(cubin->serialised, "");
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

TEST(Ptx, ReadsWhyWgmmaIsSerialised) {
  constexpr std::string_view reasons[] = {
      "the presence of Extern calls", "insufficient register resources for the wgmma pipeline",
      "ill formed pipeline stage", "wgmma pipeline crossing function boundary at a function call"};
  for (std::string_view reason : reasons) {
    Cubin cubin;
    readResourceUsage(std::string("ptxas info    : (C7510) Potential Performance Loss: "
                                  "wgmma.mma_async instructions are serialized due to ")
                          .append(reason)
                          .append(" in the function 'k'\nptxas info    : 0 bytes gmem\n"),
                      cubin);
    EXPECT_EQ(cubin.serialised, reason);
  }
  Cubin cubin;
  readResourceUsage("ptxas info    : (C7509) Potential Performance Loss: 'setmaxnreg' ignored to "
                    "allow debugging.\n",
                    cubin);
  EXPECT_EQ(cubin.serialised, "");
}

TEST(Ptx, TooMuchSharedMemoryIsTheMachinesError) {
  Error error = assemblerError("ptxas", "k",
                               "ptxas error   : Entry function 'k' uses too much shared data "
                               "(0x3a000 bytes, 0x38c00 max)\n");
  EXPECT_EQ(error.kind, ErrorKind::Resources);
}

} // namespace
