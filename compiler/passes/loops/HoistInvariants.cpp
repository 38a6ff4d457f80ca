//===- HoistInvariants.cpp - loop-invariant code motion ------------------------------------===//
// Needs: nothing. Gives: loops without pure operations that are loop-invariant.
// How:   MLIR's loop-invariant code motion, inner loops first. A loop with `disable_licm` keeps all
//        that its body computes; what moves out of its inner loops stops in its body.
//===--------------------------------------------------------------------------------------===//
#include "ir/Tile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "passes/Passes.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_HOISTINVARIANTS
#include "passes/Passes.h.inc"
namespace {

struct HoistInvariantsPass : impl::HoistInvariantsBase<HoistInvariantsPass> {
  void runOnOperation() override {
    getOperation().walk([](LoopLikeOpInterface loop) {
      if (!loop->hasAttr(names::disableLicm))
        moveLoopInvariantCode(loop);
    });
  }
};
} // namespace
} // namespace pantile
