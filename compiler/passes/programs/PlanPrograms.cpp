//===- PlanPrograms.cpp - how a kernel's programs are run, decided once ------------------===//
// Needs: StageOperands ran. MakePersistent and SpecialiseWarps come next and apply the plan.
// Gives: `nv.candidates` on a kernel with load-dot loops: the ways to run its programs. A candidate
//        has its demand, or the reason why it is refused. At most one is chosen. `ctas_per_sm` of
//        `nv.launch`, if several CTAs per SM are to fill each other's waits.
// How:   1. No producer, if CTAs per SM are worth more. That is so if an iteration waits for its
//           own MMAs, as in attention, if the loads are plain copies, and if more CTAs share an SM
//           without a producer. As many CTAs, and at least two, are enough if waits for other MMAs
//           can be deferred by one iteration.
//        2. Else a producer, if it can load for all loops, and if its circular buffers fit into
//           shared memory.
//        3. With a producer, a persistent kernel, if its programs are independent and equally long.
//           The scratch of one program is live at the same time as the stages of the next one. Both
//           must fit into shared memory, and must not cost a CTA per SM.
//        4. With option `stream-k`, a persistent kernel splits its tiles, wherever that is legal
//           (StreamKLoop.h). With option `estimates-stream-k` it does not, but gets what a launch
//           needs to choose a variant that does, if that costs no CTA per SM.
//        5. A producer that loads all tiles where the grid is as launched does so in the other program
//           maps, too; they are refused where consumers would have to copy some.
//===------------------------------------------------------------------------------------===//
#include "analysis/CtasPerSm.h"
#include "analysis/ProducerOccupancy.h"
#include "analysis/Programs.h"
#include "analysis/SpecialisableLoops.h"
#include "analysis/StreamKCost.h"
#include "ir/Candidates.h"
#include "ir/FindOps.h"
#include "ir/Launch.h"
#include "ir/Machine.h"
#include "ir/Remarks.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_PLANPROGRAMS
#include "passes/Passes.h.inc"
namespace {

class Planner {
public:
  Planner(func::FuncOp kernel, const PlanProgramsOptions &options)
      : kernel(kernel), options(options) {}

  void plan() {
    if (!loadDotLoops(kernel).empty())
      planProducerAndPersistence();
    if (options.streamK || (options.estimatesStreamK && isPersistent()))
      planStreamK();
  }

private:
  void planProducerAndPersistence() {
    if (options.occupancyFirst && isBetterWithoutProducer())
      return;
    if (!options.producer)
      return;
    const bool mayBePersistent = options.persistent && isPersistable();
    Refusal refusal;
    std::optional<int64_t> grid = ctasWithProducer(nv::ProgramMap::Grid, refusal);
    if (grid && !fitsIntoShared()) {
      refusal = {loadDotLoops(kernel).front(), nullptr,
                 "its circular buffers do not fit into shared memory"};
      grid.reset();
    }
    if (!grid) {
      reportRefusal(kernel, nv::ProgramMap::Grid, refusal);
      return choose({.producer = false});
    }
    choose(withProducer);
    if (!mayBePersistent)
      return;
    const std::optional<int64_t> persistent = ctasWithProducer(nv::ProgramMap::Persistent, refusal);
    if (persistent && !fitsIntoShared())
      refusePersistent(kernel, "the stages of one program and the scratch of another do not fit "
                               "into shared memory");
    else if (persistent && *persistent < *grid)
      refusePersistent(kernel, "scratch next to the stages would cost a CTA per SM");
    else if (persistent)
      choose(withProducer);
  }

  /// In the plan alone, as it was not requested.
  void addRefused(nv::ProgramMap map, const Refusal &refusal) {
    if (refusal.at)
      addCandidate(kernel, {.map = map, .producer = true, .refused = refusal.reason});
  }

  void choose(Candidate candidate) {
    candidate.chosen = true;
    addCandidate(kernel, candidate);
  }

  //===- with a producer or without one ----------------------------------------------------===//

  bool isBetterWithoutProducer() {
    const auto ctas = producerOccupancy(kernel);
    if (!ctas)
      return false;
    const bool isEnoughToTie =
        ctas->waitsCanBeDeferred && options.carriesAccumulators && ctas->without > 1;
    const bool isBetter = ctas->without + isEnoughToTie > ctas->with && areCopiesPlain(kernel);
    addCandidate(kernel,
                 {.producer = true, .sharedBytes = ctas->sharedBytes, .ctasPerSm = ctas->with});
    addCandidate(kernel, {.producer = false,
                          .sharedBytes = ctas->sharedBytes,
                          .ctasPerSm = ctas->without,
                          .chosen = isBetter});
    if (isBetter)
      leaveOutProducer(*ctas);
    return isBetter;
  }

  void leaveOutProducer(const ProducerOccupancy &ctas) {
    if (ctas.without > 1) {
      auto module = kernel->getParentOfType<ModuleOp>();
      Launch launch = Launch::of(module);
      launch.ctasPerSm = ctas.without;
      launch.storeOn(module);
    }
    InFlightDiagnostic remark = remarkMissed(ctas.at, Technique::WarpSpecialisation);
    remark << "warps are not specialised: ";
    if (ctas.without == ctas.with)
      remark << "as many CTAs share an SM without a producer, and waits are deferred by one "
                "iteration";
    else if (ctas.with > 0)
      remark << ctas.without
             << " CTAs per SM fill each other's waits, and with a producer there are " << ctas.with;
    else
      remark << "a producer leaves too few registers";
  }

  /// CTAs that share an SM, at most as many as are worth more than stages that are added; none where
  /// a producer cannot load for all loops.
  std::optional<int64_t> ctasWithProducer(nv::ProgramMap map, Refusal &refusal) {
    AffineAnalysis affine;
    const auto plan = planProducer(kernel, affine, map, choices(), refusal);
    if (!plan)
      return std::nullopt;
    const MachineModel &machine = machineOf(kernel);
    mayCopy = llvm::any_of(plan->loops, [](const auto &loop) { return !loop.copies.empty(); });
    withProducer = {.map = map,
                    .producer = true,
                    .sharedBytes = plan->demand.sharedBytes,
                    .ctasPerSm = machine.ctasPerSm(plan->demand)};
    return std::min(withProducer.ctasPerSm, ctasToKeep(machine, options.thirdCta));
  }

  /// Of the producer that was planned last.
  bool fitsIntoShared() const {
    return withProducer.sharedBytes <= machineOf(kernel).sm.sharedBytesOfCta;
  }

  //===- persistent kernels ----------------------------------------------------------------===//

  bool refusePersistent(Operation *at, const Twine &reason, Operation *culprit = nullptr) {
    reportRefusal(kernel, nv::ProgramMap::Persistent, {at, culprit, reason.str()});
    return false;
  }

  bool isPersistable() {
    return areProgramsIndependent() &&
           llvm::all_of(loadDotLoops(kernel), [&](scf::ForOp loop) { return isEquallyLong(loop); });
  }

  bool areProgramsIndependent() {
    Operation *culprit = findOp(kernel, synchronises);
    return !culprit || refusePersistent(
                           kernel, "programs synchronise, or are observed while they run", culprit);
  }

  bool isEquallyLong(scf::ForOp loop) {
    if (Operation *culprit = unevenBound(loop))
      return refusePersistent(loop, "programs differ in length", culprit);
    for (auto outer = loop->getParentOfType<scf::ForOp>(); outer;
         outer = outer->getParentOfType<scf::ForOp>())
      if (Operation *culprit = findInBounds(
              outer, [](Operation *op) { return isa<ProgramIdOp, NumProgramsOp>(op); }))
        return refusePersistent(outer, "its own loop is over programs", culprit);
    return true;
  }

  //===- stream-K --------------------------------------------------------------------------===//

  bool isPersistent() {
    nv::CandidateAttr chosen = chosenCandidate(kernel);
    return chosen && chosen.getMap() == nv::ProgramMap::Persistent;
  }

  /// Of a persistent kernel, wherever it is legal: whether it pays depends on the launch.
  void planStreamK() {
    Refusal refusal{kernel, nullptr, "the kernel is not persistent"};
    const auto plan =
        isPersistent() ? pantile::planStreamK(kernel, choices(), refusal) : std::nullopt;
    if (!plan)
      return options.streamK ? reportRefusal(kernel, nv::ProgramMap::StreamK, refusal)
                             : addRefused(nv::ProgramMap::StreamK, refusal);
    Candidate split{.map = nv::ProgramMap::StreamK,
                    .producer = true,
                    .sharedBytes = plan->demand.sharedBytes,
                    .ctasPerSm = machineOf(kernel).ctasPerSm(plan->demand)};
    if (options.streamK)
      return choose(split);
    addCandidate(kernel, split);
    if (split.ctasPerSm >= chosenCandidate(kernel).getCtasPerSm())
      estimate(split.ctasPerSm);
  }

  void estimate(int64_t ctasPerSm) {
    Refusal none;
    if (nv::StreamKEstimateAttr estimate = estimateStreamK(kernel, *findStreamKLoop(kernel, none),
                                                           std::max<int64_t>(ctasPerSm, 1)))
      kernel->setAttr(names::streamKEstimate, estimate);
  }

  ProducerChoices choices() const {
    return {options.thirdCta,      options.bufferedValues,
            options.tmaValues,     options.mixedTransports && mayCopy,
            options.copiedVectors, options.pastStores};
  }

  func::FuncOp kernel;
  const PlanProgramsOptions options;
  Candidate withProducer;
  bool mayCopy = true; ///< false once a producer loads all tiles, which other program maps keep
};

struct PlanProgramsPass : impl::PlanProgramsBase<PlanProgramsPass> {
  using PlanProgramsBase::PlanProgramsBase;
  void runOnOperation() override {
    if (func::FuncOp kernel = onlyFunction(getOperation()))
      Planner(kernel,
              {occupancyFirst, producer, persistent, streamK, estimatesStreamK, carriesAccumulators,
               thirdCta, bufferedValues, tmaValues, mixedTransports, copiedVectors, pastStores})
          .plan();
  }
};
} // namespace
} // namespace pantile
