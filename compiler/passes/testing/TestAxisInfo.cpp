//===- TestAxisInfo.cpp - remark on what AxisInfo infers ---------------------------===//
// Needs: tile IR.
// Gives: a remark on each operation with a result of integers or pointers. Loads and stores also
//        get the width of their accesses. Changes nothing.
//===-------------------------------------------------------------------------------===//
#include "analysis/AxisInfo.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_TESTAXISINFO
#include "passes/Passes.h.inc"

namespace {

struct TestAxisInfoPass : impl::TestAxisInfoBase<TestAxisInfoPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      const AxisInfoAnalysis axes(function);
      function.walk([&](Operation *op) { describe(op, axes); });
    }
  }

  static void describe(Operation *op, const AxisInfoAnalysis &axes) {
    if (auto load = dyn_cast<LoadOp>(op))
      describeAccess(op, load.getPtr(), load.getMask(), axes);
    if (auto store = dyn_cast<StoreOp>(op))
      describeAccess(op, store.getPtr(), store.getMask(), axes);
    for (Value result : op->getResults())
      if (elementTypeOf(result.getType()).isIntOrIndex() ||
          isa<PtrType>(elementTypeOf(result.getType())))
        op->emitRemark() << axes.of(result).str();
  }

  static void describeAccess(Operation *op, Value ptr, Value mask, const AxisInfoAnalysis &axes) {
    auto tile = dyn_cast<RankedTensorType>(ptr.getType());
    if (!tile)
      return;
    InFlightDiagnostic remark = op->emitRemark("elements per access: ");
    for (int d = 0; d < tile.getRank(); ++d)
      remark << (d ? " x " : "") << axes.accessWidth(ptr, mask, d);
  }
};

} // namespace
} // namespace pantile
