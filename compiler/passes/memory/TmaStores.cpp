//===- TmaStores.cpp - results that TMA writes ------------------------------===//
// Needs: layouts, producers and circular buffers are what they will be.
// Gives: `nv.tma_store` for stores of matrices where that pays, their `nv.tensor_map`s, and
//        `nv.tma_store_wait` where the kernel ends.
// How:   1. Nobody may see that such a store comes late and in no order with others: it stands in
//        no loop of the kernel's own, nothing behind it reads memory or meets other threads, and
//        nothing else goes through its pointer. 2. The address must be an access that TmaAccess.h
//        allows, its mask the map's extents. 3. A warp's part must be boxes (WarpBoxes.h): of what
//        the value was before its layout was changed for the store, or of the value itself.
//        Relaxed atomic sums of loops with products, which nobody looks at, are ordered with nothing:
//        they are raised where nothing else in the kernel tells other programs that they are there.
//===--------------------------------------------------------------------------------------===//
#include "analysis/Programs.h"
#include "analysis/Residency.h"
#include "analysis/Scratch.h"
#include "ir/Remarks.h"
#include "layout/WarpBoxes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/memory/MakeTensorMap.h"
#include "support/Target.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_TMASTORES
#include "passes/Passes.h.inc"
namespace {

/// What tmaAccess gives an axis without a mask, as an extent that clips nothing.
constexpr int64_t unbounded = std::numeric_limits<int32_t>::max();

/// The pointer that an address is computed from, as far as it can be followed.
Value baseOf(AffineAnalysis &affine, Value ptr) {
  if (auto form = affine.tile(ptr))
    return form->base;
  while (Operation *op = ptr.getDefiningOp()) {
    if (!isa<AddPtrOp, SplatOp, BroadcastOp, ExpandDimsOp, ConvertLayoutOp>(op))
      break;
    ptr = op->getOperand(0);
  }
  return ptr;
}

/// The pointer of an access to global memory; null for other operations.
Value pointerOf(Operation *op) {
  if (isa<LoadOp, AtomicCasOp, nv::CopyAsyncOp, StoreOp>(op))
    return op->getOperand(0);
  auto atomic = dyn_cast<AtomicRmwOp>(op);
  return atomic ? atomic.getPtr() : Value();
}

/// One that can be told apart from others: an argument of the kernel.
bool isArgument(Value base) {
  auto arg = dyn_cast<BlockArgument>(base);
  return arg && isa<func::FuncOp>(arg.getOwner()->getParentOp());
}

/// A change of layout that is over once the store behind it is raised.
bool feedsStore(Operation *op) {
  return isa<ConvertLayoutOp>(op) && op->hasOneUse() &&
         isa<StoreOp, AtomicRmwOp>(*op->user_begin());
}

/// One of a loop with products that TMA can do, as nobody learns from it when it is
/// done.
bool isPlainSum(Operation *op) {
  auto atomic = dyn_cast<AtomicRmwOp>(op);
  auto loop = op->getParentOfType<scf::ForOp>();
  return atomic && loop && !loop.getBody()->getOps<nv::AsyncMmaOpInterface>().empty() &&
         atomic.getKind() == RmwKind::FAdd && atomic.getResult().use_empty() &&
         atomic.getSem() == MemSemantic::Relaxed && atomic.getScope() != MemScope::Sys &&
         elementTypeOf(atomic.getValue().getType()).isF32();
}

/// A store, or a plain sum.
class Write {
public:
  explicit Write(Operation *op) : op(op) {}
  operator Operation *() const { return op; }
  Operation *operator->() const { return op; }
  bool adds() const { return isa<AtomicRmwOp>(op); }
  Value pointer() const { return op->getOperand(0); }
  Value value() const { return adds() ? cast<AtomicRmwOp>(op).getValue() : store().getValue(); }
  Value mask() const { return adds() ? cast<AtomicRmwOp>(op).getMask() : store().getMask(); }
  bool isPlain() const {
    return adds() || (store().getCache() == CacheModifier::None &&
                      store().getEvict() == EvictionPolicy::Normal);
  }

private:
  StoreOp store() const { return cast<StoreOp>(op); }
  Operation *op;
};

/// What a store becomes.
struct RaisedStore {
  Write store;
  Value value; ///< in a layout of boxes
  WarpBoxes boxes;
  int fast;
  TmaAccess access;
};

class Raiser {
public:
  Raiser(func::FuncOp kernel, const Target &target, bool all, bool reducesByTma)
      : kernel(kernel), target(target), all(all), reducesByTma(reducesByTma),
        b(kernel.getContext()) {}

  void run() {
    const int64_t least = all ? 0 : leastElements();
    SmallVector<Write> stores;
    kernel.walk([&](Operation *op) {
      if (!isa<StoreOp>(op) && !(reducesByTma && isPlainSum(op)))
        return;
      auto type = dyn_cast<RankedTensorType>(Write(op).value().getType());
      if (type && (Write(op).adds() || type.getNumElements() >= least))
        stores.push_back(Write(op));
    });
    std::vector<RaisedStore> raised;
    for (Write store : stores)
      if (auto found = check(store))
        raised.push_back(std::move(*found));
    for (RaisedStore &next : raised)
      raise(next);
    if (raised.empty())
      return;
    Operation *end = kernel.getBody().front().getTerminator();
    b.setInsertionPoint(end);
    nv::TmaStoreWaitOp::create(b, end->getLoc());
  }

private:
  /// From how many elements on a result leaves faster so, as measured on an H200: that of one
  /// product whose operands come by TMA as well.
  int64_t leastElements() {
    constexpr int64_t none = std::numeric_limits<int64_t>::max();
    int64_t products = 0;
    kernel.walk([&](nv::AsyncMmaOpInterface) { ++products; });
    if (kernel.getOps<nv::ProducerOp>().empty() || products != 1)
      return none;
    return target.machine().memory.elementsForTmaStore;
  }

  /// Boxes are aligned, and a CTA has a reserve.
  int64_t reservedBytes() {
    return InstructionSet::boxAlignment + target.machine().sm.sharedReserve;
  }

  std::nullopt_t refuse(Write store, const Twine &reason, Operation *culprit = nullptr) {
    InFlightDiagnostic remark = remarkMissed(store->getLoc(), Technique::TensorMaps);
    remark << (store.adds() ? "sum" : "store") << " is not raised to a tensor map: " << reason;
    if (culprit && culprit != store)
      remark.attachNote(culprit->getLoc()) << "here";
    return std::nullopt;
  }

  std::optional<RaisedStore> check(Write store) {
    auto type = dyn_cast<RankedTensorType>(store.value().getType());
    if (!type || type.getRank() != 2)
      return std::nullopt;
    const unsigned bits = storageBits(type.getElementType());
    if (bits != 16 && bits != 32)
      return refuse(store, "its elements have neither 16 nor 32 bits");
    if (!store.isPlain())
      return refuse(store, "it has a cache modifier or an eviction policy");
    if (Operation *loop = loopAround(store); loop && !store.adds())
      return refuse(store, "it stands in a loop", loop);
    if (Operation *reader = store.adds() ? meeting() : laterReader(store))
      return refuse(store, "what is behind it may read what it writes", reader);
    if (Operation *other = otherAccess(store))
      return refuse(store, "something else goes through its pointer", other);
    if (Operation *earlier = orderedWrite(store))
      return refuse(store, "a barrier may order it after a write to the same memory", earlier);
    return findForm(store, bits);
  }

  /// Of the kernel's own.
  Operation *loopAround(Operation *op) {
    for (Operation *around = op->getParentOp(); around != kernel; around = around->getParentOp())
      if (isa<LoopLikeOpInterface>(around) && !around->hasAttr(names::programs))
        return around;
    return nullptr;
  }

  /// Whether a tile's rows begin and end on 16 bytes. Extents that it alone knows the host looks at.
  static bool hasWholeEnds(const TmaAccess::Dim &dim, unsigned bits) {
    auto isWhole = [&](int64_t elements) { return elements * bits % 128 == 0; };
    return isWhole(dim.extent.constant().value_or(0)) &&
           llvm::all_of(dim.start.products(), [&](auto &term) { return isWhole(term.second); });
  }

  std::optional<RaisedStore> findForm(Write store, unsigned bits) {
    auto form = affine.tile(store.pointer());
    if (!form)
      return refuse(store, "its addresses are no sum of index times stride");
    const int fast = form->coefficients[1].constant() == 1 ? 1 : 0;
    std::string reason;
    auto access = tmaAccess(affine, store.pointer(), store.mask(), {fast, 1 - fast}, reason);
    if (!access)
      return refuse(store, reason);
    if (Polynomial &columns = access->dims[0].extent; columns.constant() == unbounded)
      columns = unbounded / 16 * 16;
    if (!hasWholeEnds(access->dims[0], bits))
      return refuse(store, "its rows may end within 16 bytes, which TMA writes whole");
    SmallVector<Value> forms{store.value()};
    while (auto convert = forms.back().getDefiningOp<ConvertLayoutOp>())
      forms.push_back(convert.getSrc());
    for (Value value : llvm::reverse(forms))
      if (auto boxes = warpBoxes(layoutOf(value.getType()), bits, fast)) {
        RaisedStore found{store, value, std::move(*boxes), fast, std::move(*access)};
        if (bytesWith(found, 1) + reservedBytes() > target.maxSharedBytes())
          return refuse(store, "shared memory has no room for a part of it");
        return found;
      }
    return refuse(store, "its warps do not hold boxes of it");
  }

  //===- who might notice ------------------------------------------------------------------===//

  static bool reads(Operation *op) { return meetsOthers(op) || isa<LoadOp, nv::CopyAsyncOp>(op); }

  /// In the same program; others are not ordered with it.
  Operation *laterReader(Operation *store) {
    Operation *found = nullptr;
    Block &program = programBody(kernel);
    for (Operation *at = store;; at = at->getParentOp()) {
      for (Operation *next = at->getNextNode(); next && !found; next = next->getNextNode())
        next->walk([&](Operation *inner) { found = !found && reads(inner) ? inner : found; });
      if (found || at->getBlock() == &program || at->getParentOp() == kernel)
        return found;
    }
  }

  /// What could tell others of a sum.
  Operation *meeting() {
    Operation *found = nullptr;
    kernel.walk(
        [&](Operation *op) { found = !found && meetsOthers(op) && !isPlainSum(op) ? op : found; });
    return found;
  }

  /// Sums of one place come in any order.
  Operation *otherAccess(Write store) {
    const Value own = baseOf(affine, store.pointer());
    Operation *found = nullptr;
    kernel.walk([&](Operation *op) {
      Value ptr = pointerOf(op);
      if (found || op == store || !ptr || (store.adds() && isPlainSum(op)))
        return;
      const Value base = baseOf(affine, ptr);
      if (base == own || (!isa<LoadOp, nv::CopyAsyncOp>(op) && !isArgument(base)))
        found = op;
    });
    return found;
  }

  /// Another write that a barrier orders before this one: the memory may be the same, and a barrier does
  /// not order ordinary writes with those of TMA (PTX ISA, "Async proxy"). In a loop with a barrier
  /// each write is before it.
  Operation *orderedWrite(Write store) {
    Operation *write = nullptr;
    bool isOrdered = false;
    kernel.walk([&](Operation *op) {
      if (op != store && isa<StoreOp, AtomicRmwOp, AtomicCasOp>(op))
        write = write ? write : op;
      isOrdered |= isa<BarrierOp>(op) && (write || loopAround(op));
    });
    return isOrdered ? write : nullptr;
  }

  //===- the store itself ------------------------------------------------------------------===//

  /// Shared memory of a block if a warp's scratch holds `pieces`. Circular buffers are there throughout where
  /// programs follow each other, and beside what loops add, else they make place.
  int64_t bytesWith(const RaisedStore &raised, int64_t pieces) {
    const int64_t warps = layoutOf(raised.value.getType()).numWarps();
    int64_t stores = warps * pieces * raised.boxes.shared.bytes(), scratch = 0;
    kernel.walk([&](Operation *op) {
      if (isa<nv::TmaStoreOp>(op))
        stores += scratchBytes(op);
      else if (!feedsStore(op))
        scratch = std::max(scratch, scratchBytes(op));
    });
    const bool follow =
        &programBody(kernel) != &kernel.getBody().front() || loopAround(raised.store) != nullptr;
    const int64_t rings = mostOfRings();
    return follow ? rings + scratch + stores : std::max(rings + scratch, stores);
  }

  /// Of those that are there at one time.
  int64_t mostOfRings() {
    int64_t bytes = 0, most = 0;
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto alloc = dyn_cast<nv::AllocOp>(op))
        bytes += ringBytes(alloc.getType());
      else if (auto dealloc = dyn_cast<nv::DeallocOp>(op))
        bytes -= ringBytes(dealloc.getBuffer().getType());
      most = std::max(most, bytes);
    });
    return most;
  }

  /// As many as leave room for as many blocks: then no piece waits for one before it. Counted with a
  /// reserve less than the SM has, as it was fitted.
  int piecesOf(const RaisedStore &raised) {
    auto blocks = [&](int64_t pieces) {
      return target.maxSharedBytes() / (bytesWith(raised, pieces) + reservedBytes());
    };
    int pieces = static_cast<int>(raised.boxes.regs.size());
    // A divisor of their number: the first piece of the next program follows the last one in turn.
    const int all = pieces;
    while (pieces > 1 && blocks(pieces) < std::max<int64_t>(blocks(1), 1))
      do
        --pieces;
      while (all % pieces != 0);
    return pieces;
  }

  void raise(RaisedStore &next) {
    Location loc = next.store->getLoc();
    TmaBox box{SmallVector<int32_t>(next.access.dims.size(), 1), next.boxes.shared.swizzle(),
               cast<RankedTensorType>(next.value.getType()).getElementType()};
    box.sizes[0] = static_cast<int32_t>(next.boxes.fastSize());
    box.sizes[1] = static_cast<int32_t>(next.boxes.slowSize());
    b.setInsertionPointToStart(&kernel.getBody().front());
    Value map = makeTensorMap(b, loc, kernel, affine, next.access, box);
    b.setInsertionPoint(next.store);
    const bool adds = next.store.adds();
    nv::TmaStoreOp::create(b, loc, map, makeCoordinates(b, loc, affine, next.access), next.value,
                           next.fast, piecesOf(next), adds);
    next.store->erase();
    remarkApplied(loc, Technique::TensorMaps)
        << (adds ? "sum" : "store") << " is raised to a tensor map of " << next.access.dims.size()
        << " dimensions, in boxes of " << box.sizes[1] << " times " << box.sizes[0];
  }

  func::FuncOp kernel;
  const Target &target;
  const bool all;          ///< also where it is not known to pay
  const bool reducesByTma; ///< of relaxed atomics
  OpBuilder b;
  AffineAnalysis affine;
};

struct RaiseStoresPass : impl::TmaStoresBase<RaiseStoresPass> {
  using TmaStoresBase::TmaStoresBase;
  void runOnOperation() override {
    auto target = Target::parse(moduleTarget(getOperation()));
    auto kernels = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    if (target && target->hasTma() && kernels.size() == 1)
      Raiser(kernels[0], *target, all, sums).run();
  }
};
} // namespace
} // namespace pantile
