//===- LowerProducer.cpp - the extra warps and their producer -----------------------===//
// Needs: buffers with offsets; scratch of a producer that starts later than the kernel.
// Gives: a branch at the kernel's start by which the extra warps part from the consumers, initialise
//        the mbarriers, run the producer and exit.
// How:   A producer that starts later waits at a named barrier. There consumers arrive, without
//        waiting, after they have stored the scalars that it uses; a fence orders their accesses to
//        memory before its copies (PTX ISA, "Memory Consistency Model: proxies"). The first word says
//        whether there is anything to produce.
//===-----------------------------------------------------------------------------------===//
#include "analysis/ProducerStart.h"
#include "ir/FindOps.h"
#include "ir/Launch.h"
#include "lower/Lowering.h"
#include "lower/When.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
constexpr int startBarrier = 7, wordBytes = 8;

/// Initialises all barriers in one thread, under one branch: with a branch around each, ptxas would
/// fence each.
void makeBarriers(Lowering &l, llvm::Value *isMaker, llvm::ArrayRef<nv::MbarrierInitOp> inits) {
  auto *make = l.newBlock("make");
  auto *made = l.newBlock("made");
  l.b.CreateCondBr(isMaker, make, made);
  l.b.SetInsertPoint(make);
  for (nv::MbarrierInitOp op : inits) {
    llvm::Value *base = l.scalar(op.getBarriers());
    const nv::BufferType type = op.getBarriers().getType();
    for (unsigned stage = 0; stage < type.getDepth(); ++stage)
      for (bool empty : {false, true}) {
        const unsigned at = stage * type.getStageBytes() + (empty ? emptyOffset : 0);
        llvm::Value *address = l.sharedAddress(l.b.CreateAdd(base, l.b.getInt32(at)));
        l.assembly(l.b.getVoidTy(), "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r",
                   {address, l.b.getInt32(empty ? op.getConsumers() : op.getArrivals())});
      }
  }
  l.b.CreateBr(made);
  l.b.SetInsertPoint(made);
}

/// setmaxnreg: gives the warps of a role their number of registers.
void reallocateRegisters(Lowering &l, Operation *op, int32_t Launch::Registers::*ofRole) {
  const auto registers = Launch::of(op).registers;
  if (!registers)
    return;
  const int32_t own = (*registers).*ofRole;
  const auto id = own < registers->atLaunch ? llvm::Intrinsic::nvvm_setmaxnreg_dec_sync_aligned_u32
                                            : llvm::Intrinsic::nvvm_setmaxnreg_inc_sync_aligned_u32;
  l.b.CreateIntrinsic(l.b.getVoidTy(), id, {l.b.getInt32(own)});
}

/// Makes the barriers visible to all threads. The producer arrives without waiting: no thread has
/// accessed shared memory before, and it has initialised them itself, unless it has `severalWarps`.
void startRole(Lowering &l, bool isProducer, bool severalWarps) {
  using namespace llvm::Intrinsic;
  llvm::Value *id = l.b.getInt32(0);
  llvm::Value *all = l.b.getInt32(l.numThreads() + 32 * l.producerWarps());
  llvm::Type *none = l.b.getVoidTy();
  if (isProducer)
    l.b.CreateIntrinsic(none, nvvm_fence_mbarrier_init_release_cluster, {});
  l.b.CreateIntrinsic(none,
                      isProducer && !severalWarps ? nvvm_barrier_cta_arrive_aligned_count
                                                  : nvvm_barrier_cta_sync_aligned_count,
                      {id, all});
}

/// Lets the extra warps part from the consumers, and leaves the builder in the block of the latter.
ExtraWarps partRoles(Lowering &l, Operation *op) {
  llvm::LLVMContext &c = l.module.getContext();
  auto *extra = llvm::BasicBlock::Create(c, "extra", l.function);
  auto *produce = llvm::BasicBlock::Create(c, "produce", l.function);
  auto *done = llvm::BasicBlock::Create(c, "produced", l.function);
  auto *rest = llvm::BasicBlock::Create(c, "consume", l.function);
  l.b.CreateCondBr(l.b.CreateICmpUGE(l.thread(), l.b.getInt32(l.numThreads())), extra, rest);
  l.b.SetInsertPoint(extra);
  makeBarriers(l, l.isFirstProducer(),
               llvm::to_vector(op->getBlock()->getOps<nv::MbarrierInitOp>()));
  const bool severalWarps = llvm::count_if(*op->getBlock(), llvm::IsaPred<nv::ProducerOp>) > 1;
  startRole(l, /*isProducer=*/true, severalWarps);
  reallocateRegisters(l, op, &Launch::Registers::ofProducer);
  extra = l.b.GetInsertBlock();
  l.b.SetInsertPoint(rest);
  startRole(l, /*isProducer=*/false, severalWarps);
  reallocateRegisters(l, op, &Launch::Registers::ofConsumers);
  return {extra, produce, done};
}

/// The extra warp that runs `op`: producers are numbered in their order, after each helper warp.
int warpOf(nv::ProducerOp op) {
  int warp = 0;
  for (auto other : op->getBlock()->getOps<nv::ProducerOp>()) {
    if (other == op)
      break;
    warp += 1 + !other.getBody().front().getOps<nv::HelperWarpOp>().empty();
  }
  return warp;
}

/// Whether a thread runs `op`: all of a warp, or its first one, and those of a helper warp.
llvm::Value *runs(Lowering &l, nv::ProducerOp op) {
  const int warp = l.numWarps() + warpOf(op);
  auto isOf = [&](int number) {
    return l.b.CreateICmpEQ(l.b.CreateLShr(l.thread(), 5), l.b.getInt32(number));
  };
  if (op.isRunByWarp())
    return isOf(warp);
  llvm::Value *first = l.isFirstProducer();
  return op.getBody().front().getOps<nv::HelperWarpOp>().empty()
             ? first
             : l.b.CreateOr(first, isOf(warp + 1));
}

/// Emits the body of `op` for its threads; the extra warps exit after it. `goesOn`: whether there is
/// anything to do, or null.
LogicalResult produce(Lowering &l, nv::ProducerOp op, const ExtraWarps &warps,
                      llvm::Value *goesOn) {
  llvm::Value *produces = runs(l, op);
  l.b.CreateCondBr(goesOn ? l.b.CreateAnd(produces, goesOn) : produces, warps.produce, warps.exit);
  l.b.SetInsertPoint(warps.produce);
  if (failed(l.lowerBlock(op.getBody().front())))
    return failure();
  l.b.CreateBr(warps.exit);
  l.b.SetInsertPoint(warps.exit);
  l.b.CreateRetVoid();
  return success();
}

//===- a producer that starts later ------------------------------------------------------===//

void awaitStart(Lowering &l, llvm::Intrinsic::ID barrier) {
  l.b.CreateIntrinsic(
      l.b.getVoidTy(), barrier,
      {l.b.getInt32(startBarrier), l.b.getInt32(l.numThreads() + 32 * l.producerWarps())});
}

LogicalResult lowerFork(Lowering &l, nv::ForkProducerOp op) {
  l.extraWarps = partRoles(l, op);
  const llvm::IRBuilderBase::InsertPointGuard guard(l.b);
  l.b.SetInsertPoint(l.extraWarps->start);
  awaitStart(l, llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_count);
  return success();
}

/// Scalars that consumers hand to a producer, in words of shared memory. The first word says whether
/// it goes on.
class HandedScalars {
public:
  HandedScalars(Lowering &l, nv::ProducerOp op, int64_t scratch) : l(l), scratch(scratch) {
    for (Value value : handedScalars(op))
      if (!isa<llvm::Constant, llvm::Argument>(l.scalar(value)))
        values.push_back(value);
  }

  void store() {
    const When when(l, l.isFirstThread());
    l.b.CreateStore(l.b.getInt64(1), word(0));
    for (auto [i, value] : llvm::enumerate(values))
      l.b.CreateStore(l.scalar(value), word(i + 1));
  }

  llvm::Value *goesOn() {
    return l.b.CreateICmpNE(l.b.CreateLoad(l.b.getInt64Ty(), word(0)), l.b.getInt64(0));
  }

  /// Emits `body`, in which the values are what is loaded here.
  LogicalResult load(llvm::function_ref<LogicalResult()> body) {
    SmallVector<llvm::Value *> own;
    for (auto [i, value] : llvm::enumerate(values)) {
      own.push_back(l.scalar(value));
      l.set(value, {l.b.CreateLoad(own.back()->getType(), word(i + 1))});
    }
    const LogicalResult result = body();
    for (auto [value, before] : llvm::zip_equal(values, own))
      l.set(value, {before});
    return result;
  }

private:
  llvm::Value *word(size_t number) {
    return l.sharedPointer(scratch + wordBytes * static_cast<int64_t>(number));
  }

  Lowering &l;
  int64_t scratch;
  SmallVector<Value> values;
};

/// What consumers have accessed comes before what is copied after this.
void letStart(Lowering &l) {
  l.b.CreateIntrinsic(l.b.getVoidTy(), llvm::Intrinsic::nvvm_fence_proxy_async, {});
  awaitStart(l, llvm::Intrinsic::nvvm_barrier_cta_arrive_aligned_count);
}

LogicalResult startLate(Lowering &l, nv::ProducerOp op) {
  const FailureOr<int64_t> scratch = l.scratch(op);
  if (failed(scratch))
    return failure();
  HandedScalars handed(l, op, *scratch);
  handed.store();
  letStart(l);
  const llvm::IRBuilderBase::InsertPointGuard guard(l.b);
  l.b.SetInsertPoint(l.extraWarps->start);
  llvm::Value *goesOn = handed.goesOn();
  return handed.load([&] { return produce(l, op, *l.extraWarps, goesOn); });
}

LogicalResult lowerDismiss(Lowering &l, nv::DismissProducerOp op) {
  const auto producers = opsIn<nv::ProducerOp>(op->getParentOfType<func::FuncOp>());
  const FailureOr<int64_t> scratch = l.scratch(producers.front());
  if (failed(scratch))
    return failure();
  {
    const When when(l, l.isFirstThread());
    l.b.CreateStore(l.b.getInt64(0), l.sharedPointer(*scratch));
  }
  letStart(l);
  return success();
}

/// Emits the bodies of all producers where the first one is.
LogicalResult lowerProducer(Lowering &l, nv::ProducerOp op) {
  if (l.extraWarps)
    return startLate(l, op);
  if (warpOf(op) != 0)
    return success();
  ExtraWarps warps = partRoles(l, op);
  const llvm::IRBuilderBase::InsertPointGuard guard(l.b);
  l.b.SetInsertPoint(warps.start);
  for (auto other : op->getBlock()->getOps<nv::ProducerOp>()) {
    if (other != op) { // where the one before it ends
      warps.exit->getTerminator()->eraseFromParent();
      warps = {warps.exit, l.newBlock("produce"), l.newBlock("produced")};
      l.b.SetInsertPoint(warps.start);
    }
    if (failed(produce(l, other, warps, nullptr)))
      return failure();
  }
  return success();
}
} // namespace

void lower::addProducer(Handlers &h) {
  h.add<nv::ProducerOp>(lowerProducer);
  h.add<nv::ForkProducerOp>(lowerFork);
  h.add<nv::DismissProducerOp>(lowerDismiss);
}
