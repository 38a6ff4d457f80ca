//===- ScheduleLoops.cpp - decide which loads of a loop are prefetched ------------------===//
// Needs: StageOperands ran: what a tensor core reads from a loop's loads passes a buffer.
// Gives: `nv.prefetch` (bytes of one cp.async) on each staged store that is to become a copy;
//        `nv.distance`, `nv.slots` and `nv.in_flight` on its loop.
// How:   a staged load qualifies when its addresses can be computed ahead of time, also from small
//        loads of the loop whose own addresses can (a page table's entries; while two blocks have
//        room), its vectors are at least 4 bytes and nothing in the loop may change what it reads:
//        a store through another argument does not. With num_stages = s there are s slots and
//        copies run s - 1 iterations ahead. A loop with one wgmma whose sum only goes to the next
//        iteration keeps one product under way, if its operands outlast the iteration: its slot is
//        free one iteration later, so there is one slot more, or, where shared memory is short, one
//        iteration less of distance. So does a loop with two chained products (CarriedSum.h), where
//        no block of the multiprocessor goes for the slot.
//===------------------------------------------------------------------------------------===//
#include "analysis/AxisInfo.h"
#include "ir/Remarks.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"
#include "passes/pipeline/BufferReaders.h"
#include "passes/pipeline/CarriedSum.h"
#include "passes/pipeline/Residency.h"
#include "passes/pipeline/StagedLoad.h"
#include "support/Target.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_SCHEDULELOOPS
#include "passes/Passes.h.inc"
namespace {

struct Schedule {
  int distance = 0, slots = 0, inFlight = 0;
  bool carriesSum = false;
};

int64_t slotBytes(ArrayRef<StagedLoad> loads) {
  int64_t bytes = 0;
  for (StagedLoad load : loads)
    bytes += load.alloc.getType().getSlotBytes();
  return bytes;
}

/// True when `buffer` is not written by the next iteration: it is in a ring, or the loop leaves it
/// alone.
bool outlastsIteration(scf::ForOp loop, Value buffer, ArrayRef<StagedLoad> loads) {
  while (auto view = buffer.getDefiningOp<nv::BufferTransOp>())
    buffer = view.getBuffer();
  auto alloc = buffer.getDefiningOp<nv::AllocOp>();
  return alloc &&
         (loop.isDefinedOutsideOfLoop(alloc) ||
          llvm::any_of(loads, [&](const StagedLoad &load) { return load.alloc == alloc; }));
}

/// True when the loop's only product is added up from iteration to iteration and not looked at in
/// between: neither to move the sum elsewhere, nor to unpack fp16 from registers of 32 bits.
bool canKeepProductInFlight(scf::ForOp loop, ArrayRef<StagedLoad> loads) {
  SmallVector<nv::WgmmaOp> products;
  loop.walk([&](nv::WgmmaOp product) { products.push_back(product); });
  if (products.size() != 1 || products[0]->getParentOp() != loop || !products[0]->hasOneUse() ||
      products[0]->hasAttr(names::maxImprecise) ||
      products[0].getAcc().getType().getElementType().isF16() ||
      !outlastsIteration(loop, products[0].getLhs(), loads) ||
      !outlastsIteration(loop, products[0].getRhs(), loads))
    return false;
  auto wait = dyn_cast<nv::WgmmaWaitOp>(*products[0]->user_begin());
  if (!wait || !wait->hasOneUse())
    return false;
  OpOperand &use = *wait->use_begin();
  return use.getOwner() == loop.getBody()->getTerminator() &&
         products[0].getAcc() == loop.getRegionIterArg(use.getOperandNumber()) &&
         products[0].getAcc().hasOneUse();
}

/// True when the second of two chained products may end in the next iteration: what it reads lasts,
/// and only copies write to shared memory.
bool canCarrySum(scf::ForOp loop, ArrayRef<StagedLoad> loads) {
  auto isCopied = [&](nv::LocalStoreOp store) {
    return llvm::any_of(loads, [&](const StagedLoad &load) { return load.store == store; });
  };
  auto carried = findCarriedSum(loop);
  return carried && outlastsIteration(loop, carried->second.getRhs(), loads) &&
         llvm::all_of(loop.getBody()->getOps<nv::LocalStoreOp>(), isCopied);
}

/// True when as many blocks have room with `slots` as with one less.
bool hasRoomForSlot(scf::ForOp loop, ArrayRef<StagedLoad> loads, int slots, const Target &target) {
  constexpr int64_t most = 32;
  auto kernel = loop->getParentOfType<func::FuncOp>();
  BlockDemand demand = demandOf(kernel);
  kernel.walk([&](nv::AllocOp alloc) { // rings of loops follow each other
    if (alloc->getParentOfType<scf::ForOp>())
      demand.sharedBytes -= ringBytes(alloc.getType());
  });
  demand.sharedBytes += (slots - 1) * slotBytes(loads);
  const int64_t before = blocksWithRoom(demand, target, most);
  demand.sharedBytes += slotBytes(loads);
  return demand.sharedBytes <= target.maxSharedBytes() &&
         blocksWithRoom(demand, target, most) == before;
}

Schedule chooseSchedule(scf::ForOp loop, ArrayRef<StagedLoad> loads, int stages,
                        const Target &target) {
  Schedule plain{stages - 1, stages, 0};
  auto module = loop->getParentOfType<ModuleOp>();
  if (!module->hasAttr(names::withoutCarriedSums) && canCarrySum(loop, loads)) {
    if (hasRoomForSlot(loop, loads, stages + 1, target))
      return {stages - 1, stages + 1, 0, /*carriesSum=*/true};
    return stages >= 3 ? Schedule{stages - 2, stages, 0, /*carriesSum=*/true} : plain;
  }
  if (!canKeepProductInFlight(loop, loads))
    return plain;
  if (slotBytes(loads) * (stages + 1) <= target.maxSharedBytes())
    return {stages - 1, stages + 1, 1};
  return stages >= 3 ? Schedule{stages - 2, stages, 1} : plain;
}

/// Every such load reads memory itself, when its turn comes.
bool readsAfresh(LoadOp load) {
  return load.getIsVolatile() || load.getCache() == CacheModifier::Cv;
}

bool holdsLoops(scf::ForOp loop) { return !loop.getBody()->getOps<scf::ForOp>().empty(); }

/// Writes through another argument: what a kernel reads ahead for its products lies apart from
/// that, as Triton holds too. Loops around others, such as those over programs, do not read ahead
/// past their stores: a block would hold the operands of two programs.
bool writesApart(scf::ForOp loop, StoreOp store, Value base) {
  Value target = baseOf(store.getPtr());
  return !holdsLoops(loop) && isKernelArgument(base) && isKernelArgument(target) && target != base;
}

/// What in `loop` may make memory read otherwise through `base` than before: a write, or an access
/// that may have waited for one.
Operation *memoryChange(scf::ForOp loop, Value base) {
  Operation *change = nullptr;
  loop.walk([&](Operation *op) {
    auto load = dyn_cast<LoadOp>(op);
    auto store = dyn_cast<StoreOp>(op);
    const bool isOpaque = isa<InlineAsmOp, ExternCallOp>(op) && !isMemoryEffectFree(op);
    if ((store && !writesApart(loop, store, base)) ||
        isa<AtomicRmwOp, AtomicCasOp, SpecialOp>(op) || isOpaque || (load && readsAfresh(load)))
      change = op;
    return change ? WalkResult::interrupt() : WalkResult::advance();
  });
  return change;
}

/// Whether what addresses are computed from can be loaded ahead of them and carried in registers.
bool canLoadAhead(scf::ForOp loop, const AddressSlice &slice) {
  constexpr int64_t mostWords = 32;
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
  return words <= mostWords && slicesOf(loop, slice.loads.getArrayRef());
}

SmallVector<Value> addressRoots(LoadOp load) {
  SmallVector<Value> roots{load.getPtr()};
  if (load.getMask())
    roots.push_back(load.getMask());
  return roots;
}

bool isThroughTable(scf::ForOp loop, StagedLoad staged) {
  return !addressSlice(loop, addressRoots(staged.load), /*upToLoads=*/true)->loads.empty();
}

/// Whether two blocks have shared memory for `slots` of `loads`, beside all else.
bool leavesTwoBlocks(scf::ForOp loop, ArrayRef<StagedLoad> loads, int slots, const Target &target) {
  constexpr int64_t reserved = 1024; // of each block, beside what one block may have
  const int64_t bytes =
      demandOf(loop->getParentOfType<func::FuncOp>()).sharedBytes + (slots - 1) * slotBytes(loads);
  return 2 * (bytes + reserved) <= target.maxSharedBytes() + reserved;
}

struct ScheduleLoopsPass : impl::ScheduleLoopsBase<ScheduleLoopsPass> {
  void runOnOperation() override {
    auto target = Target::parse(moduleTarget(getOperation()));
    if (!target || !target->hasCpAsync())
      return;
    AxisInfoAnalysis axes(getOperation());
    getOperation().walk([&](scf::ForOp loop) { schedule(loop, axes, *target); });
  }

private:
  int stagesOf(scf::ForOp loop) {
    if (auto own = loop->getAttrOfType<IntegerAttr>(names::numStages))
      return static_cast<int>(own.getInt());
    return moduleInt(loop, names::numStages, 3);
  }

  /// Bytes of one cp.async of `staged`, or 0 with a remark that says why there is none.
  int prefetchBytes(scf::ForOp loop, StagedLoad staged, const AxisInfoAnalysis &axes) {
    LoadOp load = staged.load;
    auto refuse = [&](const Twine &reason, Operation *culprit = nullptr) {
      InFlightDiagnostic remark = remarkMissed(load.getLoc(), Technique::Pipelining);
      remark << "load is not prefetched: " << reason;
      if (culprit)
        remark.attachNote(culprit->getLoc()) << "it may change here";
      return 0;
    };
    if (readsAfresh(load))
      return refuse("it is volatile");
    if (load.getOther() && !matchPattern(load.getOther(), m_Zero()) &&
        !matchPattern(load.getOther(), m_AnyZeroFloat()))
      return refuse("`other` is not zero");
    if (Operation *change = memoryChange(loop, baseOf(load.getPtr())))
      return refuse("what it reads may change in the loop", change);
    auto slice = addressSlice(loop, addressRoots(load), /*upToLoads=*/true);
    if (!slice || !canLoadAhead(loop, *slice))
      return refuse("its address depends on memory read in the loop");
    auto tile = cast<RankedTensorType>(load.getType());
    LinearLayout layout = layoutOf(tile);
    int elementBytes = storageBits(tile.getElementType()) / 8;
    int64_t global = axes.accessWidth(load.getPtr(), load.getMask(), layout) * elementBytes;
    int64_t bytes =
        std::min<int64_t>({16, global, sharedLayoutOf(staged.alloc.getType()).vectorBytes(layout)});
    return bytes >= 4 ? static_cast<int>(bytes) : refuse("fewer than 4 bytes are contiguous");
  }

  /// Gives up copies through a table, whose rings would cost the second block.
  bool leaveInOrder(scf::ForOp loop, StagedLoad staged) {
    if (!isThroughTable(loop, staged))
      return false;
    staged.store->removeAttr(names::prefetch);
    remarkMissed(staged.load.getLoc(), Technique::Pipelining)
        << "load is not prefetched: its buffers would leave room for one block only";
    return true;
  }

  void schedule(scf::ForOp loop, const AxisInfoAnalysis &axes, const Target &target) {
    int stages = stagesOf(loop);
    if (stages < 2)
      return;
    shareStagedBuffers(loop);
    Builder builder(loop);
    SmallVector<StagedLoad> chosen;
    for (StagedLoad &staged : findStagedLoads(loop)) {
      if (int bytes = prefetchBytes(loop, staged, axes)) {
        staged.store->setAttr(names::prefetch, builder.getI32IntegerAttr(bytes));
        chosen.push_back(staged);
      }
    }
    if (!leavesTwoBlocks(loop, chosen, stages, target))
      llvm::erase_if(chosen, [&](StagedLoad staged) { return leaveInOrder(loop, staged); });
    if (chosen.empty())
      return;
    Schedule schedule = chooseSchedule(loop, chosen, stages, target);
    loop->setAttr(names::distance, builder.getI32IntegerAttr(schedule.distance));
    loop->setAttr(names::slots, builder.getI32IntegerAttr(schedule.slots));
    loop->setAttr(names::inFlight, builder.getI32IntegerAttr(schedule.inFlight));
    if (schedule.carriesSum)
      loop->setAttr(names::carriesSum, builder.getUnitAttr());
    for (StagedLoad &staged : chosen)
      remarkApplied(staged.load.getLoc(), Technique::Pipelining)
          << "load is prefetched " << schedule.distance << " iterations ahead into "
          << schedule.slots << " buffers";
  }
};
} // namespace
} // namespace pantile
