//===- CopyAhead.cpp - which loads of a loop may be made iterations ahead -----------------===//
// Gives: see CopyAhead.h.
//===--------------------------------------------------------------------------------------===//
#include "analysis/CopyAhead.h"
#include "analysis/Residency.h"
#include "ir/Machine.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace pantile {

bool readsAfresh(LoadOp load) {
  return load.getIsVolatile() || load.getCache() == CacheModifier::Cv;
}

static bool holdsLoops(scf::ForOp loop) { return !loop.getBody()->getOps<scf::ForOp>().empty(); }

/// Where `op` writes without learning anything: a store, or an atomic whose old values nobody
/// looks at. Null for others: a poll learns that others have written, also where its result has no use.
static Value writtenBlindly(Operation *op) {
  if (auto store = dyn_cast<StoreOp>(op))
    return store.getPtr();
  auto atomic = dyn_cast<AtomicRmwOp>(op);
  const bool learns =
      !atomic || atomic.getKind() == RmwKind::Poll || !atomic.getResult().use_empty();
  return learns ? Value() : atomic.getPtr();
}

bool writesApart(scf::ForOp loop, Operation *op, Value base) {
  Value written = writtenBlindly(op);
  if (!written)
    return false;
  Value target = baseOf(written);
  return !holdsLoops(loop) && isKernelArgument(base) && isKernelArgument(target) && target != base;
}

Operation *memoryChange(scf::ForOp loop, Value base) {
  Operation *change = nullptr;
  loop.walk([&](Operation *op) {
    auto load = dyn_cast<LoadOp>(op);
    const bool isOpaque = isa<InlineAsmOp, ExternCallOp>(op) && !isMemoryEffectFree(op);
    if ((isa<StoreOp, AtomicRmwOp>(op) && !writesApart(loop, op, base)) ||
        isa<AtomicCasOp, BarrierOp, SpecialOp>(op) || isOpaque || (load && readsAfresh(load)))
      change = op;
    return change ? WalkResult::interrupt() : WalkResult::advance();
  });
  return change;
}

/// Whether what addresses are computed from can be loaded ahead of them and carried in registers.
static bool canLoadAhead(scf::ForOp loop, const AddressSlice &slice) {
  int64_t words = 0;
  for (Operation *op : slice.loads) {
    auto tile = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    words +=
        tile ? llvm::divideCeil(layoutOf(tile).numRegs() * storageBits(tile.getElementType()), 32)
             : 1;
    auto load = cast<LoadOp>(op);
    if (readsAfresh(load) || memoryChange(loop, baseOf(load.getPtr())))
      return false;
  }
  return words <= machineOf(loop).registers.carriedIndices &&
         slicesOf(loop, slice.loads.getArrayRef());
}

static SmallVector<Value> addressRoots(LoadOp load) {
  SmallVector<Value> roots{load.getPtr()};
  if (load.getMask())
    roots.push_back(load.getMask());
  return roots;
}

bool isThroughTable(scf::ForOp loop, LoadOp load) {
  auto slice = addressSlice(loop, addressRoots(load), /*upToLoads=*/true);
  return slice && !slice->loads.empty();
}

AheadCopy aheadCopyOf(scf::ForOp loop, LoadOp load, nv::BufferType buffer,
                      const AxisInfoAnalysis &axes) {
  if (readsAfresh(load))
    return {0, "it is volatile"};
  if (load.getOther() && !matchPattern(load.getOther(), m_Zero()) &&
      !matchPattern(load.getOther(), m_AnyZeroFloat()))
    return {0, "`other` is not zero"};
  if (Operation *change = memoryChange(loop, baseOf(load.getPtr())))
    return {0, "what it reads may change in the loop", change};
  auto slice = addressSlice(loop, addressRoots(load), /*upToLoads=*/true);
  if (!slice || !canLoadAhead(loop, *slice))
    return {0, "its address depends on memory read in the loop"};
  auto tile = cast<RankedTensorType>(load.getType());
  const LinearLayout layout = layoutOf(tile);
  const int elementBytes = storageBits(tile.getElementType()) / 8;
  const int64_t global = axes.accessWidth(load.getPtr(), load.getMask(), layout) * elementBytes;
  const int64_t bytes = std::min<int64_t>({16, global, sharedLayoutOf(buffer).vectorBytes(layout)});
  if (bytes < 4)
    return {0, "fewer than 4 bytes are contiguous"};
  return {static_cast<int>(bytes), ""};
}

int64_t blocksWithRings(scf::ForOp loop, ArrayRef<nv::BufferType> rings, int depth,
                        const Target &target) {
  auto kernel = loop->getParentOfType<func::FuncOp>();
  CtaDemand demand = demandOf(kernel);
  demand.registersOfThread = std::max(demand.registersOfThread, registersWithoutPointers(loop));
  kernel.walk([&](nv::AllocOp alloc) { // circular buffers of loops follow each other
    if (auto holder = alloc->getParentOfType<scf::ForOp>(); holder && holder != loop)
      demand.sharedBytes -= ringBytes(alloc.getType());
  });
  for (StagedLoad staged : findStagedLoads(loop))
    demand.sharedBytes += (depth - 1) * ringBytes(staged.alloc.getType());
  for (nv::BufferType ring : rings)
    demand.sharedBytes += depth * ringBytes(ring);
  return target.machine().ctasPerSm(demand);
}

} // namespace pantile
