//===- ProducerSlice.cpp - split a kernel into what the producer does and the rest --------===//
// Needs: see ProducerSlice.h. Reservations, barriers' making and tensor maps stand at the start.
// Gives: splitRoles.
// How:   the kernel is cloned into the producer's region behind the shared start. There every
//        operation with an effect goes but those of the producer, then what nothing uses, until
//        nothing changes; results of what went are replaced by what stood in for them before.
//===--------------------------------------------------------------------------------------===//
#include "passes/pipeline/ProducerSlice.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "passes/pipeline/DeadArgs.h"
#include "passes/pipeline/StagedLoad.h"

using namespace mlir;

namespace pantile {
namespace {

/// What both sides see: it stays where it is.
bool isShared(Operation &op) {
  return (isa<nv::AllocOp>(op) && op.hasAttr(names::ring)) ||
         isa<nv::MbarrierInitOp, nv::TensorMapOp>(op) || op.hasTrait<OpTrait::ConstantLike>();
}

/// The value that a loop carries on when the operation that changed it is gone.
Value standIn(Operation *op, unsigned result) {
  if (auto wgmma = dyn_cast<nv::WgmmaOp>(op))
    return wgmma.getAcc();
  if (auto wait = dyn_cast<nv::WgmmaWaitOp>(op))
    return wait.getValues()[result];
  OpBuilder b(op);
  return arith::ConstantOp::create(b, op->getLoc(), b.getZeroAttr(op->getResult(result).getType()));
}

/// Removes what only consumers do; their values are the stand-ins'.
void eraseConsumers(Block &body) {
  SmallVector<Operation *> gone;
  body.walk<WalkOrder::PostOrder, mlir::ReverseIterator>([&](Operation *op) {
    if (op->getNumRegions() == 0 && !op->hasAttr(names::producerOnly) &&
        !op->hasTrait<OpTrait::IsTerminator>() && !isMemoryEffectFree(op) &&
        !isa<LoadOp, nv::AllocOp>(op))
      gone.push_back(op);
  });
  for (Operation *op : gone) {
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      if (!op->getResult(i).use_empty())
        op->getResult(i).replaceAllUsesWith(standIn(op, i));
    op->erase();
  }
}

/// True if something was removed.
bool eraseUnused(Block &body) {
  bool changed = false;
  body.walk<WalkOrder::PostOrder, mlir::ReverseIterator>([&](Operation *op) {
    bool holds = op->walk([&](Operation *inner) {
                     return inner->hasAttr(names::producerOnly) ? WalkResult::interrupt()
                                                                : WalkResult::advance();
                   }).wasInterrupted();
    if (!holds && op->use_empty() && !op->hasTrait<OpTrait::IsTerminator>()) {
      op->erase();
      changed = true;
    }
  });
  return changed;
}

void eraseMarked(func::FuncOp function, StringRef mark) {
  SmallVector<Operation *> marked;
  function.walk([&](Operation *op) {
    if (op->hasAttr(mark) && !op->getParentOfType<nv::ProducerOp>())
      marked.push_back(op);
  });
  for (Operation *op : llvm::reverse(marked))
    op->erase();
}

/// One thread has no tiles. What it reads from memory, consumers that had nothing to wait for may
/// have overwritten.
bool needsTilesOrMemory(Block &body) {
  return body
      .walk([](Operation *op) {
        bool tile = llvm::any_of(op->getResultTypes(),
                                 [](Type type) { return isa<RankedTensorType>(type); });
        return tile || isa<LoadOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}
} // namespace

bool splitRoles(func::FuncOp function) {
  Block &entry = function.getBody().front();
  // What both sides share stands in front.
  Operation *front = nullptr;
  for (Operation &op : llvm::make_early_inc_range(entry)) {
    if (!isShared(op))
      continue;
    if (front)
      op.moveAfter(front);
    else
      op.moveBefore(&entry.front());
    front = &op;
  }
  OpBuilder b(function.getContext());
  b.setInsertionPointAfter(front);
  auto producer = nv::ProducerOp::create(b, function.getLoc());
  Block *body = &producer.getBody().emplaceBlock();
  b.setInsertionPointToStart(body);
  IRMapping mapping;
  for (Operation &op :
       llvm::make_range(std::next(producer->getIterator()), entry.getTerminator()->getIterator()))
    b.clone(op, mapping);
  eraseConsumers(*body);
  for (bool changed = true; changed;) {
    changed = dropDeadArgs(*body);
    changed |= eraseUnused(*body);
  }
  eraseMarked(function, names::producerOnly);
  function.walk([](Operation *op) { op->removeAttr(names::producerOnly); });
  return !needsTilesOrMemory(*body);
}

} // namespace pantile
