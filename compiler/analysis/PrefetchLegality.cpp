//===- PrefetchLegality.cpp - which loads of a loop may be prefetched --------------===//
// Gives: see PrefetchLegality.h.
//===-------------------------------------------------------------------------------===//
#include "analysis/PrefetchLegality.h"
#include "analysis/CtasPerSm.h"
#include "analysis/MotionLegality.h"
#include "ir/Machine.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace pantile {

static bool containsLoops(scf::ForOp loop) { return !loop.getBody()->getOps<scf::ForOp>().empty(); }

/// The pointer of `op` if it only writes: a store, or an atomic whose old values are unused. Null
/// for others. A poll also synchronises with other writers, even where its result is unused.
static Value pointerIfOnlyWritten(Operation *op) {
  if (auto store = dyn_cast<StoreOp>(op))
    return store.getPtr();
  auto atomic = dyn_cast<AtomicRmwOp>(op);
  const bool reads =
      !atomic || atomic.getKind() == RmwKind::Poll || !atomic.getResult().use_empty();
  return reads ? Value() : atomic.getPtr();
}

/// Whether `op` only writes, and through another argument than `base`.
static bool writesOtherArgument(Operation *op, Value base) {
  Value written = pointerIfOnlyWritten(op);
  Value target = written ? baseOf(written) : Value();
  return target && isKernelArgument(base) && isKernelArgument(target) && target != base;
}

bool isNoAliasStore(scf::ForOp loop, Operation *op, Value base) {
  return !containsLoops(loop) && writesOtherArgument(op, base);
}

bool isNoAliasAtomic(Operation *op, Value base) {
  auto atomic = dyn_cast<AtomicRmwOp>(op);
  return atomic && atomic.getSem() == MemSemantic::Relaxed && writesOtherArgument(op, base);
}

Operation *memoryChange(scf::ForOp loop, Value base) {
  Operation *change = nullptr;
  loop.walk([&](Operation *op) {
    auto load = dyn_cast<LoadOp>(op);
    const bool isOpaque = isa<InlineAsmOp, ExternCallOp>(op) && !isMemoryEffectFree(op);
    if ((isa<StoreOp, AtomicRmwOp>(op) && !isNoAliasStore(loop, op, base)) ||
        isa<AtomicCasOp, BarrierOp, SpecialOp, nv::AcquireOp>(op) || isOpaque ||
        (load && !isStableLoad(load)))
      change = op;
    return change ? WalkResult::interrupt() : WalkResult::advance();
  });
  return change;
}

/// Whether the indices that addresses are computed from can be loaded iterations early and carried
/// in registers.
static bool canPrefetchIndices(scf::ForOp loop, const AddressSlice &slice) {
  int64_t registers = 0;
  for (Operation *op : slice.loads) {
    auto tile = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    registers +=
        tile ? llvm::divideCeil(layoutOf(tile).numRegs() * storageBits(tile.getElementType()), 32)
             : 1;
    auto load = cast<LoadOp>(op);
    if (!isStableLoad(load) || memoryChange(loop, baseOf(load.getPtr())))
      return false;
  }
  return registers <= machineOf(loop).registers.carriedIndices &&
         slicesOf(loop, slice.loads.getArrayRef());
}

SmallVector<Value> addressRoots(LoadOp load) {
  SmallVector<Value> roots{load.getPtr()};
  if (load.getMask())
    roots.push_back(load.getMask());
  return roots;
}

bool isIndirect(scf::ForOp loop, LoadOp load) {
  auto slice = addressSlice(loop, addressRoots(load), /*upToLoads=*/true);
  return slice && !slice->loads.empty();
}

bool isIndexOf(scf::ForOp loop, LoadOp index, LoadOp load) {
  auto slice = addressSlice(loop, addressRoots(load), /*upToLoads=*/true);
  return slice && slice->loads.contains(index);
}

PrefetchCopy prefetchCopyOf(scf::ForOp loop, LoadOp load, nv::BufferType buffer,
                            const AxisInfoAnalysis &axes) {
  if (!isStableLoad(load))
    return {0, "it is volatile"};
  if (load.getOther() && !matchPattern(load.getOther(), m_Zero()) &&
      !matchPattern(load.getOther(), m_PosZeroFloat()))
    return {0, "`other` is not zero"};
  if (Operation *change = memoryChange(loop, baseOf(load.getPtr())))
    return {0, "what it reads may change in the loop", change};
  auto slice = addressSlice(loop, addressRoots(load), /*upToLoads=*/true);
  if (!slice || !canPrefetchIndices(loop, *slice))
    return {0, "its address depends on memory read in the loop"};
  auto tile = cast<RankedTensorType>(load.getType());
  const LinearLayout layout = layoutOf(tile);
  const int elementBytes = storageBits(tile.getElementType()) / 8;
  const int64_t global = axes.widthWithTail(load.getPtr(), load.getMask(), layout) * elementBytes;
  const int64_t bytes = std::min<int64_t>({16, global, sharedLayoutOf(buffer).vectorBytes(layout)});
  if (bytes < 4)
    return {0, "fewer than 4 bytes are contiguous"};
  return {static_cast<int>(bytes), ""};
}

int64_t ctasWithBuffers(scf::ForOp loop, ArrayRef<nv::BufferType> added, int depth,
                        const Target &target) {
  auto kernel = loop->getParentOfType<func::FuncOp>();
  CtaDemand demand = demandOf(kernel);
  demand.registersOfThread = std::max(demand.registersOfThread, registersWithoutPointers(loop));
  kernel.walk([&](nv::AllocOp alloc) { // circular buffers of other loops are not live at that time
    if (auto holder = alloc->getParentOfType<scf::ForOp>(); holder && holder != loop)
      demand.sharedBytes -= bufferBytes(alloc.getType());
  });
  for (StagedLoad staged : findStagedLoads(loop))
    demand.sharedBytes += (depth - 1) * bufferBytes(staged.alloc.getType());
  for (nv::BufferType buffer : added)
    demand.sharedBytes += depth * bufferBytes(buffer);
  return target.machine().ctasPerSm(demand);
}

} // namespace pantile
