//===- Pipeline.cpp - THE table of contents ----------------------------------------------===//
// Every pass over the tile IR, in order, with the reason why it stands there. A pass can be
// switched off by name (Options::disabledPasses), unless the IR behind it needs it.
//===------------------------------------------------------------------------------------===//
#include "Pipeline.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

using namespace mlir;

namespace pantile {
namespace {

/// Shows the module to the observer after each pass.
struct ObserverInstrumentation : PassInstrumentation {
  explicit ObserverInstrumentation(PassObserver observe) : observe(std::move(observe)) {}
  void runAfterPass(Pass *pass, Operation *op) override {
    if (auto module = dyn_cast<ModuleOp>(op))
      observe(pass->getArgument(), module);
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

  void add(std::unique_ptr<Pass> pass) {
    if (!options.disabledPasses.contains(pass->getArgument().str()))
      manager.addPass(std::move(pass));
  }

  LogicalResult run() { return manager.run(module); }

private:
  ModuleOp module;
  const Options &options;
  PassManager manager;
};

void addSimplification(Passes &passes) {
  passes.add(createCanonicalizerPass());
  passes.add(createCSEPass());
}

/// Round trips first, while equal pointers are one value. Then instructions, since they fix the
/// layouts of what they read and write.
void addLayoutPasses(Passes &passes) {
  passes.add(createOrderRoundTrips());
  passes.add(createSelectMma());
  passes.add(createAssignLayouts());
  addSimplification(passes);
  passes.add(createLoopInvariantCodeMotionPass());
}

/// Buffers come before the schedule, which decides about what passes through them and was not
/// given to a warp of its own; the expansion leaves the pointers of the plain loop behind, carried for nobody.
void addPipelinePasses(Passes &passes, const Options &options) {
  passes.add(createStageOperands());
  if (options.maxRegisters == 0) // a limit for one role would bind the other
    passes.add(createSpecialiseWarps());
  passes.add(createScheduleLoops());
  passes.add(createExpandPipeline());
  passes.add(createDropDeadArgs());
  addSimplification(passes);
  passes.add(createLoopInvariantCodeMotionPass());
}

/// Places before barriers: what shares bytes over time is ordered by them.
void addMemoryPasses(Passes &passes) {
  passes.add(createAllocateShared());
  passes.add(createInsertBarriers());
}
} // namespace

LogicalResult runTilePasses(ModuleOp module, const Options &options, const PassObserver &observe) {
  Passes passes(module, options, observe);
  addSimplification(passes);
  passes.add(createLoopInvariantCodeMotionPass());
  return passes.run();
}

LogicalResult runGpuPasses(ModuleOp module, const Options &options, Stage stopAfter,
                           const PassObserver &observe) {
  Passes passes(module, options, observe);
  addLayoutPasses(passes);
  if (stopAfter >= Stage::Pipeline)
    addPipelinePasses(passes, options);
  if (stopAfter >= Stage::Mma)
    addMemoryPasses(passes);
  return passes.run();
}

} // namespace pantile
