//===- InsertBarriers.cpp - order the threads' accesses to shared memory -----------===//
// Needs: AllocateShared ran: every buffer and all scratch have offsets. Waits for MMAs have counts.
// Gives: a barrier of all threads between two accesses to the same bytes of which one is a write.
// How:   A forward data-flow analysis (StructuredFlow.h) of the open accesses, those since the last
//        barrier. An operation that conflicts with one of them gets a barrier before it.
//        MMAs: what an MMA reads stays open from its issue to its wait, whatever barriers come
//        between. An operation that conflicts with it gets a wait and a barrier. What threads store
//        for an MMA needs a proxy fence before the barrier: the barrier gets a fence where there is
//        none.
//        Loops: a barrier goes before a loop where that leaves fewer barriers in the loop, or as many
//        where its own accesses need them: an access before the loop would otherwise need a barrier
//        in every iteration, or hold all warps up where that access is and not where they must meet.
//        Scratch: an operation that works through scratch contains a barrier between its write and
//        its read, so only the read is open after it. Scratch with a separate part for each warp
//        needs no barrier, neither inside nor between two such operations.
//        Circular buffers: ExpandPipeline orders their accesses. Only their allocation, their
//        deallocation and MMAs in flight count here.
//===-------------------------------------------------------------------------------===//
#include "analysis/BufferReaders.h"
#include "analysis/Scratch.h"
#include "analysis/StructuredFlow.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_INSERTBARRIERS
#include "passes/Passes.h.inc"
namespace {

/// Bytes [begin, end) read or written.
struct Access {
  int64_t begin, end;
  bool write;
  bool perWarp = false;    ///< each warp accesses a part of its own of these bytes
  bool inFlight = false;   ///< by `mma`, which was issued and not waited for
  bool isCircular = false; ///< in a circular buffer: its loop orders the access once it is complete
  bool byProxy = false;    ///< a write as MMAs see it: open until a fence and a barrier after that
  bool isFenced = false;   ///< such a write, after the fence
  unsigned younger = 0;    ///< MMAs issued since, at least
  nv::AsyncMmaOpInterface mma = {};
  bool conflictsWith(const Access &other) const {
    if ((byProxy && !other.inFlight) || (other.byProxy && !inFlight))
      return false;
    const bool isDisjoint = perWarp && other.perWarp && begin == other.begin && end == other.end;
    return !isDisjoint && (write || other.write) && begin < other.end && other.begin < end;
  }
  bool isSame(const Access &other) const {
    return begin == other.begin && end == other.end && write == other.write &&
           perWarp == other.perWarp && inFlight == other.inFlight &&
           isCircular == other.isCircular && byProxy == other.byProxy && isFenced == other.isFenced;
  }
};

struct Open : SmallVector<Access> {
  /// True if that has added an access, or an MMA may be older than it was.
  bool join(ArrayRef<Access> from) {
    bool changed = false;
    for (const Access &access : from) {
      auto *same = llvm::find_if(*this, [&](const Access &other) { return other.isSame(access); });
      changed |= same == end() || access.younger < same->younger;
      if (same == end())
        push_back(access);
      else
        same->younger = std::min(same->younger, access.younger);
    }
    return changed;
  }
};

/// One more MMA is issued.
void issueMma(Open &open) {
  for (Access &access : open)
    ++access.younger;
}

/// MMAs are waited for until at most `pending` are in flight; they complete in the order of issue.
void awaitMmas(Open &open, unsigned pending) {
  Open waited;
  for (Access access : open) {
    access.inFlight &= access.younger < pending;
    if (access.inFlight || !access.isCircular)
      waited.join(access);
  }
  open = waited;
}

nv::BufferOpInterface allocOf(Value buffer) {
  return stageOf(buffer).buffer.getDefiningOp<nv::BufferOpInterface>();
}

Access bytesOf(nv::BufferOpInterface alloc, bool write) {
  const nv::BufferType type = alloc.getBuffer().getType();
  const int64_t begin = *alloc.getOffset(),
                stage = static_cast<int64_t>(llvm::alignTo(type.getStageBytes(), 16));
  return {begin, begin + type.getDepth() * stage, write};
}

/// Whether loops order the accesses to the buffer themselves.
bool isCircular(nv::BufferOpInterface alloc) {
  return isa<nv::ChannelOp>(alloc) || alloc.getBuffer().getType().holdsMbarriers();
}

/// What an operation accesses before and after the barrier that it contains, if any.
struct Effects {
  Open before, after;
  bool containsBarrier = false;
};

void addBuffer(Effects &effects, Value buffer, bool write) {
  nv::BufferOpInterface alloc = allocOf(buffer);
  if (!isCircular(alloc))
    effects.before.push_back(bytesOf(alloc, write));
}

bool isReadByMma(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    return isa<nv::AsyncMmaOpInterface>(user) ||
           (isa<nv::SelectStageOp, nv::BufferTransOp>(user) && isReadByMma(user->getResult(0)));
  });
}

/// A store, which MMAs see through the async proxy.
void addStore(Effects &effects, Value buffer) {
  addBuffer(effects, buffer, true);
  nv::BufferOpInterface alloc = allocOf(buffer);
  if (isCircular(alloc) || !isReadByMma(alloc.getBuffer()))
    return;
  effects.before.push_back(bytesOf(alloc, true));
  effects.before.back().byProxy = true;
}

/// Rounding is a write in circular buffers, too: their loops order only the copies.
void addRounding(Effects &effects, Value buffer) {
  Access access = bytesOf(allocOf(buffer), true);
  effects.before.push_back(access);
  access.byProxy = true;
  effects.before.push_back(access);
}

/// What an MMA reads from its issue until it is waited for.
void addMmaOperand(Effects &effects, nv::AsyncMmaOpInterface mma, Value buffer) {
  nv::BufferOpInterface alloc = allocOf(buffer);
  Access access = bytesOf(alloc, false);
  access.inFlight = true;
  access.isCircular = isCircular(alloc);
  access.mma = mma;
  effects.before.push_back(access);
}

/// `op` if it is an MMA that an `nv.*_wait` with a count waits for, else null.
nv::AsyncMmaOpInterface countedMma(Operation *op) {
  auto mma = dyn_cast<nv::AsyncMmaOpInterface>(op);
  return mma && mma.getCompletion() == nv::Completion::MmaGroup ? mma : nullptr;
}

/// What `op` accesses after it was issued. Operations that complete otherwise have their own
/// barriers.
void addAsync(Effects &effects, nv::AsyncOpInterface op) {
  for (Value buffer : op.getBuffersWritten())
    addBuffer(effects, buffer, true);
  if (nv::AsyncMmaOpInterface mma = countedMma(op))
    for (Value buffer : mma.getBuffersRead())
      addMmaOperand(effects, mma, buffer);
}

Effects effectsOf(Operation *op) {
  Effects effects;
  if (isa<nv::ProducerOp>(op)) // its scratch has no other use, and consumers do not wait there
    return effects;
  if (auto scratch = op->getAttrOfType<IntegerAttr>(names::scratch)) {
    int64_t begin = scratch.getInt(), end = begin + scratchBytes(op);
    const bool perWarp = scratchIsPerWarp(op);
    effects.before.push_back({begin, end, true, perWarp});
    effects.after.push_back({begin, end, false, perWarp});
    effects.containsBarrier = !perWarp;
  } else if (isa<nv::BarrierOp, BarrierOp>(op)) {
    effects.containsBarrier = true;
  } else if (isa<nv::BufferOpInterface, nv::DeallocOp>(op)) {
    nv::BufferOpInterface alloc =
        allocOf(isa<nv::DeallocOp>(op) ? op->getOperand(0) : op->getResult(0));
    if (isCircular(alloc))
      effects.before.push_back(bytesOf(alloc, true));
  } else if (auto store = dyn_cast<nv::LocalStoreOp>(op)) {
    addStore(effects, store.getBuffer());
  } else if (auto round = dyn_cast<nv::RoundBufferOp>(op)) {
    addRounding(effects, round.getBuffer());
  } else if (auto load = dyn_cast<nv::LocalLoadOp>(op)) {
    addBuffer(effects, load.getBuffer(), false);
  } else if (auto async = dyn_cast<nv::AsyncOpInterface>(op)) {
    addAsync(effects, async);
  } else if (auto fma = dyn_cast<nv::FmaOp>(op)) {
    addBuffer(effects, fma.getLhs(), false);
    addBuffer(effects, fma.getRhs(), false);
  }
  return effects;
}

class BarrierInserter : public StructuredFlow<Open> {
public:
  explicit BarrierInserter(bool beforeLoops) : beforeLoops(beforeLoops) {}

private:
  using Places = llvm::SmallPtrSet<Operation *, 8>;

  void visitOp(Operation *op, Open &open) override {
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && belongsBefore(loop, open))
      return synchroniseBefore(loop, open);
    Effects effects = effectsOf(op);
    auto conflicts = [&](const Access &access) {
      return llvm::any_of(open, [&](const Access &o) { return o.conflictsWith(access); });
    };
    if (llvm::any_of(effects.before, conflicts))
      synchroniseBefore(op, open, effects.before);
    if (auto wait = dyn_cast<nv::MmaWaitOpInterface>(op))
      awaitMmas(open, wait.getPending().value_or(0));
    else if (countedMma(op))
      issueMma(open);
    else if (isa<nv::FenceAsyncOp>(op))
      fence(open);
    else if (auto dealloc = dyn_cast<nv::DeallocOp>(op))
      forgetStores(open, bytesOf(allocOf(dealloc.getBuffer()), true));
    if (effects.containsBarrier)
      pastBarrier(open);
    else if (!isAllocation(op))
      open.join(effects.before);
    open.join(effects.after);
  }

  /// Reserving a circular buffer writes nothing; its bytes only have to be free.
  static bool isAllocation(Operation *op) { return isa<nv::BufferOpInterface>(op); }

  /// A barrier orders complete accesses. An MMA in flight continues to read, and a later MMA does
  /// not see a write that was not fenced.
  static void pastBarrier(Open &open) {
    llvm::erase_if(open, [](const Access &access) {
      return !access.inFlight && (!access.byProxy || access.isFenced);
    });
  }

  static void fence(Open &open) {
    for (Access &access : open)
      access.isFenced = access.byProxy;
  }

  /// Nothing reads the buffer any more.
  static void forgetStores(Open &open, const Access &bytes) {
    llvm::erase_if(open, [&](const Access &access) {
      return access.byProxy && access.begin == bytes.begin && access.end == bytes.end;
    });
  }

  /// Inserts a barrier of all threads before `op`, after a wait for the MMAs in flight that
  /// conflict with `next` and a fence for later MMAs. In a trial, only records that a barrier is
  /// needed.
  void synchroniseBefore(Operation *op, Open &open, ArrayRef<Access> next = {}) {
    std::optional<unsigned> pending;
    nv::AsyncMmaOpInterface mma;
    for (const Access &access : open)
      if (access.inFlight &&
          llvm::any_of(next, [&](const Access &other) { return other.conflictsWith(access); })) {
        pending = std::min(pending.value_or(access.younger), access.younger);
        mma = access.mma;
      }
    if (isTrial) {
      needed.insert(op);
    } else {
      OpBuilder builder(op);
      if (pending)
        mma.createWait(builder, op->getLoc(), ValueRange()).setPending(*pending);
      if (llvm::any_of(open, [](const Access &a) { return a.byProxy && !a.isFenced; }))
        nv::FenceAsyncOp::create(builder, op->getLoc());
      nv::BarrierOp::create(builder, op->getLoc());
    }
    if (pending)
      awaitMmas(open, *pending);
    fence(open);
    pastBarrier(open);
  }

  /// Whether a barrier before `loop`, for the accesses `open`, saves one in it or moves one later.
  bool belongsBefore(scf::ForOp loop, const Open &open) {
    if (!beforeLoops || isCounting || open.empty())
      return false;
    const Places own = barriersIn(loop, {}), with = barriersIn(loop, open);
    auto isOfLoop = [&](Operation *op) { return own.contains(op); };
    return own.size() < with.size() || (own.size() == with.size() && !llvm::all_of(with, isOfLoop));
  }

  /// Where the loop needs barriers if `open` are the accesses before it.
  Places barriersIn(scf::ForOp loop, Open open) {
    const bool outer = std::exchange(isTrial, true);
    isCounting = true;
    needed.clear();
    visitRegions(loop, open);
    isCounting = false;
    isTrial = outer;
    return needed;
  }

  const bool beforeLoops;
  bool isCounting = false;
  Places needed; ///< before which a trial would insert a barrier
};

struct InsertBarriersPass : impl::InsertBarriersBase<InsertBarriersPass> {
  using InsertBarriersBase::InsertBarriersBase;
  void runOnOperation() override {
    getOperation().walk([&](func::FuncOp function) {
      Open open;
      BarrierInserter(beforeLoops).visit(function.getBody(), open);
    });
  }
};
} // namespace
} // namespace pantile
