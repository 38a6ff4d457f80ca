//===- IssueStage.cpp - see IssueStage.h --------------------------------------------------===//
#include "analysis/IssueStage.h"
#include "analysis/AxisInfo.h"
#include "analysis/BufferReaders.h"
#include "analysis/MmaWaits.h"
#include "analysis/MotionLegality.h"
#include "analysis/RegisterBudget.h"
#include "analysis/Scratch.h"
#include "ir/FindOps.h"
#include "ir/Registers.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace pantile {

bool IssueStage::hasShape() {
  mmas = opsIn<nv::AsyncMmaOpInterface>(loop);
  return !mmas.empty() && llvm::all_of(mmas, [&](nv::AsyncMmaOpInterface mma) {
    return mma->getParentOp() == loop && startsFromZero(mma);
  });
}

StringRef IssueStage::refusal() {
  const std::optional<APInt> trips = loop.getStaticTripCount();
  if (trips && trips->ult(2))
    return "it has one iteration";
  if (waitedMmas(loop).empty())
    return "an MMA is waited for at once";
  llvm::copy_if(loop.getBody()->getOps<nv::MbarrierWaitOp>(), std::back_inserter(barriers),
                [](nv::MbarrierWaitOp wait) { return !wait.getEmpty(); });
  if (barriers.empty())
    return "no producer fills its buffers";
  if (!mayOverlapStages(loop))
    return "the loop accesses memory other than by loads, or synchronises";
  if (branches())
    return "a condition branches in the loop, or a mask may end within a vector";
  if (!findIssue())
    return "its operands depend on results, or on values that go through scratch memory";
  return llvm::any_of(mmas, lacksStagesToOverlap) ? "the buffers have too few stages" : "";
}

//===- stage 0 -----------------------------------------------------------------------------===//

/// Whether the lowering of the body has several basic blocks (LowerMemory.cpp: withTail).
bool IssueStage::branches() {
  const AxisInfoAnalysis axes(loop->getParentOfType<ModuleOp>());
  return llvm::any_of(loop.getBody()->without_terminator(), [&](Operation &op) {
    if (isa<scf::IfOp, scf::ForOp, scf::WhileOp>(op))
      return true;
    auto load = dyn_cast<LoadOp>(op);
    if (!load || !load.getMask() || !isa<RankedTensorType>(load.getType()))
      return false;
    const LinearLayout layout = layoutOf(load.getType());
    return axes.widthWithTail(load.getPtr(), load.getMask(), layout) >
           axes.accessWidth(load.getPtr(), load.getMask(), layout);
  });
}

static bool mayBeInStage0(Operation *op) {
  return isStageSelection(op) || isStableLoad(op) || barriersOfRead(op) ||
         (hasNoEffects(op) && scratchBytes(op) == 0);
}

/// Collects stage 0: the MMAs, the waits for full stages, and what they are computed from. False
/// if something of that must not be there.
bool IssueStage::findIssue() {
  SmallVector<Operation *> work(mmas.begin(), mmas.end());
  work.append(barriers.begin(), barriers.end());
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!issue.insert(op))
      continue;
    for (Value operand : op->getOperands()) {
      auto carried = dyn_cast<BlockArgument>(operand);
      if (carried && carried.getOwner() == loop.getBody() && carried != loop.getInductionVar())
        operand = loop.getTiedLoopYieldedValue(carried)->get();
      Operation *source = operand.getDefiningOp();
      if (loop.isDefinedOutsideOfLoop(operand) || !source)
        continue;
      if (!mayBeInStage0(source))
        return false;
      work.push_back(source);
    }
  }
  return true;
}

//===- registers ---------------------------------------------------------------------------===//

/// Whether `vector` is read from a stage of a buffer, which can be done again and again.
static bool isReadFromStage(Value vector) {
  while (auto view = vector.getDefiningOp<ExpandDimsOp>())
    vector = view.getSrc();
  return vector.getDefiningOp<nv::LocalLoadOp>() != nullptr;
}

/// Registers of the vectors that are repeated along rows or columns of results, beyond those that
/// the loop carries of them from one iteration to the next.
int64_t IssueStage::registersOfVectors() {
  int64_t registers = 0;
  llvm::DenseSet<Value> vectors;
  auto isLikeResult = [&](BroadcastOp broadcast) {
    return llvm::any_of(mmas, [&](nv::AsyncMmaOpInterface mma) {
      return mma.getResult().getType().getEncoding() == broadcast.getType().getEncoding();
    });
  };
  for (auto broadcast : loop.getBody()->getOps<BroadcastOp>())
    if (isLikeResult(broadcast) && !isReadFromStage(broadcast.getSrc()) &&
        !loop.isDefinedOutsideOfLoop(broadcast.getSrc()) &&
        vectors.insert(broadcast.getSrc()).second)
      registers += registersOf(broadcast.getSrc());
  for (Value carried : loop.getRegionIterArgs())
    if (auto tile = dyn_cast<RankedTensorType>(carried.getType()); tile && tile.getRank() == 1)
      registers -= registersOf(carried);
  return registers;
}

int64_t IssueStage::registers() {
  int64_t registers = registersOfLoop(loop);
  for (nv::AsyncMmaOpInterface mma : mmas) {
    registers += registersOf(mma.getResult());
    if (Value left = mma.getHeldRegisters())
      registers += registersOf(left);
  }
  for (auto load : loop.getBody()->getOps<nv::LocalLoadOp>())
    if (issue.contains(load)) // and what is computed from it, in elements of its width
      registers += 2 * registersOf(load.getResult());
  for (auto [carried, next] : llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    Operation *op = next.getDefiningOp();
    if (isa<RankedTensorType>(carried.getType()) &&
        !(op && llvm::is_contained(op->getOperands(), carried)))
      registers += registersOf(carried);
  }
  return registers + std::max<int64_t>(registersOfVectors(), 0);
}

} // namespace pantile
