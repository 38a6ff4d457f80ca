//===- LowerTma.cpp - TMA loads and mbarriers -------------------------------------===//
// Needs: buffers with offsets; tensor maps that are parameters (Lowering.cpp).
// Gives: cp.async.bulk.tensor and mbarrier instructions; ping-pong barriers of consumer warp groups.
// How:   A stage of barriers is 16 bytes: full at 0, empty at 8 (mbarrier objects: PTX ISA,
//        "Parallel Synchronization and Communication Instructions: mbarrier"). A wait is one asm
//        string with its own loop, so nothing moves across it.
//===-----------------------------------------------------------------------------------===//
#include "analysis/BufferReaders.h"
#include "analysis/MotionLegality.h"
#include "ir/ReleasedStages.h"
#include "layout/TmaBoxes.h"
#include "lower/Lowering.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
llvm::Value *barrierAddress(Lowering &l, Value stage, bool empty) {
  llvm::Value *offset = l.scalar(stage);
  return l.sharedAddress(empty ? l.b.CreateAdd(offset, l.b.getInt32(emptyOffset)) : offset);
}

/// The map is a parameter. Its prefetch, which takes as long as a load, overlaps the initialisation
/// of the barriers. An empty one is not prefetched.
LogicalResult lowerTensorMap(Lowering &l, nv::TensorMapOp op) {
  if (op.getMayBeEmpty())
    return success();
  l.assembly(l.b.getVoidTy(), "@$1 prefetch.tensormap [$0];", "l,b",
             {l.scalar(op.getResult()), l.isFirstProducer()});
  return success();
}

/// Emits nothing: the producer initialises the barriers.
LogicalResult lowerInit(Lowering &, nv::MbarrierInitOp) { return success(); }

/// One thread arrives, without a branch where all of a warp are there.
LogicalResult lowerExpect(Lowering &l, nv::ExpectOp op) {
  auto producer = op->getParentOfType<nv::ProducerOp>();
  const bool isByWarp = producer && producer.isRunByWarp();
  Values operands{barrierAddress(l, op.getBarrier(), false), l.b.getInt32(op.getBytes())};
  if (isByWarp)
    operands.push_back(l.b.CreateICmpEQ(l.lane(), l.b.getInt32(0)));
  const std::string arrive = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;";
  l.assembly(l.b.getVoidTy(), (isByWarp ? "@$2 " : "") + arrive,
             isByWarp ? "r,r,b,~{memory}" : "r,r,~{memory}", operands);
  return success();
}

LogicalResult lowerTmaLoad(Lowering &l, nv::TmaLoadOp op) {
  const auto boxes = tmaBoxes(sharedLayoutOf(op.getBuffer().getType()));
  if (!boxes)
    return op.emitError("no boxes of a tensor map fill its buffer");
  std::string coords, constraints = "r,l,r";
  for (size_t i = 0; i < op.getCoords().size(); ++i) {
    coords += (i ? ", $" : "$") + std::to_string(3 + i);
    constraints += ",r";
  }
  const std::string asmString =
      "cp.async.bulk.tensor." + std::to_string(op.getCoords().size()) +
      "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], [$1, {" + coords +
      "}], [$2];";
  llvm::Value *barrier = barrierAddress(l, op.getBarrier(), false);
  for (const TmaBoxes::Place &place : boxes->places) {
    llvm::Value *offset = l.b.CreateAdd(l.scalar(op.getBuffer()), l.b.getInt32(place.bytes));
    Values operands{l.sharedAddress(offset), l.scalar(op.getMap()), barrier};
    for (Value coord : op.getCoords())
      operands.push_back(l.scalar(coord));
    operands[3] = l.b.CreateAdd(operands[3], l.b.getInt32(place.fast));
    if (place.slow != 0)
      operands[4] = l.b.CreateAdd(operands[4], l.b.getInt32(place.slow));
    l.assembly(l.b.getVoidTy(), asmString, constraints + ",~{memory}", operands);
  }
  return success();
}

LogicalResult awaitPhase(Lowering &l, llvm::Value *barrier, Value parity) {
  l.assembly(l.b.getVoidTy(),
             "{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; "
             "@p bra over; bra again; over: }",
             "r,r,~{memory}", {barrier, l.scalar(parity)});
  return success();
}

LogicalResult lowerMbarrierWait(Lowering &l, nv::MbarrierWaitOp op) {
  return awaitPhase(l, barrierAddress(l, op.getBarrier(), op.getEmpty()), op.getParity());
}

LogicalResult lowerAcquire(Lowering &l, nv::AcquireOp op) {
  return awaitPhase(l, barrierAddress(l, op.getBarrier(), false), op.getParity());
}

/// The last operation up to `from` and after `until` that fences, or may read a stage of `barriers`;
/// null if there is none.
Operation *lastFenceOrRead(Operation *from, Operation *until, Value barriers) {
  for (Operation *op = from; op != until; op = op->getPrevNode())
    if (op->getNumRegions() > 0 || barriersOfRead(op) == barriers || isa<nv::FenceAsyncOp>(op))
      return op;
  return nullptr;
}

/// Whether threads have fenced all their reads of the stage that `release` frees since the last one.
/// A release under a condition is of the iteration before, and comes before the reads of this one.
bool readsAreFenced(nv::ReleaseOp release) {
  Value barriers = stageOf(release.getBarrier()).buffer;
  Operation *last = lastFenceOrRead(release->getPrevNode(), nullptr, barriers);
  if (!last && release.getEnable() && isa<scf::ForOp>(release->getParentOp()))
    last = lastFenceOrRead(&release->getBlock()->back(), release, barriers);
  return isa_and_nonnull<nv::FenceAsyncOp>(last);
}

LogicalResult lowerRelease(Lowering &l, nv::ReleaseOp op) {
  llvm::Value *arrives = l.b.CreateICmpEQ(l.lane(), l.b.getInt32(0));
  if (op.getEnable())
    arrives = l.b.CreateAnd(arrives, l.scalar(op.getEnable()));
  if (op->hasAttr(names::readByThreads)) {
    if (!op->hasAttr(names::filledByCopies) && !readsAreFenced(op))
      l.b.CreateIntrinsic(l.b.getVoidTy(), llvm::Intrinsic::nvvm_fence_proxy_async_shared_cta, {});
    l.warpBarrier();
  }
  l.assembly(l.b.getVoidTy(), "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}",
             {barrierAddress(l, op.getBarrier(), true), arrives});
  return success();
}

//===- ping-pong of consumer warp groups -------------------------------------------------===//

/// Named barriers, one per warp group: the previous group arrives, the group itself waits.
constexpr int firstPingPongBarrier = 8, warpsOfGroup = InstructionSet::warpsOfGroup;

llvm::Value *groupOf(Lowering &l) { return l.b.CreateLShr(l.uniformWarp(), 2); }

/// Waits or arrives at the barrier of `group`; always, if `enable` is absent.
void pingPongBarrier(Lowering &l, StringRef instruction, llvm::Value *group, llvm::Value *enable) {
  Values operands{l.b.CreateAdd(group, l.b.getInt32(firstPingPongBarrier))};
  if (enable)
    operands.push_back(enable);
  const std::string asmString =
      (Twine(enable ? "@$1 " : "") + instruction + " $0, " + Twine(64 * warpsOfGroup) + ";").str();
  l.assembly(l.b.getVoidTy(), asmString, enable ? "r,b,~{memory}" : "r,~{memory}", operands);
}

LogicalResult lowerPingPongWait(Lowering &l, nv::PingPongWaitOp op) {
  llvm::Value *group = groupOf(l);
  pingPongBarrier(l, "barrier.cta.sync.aligned", group,
                  op.getLast() ? l.b.CreateICmpEQ(group, l.b.getInt32(0)) : nullptr);
  return success();
}

LogicalResult lowerPingPongArrive(Lowering &l, nv::PingPongArriveOp op) {
  const int groups = l.numWarps() / warpsOfGroup;
  llvm::Value *group = groupOf(l), *last = l.b.getInt32(groups - 1), *zero = l.b.getInt32(0),
              *next = l.b.CreateAdd(group, l.b.getInt32(1));
  next = llvm::isPowerOf2_32(groups) ? l.b.CreateAnd(next, last)
                                     : l.b.CreateSelect(l.b.CreateICmpEQ(group, last), zero, next);
  pingPongBarrier(l, "barrier.cta.arrive.aligned", next,
                  op.getFirst() ? l.b.CreateICmpEQ(group, last) : nullptr);
  return success();
}
} // namespace

void lower::addTma(Handlers &h) {
  h.add<nv::TensorMapOp>(lowerTensorMap);
  h.add<nv::MbarrierInitOp>(lowerInit);
  h.add<nv::ExpectOp>(lowerExpect);
  h.add<nv::TmaLoadOp>(lowerTmaLoad);
  h.add<nv::MbarrierWaitOp>(lowerMbarrierWait);
  h.add<nv::AcquireOp>(lowerAcquire);
  h.add<nv::ReleaseOp>(lowerRelease);
  h.add<nv::PingPongWaitOp>(lowerPingPongWait);
  h.add<nv::PingPongArriveOp>(lowerPingPongArrive);
}
