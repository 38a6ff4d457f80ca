//===- StagedLoad.cpp - find staged loads and their address slices --------------------------===//
#include "analysis/StagedLoad.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace pantile {

int stagesOf(scf::ForOp loop) {
  auto own = loop->getAttrOfType<IntegerAttr>(names::numStages);
  return own ? static_cast<int>(own.getInt()) : moduleInt(loop, names::numStages, 3);
}

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

nv::BufferType stageFor(RankedTensorType tile, int fastest, int mostSpan) {
  SmallVector<int> order{fastest};
  for (int d = tile.getRank() - 1; d >= 0; --d)
    if (d != fastest)
      order.push_back(d);
  SharedLayout shared =
      SharedLayout::forOperand(tile.getShape(), storageBits(tile.getElementType()), order);
  auto swizzle = nv::SwizzleAttr::get(tile.getContext(), SmallVector<int32_t>(order),
                                      std::min(shared.swizzle(), mostSpan));
  return nv::BufferType::get(tile.getContext(), 1, tile.getShape(), tile.getElementType(), swizzle);
}

int64_t stageBytesOf(ArrayRef<StagedLoad> loads) {
  int64_t bytes = 0;
  for (StagedLoad load : loads)
    bytes += load.alloc.getType().getStageBytes();
  return bytes;
}

std::optional<AddressSlice> addressSlice(scf::ForOp loop, ArrayRef<Value> roots, bool upToLoads) {
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
    if (upToLoads && isa<LoadOp>(op)) {
      slice.loads.insert(op);
      continue;
    }
    if (op->getNumRegions() != 0 || !isMemoryEffectFree(op))
      return std::nullopt;
    if (slice.ops.insert(op))
      work.append(op->operand_begin(), op->operand_end());
  }
  return slice;
}

/// The pointer before offsets were added and elements moved or selected, within one iteration.
static Value withoutOffsets(Value ptr) {
  while (Operation *op = ptr.getDefiningOp()) {
    if (!isa<AddPtrOp, SplatOp, UnsplatOp, BroadcastOp, ExpandDimsOp, ReshapeOp, TransOp, SplitOp,
             ExchangeOp, ExtractSliceOp, ExtractOp, ConvertLayoutOp>(op))
      break;
    ptr = op->getOperand(0);
  }
  return ptr;
}

Value baseOf(Value ptr) {
  while (true) {
    ptr = withoutOffsets(ptr);
    auto argument = dyn_cast<BlockArgument>(ptr);
    auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
    if (!loop || argument == loop.getInductionVar() ||
        withoutOffsets(loop.getTiedLoopYieldedValue(argument)->get()) != ptr)
      return ptr;
    ptr = loop.getTiedLoopInit(argument)->get();
  }
}

std::optional<AddressSlice> slicesOf(scf::ForOp loop, ArrayRef<Operation *> loads) {
  SmallVector<Value> roots;
  for (Operation *load : loads)
    roots.append(load->operand_begin(), load->operand_end());
  return addressSlice(loop, roots);
}

} // namespace pantile
