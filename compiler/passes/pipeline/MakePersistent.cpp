//===- MakePersistent.cpp - blocks that run one program after the other -------------------===//
// Needs: StageOperands ran; SpecialiseWarps comes next.
// Gives: the kernel's body in a loop over program numbers (Programs.h), `persistent` of
//        `nv.launch`; then the producer copies a program's first tiles while the others still store
//        those of the program before.
// How:   1. Programs must not meet, nor be seen while they run, and the kernel must not loop over
//        them itself. 2. All take the same time as far as the arguments tell: the schedule is
//        static. 3. The loop pays with a producer only, and where as many CTAs share an SM as without
//        it: both plans are compared.
//===--------------------------------------------------------------------------------------===//
#include "analysis/Programs.h"
#include "analysis/Residency.h"
#include "analysis/StagedLoad.h"
#include "ir/Candidates.h"
#include "ir/Launch.h"
#include "ir/Machine.h"
#include "ir/Remarks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/pipeline/FedLoops.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_MAKEPERSISTENT
#include "passes/Passes.h.inc"

namespace {

bool refuse(Operation *at, const Twine &reason, Operation *culprit = nullptr) {
  func::FuncOp kernel = dyn_cast<func::FuncOp>(at);
  addCandidate(kernel ? kernel : at->getParentOfType<func::FuncOp>(),
               {.map = nv::ProgramMap::Persistent, .producer = true, .refused = reason.str()});
  InFlightDiagnostic remark = remarkMissed(at->getLoc(), Technique::Persistence);
  remark << "programs are not run one after the other: " << reason;
  if (culprit)
    remark.attachNote(culprit->getLoc()) << "here";
  return false;
}

/// Loops with products of staged loads.
SmallVector<scf::ForOp> productLoops(func::FuncOp kernel) {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](nv::AsyncMmaOpInterface product) {
    auto loop = dyn_cast<scf::ForOp>(product->getParentOp());
    if (loop && !llvm::is_contained(loops, loop))
      loops.push_back(loop);
  });
  llvm::erase_if(loops, [](scf::ForOp loop) { return findStagedLoads(loop).empty(); });
  return loops;
}

bool programsStandAlone(func::FuncOp kernel) {
  Operation *culprit = nullptr;
  kernel.walk([&](Operation *op) { culprit = !culprit && meetsOthers(op) ? op : culprit; });
  return !culprit || refuse(kernel, "they meet, or are seen while they run", culprit);
}

bool hasEvenWork(scf::ForOp loop) {
  if (Operation *culprit = unevenBound(loop))
    return refuse(loop, "they differ in length", culprit);
  for (auto outer = loop->getParentOfType<scf::ForOp>(); outer;
       outer = outer->getParentOfType<scf::ForOp>())
    if (Operation *culprit =
            findInBounds(outer, [](Operation *op) { return isa<ProgramIdOp, NumProgramsOp>(op); }))
      return refuse(outer, "the kernel does so itself", culprit);
  return true;
}

/// Puts the kernel's body into a loop over programs.
void wrap(func::FuncOp kernel) {
  Block &entry = kernel.getBody().front();
  Location loc = kernel.getLoc();
  SmallVector<Operation *> body;
  for (Operation &op : entry.without_terminator())
    if (!op.hasTrait<OpTrait::ConstantLike>())
      body.push_back(&op);
  OpBuilder b(entry.getTerminator());
  Type i32 = b.getI32Type();
  auto loop = scf::ForOp::create(b, loc, nv::BlockIdOp::create(b, loc, i32),
                                 nv::ProgramCountOp::create(b, loc, i32),
                                 nv::NumBlocksOp::create(b, loc, i32));
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
}

/// CTAs of `kernel` that share an SM beside their producers; none where it can have no producer.
std::optional<int64_t> ctasWithProducer(func::FuncOp kernel, ProgramMap map,
                                        ProducerChoices choices) {
  AffineAnalysis affine;
  Refusal refusal;
  const auto plan = planProducer(kernel, affine, map, choices, refusal);
  if (!plan)
    return std::nullopt;
  const MachineModel &machine = machineOf(kernel);
  const int64_t ctas = machine.ctasPerSm(plan->demand);
  addCandidate(kernel, {.map = map == ProgramMap::Persistent ? nv::ProgramMap::Persistent
                                                             : nv::ProgramMap::Grid,
                        .producer = true,
                        .sharedBytes = plan->demand.sharedBytes,
                        .ctasPerSm = ctas});
  return std::min(ctas, ctasToKeep(machine, choices.thirdBlock));
}

struct MakePersistentPass : impl::MakePersistentBase<MakePersistentPass> {
  using MakePersistentBase::MakePersistentBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto kernels = llvm::to_vector(module.getOps<func::FuncOp>());
    if (kernels.size() != 1)
      return;
    func::FuncOp kernel = kernels[0];
    SmallVector<scf::ForOp> loops = productLoops(kernel);
    if (loops.empty() || !programsStandAlone(kernel) || !llvm::all_of(loops, hasEvenWork))
      return;
    const ProducerChoices choices{thirdBlock, copiedValues};
    const auto apart = ctasWithProducer(kernel, ProgramMap::AsIs, choices),
               following = ctasWithProducer(kernel, ProgramMap::Persistent, choices);
    if (!apart || !following)
      return;
    if (*following < *apart) {
      refuse(kernel, "scratch beside the rings would take the place of a block");
      return;
    }
    wrap(kernel);
    Launch launch = Launch::of(module);
    launch.persistent = true;
    launch.storeOn(module);
    remarkApplied(kernel.getLoc(), Technique::Persistence)
        << "a block runs one program after the other, and loads for the next while it stores";
  }
};
} // namespace
} // namespace pantile
