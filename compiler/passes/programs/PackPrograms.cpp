//===- PackPrograms.cpp - allow several programs of one warp per CTA ----------------------===//
// Needs: shared memory is allocated, and barriers are inserted.
// Gives: `programs_per_cta` of `nv.launch`.
// How:   an SM holds fewer CTAs than warps, and launches CTAs one after the other, so many short
//        programs of one warp leave it half empty. Programs may share a CTA if they use no shared
//        memory and no barrier, and do not synchronise with other programs. A launch decides by its
//        grid whether it packs them.
//===--------------------------------------------------------------------------------------===//
#include "analysis/Programs.h"
#include "ir/FindOps.h"
#include "ir/Launch.h"
#include "ir/Machine.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_PACKPROGRAMS
#include "passes/Passes.h.inc"
namespace {

/// Whether user code may read thread or CTA numbers, which packing changes.
bool readsThreads(Operation *op) {
  if (auto call = dyn_cast<ExternCallOp>(op))
    return !call.getLibrary().empty();
  auto assembly = dyn_cast<InlineAsmOp>(op);
  return assembly &&
         llvm::any_of(ArrayRef<StringRef>{"%tid", "%ctaid", "%nctaid", "%warpid"},
                      [&](StringRef name) { return assembly.getText().contains(name); });
}

bool areIndependent(ModuleOp module) {
  return !findOp(module, [](Operation *op) { return synchronises(op) || readsThreads(op); });
}

struct PackProgramsPass : impl::PackProgramsBase<PackProgramsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    Launch launch = Launch::of(module);
    if (moduleInt(module, names::numWarps, 4) != 1 || launch.producerWarps != 0 ||
        launch.persistent || launch.sharedBytes != 0 || !areIndependent(module))
      return markAllAnalysesPreserved();
    launch.programsPerCta = machineOf(module).occupancy.programsOfCta;
    launch.storeOn(module);
  }
};
} // namespace
} // namespace pantile
