//===- AsyncOpTest.cpp - what passes see of operations that go on after their issue --------===//
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace pantile;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// Arguments that the bodies of the tests use.
constexpr const char *head = R"(
  #t = #tile.layout<[64, 64], reg = [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
  !buffer = !nv.buffer<1 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
  !circular = !nv.buffer<3 x [64, 64] x f16, #nv.swizzle<[1, 0], 128>>
  !barrier = !nv.buffer<1 x [2] x i64, #nv.swizzle<[0], 0>>
  func.func @f(%a: !buffer, %b: !buffer, %circular: !circular, %tile: tensor<64x64xf16, #t>, %acc: tensor<64x64xf32, #t>,
               %ptr: tensor<64x64x!tile.ptr<f16>, #t>, %mask: tensor<64x64xi1, #t>, %map: !nv.tensor_map,
               %barrier: !barrier, %i: i32) {
)";

class AsyncOpTest : public testing::Test {
protected:
  AsyncOpTest() {
    registerTileDialects(dialects);
    context.appendDialectRegistry(dialects);
    context.loadAllAvailableDialects();
  }

  /// The first operation of a function with this body; null with `errors` if that is wrong.
  mlir::Operation *parse(const std::string &body) {
    mlir::ScopedDiagnosticHandler handler(
        &context, [this](mlir::Diagnostic &diagnostic) { errors += diagnostic.str(); });
    module = mlir::parseSourceString<mlir::ModuleOp>(head + body + "\nreturn\n}", &context);
    return module ? &function().getBody().front().front() : nullptr;
  }

  mlir::func::FuncOp function() { return *module->getOps<mlir::func::FuncOp>().begin(); }

  mlir::Value argument(unsigned index) { return function().getArgument(index); }

  mlir::DialectRegistry dialects;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string errors;
};

std::string mma(const std::string &lhs, const std::string &lhsType) {
  return "%d = nv.wgmma " + lhs +
         ", %b, %acc mma<wgmma, 64 x 64 x 16, warps = 4 x 1> : " + lhsType +
         ", !buffer, tensor<64x64xf32, #t>";
}

} // namespace

TEST_F(AsyncOpTest, CpAsyncWritesABufferUntilItsGroupIsOver) {
  auto copy = mlir::dyn_cast_or_null<nv::AsyncOpInterface>(
      parse("nv.copy_async %ptr, %a mask %mask : tensor<64x64xi1, #t> {vectorBytes = 4 : i32} : "
            "tensor<64x64x!tile.ptr<f16>, #t>, !buffer"));
  ASSERT_TRUE(copy) << errors;
  EXPECT_EQ(copy.getEngine(), nv::Engine::LoadStore);
  EXPECT_EQ(copy.getCompletion(), nv::Completion::CopyGroup);
  EXPECT_THAT(copy.getBuffersWritten(), ElementsAre(argument(0)));
  EXPECT_THAT(copy.getBuffersRead(), IsEmpty());
  EXPECT_FALSE(copy.getHeldRegisters()); // pointers and masks are read at once
}

TEST_F(AsyncOpTest, TmaLoadWritesABufferAndNotItsBarrier) {
  auto load = mlir::dyn_cast_or_null<nv::AsyncOpInterface>(
      parse("nv.tma_load %map[%i, %i], %a, %barrier : !buffer, !barrier"));
  ASSERT_TRUE(load) << errors;
  EXPECT_EQ(load.getEngine(), nv::Engine::Tma);
  EXPECT_EQ(load.getCompletion(), nv::Completion::Mbarrier);
  EXPECT_THAT(load.getBuffersWritten(), ElementsAre(argument(0)));
  EXPECT_THAT(load.getBuffersRead(), IsEmpty());
}

TEST_F(AsyncOpTest, TmaStoreHoldsNoRegisters) {
  auto store = mlir::dyn_cast_or_null<nv::AsyncOpInterface>(
      parse("nv.tma_store %map[%i, %i], %tile {fast = 1 : i32, pieces = 1 : i32} : "
            "tensor<64x64xf16, #t>"));
  ASSERT_TRUE(store) << errors;
  EXPECT_EQ(store.getEngine(), nv::Engine::Tma);
  EXPECT_EQ(store.getCompletion(), nv::Completion::StoreGroup);
  EXPECT_FALSE(store.getHeldRegisters()); // it reads its scratch
}

TEST_F(AsyncOpTest, MmaReadsBothBuffers) {
  auto product = mlir::dyn_cast_or_null<nv::AsyncMmaOpInterface>(parse(mma("%a", "!buffer")));
  ASSERT_TRUE(product) << errors;
  EXPECT_EQ(product.getEngine(), nv::Engine::TensorCore);
  EXPECT_EQ(product.getCompletion(), nv::Completion::MmaGroup);
  EXPECT_THAT(product.getBuffersRead(), ElementsAre(argument(0), argument(1)));
  EXPECT_THAT(product.getBuffersWritten(), IsEmpty());
  EXPECT_FALSE(product.getHeldRegisters());
  EXPECT_EQ(product.getLhsMutable().get(), argument(0));
}

TEST_F(AsyncOpTest, MmaHoldsALeftOperandInRegisters) {
  auto product =
      mlir::dyn_cast_or_null<nv::AsyncMmaOpInterface>(parse(mma("%tile", "tensor<64x64xf16, #t>")));
  ASSERT_TRUE(product) << errors;
  EXPECT_THAT(product.getBuffersRead(), ElementsAre(argument(1)));
  EXPECT_EQ(product.getHeldRegisters(), argument(3));
}

TEST_F(AsyncOpTest, OneBufferMayBeBothOperands) {
  auto product = mlir::dyn_cast_or_null<nv::AsyncMmaOpInterface>(parse(mma("%b", "!buffer")));
  ASSERT_TRUE(product) << errors;
  mlir::OpOperand &left = product.getLhsMutable();
  EXPECT_EQ(
      llvm::count_if(argument(1).getUses(), [&](mlir::OpOperand &use) { return &use == &left; }),
      1);
}

TEST_F(AsyncOpTest, WaitGivesAccumulatorsBack) {
  auto product = mlir::dyn_cast_or_null<nv::AsyncMmaOpInterface>(parse(mma("%a", "!buffer")));
  ASSERT_TRUE(product) << errors;
  mlir::OpBuilder b(&context);
  b.setInsertionPointAfter(product);
  nv::MmaWaitOpInterface wait = product.createWait(b, product.getLoc(), product.getResult());
  EXPECT_THAT(llvm::to_vector(wait.getValues()), ElementsAre(product.getResult()));
  EXPECT_EQ(wait->getResult(0).getType(), product.getResult().getType());
  EXPECT_EQ(wait.getPending(), std::nullopt); // nv-insert-waits counts
  EXPECT_TRUE(wait.getDone().empty());
  wait.setPending(0);
  EXPECT_EQ(wait.getPending(), 0U);
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
}

/// wgmma_wait_c2, of any MMA that holds registers.
TEST_F(AsyncOpTest, CountedWaitHoldsTheRegisters) {
  auto product =
      mlir::dyn_cast_or_null<nv::AsyncMmaOpInterface>(parse(mma("%tile", "tensor<64x64xf16, #t>")));
  ASSERT_TRUE(product) << errors;
  mlir::OpBuilder b(&context);
  b.setInsertionPointAfter(product);
  nv::MmaWaitOpInterface wait = product.createWait(b, product.getLoc(), product.getResult());
  wait.setPending(0);
  mlir::ScopedDiagnosticHandler handler(
      &context, [this](mlir::Diagnostic &diagnostic) { errors += diagnostic.str(); });
  EXPECT_TRUE(mlir::failed(mlir::verify(*module)));
  EXPECT_THAT(errors, HasSubstr("wgmma_wait_c2: "));
  wait.getHeldMutable().assign(product.getHeldRegisters());
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
}

TEST_F(AsyncOpTest, MmaIsWaitedForAtOnceWhereItsSumsLeaveTheirRegisters) {
  auto isWaitedForAtOnce = [&](const std::string &text) {
    auto product = mlir::dyn_cast_or_null<nv::AsyncMmaOpInterface>(parse(text));
    return product ? std::optional(product.isWaitedForAtOnce()) : std::nullopt;
  };
  const std::string plain = mma("%a", "!buffer");
  EXPECT_EQ(isWaitedForAtOnce(plain), false) << errors;
  std::string imprecise = plain;
  imprecise.insert(imprecise.find(" : !buffer"), " {nv.max_imprecise = 32 : i32}");
  EXPECT_EQ(isWaitedForAtOnce(imprecise), true) << errors;
  std::string half = plain;
  half.replace(half.find("%acc"), 4, "%tile").replace(half.rfind("f32"), 3, "f16");
  EXPECT_EQ(isWaitedForAtOnce(half), true) << errors;
}

/// async_c1.
TEST_F(AsyncOpTest, BuffersHaveOneSlot) {
  EXPECT_EQ(parse(mma("%circular", "!circular")), nullptr);
  EXPECT_THAT(errors, HasSubstr("async_c1: "));
}

TEST_F(AsyncOpTest, WhatIsOverAtOnceIsNotAsynchronous) {
  mlir::Operation *store = parse("nv.local_store %tile, %a : tensor<64x64xf16, #t>, !buffer");
  ASSERT_TRUE(store) << errors;
  EXPECT_FALSE(mlir::isa<nv::AsyncOpInterface>(store));
  mlir::Operation *load = parse("%x = nv.local_load %a : !buffer -> tensor<64x64xf16, #t>");
  ASSERT_TRUE(load) << errors;
  EXPECT_FALSE(mlir::isa<nv::AsyncOpInterface>(load));
}
