//===- IrDiagnosticsTest.cpp - what passes say comes back in terms of the source ----------===//
#include "IrDiagnostics.h"
#include "ir/Remarks.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace pantile;
using testing::HasSubstr;
using testing::Not;

namespace {

class IrDiagnosticsTest : public testing::Test {
protected:
  IrDiagnosticsTest() { sources.addBuffer("k.py", "x = tl.dot(a, b)\ny = f(x)\n", 10); }
  mlir::Location at(unsigned line, unsigned column, unsigned endColumn) {
    return mlir::FileLineColRange::get(mlir::StringAttr::get(&context, "k.py"), line, column, line,
                                       endColumn);
  }
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  SourceManager sources;
};

TEST_F(IrDiagnosticsTest, AnErrorAtARangeIsUnderlined) {
  IrDiagnostics diagnostics(context, sources);
  mlir::emitError(at(10, 5, 17)) << "no instruction for it";
  Error error = diagnostics.takeError("layout");
  EXPECT_EQ(error.kind, ErrorKind::Unsupported);
  EXPECT_EQ(error.message, "no instruction for it");
  EXPECT_EQ(error.range.line, 10);
  EXPECT_EQ(error.range.endColumn, 17);
  EXPECT_THAT(error.rendered, HasSubstr("k.py:10:5: error: no instruction for it"));
  EXPECT_THAT(error.rendered, HasSubstr("x = tl.dot(a, b)\n"));
  EXPECT_THAT(error.rendered, HasSubstr("^~~~~~~~~~~~"));
}

TEST_F(IrDiagnosticsTest, CallersFollowAsNotes) {
  IrDiagnostics diagnostics(context, sources);
  mlir::emitError(mlir::CallSiteLoc::get(at(10, 5, 17), at(11, 5, 9))) << "wrong";
  Error error = diagnostics.takeError("layout");
  EXPECT_EQ(error.range.line, 10);
  EXPECT_THAT(error.rendered, HasSubstr("k.py:11:5: note: called here"));
}

TEST_F(IrDiagnosticsTest, NamesAndFusionsAreLookedThrough) {
  mlir::Location named = mlir::NameLoc::get(mlir::StringAttr::get(&context, "acc"), at(11, 1, 2));
  EXPECT_EQ(rangeOf(named).line, 11);
  mlir::Location fused = mlir::FusedLoc::get(&context, {mlir::UnknownLoc::get(&context), named});
  EXPECT_EQ(rangeOf(fused).line, 11);
  EXPECT_EQ(rangeOf(mlir::UnknownLoc::get(&context)).file, "");
}

TEST_F(IrDiagnosticsTest, AMessageAboutAnOperationIsOurs) {
  IrDiagnostics diagnostics(context, sources);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(at(10, 1, 2));
  module->emitOpError() << "has no layout";
  EXPECT_EQ(diagnostics.takeError("layout").kind, ErrorKind::Internal);
}

TEST_F(IrDiagnosticsTest, WhatAPassSaysIsOurs) {
  IrDiagnostics diagnostics(context, sources);
  mlir::emitError(at(10, 5, 17)) << "operand #0 does not dominate this use";
  mlir::emitError(at(11, 5, 9)) << "nor does this one";
  Error error = diagnostics.takePassError("nv-defer-waits");
  EXPECT_EQ(error.kind, ErrorKind::Internal);
  EXPECT_EQ(error.message, "pass `nv-defer-waits` failed: operand #0 does not dominate this use");
  EXPECT_EQ(error.range.line, 10);
  EXPECT_THAT(error.rendered, HasSubstr("k.py:11:5: error: nor does this one"));
  EXPECT_THAT(error.rendered, HasSubstr("note: said of the IR after pass `nv-defer-waits`\n"));
  error = diagnostics.takePassError("cse");
  EXPECT_EQ(error.kind, ErrorKind::Internal);
  EXPECT_EQ(error.message, "pass `cse` failed without a message");
}

TEST_F(IrDiagnosticsTest, AFailureWithoutAMessageNamesTheStage) {
  IrDiagnostics diagnostics(context, sources);
  Error error = diagnostics.takeError("mma");
  EXPECT_EQ(error.kind, ErrorKind::Internal);
  EXPECT_THAT(error.message, HasSubstr("`mma`"));
}

TEST_F(IrDiagnosticsTest, WarningsAndRemarksDoNotFail) {
  IrDiagnostics diagnostics(context, sources, /*wantsRemarks=*/true);
  mlir::emitRemark(at(10, 5, 17)) << "scalar only";
  mlir::emitWarning(at(11, 5, 9)) << "slow";
  std::vector<Remark> remarks = diagnostics.takeRemarks();
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_THAT(remarks[0].rendered, HasSubstr("k.py:10:5: remark: scalar only"));
  EXPECT_THAT(diagnostics.warnings(), HasSubstr("warning: slow"));
  EXPECT_THAT(diagnostics.warnings(), Not(HasSubstr("scalar only")));
}

TEST_F(IrDiagnosticsTest, RemarksCarryTheirKindAndComeByPlaceAndOnce) {
  IrDiagnostics diagnostics(context, sources, /*wantsRemarks=*/true);
  remarkMissed(at(11, 5, 9), Technique::Pipelining) << "not prefetched";
  for (int copy = 0; copy < 2; ++copy)
    remarkApplied(at(10, 5, 17), Technique::TensorCores) << "on wgmma";
  std::vector<Remark> remarks = diagnostics.takeRemarks();
  ASSERT_EQ(remarks.size(), 2u);
  EXPECT_EQ(remarks[0].kind, Remark::Kind::Applied);
  EXPECT_EQ(remarks[0].technique, Technique::TensorCores);
  EXPECT_EQ(remarks[0].message, "on wgmma");
  EXPECT_EQ(remarks[0].range.line, 10);
  EXPECT_EQ(remarks[1].kind, Remark::Kind::Missed);
  EXPECT_EQ(remarks[1].technique, Technique::Pipelining);
}

TEST_F(IrDiagnosticsTest, UnwantedRemarksGoNowhere) {
  IrDiagnostics diagnostics(context, sources);
  remarkMissed(at(11, 5, 9), Technique::Pipelining) << "not prefetched";
  EXPECT_TRUE(diagnostics.takeRemarks().empty());
  EXPECT_EQ(diagnostics.warnings(), "");
}

} // namespace
