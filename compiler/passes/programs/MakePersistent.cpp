//===- MakePersistent.cpp - make a kernel persistent --------------------------------------===//
// Needs: PlanPrograms chose a persistent kernel; SpecialiseWarps comes next.
// Gives: the body of the kernel in a loop over program numbers (Programs.h), and `persistent` of
//        `nv.launch`. Then the producer loads the first tiles of the next program while the
//        consumers store those of the current one.
// How:   the schedule is static, since nothing in the arguments says that programs differ in
//        length.
//===------------------------------------------------------------------------------------===//
#include "analysis/Programs.h"
#include "ir/Candidates.h"
#include "ir/Launch.h"
#include "ir/Remarks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "passes/Passes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_MAKEPERSISTENT
#include "passes/Passes.h.inc"

namespace {

/// Stream-K splits the tiles of a persistent kernel.
bool isPersistent(nv::CandidateAttr chosen) {
  return chosen && (chosen.getMap() == nv::ProgramMap::Persistent ||
                    chosen.getMap() == nv::ProgramMap::StreamK);
}

/// Puts the body of the kernel into a loop over program numbers, from the CTA's number in steps of
/// the number of CTAs. What all programs compute alike moves before it.
void wrap(func::FuncOp kernel) {
  Block &entry = kernel.getBody().front();
  Location loc = kernel.getLoc();
  SmallVector<Operation *> body;
  for (Operation &op : entry.without_terminator())
    if (!op.hasTrait<OpTrait::ConstantLike>())
      body.push_back(&op);
  OpBuilder b(entry.getTerminator());
  Type i32 = b.getI32Type();
  auto loop = scf::ForOp::create(b, loc, nv::CtaIdOp::create(b, loc, i32),
                                 nv::ProgramCountOp::create(b, loc, i32),
                                 nv::NumCtasOp::create(b, loc, i32));
  loop->setAttr(names::programs, b.getUnitAttr());
  for (Operation *op : body)
    op->moveBefore(loop.getBody()->getTerminator());
  for (auto id : llvm::make_early_inc_range(kernel.getOps<scf::ForOp>()))
    id.walk([&](ProgramIdOp own) {
      b.setInsertionPoint(own);
      auto at = nv::ProgramAtOp::create(b, own.getLoc(), i32, loop.getInductionVar(),
                                        static_cast<uint32_t>(own.getAxis()));
      own.replaceAllUsesWith(at.getResult());
      own.erase();
    });
  moveLoopInvariantCode(loop);
}

struct MakePersistentPass : impl::MakePersistentBase<MakePersistentPass> {
  using MakePersistentBase::MakePersistentBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool changed = false;
    for (func::FuncOp kernel : module.getOps<func::FuncOp>()) {
      if (!isPersistent(chosenCandidate(kernel)))
        continue;
      wrap(kernel);
      changed = true;
      Launch launch = Launch::of(module);
      launch.persistent = true;
      launch.storeOn(module);
      remarkApplied(kernel.getLoc(), Technique::Persistence)
          << "persistent kernel: a CTA runs several programs, and loads for the next while it "
             "stores";
    }
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace pantile
