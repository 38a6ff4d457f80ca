//===- RemarkAccesses.cpp - remark on accesses that use memory badly ---------------===//
// Needs: layouts; buffers and conversions in their final form.
// Gives: remarks on global accesses that are narrower than they could be or use parts of sectors,
//        and on shared accesses with bank conflicts. Changes nothing.
// How:   The layout says what one instruction of the first warp accesses. Elements that are not known to
//        be contiguous (MemoryOrder.h) count as if they were far apart. So a remark states what is
//        known at compile time: at run time a stride may be 1.
//===-------------------------------------------------------------------------------===//
#include "analysis/AxisInfo.h"
#include "analysis/MemoryOrder.h"
#include "analysis/Scratch.h"
#include "ir/Remarks.h"
#include "ir/Tile.h"
#include "layout/BankExchange.h"
#include "layout/MatrixAccess.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "support/Target.h"
#include <set>

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_REMARKACCESSES
#include "passes/Passes.h.inc"
namespace {

//===- global memory ---------------------------------------------------------------------===//

/// One access of global memory by a tile of pointers.
struct GlobalAccess {
  Operation *op;
  Value ptr, mask;
  const char *verb; ///< "load"
};

/// What one instruction of a warp moves.
struct SectorUse {
  int64_t sectors = 0, wanted = 0; ///< how many; bytes

  bool isWasteful() const {
    return sectors > 1 && wanted * 2 <= sectors * InstructionSet::sectorBytes;
  }
};

int64_t elementBytesOf(Value ptr) {
  auto pointer = cast<PtrType>(elementTypeOf(ptr.getType()));
  return std::max<int64_t>(storageBits(pointer.getPointee()) / 8, 1);
}

int longestDim(ArrayRef<int64_t> runs) {
  return static_cast<int>(llvm::max_element(runs) - runs.begin());
}

/// `width` registers from register 0 of every lane of warp 0.
SectorUse sectorsOf(const AxisInfo &info, ArrayRef<int64_t> runs, const LinearLayout &layout,
                    int64_t width, int64_t bytes) {
  const int along = longestDim(runs);
  const int64_t run = runs[along];
  std::set<LinearLayout::Coord> sectors, elements;
  for (int lane = 0; lane < layout.numLanes(); ++lane)
    for (int reg = 0; reg < width; ++reg) {
      LinearLayout::Coord at = layout.apply(reg, lane, 0);
      for (auto [d, index] : llvm::enumerate(at))
        index &= ~static_cast<int32_t>(info.constancy[d] - 1);
      elements.insert(at);
      const int64_t inRun = at[along] % run * bytes;
      at[along] = static_cast<int32_t>(at[along] / run);
      at.push_back(static_cast<int32_t>(inRun / InstructionSet::sectorBytes));
      sectors.insert(at);
    }
  return {static_cast<int64_t>(sectors.size()), static_cast<int64_t>(elements.size()) * bytes};
}

/// Why adjacent elements of a warp are not contiguous in memory.
std::string reasonOf(ArrayRef<int64_t> runs, const LinearLayout &layout, int64_t bytes) {
  const int along = longestDim(runs);
  const int64_t run = runs[along];
  if (run == 1)
    return "no two elements of the tile are known to be contiguous in memory";
  if (run * bytes < InstructionSet::sectorBytes)
    return "no more than " + std::to_string(run) + " elements are known to be contiguous in memory";
  if (along == layout.fastestDim())
    return "its instructions take less than a sector of each row";
  return "memory is contiguous along dimension " + std::to_string(along) +
         ", the warp along dimension " + std::to_string(layout.fastestDim());
}

/// What keeps an access of `width` elements from being wider, or null if it is as wide as possible.
const char *limitOf(const AxisInfoAnalysis &axes, const GlobalAccess &access,
                    ArrayRef<int64_t> runs, int64_t width, int64_t bytes) {
  const int along = longestDim(runs);
  const int64_t perThread = cast<RankedTensorType>(access.ptr.getType()).getNumElements() /
                            (int64_t(layoutOf(access.ptr.getType()).numLanes()) *
                             layoutOf(access.ptr.getType()).numWarps());
  const int64_t most = std::min({runs[along], InstructionSet::vectorBytes / bytes, perThread});
  if (width >= most)
    return nullptr;
  if (axes.of(access.ptr).contiguity[along] == 1)
    return "its index may wrap around, or stay at its limit, between any two elements";
  if (axes.accessWidth(access.ptr, Value(), along) <= width)
    return "the first address is not known to be a multiple of 16 bytes";
  if (access.mask && axes.prefixOfMask(access.mask, along) <= width)
    return "its mask may change between adjacent elements";
  return nullptr;
}

/// Where the number of warps is no power of two and the tile cannot be distributed over all of
/// them, some warps hold replicas.
void remarkOnReplicas(const GlobalAccess &access, const LinearLayout &layout) {
  const int warps = layout.numWarps();
  int busy = 0;
  for (int warp = 0; warp < warps; ++warp)
    busy += (static_cast<unsigned>(warp) & layout.replicasOfAbsent()) == 0;
  const int64_t elements = cast<RankedTensorType>(access.ptr.getType()).getNumElements();
  if (busy < warps && elements >= int64_t(layout.numLanes()) * warps)
    remarkMissed(access.op->getLoc(), Technique::GlobalMemory)
        << access.verb << " uses " << busy << " of " << warps
        << " warps: no extent of the tile divides into " << warps / (warps & -warps)
        << " equal powers of two";
}

void remarkOn(const GlobalAccess &access, const AxisInfoAnalysis &axes, int64_t width) {
  const LinearLayout layout = layoutOf(access.ptr.getType());
  remarkOnReplicas(access, layout);
  const AxisInfo::PerDim runs = memoryRuns(axes, access.ptr);
  const int64_t bytes = elementBytesOf(access.ptr);
  if (const SectorUse use = sectorsOf(axes.of(access.ptr), runs, layout, width, bytes);
      use.isWasteful())
    remarkMissed(access.op->getLoc(), Technique::GlobalMemory)
        << access.verb << " is not coalesced: a warp touches " << use.sectors
        << " sectors of 32 bytes for " << use.wanted << " bytes; " << reasonOf(runs, layout, bytes);
  else if (const char *limit = limitOf(axes, access, runs, width, bytes))
    remarkMissed(access.op->getLoc(), Technique::GlobalMemory)
        << access.verb << " moves " << width * bytes << (width * bytes == 1 ? " byte" : " bytes")
        << " per thread at once, of 16: " << limit;
}

//===- shared memory ---------------------------------------------------------------------===//

int conflicts(const SharedLayout &shared, const LinearLayout &layout, bool hasMatrices,
              int leastMatrices, bool stores) {
  LinearLayout sorted = inVectorOrder(layout, shared);
  const int vector = shared.vectorBytes(sorted);
  auto matrix = hasMatrices ? findMatrices(layout, shared) : std::nullopt;
  if (matrix && matrix->matrices >= leastMatrices && vector < InstructionSet::vectorBytes)
    return matrixConflicts(*matrix, shared);
  if (stores)
    sorted = withExchanges(sorted, bankExchanges(sorted, shared));
  return shared.bankConflicts(sorted, vector);
}

struct RemarkAccessesPass : impl::RemarkAccessesBase<RemarkAccessesPass> {
  void runOnOperation() override {
    target = Target::parse(moduleTarget(getOperation()));
    markAllAnalysesPreserved();
    if (!target)
      return;
    const AxisInfoAnalysis axes(getOperation());
    getOperation().walk([&](Operation *op) {
      remarkOnGlobal(op, axes);
      remarkOnShared(op);
    });
  }

private:
  static void remarkOnGlobal(Operation *op, const AxisInfoAnalysis &axes) {
    auto plain = [&](GlobalAccess access) {
      if (isa<RankedTensorType>(access.ptr.getType()))
        remarkOn(access, axes,
                 axes.widthWithTail(access.ptr, access.mask, layoutOf(access.ptr.getType())));
    };
    if (auto load = dyn_cast<LoadOp>(op))
      plain({op, load.getPtr(), load.getMask(), "load"});
    else if (auto store = dyn_cast<StoreOp>(op))
      plain({op, store.getPtr(), store.getMask(), "store"});
    else if (auto copy = dyn_cast<nv::CopyAsyncOp>(op))
      remarkOn({op, copy.getPtr(), copy.getMask(), "load"}, axes,
               copy.getVectorBytes() / elementBytesOf(copy.getPtr()));
  }

  int storeConflicts(const SharedLayout &shared, const LinearLayout &layout) const {
    return conflicts(shared, layout, target->hasStmatrix(), 4, /*stores=*/true);
  }
  int loadConflicts(const SharedLayout &shared, const LinearLayout &layout) const {
    return conflicts(shared, layout, target->hasLdmatrix(), 1, /*stores=*/false);
  }

  void remarkOnShared(Operation *op) const {
    int ways = 1;
    const char *what = "";
    if (auto store = dyn_cast<nv::LocalStoreOp>(op)) {
      what = "storing a tile to shared memory";
      ways = storeConflicts(sharedLayoutOf(store.getBuffer().getType()),
                            layoutOf(store.getValue().getType()));
    } else if (auto load = dyn_cast<nv::LocalLoadOp>(op)) {
      what = "loading a tile from shared memory";
      ways = loadConflicts(sharedLayoutOf(load.getBuffer().getType()), layoutOf(load.getType()));
    } else if (auto convert = dyn_cast<ConvertLayoutOp>(op)) {
      what = "converting a layout through shared memory";
      ways = conversionConflicts(convert);
    }
    if (ways > 1)
      remarkMissed(op->getLoc(), Technique::SharedMemory)
          << what << " has " << ways << "-way bank conflicts";
  }

  int conversionConflicts(ConvertLayoutOp convert) const {
    const LinearLayout from = layoutOf(convert.getSrc().getType());
    const LinearLayout to = layoutOf(convert.getType());
    const unsigned bits = storageBits(elementTypeOf(convert.getType()));
    if (conversionKind(from, to, bits) != ConversionKind::Shared)
      return 1;
    const SharedLayout shared = conversionScratch(from, to, bits);
    return std::max(storeConflicts(shared, from), loadConflicts(shared, to));
  }

  std::optional<Target> target;
};
} // namespace
} // namespace pantile
