//===- ReproducerTest.cpp - a fault of the compiler writes a reproducer -------------------===//
#include "Reproducer.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace pantile;
using testing::HasSubstr;

namespace {

class ReproducerTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("pantile-reproducer-test", path));
    directory = path.str().str();
    setenv("PANTILE_CACHE_DIR", directory.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("PANTILE_CACHE_DIR");
    llvm::sys::fs::remove_directories(directory);
  }
  /// The contents of all reproducers.
  std::string contents() const {
    std::string all;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(directory + "/reproducers", error), end;
         it != end && !error; it.increment(error)) {
      std::ifstream in(it->path());
      all.append(std::istreambuf_iterator<char>(in), {});
    }
    return all;
  }
  std::string directory;
};

TEST_F(ReproducerTest, AnInternalErrorNamesItsFile) {
  Error error =
      withReproducer(makeError(ErrorKind::Internal, "no layout"), [] { return "module {}\n"; });
  EXPECT_THAT(error.message, HasSubstr("no layout"));
  EXPECT_THAT(error.message, HasSubstr(directory + "/reproducers/"));
  EXPECT_THAT(error.rendered, HasSubstr("note: this is a fault of pantile"));
  EXPECT_EQ(contents(), "// no layout\nmodule {}\n");
}

TEST_F(ReproducerTest, AnErrorOfTheAuthorLeavesNone) {
  bool described = false;
  Error error = withReproducer(makeError(ErrorKind::Type, "shapes differ"), [&] {
    described = true;
    return "";
  });
  EXPECT_EQ(error.message, "shapes differ");
  EXPECT_FALSE(described);
  EXPECT_EQ(contents(), "");
}

/// By this name it runs before the tests that start threads: it forks.
using ReproducerDeathTest = ReproducerTest;

TEST_F(ReproducerDeathTest, AFatalErrorOfLlvmWritesTheInnermostFileFirst) {
  auto die = [] {
    ReproducerScope outer([] { return "outer\n"; });
    ReproducerScope inner([] { return "inner\n"; });
    llvm::report_fatal_error("cannot select");
  };
  EXPECT_DEATH(die(), "internal error: cannot select");
  EXPECT_EQ(contents(), "// fatal error: cannot select\ninner\n");
}

} // namespace
