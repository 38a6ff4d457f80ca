//===- LowerCluster.cpp - communication between the CTAs of a cluster ----------------------===//
// Needs: a kernel whose attributes say that each program runs on a cluster.
// Gives: nv.cluster_rank, cluster_gather, cluster_arrive and cluster_wait.
// How:   To gather, each CTA writes its scalar to its own shared memory. After a cluster barrier
//        each CTA reads the scalars of all through DSMEM. barrier.cluster releases on arrive and
//        acquires on wait (PTX ISA manual, "barrier.cluster").
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

LogicalResult lowerClusterRank(Lowering &l, nv::ClusterRankOp op) {
  const int64_t ctas = Launch::of(op).ctasPerProgram;
  llvm::Value *cta =
      l.b.CreateIntrinsic(l.b.getInt32Ty(), llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {});
  l.set(op, l.b.CreateAnd(cta, l.b.getInt32(ctas - 1)));
  return success();
}

LogicalResult lowerClusterGather(Lowering &l, nv::ClusterGatherOp op) {
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

LogicalResult lowerClusterArrive(Lowering &l, nv::ClusterArriveOp) {
  arrive(l);
  return success();
}

LogicalResult lowerClusterWait(Lowering &l, nv::ClusterWaitOp) {
  await(l);
  return success();
}
} // namespace

void lower::addCluster(Handlers &h) {
  h.add<nv::ClusterRankOp>(lowerClusterRank);
  h.add<nv::ClusterGatherOp>(lowerClusterGather);
  h.add<nv::ClusterArriveOp>(lowerClusterArrive);
  h.add<nv::ClusterWaitOp>(lowerClusterWait);
}
