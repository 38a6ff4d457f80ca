//===- Rematerialise.cpp - widen rows of 16 bits again after a reduction -----------===//
// Needs: layouts.
// Gives: a value that is widened from 16 bits to fp32 before a reduction is widened again for its
//        uses after the reduction.
// How:   By default ptxas keeps the fp32 values live across the reduction, for example in a
//        log-sum-exp over a row of bf16, although the 16-bit values need half the registers. Where
//        the fp32 values fill the register file, uses after the reduction get an extension of their
//        own. Its operand is copied by an inline asm, so that neither LLVM nor ptxas merges the two
//        extensions.
//===-------------------------------------------------------------------------------===//
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

arith::ExtFOp widenAfter(arith::ExtFOp widened, Operation *reduction) {
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

void rematerialise(arith::ExtFOp widened) {
  llvm::MapVector<Operation *, SmallVector<OpOperand *>> after;
  bool isUsedBefore = false;
  for (OpOperand &use : widened->getUses()) {
    if (Operation *reduction = reductionBetween(widened, use.getOwner()))
      after[reduction].push_back(&use);
    else
      isUsedBefore = true;
  }
  for (auto &[reduction, uses] : after) {
    if (!isUsedBefore)
      continue;
    Value again = widenAfter(widened, reduction);
    for (OpOperand *use : uses)
      use->set(again);
  }
}

/// Whether `widened` is a tile of fp32 from 16 bits that needs more than `registers` per thread.
bool fillsRegisters(arith::ExtFOp widened, int64_t registers) {
  auto tile = dyn_cast<RankedTensorType>(widened.getType());
  return tile && tile.getElementType().isF32() &&
         storageBits(elementTypeOf(widened.getIn().getType())) == 16 &&
         layoutOf(tile).numPresentRegs() > registers && !layoutOf(tile).hasPartialRegs();
}

struct RematerialisePass : impl::RematerialiseBase<RematerialisePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    const auto target = Target::parse(moduleTarget(module));
    if (!target || Launch::of(module).producerWarps != 0)
      return markAllAnalysesPreserved();
    const int64_t threads = 32 * moduleInt(module, names::numWarps, 4);
    const MachineModel &machine = target->machine();
    const int64_t registers =
        machine.registersOfThread(threads) - machine.registers.overheadWithoutMma;
    bool changed = false;
    for (auto kernel : module.getOps<func::FuncOp>())
      for (auto widened :
           llvm::make_early_inc_range(kernel.getBody().front().getOps<arith::ExtFOp>()))
        if (fillsRegisters(widened, registers)) {
          rematerialise(widened);
          changed = true;
        }
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace pantile
