//===- Pipeline.cpp - THE table of contents ----------------------------------------------===//
// Every pass over the tile IR, in order, with the reason why it stands there. A pass that was
// `add`ed can be switched off by name (Options::disabledPasses), an offered choice must be switched
// on (Options::enabledPasses); a pass that is a `need` cannot be left out: later stages do not take
// the IR without it.
//===------------------------------------------------------------------------------------===//
#include "Pipeline.h"
#include "LaunchAbi.h"
#include "analysis/CtasPerSm.h"
#include "analysis/RegisterBudget.h"
#include "analysis/StagedLoad.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

using namespace mlir;

namespace pantile {
namespace {

/// Calls the observer with the module after each pass.
struct ObserverInstrumentation : PassInstrumentation {
  explicit ObserverInstrumentation(PassObserver observe) : observe(std::move(observe)) {}
  void runAfterPass(Pass *pass, Operation *op) override { show(*pass, op, /*succeeded=*/true); }
  void runAfterPassFailed(Pass *pass, Operation *op) override {
    show(*pass, op, /*succeeded=*/false);
  }
  void show(const Pass &pass, Operation *op, bool succeeded) {
    if (auto module = dyn_cast<ModuleOp>(op))
      observe(pass.getArgument(), module, succeeded);
  }
  PassObserver observe;
};

class Passes {
public:
  Passes(ModuleOp module, const Options &options, const PassObserver &observe)
      : module(module), options(options), manager(module->getName()) {
    if (observe)
      manager.addInstrumentation(std::make_unique<ObserverInstrumentation>(observe));
  }

  bool allows(StringRef name) const { return !options.disabledPasses.contains(name.str()); }

  void add(std::unique_ptr<Pass> pass) {
    list(*pass, {.isOptional = true, .isDefault = true});
    if (allows(pass->getArgument()))
      append(std::move(pass));
  }

  void need(std::unique_ptr<Pass> pass) {
    list(*pass, {.isOptional = false, .isDefault = true});
    append(std::move(pass));
  }

  /// Runs only where its name is switched on.
  void offer(std::unique_ptr<Pass> pass) {
    list(*pass, {.isOptional = true, .isDefault = false});
    if (isEnabled(pass->getArgument()))
      append(std::move(pass));
  }

  /// Lists something that a pass does unless its name is switched off; false: it is.
  bool choice(StringRef name, StringRef summary) {
    listed.push_back({name.str(), summary.str(), /*isOptional=*/true, /*isDefault=*/true});
    return allows(name);
  }

  /// Lists something that a pass does only where its name is switched on; true: it is.
  bool offeredChoice(StringRef name, StringRef summary) {
    listed.push_back({name.str(), summary.str(), /*isOptional=*/true, /*isDefault=*/false});
    return isEnabled(name);
  }

  bool isEnabled(StringRef name) const {
    return options.enabledPasses.contains(name.str()) && allows(name);
  }

  LogicalResult run() {
    return isValid ? manager.run(module) : module.emitError("a planted error has other options");
  }
  const std::vector<PassListing> &listings() const { return listed; }

private:
  struct Kind {
    bool isOptional, isDefault;
  };

  /// Adds a pass, and after it a mistake that a test plants there.
  void append(std::unique_ptr<Pass> pass) {
    const StringRef name = pass->getArgument();
    manager.addPass(std::move(pass));
    for (StringRef entry : options.enabledPasses)
      if (entry.consume_front(name) && entry.consume_front(plantedError)) {
        std::unique_ptr<Pass> mistake = createTestPlantError();
        auto refuse = [](const Twine &) { return failure(); };
        isValid &= succeeded(mistake->initializeOptions(entry, refuse));
        manager.addPass(std::move(mistake));
      }
  }

  void list(const Pass &pass, Kind kind) {
    auto isSame = [&](const PassListing &other) { return other.name == pass.getArgument(); };
    if (llvm::none_of(listed, isSame))
      listed.push_back(
          {pass.getArgument().str(), pass.getDescription().str(), kind.isOptional, kind.isDefault});
  }

  ModuleOp module;
  const Options &options;
  PassManager manager;
  std::vector<PassListing> listed;
  bool isValid = true;
};

void addSimplification(Passes &passes) {
  passes.add(createCanonicalizerPass());
  passes.add(createCSEPass());
}

void addTilePasses(Passes &passes) {
  addSimplification(passes);
  passes.add(createHoistInvariants());
  passes.add(createCountLoops());      // of conditions that compute nothing any more
  passes.add(createCountIterations()); // of those that have further exits
  passes.add(createCountFromZero());
}

/// Round trips first, while equal pointers are one value. Then instructions, since they fix the
/// layouts of what they read and write.
void addLayoutPasses(Passes &passes, const Concessions &without) {
  passes.add(createOrderMemory());
  passes.add(createSplitOverCluster()); // fixes what each CTA holds, so before layouts
  passes.add(createApproximateExp());   // while tiles are seen through no conversion
  passes.offer(createCombineFactors());
  const bool computedLeft = passes.choice(
      "computed-left", "within tile-select-mma and tile-assign-layouts: left operands of "
                       "wgmma in registers, also right ones of the dot transposed");
  passes.need(createSelectMma(
      {.wgmma = passes.choice("wgmma", "within tile-select-mma: dots of warp groups, on Hopper"),
       .fp32OnMmaSync = without.fp32OnWgmma,
       .computedLeft = computedLeft}));
  passes.add(createReduceByMma()); // adds dots, with their instruction, before layouts
  passes.need(createAssignLayouts(
      {.inWarpStores = passes.choice("in-warp-stores",
                                     "within tile-assign-layouts: a warp writes its own part of a "
                                     "dot's result"),
       .storesInPlace = without.resultBuffers,
       .computedOperands = passes.offeredChoice(
           "computed-operands", "within tile-assign-layouts: operands that are computed from "
                                "loaded tiles, in the layout of their MMA"),
       .computedLeft = computedLeft}));
  passes.add(createDeferReductions()); // as soon as it is known which threads share a row
  addSimplification(passes);
  passes.add(createHoistInvariants());
}

/// Operands get buffers; then it is planned how programs are run, and what a producer loads.
void addProgramPasses(Passes &passes, const Options &options, const Concessions &without) {
  passes.need(
      createStageOperands({.inPlace = without.operandBuffers, .turnsBytes = !without.turnedBytes}));
  passes.add(createShareOperands()); // while each buffer has one store, and loops stand as written
  if (options.maxRegisters != 0)     // a limit for one role would bind the other
    return;
  const bool occupancyFirst =
      passes.choice("occupancy-first", "within nv-plan-programs: no producer where more CTAs "
                                       "share an SM without it");
  const bool thirdCta = passes.offeredChoice(
      "third-cta", "within nv-plan-programs and nv-specialise-warps: neither stages nor "
                   "scratch that are added cost a third CTA per SM");
  const bool tmaValues = passes.choice("tma-values", "within nv-specialise-warps: a producer loads "
                                                     "tiles that threads read, too");
  const bool mixedTransports =
      passes.choice("mixed-transports", "within nv-specialise-warps: a producer also where "
                                        "consumers copy some tiles by cp.async") &&
      passes.allows("nv-expand-pipeline"); // which makes the copies
  const bool copiedVectors =
      passes.choice("copied-vectors", "within nv-specialise-warps: a producer copies vectors that "
                                      "TMA cannot load by cp.async");
  const bool pastStores = passes.choice(
      "producer-past-stores", "within nv-specialise-warps: a producer also where the loop stores "
                              "through other arguments, as copies by all warps pass these stores");
  const bool buffersValues = passes.allows("buffered-values");
  passes.add(
      createPlanPrograms({.occupancyFirst = occupancyFirst,
                          .producer = passes.allows("nv-specialise-warps") && !without.producer,
                          .persistent = passes.allows("nv-make-persistent") && !without.persistence,
                          .streamK = passes.isEnabled("nv-stream-k"),
                          .estimatesStreamK = passes.allows("nv-stream-k"),
                          .carriesAccumulators = passes.allows("carried-accumulators"),
                          .thirdCta = thirdCta,
                          .bufferedValues = buffersValues,
                          .tmaValues = tmaValues,
                          .mixedTransports = mixedTransports,
                          .copiedVectors = copiedVectors,
                          .pastStores = pastStores}));
  passes.add(createMakePersistent());
  passes.add(createOrderRaster()); // while program numbers come from one place
  passes.offer(createStreamK());
  if (!without.producer)
    passes.add(createSpecialiseWarps({.thirdCta = thirdCta,
                                      .bufferedValues = buffersValues,
                                      .tmaValues = tmaValues,
                                      .mixedTransports = mixedTransports,
                                      .copiedVectors = copiedVectors,
                                      .pastStores = pastStores}));
}

/// The schedule is for loads that no producer has taken over. The expansion leaves pointers of the
/// plain loop that nothing reads any more.
void addPipelinePasses(Passes &passes, const Options &options, const Concessions &without) {
  const bool carriesAccumulators = passes.choice(
      "carried-accumulators", "within nv-schedule-loops: stages for dots whose wait is deferred "
                              "by one iteration");
  passes.choice("buffered-values", "within nv-schedule-loops: buffers also for tiles that no "
                                   "dot reads as they are");
  if (passes.allows("nv-expand-pipeline")) // it marks what the next one expands
    passes.add(
        createScheduleLoops({.carriesAccumulators = carriesAccumulators,
                             .fewerBuffers = without.lastStage,
                             .thirdCta = options.maxRegisters == 0 && passes.isEnabled("third-cta"),
                             .bufferedValues = passes.allows("buffered-values")}));
  passes.add(createExpandPipeline());
  passes.need(createExpandLoops());         // the same loops may prefetch into registers, too
  passes.add(createPrefetchLoads());        // of loads that go through no buffer
  passes.need(createExpandLoops());         // later passes add operations, which have no stage
  passes.add(createPrefetchRows());         // where there is no loop to prefetch in
  passes.need(createRemoveUnreachable());   // which the next one does not take
  passes.add(createRemoveDeadValuesPass()); // such as pointers of what is copied now
  passes.add(createDeferWaits());           // loops carry as little as they can by now
  const bool rescaled = passes.choice("nv-overlap-dots", "within nv-overlap-iterations: loops that "
                                                         "rescale their accumulators");
  passes.add(
      createOverlapIterations({.rescaled = rescaled})); // of MMAs in the order of their needs
  passes.add(createOverlapResults());                   // of loops that no other schedule takes
  passes.need(createExpandLoops()); // later passes add operations, which have no stage
  passes.add(createCarryMmas());    // of loops that have no other schedule
  const bool pairs = passes.offeredChoice("ping-pong-pairs", "within nv-ping-pong: also loops of "
                                                             "two MMAs, such as attention");
  if (passes.allows("barriers-before-loops"))
    passes.add(createPingPong({.pairs = pairs})); // of loops as they stay
  passes.need(createInsertWaits());               // the order of MMAs is final
  const bool reducesByTma =
      passes.choice("tma-reductions", "within nv-tma-stores: TMA reduces the accumulators of "
                                      "loops with dots that relaxed atomics would add");
  if (!without.tmaStores)
    passes.add(createTmaStores(
        {.all = options.enabledPasses.contains("nv-tma-stores"),
         .sums = reducesByTma}));  // the circular buffers are known, and addresses still there
  passes.add(createCountStages()); // no later pass reads stage counters
  addSimplification(passes);
  if (options.enableFpFusion)                // by which a subtraction scales
    passes.add(createScaleAfterReduction()); // tensor maps are final
  passes.add(createHoistInvariants());
}

/// Offsets are assigned before barriers, which order buffers that use the same bytes.
void addMemoryPasses(Passes &passes, const Options &options) {
  passes.need(createAllocateShared());
  passes.add(createReallocateRegisters());
  const bool beforeLoops = passes.choice("barriers-before-loops",
                                         "within nv-insert-barriers: a barrier before a loop where "
                                         "that saves one in it");
  passes.add(createInsertBarriers({.beforeLoops = beforeLoops}));
  passes.add(createRematerialise()); // which leaves less to spill
  passes.add(createSpillToShared()); // the rest of shared memory is idle
  passes.add(createPackPrograms());  // of kernels without shared memory and barriers
  passes.need(createRecordPlan({.maxRegisters = options.maxRegisters})); // of all that was decided
}

} // namespace

std::vector<PassListing> listPasses() {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  const Options options;
  Passes passes(*module, options, {});
  addTilePasses(passes);
  addLayoutPasses(passes, {});
  addProgramPasses(passes, options, {});
  addPipelinePasses(passes, options, {});
  addMemoryPasses(passes, options);
  return passes.listings();
}

LogicalResult runTilePasses(ModuleOp module, const Options &options, const PassObserver &observe) {
  Passes passes(module, options, observe);
  addTilePasses(passes);
  return passes.run();
}

LogicalResult runGpuPasses(ModuleOp module, const Options &given, const Observe &wanted,
                           const PassObserver &observe, const Concessions &without) {
  const Options options = withinAbi(given);
  Passes passes(module, options, observe);
  addLayoutPasses(passes, without);
  if (wanted.stopAfter >= Stage::Pipeline) {
    addProgramPasses(passes, options, without);
    addPipelinePasses(passes, options, without);
  }
  if (wanted.stopAfter >= Stage::Mma)
    addMemoryPasses(passes, options);
  if (wanted.remarks && wanted.stopAfter >= Stage::Mma)
    passes.need(createRemarkAccesses());
  return passes.run();
}

} // namespace pantile
