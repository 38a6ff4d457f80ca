//===- PackPrograms.cpp - several programs of one warp in a block -------------------------===//
// Needs: shared memory is allocated, and barriers are there.
// Gives: `programs_per_cta` of `nv.launch`.
// How:   an SM holds fewer blocks than warps, and starts blocks one after the other; so
//        many short programs of one warp leave it half empty. What has no shared memory, no barrier
//        and does not meet other programs takes no notice of the warps beside it. Whether a launch
//        packs them is decided there, by the grid.
//===--------------------------------------------------------------------------------------===//
#include "analysis/Programs.h"
#include "ir/Launch.h"
#include "ir/Machine.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_PACKPROGRAMS
#include "passes/Passes.h.inc"
namespace {

/// Whether code of the user may ask for the program's place in a way that a shared block changes.
bool readsThreads(Operation *op) {
  if (auto call = dyn_cast<ExternCallOp>(op))
    return !call.getLibrary().empty();
  auto assembly = dyn_cast<InlineAsmOp>(op);
  return assembly &&
         llvm::any_of(ArrayRef<StringRef>{"%tid", "%ctaid", "%nctaid", "%warpid"},
                      [&](StringRef name) { return assembly.getText().contains(name); });
}

bool standAlone(ModuleOp module) {
  return !module
              .walk([](Operation *op) {
                return meetsOthers(op) || readsThreads(op) ? WalkResult::interrupt()
                                                           : WalkResult::advance();
              })
              .wasInterrupted();
}

struct PackProgramsPass : impl::PackProgramsBase<PackProgramsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    Launch launch = Launch::of(module);
    if (moduleInt(module, names::numWarps, 4) != 1 || launch.producerWarps != 0 ||
        launch.persistent || launch.sharedBytes != 0 || !standAlone(module))
      return;
    launch.programsPerCta = machineOf(module).occupancy.programsOfCta;
    launch.storeOn(module);
  }
};
} // namespace
} // namespace pantile
