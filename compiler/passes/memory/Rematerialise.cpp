//===- Rematerialise.cpp - rows of 16 bits wait as they were loaded ----------------------------===//
// Needs: layouts.
// Gives: behind a reduction, what was widened to fp32 in front of it is widened again.
// How:   told nothing, the assembler keeps the fp32 numbers, which take twice the registers, over
//        the reduction, as in a log-sum-exp over a row of bf16. Where that leaves no register for
//        anything else, uses behind the reduction get a widening of their own, of a copy that
//        LLVM and the assembler do not see through.
//===--------------------------------------------------------------------------------------===//
#include "ir/Launch.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "support/Target.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_REMATERIALISE
#include "passes/Passes.h.inc"
namespace {

bool isReduction(Operation &op) { return isa<ReduceOp, ScanOp>(op); }

/// The last reduction between `widened` and `user`; null where there is none.
Operation *reductionBetween(Operation *widened, Operation *user) {
  Block *block = widened->getBlock();
  Operation *at = block->findAncestorOpInBlock(*user)->getPrevNode();
  while (at != widened && !isReduction(*at))
    at = at->getPrevNode();
  return at != widened ? at : nullptr;
}

arith::ExtFOp widenBehind(arith::ExtFOp widened, Operation *reduction) {
  OpBuilder builder(reduction);
  builder.setInsertionPointAfter(reduction);
  Location loc = widened.getLoc();
  Value narrow = widened.getIn();
  auto copy =
      InlineAsmOp::create(builder, loc, TypeRange{narrow.getType()},
                          builder.getStringAttr("mov.b32 $0, $1;"), builder.getStringAttr("=r,r"),
                          ValueRange{narrow}, builder.getI32IntegerAttr(2), /*pure=*/UnitAttr());
  return arith::ExtFOp::create(builder, loc, widened.getType(), copy.getResult(0));
}

void widenLate(arith::ExtFOp widened) {
  llvm::MapVector<Operation *, SmallVector<OpOperand *>> behind;
  bool isUsedBefore = false;
  for (OpOperand &use : widened->getUses()) {
    if (Operation *reduction = reductionBetween(widened, use.getOwner()))
      behind[reduction].push_back(&use);
    else
      isUsedBefore = true;
  }
  for (auto &[reduction, uses] : behind) {
    if (!isUsedBefore)
      continue;
    Value again = widenBehind(widened, reduction);
    for (OpOperand *use : uses)
      use->set(again);
  }
}

/// From pairs of 16 bits, where so many registers do not suffice for the wide elements.
bool fills(arith::ExtFOp widened, int64_t registers) {
  auto tile = dyn_cast<RankedTensorType>(widened.getType());
  return tile && tile.getElementType().isF32() &&
         storageBits(elementTypeOf(widened.getIn().getType())) == 16 &&
         layoutOf(tile).numPresentRegs() > registers && !layoutOf(tile).hasPartialRegs();
}

struct WidenLatePass : impl::RematerialiseBase<WidenLatePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    const auto target = Target::parse(moduleTarget(module));
    if (!target || Launch::of(module).producerWarps != 0)
      return;
    const int64_t threads = 32 * moduleInt(module, names::numWarps, 4);
    const MachineModel &machine = target->machine();
    const int64_t registers =
        machine.registersOfThread(threads) - machine.registers.overheadWithoutMma;
    for (auto kernel : module.getOps<func::FuncOp>())
      for (auto widened :
           llvm::make_early_inc_range(kernel.getBody().front().getOps<arith::ExtFOp>()))
        if (fills(widened, registers))
          widenLate(widened);
  }
};
} // namespace
} // namespace pantile
