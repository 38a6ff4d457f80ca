//===- TmaStores.cpp - convert stores of matrices to TMA stores --------------------===//
// Needs: layouts, producers and circular buffers are final.
// Gives: `nv.tma_store` for stores of matrices where that pays, their `nv.tensor_map`s, and
//        `nv.tma_store_wait` where the kernel ends.
// How:   A store is converted if three rules hold.
//        1. A TMA store completes late and unordered, which must not be observable. So the store is
//        in no loop of the kernel's own, nothing after it reads memory or synchronises with other
//        threads, and nothing else accesses memory through its pointer.
//        2. TmaAccess.h accepts the address, with the mask expressed by the map's extents.
//        3. Each warp holds boxes (WarpBoxes.h) of the value, or of the value before its layout was
//        converted for the store.
//        Where strides or the rows' ends are not known to be multiples of 16 bytes, the kernel tests
//        it: a branch has the TMA store, the other one the store and the conversion for it. The map is
//        empty where the test fails.
//        Relaxed atomic sums in loops with MMAs, whose old values are unused, become TMA reduces:
//        they are unordered anyway. This needs that nothing else in the kernel signals to other
//        programs that the sums are there.
//===-------------------------------------------------------------------------------===//
#include "analysis/LoopChannels.h"
#include "analysis/Programs.h"
#include "analysis/SharedAllocations.h"
#include "ir/FindOps.h"
#include "ir/LoopSchedule.h"
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

/// Whether `op` is an atomic sum, in a loop with MMAs, that TMA can do: it is relaxed, and its old
/// values are unused.
bool isRelaxedSum(Operation *op) {
  auto atomic = dyn_cast<AtomicRmwOp>(op);
  auto loop = op->getParentOfType<scf::ForOp>();
  return atomic && loop && !loop.getBody()->getOps<nv::AsyncMmaOpInterface>().empty() &&
         atomic.getKind() == RmwKind::FAdd && atomic.getResult().use_empty() &&
         atomic.getSem() == MemSemantic::Relaxed && atomic.getScope() != MemScope::Sys &&
         elementTypeOf(atomic.getValue().getType()).isF32();
}

/// A store, or a relaxed atomic sum.
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

/// A store that can be converted, and the TMA store that it becomes.
struct TmaStoreCandidate {
  Write store;
  Value value; ///< in a layout of boxes
  WarpBoxes boxes;
  int fast;
  TmaAccess access;
};

class TmaStoreConverter {
public:
  TmaStoreConverter(func::FuncOp kernel, const Target &target, bool all, bool reducesByTma)
      : kernel(kernel), target(target), all(all), reducesByTma(reducesByTma),
        b(kernel.getContext()) {}

  void run() {
    const int64_t least = all ? 0 : leastElements();
    SmallVector<Write> stores;
    kernel.walk([&](Operation *op) {
      if (!isa<StoreOp>(op) && !(reducesByTma && isRelaxedSum(op)))
        return;
      auto type = dyn_cast<RankedTensorType>(Write(op).value().getType());
      if (type && (Write(op).adds() || type.getNumElements() >= least))
        stores.push_back(Write(op));
    });
    std::vector<TmaStoreCandidate> candidates;
    for (Write store : stores)
      if (auto found = check(store))
        candidates.push_back(std::move(*found));
    bool isAnyConverted = false;
    for (TmaStoreCandidate &next : candidates)
      isAnyConverted |= convert(next);
    if (!isAnyConverted)
      return;
    Operation *end = kernel.getBody().front().getTerminator();
    b.setInsertionPoint(end);
    nv::TmaStoreWaitOp::create(b, end->getLoc());
  }

private:
  /// The least elements of a result for which a TMA store is faster, as measured on an H200: the
  /// kernel has one MMA, whose operands are loaded by TMA.
  int64_t leastElements() {
    constexpr int64_t none = std::numeric_limits<int64_t>::max();
    int64_t mmas = 0;
    kernel.walk([&](nv::AsyncMmaOpInterface mma) { mmas += !mma->hasAttr(names::copy); });
    if (!containsOp<nv::ProducerOp>(kernel) || mmas != 1)
      return none;
    return target.machine().memory.elementsForTmaStore;
  }

  std::nullopt_t refuse(Write store, const Twine &reason, Operation *culprit = nullptr) {
    const char *what = store.adds() ? "atomic add" : "store";
    remarkMissed(Technique::TensorMaps, what + Twine(" is not converted to TMA"),
                 {store, culprit == store ? nullptr : culprit, reason.str()});
    return std::nullopt;
  }

  std::optional<TmaStoreCandidate> check(Write store) {
    auto type = dyn_cast<RankedTensorType>(store.value().getType());
    if (!type || type.getRank() != 2)
      return std::nullopt;
    const unsigned bits = storageBits(type.getElementType());
    if (bits != 16 && bits != 32)
      return refuse(store, "its elements have neither 16 nor 32 bits");
    if (!store.isPlain())
      return refuse(store, "it has a cache modifier or an eviction policy");
    if (Operation *loop = ownLoopAround(store); loop && !store.adds())
      return refuse(store, "it is in a loop", loop);
    if (Operation *reader = readerOf(store))
      return refuse(store, "a later operation may read what it writes", reader);
    if (Operation *other = otherAccess(store))
      return refuse(store, "another operation accesses memory through its pointer", other);
    if (Operation *earlier = orderedWrite(store))
      return refuse(store, "a barrier may order it after a write to the same memory", earlier);
    return findForm(store, bits);
  }

  /// The innermost loop of the kernel's own around `op`; null if there is none.
  Operation *ownLoopAround(Operation *op) {
    Operation *loop = loopAround(op);
    return loop == programLoop(kernel) ? nullptr : loop;
  }

  /// Whether a tile's rows begin and end on 16 bytes, where an extent that is not constant does.
  static bool hasWholeEnds(const TmaAccess::Dim &dim, unsigned bits) {
    auto isWhole = [&](int64_t elements) { return elements * bits % 128 == 0; };
    return isWhole(dim.extent.constant().value_or(0)) &&
           llvm::all_of(dim.start.products(), [&](auto &term) { return isWhole(term.second); });
  }

  /// Adds the rows' end to what is tested, if it is not known to be a multiple of 16 bytes.
  void testEnds(TmaAccess &access, unsigned bits) {
    const Polynomial &end = access.dims[0].extent;
    const int64_t chunk = 128 / bits;
    auto isEnd = [&](const TmaAccess::Multiple &known) { return known.value == end; };
    if (affine.divisorOf(end) % chunk != 0 && llvm::none_of(access.multiples, isEnd))
      access.multiples.push_back({end, chunk});
  }

  std::optional<TmaStoreCandidate> findForm(Write store, unsigned bits) {
    auto form = affine.tile(store.pointer());
    if (!form)
      return refuse(store, "its addresses are not affine in the indices");
    const int fast = form->coefficients[1].constant() == 1 ? 1 : 0;
    std::string reason;
    auto access = tmaAccess(affine, store.pointer(), store.mask(), {fast, 1 - fast}, reason);
    if (!access)
      return refuse(store, reason);
    if (Polynomial &columns = access->dims[0].extent; columns.constant() == unbounded)
      columns = unbounded / 16 * 16;
    if (!hasWholeEnds(access->dims[0], bits))
      return refuse(store, "its rows may end within 16 bytes, which TMA writes whole");
    testEnds(*access, bits);
    if (store.adds() && !access->multiples.empty())
      return refuse(store, "its strides or the ends of its rows may be no multiples of 16 bytes");
    SmallVector<Value> forms{store.value()};
    while (auto convert = forms.back().getDefiningOp<ConvertLayoutOp>())
      forms.push_back(convert.getSrc());
    for (Value value : llvm::reverse(forms))
      if (auto boxes = warpBoxes(layoutOf(value.getType()), bits, fast))
        return TmaStoreCandidate{store, value, std::move(*boxes), fast, std::move(*access)};
    return refuse(store, "no warp holds a box (consecutive rows and columns) of the tile");
  }

  //===- what might observe it -------------------------------------------------------------===//

  static bool reads(Operation *op) {
    return synchronises(op) || isa<LoadOp, nv::CopyAsyncOp, nv::TmaLoadOp>(op);
  }

  /// An operation that may read what `store` writes before the kernel ends. A sum is not read but by
  /// other programs after a signal, and by a producer that starts after it.
  Operation *readerOf(Write store) {
    if (!store.adds())
      return later(store, reads);
    Operation *signal = synchronisation();
    return signal ? signal : later(store, llvm::IsaPred<nv::TmaLoadOp>);
  }

  /// A `wanted` operation of the same program after `store`. Other programs are not ordered with it.
  Operation *later(Operation *store, llvm::function_ref<bool(Operation *)> wanted) {
    Block &program = programBody(kernel);
    for (Operation *at = store;; at = at->getParentOp()) {
      for (Operation *next = at->getNextNode(); next; next = next->getNextNode())
        if (Operation *found = findOp(next, wanted))
          return found;
      if (at->getBlock() == &program || at->getParentOp() == kernel)
        return nullptr;
    }
  }

  /// An operation that could signal to other programs that a sum is there.
  Operation *synchronisation() {
    return findOp(kernel, [](Operation *op) { return synchronises(op) && !isRelaxedSum(op); });
  }

  /// Another access through the pointer of `store`. Sums to one location may come in any order.
  Operation *otherAccess(Write store) {
    const Value own = baseOf(affine, store.pointer());
    return findOp(kernel, [&](Operation *op) {
      Value ptr = pointerOf(op);
      if (op == store || !ptr || (store.adds() && isRelaxedSum(op)))
        return false;
      const Value base = baseOf(affine, ptr);
      return base == own || (!isa<LoadOp, nv::CopyAsyncOp>(op) && !isKernelArgument(base));
    });
  }

  /// Another write that a barrier orders before this one. The memory may be the same, and a barrier
  /// does not order generic writes with those of TMA (PTX ISA, "Async proxy"). In a loop with a
  /// barrier each write counts as before it.
  Operation *orderedWrite(Write store) {
    Operation *write = nullptr;
    bool isOrdered = false;
    kernel.walk([&](Operation *op) {
      if (op != store && isa<StoreOp, AtomicRmwOp, AtomicCasOp>(op))
        write = write ? write : op;
      isOrdered |= isa<BarrierOp>(op) && (write || ownLoopAround(op));
    });
    return isOrdered ? write : nullptr;
  }

  //===- the store itself ------------------------------------------------------------------===//

  /// Shared memory of a CTA if the scratch of a warp holds `pieces`, by the offsets that
  /// AllocateShared would assign.
  int64_t bytesWith(const TmaStoreCandidate &candidate, int64_t pieces) {
    Operation *store = candidate.store;
    SharedChange change;
    change.tmaStores[store] =
        layoutOf(candidate.value.getType()).numWarps() * pieces * candidate.boxes.shared.bytes();
    const bool isAlways = candidate.access.multiples.empty();
    change.isGone = [store, isAlways](Operation *op) { // also the conversion for the store
      return isAlways && isa<ConvertLayoutOp>(op) &&
             llvm::all_of(op->getUsers(), [&](Operation *user) { return user == store; });
    };
    return sharedBytesWith(kernel->getParentOfType<ModuleOp>(), change);
  }

  /// The most pieces of scratch that do not reduce the number of CTAs per SM: with more pieces,
  /// fewer wait for the one before. The estimate was fitted with one reserve less than the SM has.
  int piecesOf(const TmaStoreCandidate &candidate) {
    auto ctas = [&](int64_t pieces) {
      const int64_t reserved = InstructionSet::boxAlignment + target.machine().sm.sharedReserve;
      return target.maxSharedBytes() / (bytesWith(candidate, pieces) + reserved);
    };
    int pieces = static_cast<int>(candidate.boxes.regs.size());
    // A divisor of their number, so that the next program's first piece continues the rotation.
    const int all = pieces;
    while (pieces > 1 && ctas(pieces) < std::max<int64_t>(ctas(1), 1))
      do
        --pieces;
      while (all % pieces != 0);
    return pieces;
  }

  /// Returns false if there is no room.
  bool convert(TmaStoreCandidate &next) {
    Location loc = next.store->getLoc();
    const int pieces = piecesOf(next);
    if (bytesWith(next, pieces) > target.maxSharedBytes()) {
      refuse(next.store, "its scratch does not fit into shared memory");
      return false;
    }
    TmaBox box{SmallVector<int32_t>(next.access.dims.size(), 1), next.boxes.shared.swizzle(),
               cast<RankedTensorType>(next.value.getType()).getElementType()};
    box.sizes[0] = static_cast<int32_t>(next.boxes.fastSize());
    box.sizes[1] = static_cast<int32_t>(next.boxes.slowSize());
    b.setInsertionPointToStart(&kernel.getBody().front());
    auto map =
        makeTensorMap(b, loc, kernel, affine, next.access, box).getDefiningOp<nv::TensorMapOp>();
    const bool isTested = !next.access.multiples.empty();
    map.setMayBeEmpty(isTested);
    const bool adds = next.store.adds();
    if (isTested)
      branch(next);
    else
      b.setInsertionPoint(next.store);
    nv::TmaStoreOp::create(b, loc, map, makeCoordinates(b, loc, affine, next.access), next.value,
                           next.fast, pieces, adds);
    if (!isTested)
      next.store->erase();
    remarkApplied(loc, Technique::TensorMaps)
        << (adds ? "atomic add" : "store") << " is converted to TMA with a tensor map of "
        << next.access.dims.size() << " dimensions, in boxes of " << box.sizes[1] << " times "
        << box.sizes[0]
        << (isTested ? ", where its strides and the ends of its rows are multiples of 16 bytes"
                     : "");
    return true;
  }

  /// Moves the store, with the conversions for it, to where the multiples do not hold, and sets the
  /// insertion point to where they do.
  void branch(const TmaStoreCandidate &next) {
    Operation *store = next.store;
    b.setInsertionPoint(store);
    Value holds = testMultiples(b, store->getLoc(), affine, next.access);
    auto test = scf::IfOp::create(b, store->getLoc(), holds, /*withElseRegion=*/true);
    Operation *before = test.elseBlock()->getTerminator();
    Value stored = next.store.value();
    store->moveBefore(before);
    for (Operation *last = store; stored != next.value;) {
      Operation *conversion = stored.getDefiningOp();
      stored = conversion->getOperand(0);
      if (!conversion->hasOneUse())
        break;
      conversion->moveBefore(last);
      last = conversion;
    }
    b.setInsertionPointToStart(test.thenBlock());
  }

  func::FuncOp kernel;
  const Target &target;
  const bool all;          ///< also stores for which TMA is not known to pay
  const bool reducesByTma; ///< of relaxed atomics
  OpBuilder b;
  AffineAnalysis affine;
};

struct TmaStoresPass : impl::TmaStoresBase<TmaStoresPass> {
  using TmaStoresBase::TmaStoresBase;
  void runOnOperation() override {
    auto target = Target::parse(moduleTarget(getOperation()));
    func::FuncOp kernel = onlyFunction(getOperation());
    if (target && target->hasTma() && kernel)
      TmaStoreConverter(kernel, *target, all, sums).run();
  }
};
} // namespace
} // namespace pantile
