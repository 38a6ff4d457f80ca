//===- DebugTest.cpp - stage dumps and timings ------------------------------------------===//
#include "support/Debug.h"
#include "support/Timing.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace pantile;

namespace {
std::string contents(const std::filesystem::path &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}
} // namespace

TEST(StageDump, NumbersItsFilesAndCreatesTheFolder) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "pantile-dump" / "deep";
  std::filesystem::remove_all(folder);
  StageDump dump(folder.string());
  ASSERT_TRUE(dump.enabled());
  EXPECT_TRUE(dump.write("ast", "txt", "tree"));
  EXPECT_TRUE(dump.write("tile", "mlir", "module {}"));
  EXPECT_EQ(contents(folder / "0_ast.txt"), "tree");
  EXPECT_EQ(contents(folder / "1_tile.mlir"), "module {}");
}

TEST(StageDump, WithoutAFolderNothingIsWritten) {
  StageDump dump("");
  EXPECT_FALSE(dump.enabled());
  EXPECT_TRUE(dump.write("ast", "txt", "tree"));
}

TEST(StageDump, AFolderThatCannotBeMadeIsAnError) {
  const auto file = std::filesystem::path(testing::TempDir()) / "pantile-dump-file";
  std::ofstream(file) << "in the way";
  const Result<void> written = StageDump((file / "sub").string()).write("ast", "txt", "");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::Resources);
  EXPECT_EQ(written.error().message.rfind("cannot write `", 0), 0u) << written.error().message;
}

TEST(Timing, TimesOfOneStageAddUpInTheOrderOfTheFirst) {
  Timing timing;
  timing.add("parse", 1.5);
  timing.add("emit", 2);
  timing.add("parse", 0.25);
  ASSERT_EQ(timing.stages().size(), 2u);
  EXPECT_EQ(timing.stages()[0].first, "parse");
  EXPECT_DOUBLE_EQ(timing.stages()[0].second, 1.75);
  EXPECT_DOUBLE_EQ(timing.total(), 3.75);
  EXPECT_EQ(timing.json(), R"({"parse": 1.750, "emit": 2.000, "total": 3.750})");
}

TEST(Timing, AScopeAddsItsTimeWhenItEnds) {
  Timing timing;
  {
    const auto scope = timing.scope("work");
    EXPECT_TRUE(timing.stages().empty());
  }
  ASSERT_EQ(timing.stages().size(), 1u);
  EXPECT_GE(timing.total(), 0.0);
}
