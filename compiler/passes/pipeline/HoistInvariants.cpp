//===- HoistInvariants.cpp - move what does not change in a loop out of it -----------------===//
// Needs: nothing. Gives: loops without the pure operations that give the same in every iteration.
// How:   MLIR's loop-invariant code motion, inner loops first. A loop that `disable_licm` was given
//        for keeps all that its body computes, also what an inner loop had: that stops in the body.
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
