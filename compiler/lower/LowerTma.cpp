//===- LowerTma.cpp - the copy engine, its barriers and the warp that drives it ---------------===//
// Needs: buffers with offsets; tensor maps are parameters already (Lowering.cpp).
// Gives: cp.async.bulk.tensor and mbarrier instructions; the producer as a branch that ends its
//        warp.
// How:   a slot of barriers is 16 bytes: full at 0, empty at 8 (mbarrier objects: PTX ISA,
//        "Parallel Synchronization and Communication Instructions: mbarrier"). Waiting is one text
//        with its own loop, so nothing moves across it.
//===-----------------------------------------------------------------------------------===//
#include "ir/Pairs.h"
#include "ir/Registers.h"
#include "lower/Lowering.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
constexpr int emptyOffset = 8;

llvm::Value *barrierAddress(Lowering &l, Value slot, bool empty) {
  llvm::Value *offset = l.scalar(slot);
  return l.sharedAddress(empty ? l.b.CreateAdd(offset, l.b.getInt32(emptyOffset)) : offset);
}

llvm::Value *isProducersFirst(Lowering &l) {
  return l.b.CreateICmpEQ(l.thread(), l.b.getInt32(l.numThreads()));
}

/// The map itself is a parameter; reading it takes as long as a load, while barriers are made.
LogicalResult lowerTensorMap(Lowering &l, nv::TensorMapOp op) {
  l.assembly(l.b.getVoidTy(), "@$1 prefetch.tensormap [$0];", "l,b",
             {l.scalar(op.getResult()), isProducersFirst(l)});
  return success();
}

/// By one thread. One branch around all: around each, the assembler would fence each.
void makeBarriers(Lowering &l, llvm::Value *isMaker, llvm::ArrayRef<nv::MbarrierInitOp> inits) {
  auto *make = llvm::BasicBlock::Create(l.module.getContext(), "make", l.function);
  auto *made = llvm::BasicBlock::Create(l.module.getContext(), "made", l.function);
  l.b.CreateCondBr(isMaker, make, made);
  l.b.SetInsertPoint(make);
  for (nv::MbarrierInitOp op : inits) {
    llvm::Value *base = l.scalar(op.getBarriers());
    const nv::BufferType type = op.getBarriers().getType();
    for (unsigned slot = 0; slot < type.getSlots(); ++slot)
      for (bool empty : {false, true}) {
        const unsigned at = slot * type.getSlotBytes() + (empty ? emptyOffset : 0);
        llvm::Value *address = l.sharedAddress(l.b.CreateAdd(base, l.b.getInt32(at)));
        l.assembly(l.b.getVoidTy(), "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r",
                   {address, l.b.getInt32(empty ? op.getConsumers() : 1)});
      }
  }
  l.b.CreateBr(made);
  l.b.SetInsertPoint(made);
}

/// The producer makes them.
LogicalResult lowerInit(Lowering &, nv::MbarrierInitOp) { return success(); }

/// From here on the warps of a role have their own number of registers.
void takeShare(Lowering &l, nv::ProducerOp op, size_t role) {
  auto shares = op->getParentOfType<ModuleOp>()->getAttrOfType<DenseI32ArrayAttr>(names::registers);
  if (!shares)
    return;
  const auto id = shares[role] < shares[0] ? llvm::Intrinsic::nvvm_setmaxnreg_dec_sync_aligned_u32
                                           : llvm::Intrinsic::nvvm_setmaxnreg_inc_sync_aligned_u32;
  l.b.CreateIntrinsic(l.b.getVoidTy(), id, {l.b.getInt32(shares[role])});
}

/// `isOrdered`: what was done before is done for the other block, too.
void meetPair(Lowering &l, bool isOrdered) {
  using namespace llvm::Intrinsic;
  llvm::Type *none = l.b.getVoidTy();
  l.b.CreateIntrinsic(none,
                      isOrdered ? nvvm_barrier_cluster_arrive_aligned
                                : nvvm_barrier_cluster_arrive_relaxed_aligned,
                      {});
  l.b.CreateIntrinsic(none, nvvm_barrier_cluster_wait_aligned, {});
}

/// The barriers are seen by all. The producer waits for nobody, as none has touched shared memory
/// before it, but for the barriers of the block that it is paired with.
void startRole(Lowering &l, bool isProducer, bool isPaired) {
  using namespace llvm::Intrinsic;
  llvm::Value *id = l.b.getInt32(0);
  llvm::Value *all = l.b.getInt32(l.numThreads() + 32 * l.producerWarps());
  llvm::Type *none = l.b.getVoidTy();
  if (isProducer) {
    l.b.CreateIntrinsic(none, nvvm_fence_mbarrier_init_release_cluster, {});
    if (!isPaired)
      l.b.CreateIntrinsic(none, nvvm_barrier_cta_arrive_aligned_count, {id, all});
  } else if (!isPaired) {
    l.b.CreateIntrinsic(none, nvvm_barrier_cta_sync_aligned_count, {id, all});
  }
  if (isPaired)
    meetPair(l, /*isOrdered=*/false); // the fence was for the other block as well
}

LogicalResult lowerProducer(Lowering &l, nv::ProducerOp op) {
  llvm::LLVMContext &c = l.module.getContext();
  auto *extra = llvm::BasicBlock::Create(c, "extra", l.function);
  auto *produce = llvm::BasicBlock::Create(c, "produce", l.function);
  auto *done = llvm::BasicBlock::Create(c, "produced", l.function);
  auto *rest = llvm::BasicBlock::Create(c, "consume", l.function);
  llvm::Value *first = l.b.getInt32(l.numThreads());
  l.b.CreateCondBr(l.b.CreateICmpUGE(l.thread(), first), extra, rest);
  l.b.SetInsertPoint(extra);
  makeBarriers(l, l.b.CreateICmpEQ(l.thread(), first),
               llvm::to_vector(op->getBlock()->getOps<nv::MbarrierInitOp>()));
  const bool isPaired = op->getParentOfType<ModuleOp>()->hasAttr(names::pairs);
  startRole(l, /*isProducer=*/true, isPaired);
  takeShare(l, op, 1);
  l.b.CreateCondBr(l.b.CreateICmpEQ(l.thread(), first), produce, done);
  l.b.SetInsertPoint(produce);
  if (failed(l.lowerBlock(op.getBody().front())))
    return failure();
  l.b.CreateBr(done);
  l.b.SetInsertPoint(done);
  l.b.CreateRetVoid();
  l.b.SetInsertPoint(rest);
  startRole(l, /*isProducer=*/false, isPaired);
  takeShare(l, op, 2);
  return success();
}

LogicalResult lowerExpect(Lowering &l, nv::ExpectOp op) {
  l.assembly(l.b.getVoidTy(), "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
             "r,r,~{memory}",
             {barrierAddress(l, op.getBarrier(), false), l.b.getInt32(op.getBytes())});
  return success();
}

/// The copies of one tile: of each panel as many pieces as boxes of the map make up its rows.
class TileCopies {
public:
  TileCopies(Lowering &l, nv::TmaLoadOp op)
      : l(l), op(op), shared(sharedLayoutOf(op.getBuffer().getType())) {
    int64_t rowsOfBox = 1;
    const ArrayRef<int32_t> box = op.getMap().getDefiningOp<nv::TensorMapOp>().getBox();
    for (auto [i, size] : llvm::enumerate(box.drop_front()))
      if (size > 1)
        rowsOfBox *= size, rowAxis = i + 1, rowStep = size;
    pieces = shared.panelBytes() / shared.rowBytes() / rowsOfBox;
    panelWidth = shared.rowBytes() * 8 / shared.elementBits();
  }

  void copyAll() { copy(shared.panels() * pieces, nullptr); }

  /// The half whose number is `half`, into both blocks.
  void copyHalf(llvm::Value *half) { copy(shared.panels() * pieces / 2, half); }

private:
  void copy(int64_t copies, llvm::Value *half) {
    std::string constraints = "r,l,r", coords;
    const size_t rank = op.getCoords().size();
    for (size_t i = 0; i < rank; ++i) {
      coords += (i ? ", $" : "$") + std::to_string(3 + i);
      constraints += ",r";
    }
    const std::string text = "cp.async.bulk.tensor." + std::to_string(rank) +
                             "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes" +
                             (half ? ".multicast::cluster [$0], [$1, {" + coords + "}], [$2], $" +
                                         std::to_string(3 + rank) + ";"
                                   : " [$0], [$1, {" + coords + "}], [$2];");
    for (int64_t i = 0; i < copies; ++i) {
      Values operands = operandsOf(i, copies, half);
      if (half)
        operands.push_back(l.b.getInt16(bothBlocks));
      l.assembly(l.b.getVoidTy(), text, constraints + (half ? ",h" : "") + ",~{memory}", operands);
    }
  }

  /// Of copy `i` of a half of `copies`, or of all.
  Values operandsOf(int64_t i, int64_t copies, llvm::Value *half) {
    const int64_t bytes = shared.panelBytes() / pieces, panel = i / pieces, piece = i % pieces;
    llvm::Value *offset = l.b.CreateAdd(l.scalar(op.getBuffer()), number(i * bytes));
    if (half)
      offset = l.b.CreateAdd(offset, l.b.CreateMul(half, number(copies * bytes)));
    Values operands{l.sharedAddress(offset), l.scalar(op.getMap()),
                    barrierAddress(l, op.getBarrier(), false)};
    for (Value coord : op.getCoords())
      operands.push_back(l.scalar(coord));
    operands[3] = l.b.CreateAdd(operands[3], number(panel * panelWidth));
    if (pieces > 1)
      operands[3 + rowAxis] = l.b.CreateAdd(operands[3 + rowAxis], number(piece * rowStep));
    if (half) {
      llvm::Value *&moved = operands[pieces > 1 ? 3 + rowAxis : 3];
      const int64_t step = pieces > 1 ? copies * rowStep : copies * panelWidth;
      moved = l.b.CreateAdd(moved, l.b.CreateMul(half, number(step)));
    }
    return operands;
  }

  llvm::Value *number(int64_t value) { return l.b.getInt32(static_cast<uint32_t>(value)); }

  static constexpr uint16_t bothBlocks = 3;
  Lowering &l;
  nv::TmaLoadOp op;
  const SharedLayout shared;
  int64_t pieces = 1, panelWidth = 0, rowStep = 0;
  size_t rowAxis = 0;
};

LogicalResult lowerTmaLoad(Lowering &l, nv::TmaLoadOp op) {
  TileCopies copies(l, op);
  if (!op.getBoth()) {
    copies.copyAll();
    return success();
  }
  llvm::LLVMContext &c = l.module.getContext();
  auto *together = llvm::BasicBlock::Create(c, "together", l.function);
  auto *apart = llvm::BasicBlock::Create(c, "apart", l.function);
  auto *copied = llvm::BasicBlock::Create(c, "copied", l.function);
  l.b.CreateCondBr(l.scalar(op.getBoth()), together, apart);
  l.b.SetInsertPoint(together);
  copies.copyHalf(l.b.CreateIntrinsic(l.b.getInt32Ty(),
                                      llvm::Intrinsic::nvvm_read_ptx_sreg_cluster_ctarank, {}));
  l.b.CreateBr(copied);
  l.b.SetInsertPoint(apart);
  copies.copyAll();
  l.b.CreateBr(copied);
  l.b.SetInsertPoint(copied);
  return success();
}

LogicalResult lowerMbarrierWait(Lowering &l, nv::MbarrierWaitOp op) {
  l.assembly(l.b.getVoidTy(),
             "{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; "
             "@p bra over; bra again; over: }",
             "r,r,~{memory}",
             {barrierAddress(l, op.getBarrier(), op.getEmpty()), l.scalar(op.getParity())});
  return success();
}

/// The first lane arrives at the first block of a pair, the second at the second. The products have
/// read by then; a release for the cluster would wait for all that the warp has stored as well.
LogicalResult releaseBoth(Lowering &l, nv::ReleaseOp op) {
  llvm::Value *arrives = l.b.CreateICmpULT(l.lane(), l.b.getInt32(2));
  if (op.getEnable())
    arrives = l.b.CreateAnd(arrives, l.scalar(op.getEnable()));
  l.assembly(l.b.getVoidTy(),
             "{ .reg .b32 there; mapa.shared::cluster.u32 there, $0, $1; "
             "@$2 mbarrier.arrive.shared::cluster.b64 _, [there]; }",
             "r,r,b,~{memory}",
             {barrierAddress(l, op.getBarrier(), true), l.b.CreateAnd(l.lane(), l.b.getInt32(1)),
              arrives});
  return success();
}

LogicalResult lowerRelease(Lowering &l, nv::ReleaseOp op) {
  if (op->getParentOfType<ModuleOp>()->hasAttr(names::pairs))
    return releaseBoth(l, op);
  llvm::Value *arrives = l.b.CreateICmpEQ(l.lane(), l.b.getInt32(0));
  if (op.getEnable())
    arrives = l.b.CreateAnd(arrives, l.scalar(op.getEnable()));
  l.assembly(l.b.getVoidTy(), "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}",
             {barrierAddress(l, op.getBarrier(), true), arrives});
  return success();
}

LogicalResult lowerMeetPair(Lowering &l, nv::MeetPairOp) {
  meetPair(l, /*isOrdered=*/true);
  return success();
}

//===- turns of warp groups --------------------------------------------------------------===//

/// Barriers of the hardware, one for each group: those who pass a turn arrive, and those who take
/// it wait.
constexpr int firstTurnBarrier = 8, warpsOfGroup = 4;

llvm::Value *groupOf(Lowering &l) { return l.b.CreateLShr(l.uniformWarp(), 2); }

/// `enable` absent: always.
void meetAtTurn(Lowering &l, StringRef instruction, llvm::Value *group, llvm::Value *enable) {
  Values operands{l.b.CreateAdd(group, l.b.getInt32(firstTurnBarrier))};
  if (enable)
    operands.push_back(enable);
  const std::string text =
      (Twine(enable ? "@$1 " : "") + instruction + " $0, " + Twine(64 * warpsOfGroup) + ";").str();
  l.assembly(l.b.getVoidTy(), text, enable ? "r,b,~{memory}" : "r,~{memory}", operands);
}

LogicalResult lowerTakeTurn(Lowering &l, nv::TakeTurnOp op) {
  llvm::Value *group = groupOf(l);
  meetAtTurn(l, "barrier.cta.sync.aligned", group,
             op.getLast() ? l.b.CreateICmpEQ(group, l.b.getInt32(0)) : nullptr);
  return success();
}

LogicalResult lowerPassTurn(Lowering &l, nv::PassTurnOp op) {
  const int groups = l.numWarps() / warpsOfGroup;
  llvm::Value *group = groupOf(l), *last = l.b.getInt32(groups - 1),
              *next = l.b.CreateAnd(l.b.CreateAdd(group, l.b.getInt32(1)), last);
  meetAtTurn(l, "barrier.cta.arrive.aligned", next,
             op.getFirst() ? l.b.CreateICmpEQ(group, last) : nullptr);
  return success();
}
} // namespace

void lower::addTma(Handlers &h) {
  h.add<nv::TensorMapOp>(lowerTensorMap);
  h.add<nv::MbarrierInitOp>(lowerInit);
  h.add<nv::ProducerOp>(lowerProducer);
  h.add<nv::ExpectOp>(lowerExpect);
  h.add<nv::TmaLoadOp>(lowerTmaLoad);
  h.add<nv::MbarrierWaitOp>(lowerMbarrierWait);
  h.add<nv::ReleaseOp>(lowerRelease);
  h.add<nv::MeetPairOp>(lowerMeetPair);
  h.add<nv::TakeTurnOp>(lowerTakeTurn);
  h.add<nv::PassTurnOp>(lowerPassTurn);
}
