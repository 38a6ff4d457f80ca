//===- StagedLoad.cpp - find staged loads and what their addresses need -----------------===//
#include "passes/pipeline/StagedLoad.h"

using namespace mlir;

namespace pantile {

SmallVector<StagedLoad> findStagedLoads(scf::ForOp loop) {
  SmallVector<StagedLoad> found;
  for (auto store : loop.getBody()->getOps<nv::LocalStoreOp>()) {
    auto load = store.getValue().getDefiningOp<LoadOp>();
    auto alloc = store.getBuffer().getDefiningOp<nv::AllocOp>();
    if (load && alloc && load->hasOneUse() && load->getBlock() == loop.getBody() &&
        alloc->getBlock() == loop.getBody())
      found.push_back({load, store, alloc});
  }
  return found;
}

std::optional<AddressSlice> addressSlice(scf::ForOp loop, ArrayRef<Value> roots) {
  AddressSlice slice;
  SmallVector<Value> work(roots);
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (auto arg = dyn_cast<BlockArgument>(value)) {
      if (arg.getOwner() == loop.getBody() && arg != loop.getInductionVar() &&
          slice.carried.insert(arg.getArgNumber() - loop.getNumInductionVars()))
        work.push_back(loop.getYieldedValues()[arg.getArgNumber() - loop.getNumInductionVars()]);
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (op->getBlock() != loop.getBody())
      continue;
    if (op->getNumRegions() != 0 || !isMemoryEffectFree(op))
      return std::nullopt;
    if (slice.ops.insert(op))
      work.append(op->operand_begin(), op->operand_end());
  }
  return slice;
}

} // namespace pantile
