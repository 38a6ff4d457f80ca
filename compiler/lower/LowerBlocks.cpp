//===- LowerBlocks.cpp - what blocks of one program tell each other -------------------------===//
// Needs: the blocks of a program are a cluster, which the kernel's attributes say.
// Gives: a block's rank, the scalars of all, and meetings.
// How:   each block writes its scalar to its own shared memory; when all have, each reads those of
//        all. Who arrives has done what came before, for those who wait (PTX ISA manual,
//        "barrier.cluster").
//===--------------------------------------------------------------------------------------===//
#include "ir/Launch.h"
#include "lower/Lowering.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
void arrive(Lowering &l) {
  l.b.CreateIntrinsic(l.b.getVoidTy(), llvm::Intrinsic::nvvm_barrier_cluster_arrive_aligned, {});
}

void await(Lowering &l) {
  l.b.CreateIntrinsic(l.b.getVoidTy(), llvm::Intrinsic::nvvm_barrier_cluster_wait_aligned, {});
}

LogicalResult lowerBlockRank(Lowering &l, nv::ClusterRankOp op) {
  const int64_t blocks = Launch::of(op).ctasPerProgram;
  llvm::Value *block =
      l.b.CreateIntrinsic(l.b.getInt32Ty(), llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {});
  l.set(op, l.b.CreateAnd(block, l.b.getInt32(blocks - 1)));
  return success();
}

LogicalResult lowerGatherBlocks(Lowering &l, nv::ClusterGatherOp op) {
  auto scratch = l.scratch(op);
  if (failed(scratch))
    return failure();
  const unsigned bits = storageBits(op.getSrc().getType());
  LinearLayout::FreeBits all;
  all.lane = 31, all.warp = l.warpMask();
  l.inFirstThreads(all, [&] {
    l.storeShared({l.scalar(op.getSrc())}, bits, {l.b.getInt32(*scratch)}, bits / 8);
  });
  arrive(l);
  await(l);
  Values values;
  for (llvm::Value *rank : l.coordinates(l.layout(op.getType()), 0)) {
    llvm::Value *place =
        l.b.CreateIntrinsic(l.b.getPtrTy(7), llvm::Intrinsic::nvvm_mapa_shared_cluster,
                            {l.sharedPointer(*scratch), rank});
    llvm::Value *word = l.b.CreateAlignedLoad(l.b.getIntNTy(bits), place, llvm::Align(bits / 8));
    values.push_back(l.unpack({word}, l.type(op.getSrc().getType()), bits, 1)[0]);
  }
  l.set(op, values);
  return success();
}

LogicalResult lowerArriveBlocks(Lowering &l, nv::ClusterArriveOp) {
  arrive(l);
  return success();
}

LogicalResult lowerAwaitBlocks(Lowering &l, nv::ClusterWaitOp) {
  await(l);
  return success();
}
} // namespace

void lower::addBlocks(Handlers &h) {
  h.add<nv::ClusterRankOp>(lowerBlockRank);
  h.add<nv::ClusterGatherOp>(lowerGatherBlocks);
  h.add<nv::ClusterArriveOp>(lowerArriveBlocks);
  h.add<nv::ClusterWaitOp>(lowerAwaitBlocks);
}
