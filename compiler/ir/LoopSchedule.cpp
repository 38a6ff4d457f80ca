//===- LoopSchedule.cpp - see LoopSchedule.h ----------------------------------------------===//
#include "ir/LoopSchedule.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace pantile {
namespace {

ArrayRef<int32_t> numbers(Operation *op, StringRef name) {
  auto list = op->getAttrOfType<DenseI32ArrayAttr>(name);
  return list ? list.asArrayRef() : ArrayRef<int32_t>();
}

} // namespace

void setStages(Operation *op, ArrayRef<StagePlace> places) {
  SmallVector<int32_t> stages, clusters;
  for (StagePlace place : places) {
    stages.push_back(place.stage);
    clusters.push_back(place.cluster);
  }
  op->setAttr(names::stage, DenseI32ArrayAttr::get(op->getContext(), stages));
  op->setAttr(names::cluster, DenseI32ArrayAttr::get(op->getContext(), clusters));
}

void setExpand(scf::ForOp loop, int copies) {
  loop->setAttr(names::expand, Builder(loop).getI32IntegerAttr(copies));
}

int64_t copiesIn(scf::ForOp loop) {
  auto copies = loop->getAttrOfType<IntegerAttr>(names::unrolled);
  return copies ? copies.getInt() : 1;
}

LoopSchedule::LoopSchedule(scf::ForOp loop) : loop(loop) {
  for (Operation &op : loop.getBody()->without_terminator())
    for (auto [stage, cluster] :
         llvm::zip_equal(numbers(&op, names::stage), numbers(&op, names::cluster)))
      all.push_back({&op, stage, cluster});
  llvm::stable_sort(all,
                    [](const Instance &x, const Instance &y) { return x.cluster < y.cluster; });
}

bool LoopSchedule::isInBody(Value value) const { return value.getParentBlock() == loop.getBody(); }

//===- which instance is read --------------------------------------------------------------===//

/// The stage that computes the value that becomes `carried` in the next iteration.
int LoopSchedule::stageOfNext(BlockArgument carried, llvm::SmallDenseSet<Value> &seen) const {
  Value next = loop.getTiedLoopYieldedValue(carried)->get();
  if (!isInBody(next))
    return 0;
  if (Operation *op = next.getDefiningOp())
    return numbers(op, names::stage).front();
  return std::max(0, stageOf(cast<BlockArgument>(next), seen));
}

int LoopSchedule::stageOf(BlockArgument argument, llvm::SmallDenseSet<Value> &seen) const {
  const bool isCounter = argument == loop.getInductionVar();
  return isCounter || !seen.insert(argument).second ? 0 : stageOfNext(argument, seen) - 1;
}

std::optional<LoopSchedule::Key> LoopSchedule::keyFor(Value value, int reader) const {
  int stage = -1;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    llvm::SmallDenseSet<Value> seen;
    stage = stageOf(argument, seen);
  } else {
    ArrayRef<int32_t> stages = numbers(value.getDefiningOp(), names::stage);
    auto isLate = [&](int32_t each) { return each > reader; };
    auto end = llvm::find_if(stages, isLate);
    if (end == stages.begin())
      return std::nullopt;
    stage = *std::prev(end);
  }
  return stage <= reader ? std::optional(Key{value, stage}) : std::nullopt;
}

SmallVector<BlockArgument> LoopSchedule::passedOnAs(Value value, int stage) const {
  SmallVector<BlockArgument> result;
  if (numbers(value.getDefiningOp(), names::stage).front() != stage)
    return result;
  for (auto [next, carried] : llvm::zip(loop.getYieldedValues(), loop.getRegionIterArgs()))
    if (next == value)
      result.push_back(carried);
  return result;
}

SmallVector<std::pair<BlockArgument, int>> LoopSchedule::passedOnUnchanged() const {
  SmallVector<std::pair<BlockArgument, int>> result;
  for (auto [next, carried] : llvm::zip(loop.getYieldedValues(), loop.getRegionIterArgs()))
    if (!isInBody(next) || isa<BlockArgument>(next)) {
      llvm::SmallDenseSet<Value> seen{carried};
      result.push_back({carried, stageOfNext(carried, seen)});
    }
  return result;
}

SmallVector<Value> LoopSchedule::operandsOf(const Instance &instance) const {
  llvm::SetVector<Value> operands;
  instance.op->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (isInBody(operand))
        operands.insert(operand);
  });
  return operands.takeVector();
}

//===- the verifier ------------------------------------------------------------------------===//

/// Whether `key`, which `reader` reads in the iteration of the expanded loop in which it is
/// computed, is computed before.
bool LoopSchedule::isComputedBefore(Key key, const Instance &reader) const {
  auto [value, stage] = key;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument == loop.getInductionVar())
      return true;
    value = loop.getTiedLoopYieldedValue(argument)->get();
    ++stage;
  }
  for (const Instance &instance : all) {
    if (instance.op == reader.op && instance.stage == reader.stage)
      return false;
    if (instance.op == value.getDefiningOp() && instance.stage == stage)
      return true;
  }
  return false;
}

LogicalResult LoopSchedule::verify() const {
  for (const Instance &instance : all)
    for (Value operand : operandsOf(instance)) {
      std::optional<Key> key = keyFor(operand, instance.stage);
      if (!key)
        return instance.op->emitError("`nv.stage`: an operand is computed in a later stage");
      if (key->second == instance.stage && !isComputedBefore(*key, instance))
        return instance.op->emitError("`nv.cluster`: an operand is computed after it is read");
    }
  return success();
}

static LogicalResult verifyStages(Operation *op) {
  auto loop = dyn_cast_or_null<scf::ForOp>(op->getParentOp());
  ArrayRef<int32_t> stages = numbers(op, names::stage);
  if (!loop || !loop->hasAttr(names::expand))
    return op->emitError("`nv.stage` is for operations of a loop with `nv.expand`");
  if (stages.empty() || stages.size() != numbers(op, names::cluster).size())
    return op->emitError("`nv.stage` and `nv.cluster` are lists of the same length");
  auto isStage = [](int32_t stage) { return stage >= 0 && stage < LoopSchedule::stages; };
  if (!llvm::all_of(stages, isStage) || !llvm::is_sorted(stages, std::less_equal<>()))
    return op->emitError("`nv.stage` lists the stages 0 and 1 in order");
  if (stages.size() > 1 && !isMemoryEffectFree(op))
    return op->emitError("`nv.stage`: an operation with effects runs in one stage");
  return success();
}

LogicalResult verifySchedule(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != names::expand)
    return verifyStages(op);
  auto loop = dyn_cast<scf::ForOp>(op);
  auto copies = dyn_cast<IntegerAttr>(attribute.getValue());
  if (!loop || !copies || copies.getInt() < 1 || copies.getInt() > 2)
    return op->emitError("`nv.expand` is the number of copies of the body of an scf.for, 1 or 2");
  for (Operation &inner : loop.getBody()->without_terminator()) {
    if (!inner.hasAttr(names::stage))
      return inner.emitError("an operation of a loop with `nv.expand` has no `nv.stage`");
    if (failed(verifyStages(&inner)))
      return failure();
  }
  return LoopSchedule(loop).verify();
}

} // namespace pantile
