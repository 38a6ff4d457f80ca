//===- PipelineTest.cpp - the error when a pass leaves wrong IR ----------------------------===//
#include "Pipeline.h"
#include "IrDiagnostics.h"
#include "ir/Tile.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace pantile;
using testing::HasSubstr;

namespace {

constexpr const char *kernel = R"(
  module attributes {tile.num_stages = 3 : i32, tile.num_warps = 4 : i32, tile.target = "sm_90a"} {
    func.func @k(%out: !tile.ptr<i32>, %n: i32) attributes {tile.kernel} {
      %twice = arith.addi %n, %n : i32
      %square = arith.muli %twice, %twice : i32
      tile.store %out, %square : !tile.ptr<i32>, i32
      return
    }
  })";

/// The passes of `kernel`, after one of which the addition comes after its use.
class PipelineTest : public testing::Test {
protected:
  PipelineTest() {
    registerTileDialects(dialects);
    context.appendDialectRegistry(dialects);
    context.loadAllAvailableDialects();
    module = mlir::parseSourceString<mlir::ModuleOp>(kernel, &context);
  }

  PassObserver breakAfter(llvm::StringRef name) {
    return [this, name](llvm::StringRef pass, mlir::ModuleOp module, bool succeeded) {
      if (!succeeded)
        failed.push_back(pass.str());
      else if (pass == name)
        module.walk([](mlir::arith::AddIOp sum) {
          sum->moveBefore(sum->getBlock()->getTerminator());
          return mlir::WalkResult::interrupt();
        });
    };
  }

  mlir::DialectRegistry dialects;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  SourceManager sources;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<std::string> failed;
};

TEST_F(PipelineTest, SoundIrPasses) {
  IrDiagnostics diagnostics(context, sources);
  ASSERT_TRUE(module);
  EXPECT_TRUE(mlir::succeeded(runTilePasses(*module, {}, breakAfter("nothing"))));
  EXPECT_TRUE(mlir::succeeded(runGpuPasses(*module, {}, {}, breakAfter("nothing"))));
  EXPECT_THAT(failed, testing::IsEmpty());
}

// The one in between says that it has changed nothing, so the verifier does not follow it.
TEST_F(PipelineTest, WrongIrIsAnInternalErrorOfThePassThatTheVerifierFollows) {
  IrDiagnostics diagnostics(context, sources);
  ASSERT_TRUE(module);
  EXPECT_TRUE(mlir::failed(runGpuPasses(*module, {}, {}, breakAfter("tile-order-memory"))));
  EXPECT_THAT(failed, testing::ElementsAre("tile-select-mma"));
  Error error = diagnostics.takePassError(failed.front());
  EXPECT_EQ(error.kind, ErrorKind::Internal);
  EXPECT_THAT(error.message, HasSubstr("pass `tile-select-mma` failed: "));
  EXPECT_THAT(error.message, HasSubstr("does not dominate this use"));
}

} // namespace
