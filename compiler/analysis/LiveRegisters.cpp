//===- LiveRegisters.cpp - see LiveRegisters.h --------------------------------------------===//
#include "analysis/LiveRegisters.h"
#include "analysis/MmaWaits.h"
#include "ir/Registers.h"

using namespace mlir;

namespace pantile {
namespace {

/// Whether `op` computes nothing: its result is in the registers of its operand.
bool isView(Operation *op) { return isa_and_nonnull<BroadcastOp, ExpandDimsOp, SplatOp>(op); }

bool isNumberTile(Value value) {
  auto tile = dyn_cast<RankedTensorType>(value.getType());
  return tile && !isa<PtrType>(tile.getElementType());
}

/// The last operation of `body` that reads `value` or a view of it, or waits for an MMA that holds
/// it; the one that computes it if there is none.
Operation *lastUseIn(Block &body, Value value) {
  Operation *last = value.getDefiningOp() ? value.getDefiningOp() : &body.front();
  auto use = [&](Operation *user) {
    Operation *inBody = user ? body.findAncestorOpInBlock(*user) : nullptr;
    if (inBody && last->isBeforeInBlock(inBody))
      last = inBody;
  };
  SmallVector<Value> views{value};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      use(user);
      auto mma = dyn_cast<nv::AsyncMmaOpInterface>(user);
      if (mma && mma.getHeldRegisters() == value)
        use(waitOf(mma));
      if (isView(user))
        views.push_back(user->getResult(0));
    }
  return last;
}

/// What counts in a loop.
llvm::DenseSet<Value> countedTiles(scf::ForOp loop) {
  llvm::DenseSet<Value> counted;
  for (Value argument : loop.getRegionIterArgs())
    if (isNumberTile(argument))
      counted.insert(argument);
  for (Operation &op : *loop.getBody()) {
    const bool isComputed =
        isa<nv::AsyncMmaOpInterface>(op) ||
        llvm::any_of(op.getOperands(), [&](Value operand) { return counted.contains(operand); });
    for (Value result : op.getResults())
      if (isComputed && !isView(&op) && isNumberTile(result))
        counted.insert(result);
  }
  return counted;
}

} // namespace

int64_t liveRegistersOf(scf::ForOp loop) {
  const llvm::DenseSet<Value> counted = countedTiles(loop);
  Block &body = *loop.getBody();
  int64_t now = 0, most = 0;
  llvm::DenseMap<Operation *, int64_t> ends; ///< registers whose last use an operation is
  auto begin = [&](Value value) {
    if (!counted.contains(value))
      return;
    now += registersOf(value);
    ends[lastUseIn(body, value)] += registersOf(value);
  };
  for (Value argument : loop.getRegionIterArgs())
    begin(argument);
  for (Operation &op : body) {
    for (Value result : op.getResults())
      begin(result);
    now -= ends.lookup(&op);
    most = std::max(most, now);
  }
  return most;
}

} // namespace pantile
