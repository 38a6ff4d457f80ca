//===- EarlyAssemblyTest.cpp - assemblers that start before there is PTX ------------------===//
#include "target/Ptx.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace pantile;
using testing::HasSubstr;
namespace fs = llvm::sys::fs;

namespace {

/// A kernel that adds random numbers in `lines` steps; each line is about 40 bytes.
std::string kernelOf(int lines) {
  std::mt19937 random(std::random_device{}());
  std::string body;
  for (int line = 0; line < lines; ++line)
    body += fmt::format("  xor.b32 %r1, %r1, {};\n  mul.lo.u32 %r1, %r1, %r1;\n", random() >> 1);
  return fmt::format(".version 8.0\n.target sm_90a\n.address_size 64\n"
                     ".visible .entry k(.param .u64 p) {{\n"
                     "  .reg .b32 %r<2>;\n  .reg .b64 %rd<2>;\n"
                     "  ld.param.u64 %rd1, [p];\n  ld.global.u32 %r1, [%rd1];\n"
                     "{}  st.global.u32 [%rd1], %r1;\n  ret;\n}}\n",
                     body);
}

Options hopper() {
  Options options;
  options.target = "sm_90a";
  options.lineInfo = true;
  return options;
}

/// A folder of its own for temporary files, and `ptxas` out of the environment.
class EarlyAssembly : public testing::Test {
protected:
  void SetUp() override {
    if (!findPtxas(0))
      GTEST_SKIP() << "no ptxas here";
    ASSERT_FALSE(fs::createUniqueDirectory("pantile-early", folder));
    setenv("TMPDIR", folder.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    unsetenv("PANTILE_PTXAS_PATH");
    if (!folder.empty())
      fs::remove_directories(folder);
  }

  int filesLeft() const {
    int count = 0;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; it != end && !error; it.increment(error))
      ++count;
    return count;
  }

  /// Makes a shell script that stands for the assembler, whose path it has as `$real`.
  std::unique_ptr<Assembler> behind(llvm::StringRef script) {
    std::string description = (*findPtxas(0))->description();
    std::string real = description.substr(description.find('(') + 1);
    real.pop_back();
    llvm::SmallString<128> path = folder;
    path += "-script";
    {
      std::error_code error;
      llvm::raw_fd_ostream stream(path, error);
      stream << "#!/bin/bash\nreal=" << real << "\n" << script;
    }
    fs::setPermissions(path, fs::all_all);
    setenv("PANTILE_PTXAS_PATH", path.c_str(), 1);
    auto found = findPtxas(0);
    return found ? std::move(*found) : nullptr;
  }

  static std::string cubinOf(const Assembler &assembler, const std::string &ptx) {
    Result<Cubin> cubin = assembler.assemble(ptx, "k", hopper());
    return cubin ? cubin->bytes : cubin.error().rendered;
  }
  static std::string earlyCubinOf(const Assembler &assembler, const std::string &ptx) {
    Result<Cubin> cubin = assembler.start(hopper())->assemble(ptx, "k");
    return cubin ? cubin->bytes : cubin.error().rendered;
  }

  llvm::SmallString<128> folder;
};

TEST_F(EarlyAssembly, GivesTheSameMachineCode) {
  auto assembler = std::move(*findPtxas(0));
  for (int lines : {1, 300, 4000}) { // more than a pipe holds, too
    const std::string ptx = kernelOf(lines), early = earlyCubinOf(*assembler, ptx);
    EXPECT_EQ(early.substr(1, 3), "ELF") << early;
    EXPECT_EQ(early, cubinOf(*assembler, ptx)) << lines << " lines";
  }
  EXPECT_EQ(filesLeft(), 0);
}

TEST_F(EarlyAssembly, GivesTheSameMachineCodeAfterAWait) {
  auto assembler = std::move(*findPtxas(0));
  const std::string ptx = kernelOf(300);
  auto run = assembler->start(hopper());
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  Result<Cubin> cubin = run->assemble(ptx, "k");
  ASSERT_TRUE(cubin) << cubin.error().rendered;
  EXPECT_EQ(cubin->bytes, cubinOf(*assembler, ptx));
  EXPECT_GT(cubin->registers, 0);
}

TEST_F(EarlyAssembly, TellsTheSameOfBadText) {
  auto assembler = std::move(*findPtxas(0));
  Result<Cubin> cubin = assembler->start(hopper())->assemble(kernelOf(300) + "nonsense", "k");
  ASSERT_FALSE(cubin);
  EXPECT_EQ(cubin.error().kind, ErrorKind::Assembler);
  EXPECT_THAT(cubin.error().message, HasSubstr("`k`"));
  EXPECT_THAT(cubin.error().rendered, HasSubstr("line 612"));
  EXPECT_EQ(filesLeft(), 0);
}

TEST_F(EarlyAssembly, DroppedLeavesNoProcessAndNoFile) {
  auto assembler = std::move(*findPtxas(0));
  const pid_t others = waitpid(-1, nullptr, WNOHANG); // -1: this process has no child
  assembler->start(hopper());
  EXPECT_EQ(filesLeft(), 0);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), others);
}

TEST_F(EarlyAssembly, ManyAtOnceKeepApart) {
  auto assembler = std::move(*findPtxas(0));
  std::vector<std::thread> threads;
  std::vector<std::string> wanted(6), got(6);
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&, i] {
      const std::string ptx = kernelOf(50 * (i + 1));
      got[i] = earlyCubinOf(*assembler, ptx);
      wanted[i] = cubinOf(*assembler, ptx);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(got, wanted);
  EXPECT_EQ(filesLeft(), 0);
}

TEST_F(EarlyAssembly, AForkInBetweenHoldsNothingUp) {
  auto assembler = std::move(*findPtxas(0));
  const std::string ptx = kernelOf(300);
  auto run = assembler->start(hopper());
  const pid_t child = fork();
  if (child == 0) {
    pause(); // until it is killed
    _exit(0);
  }
  Result<Cubin> cubin = run->assemble(ptx, "k");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(cubin) << cubin.error().rendered;
  EXPECT_EQ(cubin->bytes, cubinOf(*assembler, ptx));
}

TEST_F(EarlyAssembly, ATooSlowProgramReadsTheFile) {
  auto assembler = behind("sleep 0.2\nexec $real \"$@\"\n");
  ASSERT_TRUE(assembler);
  const std::string ptx = kernelOf(4000); // waits for space in the pipe, which nothing reads
  EXPECT_EQ(earlyCubinOf(*assembler, ptx), cubinOf(*assembler, ptx));
}

TEST_F(EarlyAssembly, AProgramThatTakesFilesOnlyIsAskedAgain) {
  auto assembler = behind("for word; do [ -p \"$word\" ] && exit 3; done\nexec $real \"$@\"\n");
  ASSERT_TRUE(assembler);
  const std::string ptx = kernelOf(300);
  auto run = assembler->start(hopper());
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  Result<Cubin> cubin = run->assemble(ptx, "k");
  ASSERT_TRUE(cubin) << cubin.error().rendered;
  EXPECT_EQ(cubin->bytes, cubinOf(*assembler, ptx));
}

TEST_F(EarlyAssembly, AProgramThatReadsNothingIsAskedAgain) {
  auto assembler = behind("[ \"$1\" = --version ] && exec $real --version\nexit 7\n");
  ASSERT_TRUE(assembler);
  Result<Cubin> cubin = assembler->start(hopper())->assemble(kernelOf(4000), "k");
  ASSERT_FALSE(cubin);
  EXPECT_EQ(cubin.error().kind, ErrorKind::Assembler);
}

} // namespace
