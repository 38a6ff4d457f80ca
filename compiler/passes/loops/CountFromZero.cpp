//===- CountFromZero.cpp - number loops whose pointers advance by no multiple of the step ---===//
// Needs: simplified loops.
// Gives: a loop over 0, 1, ... instead of begin, begin + step, ..., where it advances a pointer or an
//        index by no multiple of its step, such as one byte for each two weights. The advanced
//        value is then affine in the counter, so that TMA can load from there.
// How:   the counter that the body had is begin + number * step. Legal where the number of
//        iterations fits a signed integer: the step is a constant of at least 2, and begin one that
//        is not negative. The length is below 2^31, so that its sum with the step is below 2^32,
//        and is divided as an unsigned number.
//===--------------------------------------------------------------------------------------===//
#include "analysis/AffineAccess.h"
#include "analysis/StreamKLoop.h"
#include "ir/Hints.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_COUNTFROMZERO
#include "passes/Passes.h.inc"
namespace {

bool isLegal(scf::ForOp loop) {
  return loop.getInductionVar().getType().isInteger(32) && !loop.getUnsignedCmp() &&
         constantOf(loop.getStep()).value_or(0) >= 2 &&
         constantOf(loop.getLowerBound()).value_or(-1) >= 0;
}

/// Whether a value advances by what the step does not divide.
bool isUseful(scf::ForOp loop) {
  AffineAnalysis affine;
  for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
    Value advance = advanceOf(loop, i);
    const auto amount = advance ? affine.tile(advance) : std::nullopt;
    if (amount && amount->offset.isValid() &&
        !amount->offset.dividedBy(*constantOf(loop.getStep())))
      return true;
  }
  return false;
}

void countFromZero(scf::ForOp loop) {
  OpBuilder b(loop);
  const Location loc = loop.getLoc();
  Value begin = loop.getLowerBound(), step = loop.getStep(), number = loop.getInductionVar();
  auto constant = [&](int64_t value) {
    return arith::ConstantIntOp::create(b, loc, value, /*width=*/32);
  };
  Value end = arith::MaxSIOp::create(b, loc, loop.getUpperBound(), begin);
  Value length = arith::SubIOp::create(b, loc, end, begin);
  Value more = arith::AddIOp::create(b, loc, length, constant(*constantOf(step) - 1));
  loop.setUpperBound(arith::DivUIOp::create(b, loc, more, step));
  loop.setLowerBound(constant(0));
  loop.setStep(constant(1));
  loop->removeAttr(indexDivisibility); // a promise about the counter that it had
  b.setInsertionPointToStart(loop.getBody());
  auto passed = arith::MulIOp::create(b, loc, number, step);
  auto counter = arith::AddIOp::create(b, loc, passed, begin);
  number.replaceAllUsesExcept(counter, passed);
}

struct CountFromZeroPass : impl::CountFromZeroBase<CountFromZeroPass> {
  void runOnOperation() override {
    bool changed = false;
    getOperation().walk([&](scf::ForOp loop) {
      if (!isLegal(loop) || !isUseful(loop))
        return;
      countFromZero(loop);
      changed = true;
    });
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace pantile
