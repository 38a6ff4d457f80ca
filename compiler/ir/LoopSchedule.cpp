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

void setSchedule(scf::ForOp loop, Expansion expansion,
                 llvm::function_ref<SmallVector<StagePlace>(Operation *)> placesOf) {
  Builder b(loop.getContext());
  for (Operation &op : loop.getBody()->without_terminator()) {
    SmallVector<int32_t> stages, clusters;
    for (StagePlace place : placesOf(&op)) {
      stages.push_back(place.stage);
      clusters.push_back(place.cluster);
    }
    op.setAttr(names::stage, b.getDenseI32ArrayAttr(stages));
    op.setAttr(names::cluster, b.getDenseI32ArrayAttr(clusters));
  }
  loop->setAttr(names::expand, b.getI32IntegerAttr(expansion == Expansion::Unrolled ? 2 : 1));
  if (expansion == Expansion::Predicated)
    loop->setAttr(names::predicated, b.getUnitAttr());
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

int LoopSchedule::last() const {
  int last = 0;
  for (const Instance &instance : all)
    last = std::max(last, instance.stage);
  return last;
}

Value LoopSchedule::passedOn(BlockArgument carried) const {
  Value next = loop.getTiedLoopYieldedValue(carried)->get();
  return isInBody(next) && next.getDefiningOp() ? Value() : next;
}

std::optional<LoopSchedule::Key> LoopSchedule::keyFor(Value value, int reader) const {
  auto carried = dyn_cast<BlockArgument>(value);
  if (carried == loop.getInductionVar())
    return Key{value, 0};
  if (carried && passedOn(carried))
    return Key{value, reader - 1};
  Value computed = carried ? loop.getTiedLoopYieldedValue(carried)->get() : value;
  const int older = carried ? 1 : 0; // the value of the iteration before
  ArrayRef<int32_t> stages = numbers(computed.getDefiningOp(), names::stage);
  auto end = llvm::find_if(stages, [&](int32_t each) { return each > reader; });
  if (end != stages.begin())
    return Key{value, *std::prev(end) - older};
  // Of the iteration before also the next stage, which runs in the same iteration of the expanded loop.
  return *end == reader + older ? std::optional(Key{value, reader}) : std::nullopt;
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

/// Verifies that `reader` reads `value` after it is computed, also if it is a carried value that is
/// passed on.
LogicalResult LoopSchedule::verifyRead(Value value, const Instance &reader) const {
  std::optional<Key> key = keyFor(value, reader.stage);
  if (!key)
    return reader.op->emitError("`nv.stage`: an operand is computed in a later stage");
  if (value == loop.getInductionVar())
    return success();
  if (key->second == reader.stage && !isComputedBefore(*key, reader))
    return reader.op->emitError("`nv.cluster`: an operand is computed after it is read");
  const bool isLater = isa<BlockArgument>(value) && key->second == reader.stage;
  if (isLater && reader.stage + 1 < last())
    return reader.op->emitError("`nv.stage`: a carried value is computed in a later stage");
  return success();
}

LogicalResult LoopSchedule::verify() const {
  for (const Instance &instance : all)
    for (Value operand : operandsOf(instance)) {
      llvm::SmallDenseSet<Value> seen;
      for (Value value = operand; value && isInBody(value) && seen.insert(value).second;) {
        if (failed(verifyRead(value, instance)))
          return failure();
        auto carried = dyn_cast<BlockArgument>(value);
        value = carried && carried != loop.getInductionVar() ? passedOn(carried) : Value();
      }
    }
  return success();
}

bool takesPredicate(Operation *op) {
  auto load = dyn_cast<LoadOp>(op);
  return load ? !load.getIsVolatile()
              : isa<nv::CopyAsyncOp, nv::CommitOp>(op) || isMemoryEffectFree(op);
}

static LogicalResult verifyStages(Operation *op) {
  auto loop = dyn_cast_or_null<scf::ForOp>(op->getParentOp());
  ArrayRef<int32_t> stages = numbers(op, names::stage);
  if (!loop || !loop->hasAttr(names::expand))
    return op->emitError("`nv.stage` is for operations of a loop with `nv.expand`");
  if (stages.empty() || stages.size() != numbers(op, names::cluster).size())
    return op->emitError("`nv.stage` and `nv.cluster` are lists of the same length");
  if (!llvm::is_sorted(stages, std::less_equal<>()) || stages.front() < 0)
    return op->emitError("`nv.stage` lists stages in order");
  auto load = dyn_cast<LoadOp>(op);
  if (stages.size() > 1 && !isMemoryEffectFree(op) && !(load && !load.getIsVolatile()))
    return op->emitError("`nv.stage`: an operation with effects runs in one stage");
  return success();
}

/// Verifies what the stages of a loop may have, by whether it is peeled.
static LogicalResult verifyKind(const LoopSchedule &schedule, bool isPredicated) {
  for (const LoopSchedule::Instance &instance : schedule.order()) {
    if (!isPredicated && instance.stage > 1)
      return instance.op->emitError("`nv.stage`: a loop without `nv.predicated` has two stages");
    if (isPredicated && instance.stage < schedule.last() && !takesPredicate(instance.op))
      return instance.op->emitError("`nv.predicated`: an operation before the last stage takes no "
                                    "predicate");
  }
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
  const bool isPredicated = loop->hasAttr(names::predicated);
  if (isPredicated && copies.getInt() != 1)
    return op->emitError("a loop with `nv.predicated` has one copy of its body");
  const LoopSchedule schedule(loop);
  return failed(verifyKind(schedule, isPredicated)) ? failure() : schedule.verify();
}

} // namespace pantile
