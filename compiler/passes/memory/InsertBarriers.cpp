//===- InsertBarriers.cpp - order the threads' accesses to shared memory ----------------===//
// Needs: AllocateShared ran: every buffer and scratch has its bytes. Waits for MMAs have counts.
// Gives: between two accesses to the same bytes, one of them a write, all threads have met.
// How:   a forward walk carries the accesses since the last barrier. An operation that clashes with
//        one of them gets a barrier before it. What an MMA reads is open from its start until its
//        wait, whatever barriers stand between: an operation that clashes with it gets a wait and a
//        barrier. What threads store for an MMA needs a fence before the barrier, which gets one
//        where none stands there. A loop body is walked twice, the second time with what its own end
//        leaves open; a `while` is left from the end of its condition; the branches of an `if` are
//        joined. A barrier stands before a loop where that leaves fewer barriers in it, as what is
//        stored for the whole loop would be waited for in each iteration. Operations that work
//        through scratch contain a barrier between their writing and their reading, so only the
//        reading stays open behind them; where each warp has its own part, they contain none, and
//        need none among themselves. The accesses to a circular buffer are ordered by its loop
//        (ExpandPipeline); only its birth, its end and MMAs in flight count here.
//===------------------------------------------------------------------------------------===//
#include "analysis/Scratch.h"
#include "analysis/StagedLoad.h"
#include "ir/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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
  bool perWarp = false;  ///< each warp in its part of these bytes, one after the other
  bool inFlight = false; ///< by `mma`, which has started and was not waited for
  bool ofRing = false;   ///< once it is over, the circular buffer's loop orders it
  bool byProxy = false;  ///< as MMAs see it: a write until a fence, and a barrier after that
  bool isFenced = false; ///< such a write, after the fence
  unsigned younger = 0;  ///< MMAs that have started since, at least
  nv::AsyncMmaOpInterface mma = {};
  bool clashes(const Access &other) const {
    if ((byProxy && !other.inFlight) || (other.byProxy && !inFlight))
      return false;
    const bool apart = perWarp && other.perWarp && begin == other.begin && end == other.end;
    return !apart && (write || other.write) && begin < other.end && other.begin < end;
  }
  bool isSame(const Access &other) const {
    return begin == other.begin && end == other.end && write == other.write &&
           perWarp == other.perWarp && inFlight == other.inFlight && ofRing == other.ofRing &&
           byProxy == other.byProxy && isFenced == other.isFenced;
  }
};
using Open = SmallVector<Access>;

void join(Open &into, const Open &from) {
  for (const Access &access : from) {
    auto *same = llvm::find_if(into, [&](const Access &other) { return other.isSame(access); });
    if (same == into.end())
      into.push_back(access);
    else
      same->younger = std::min(same->younger, access.younger);
  }
}

/// One more MMA starts.
void startMma(Open &open) {
  for (Access &access : open)
    ++access.younger;
}

/// MMAs are waited for until at most `pending` are in flight; they end in the order of their start.
void awaitMmas(Open &open, unsigned pending) {
  Open waited;
  for (Access access : open) {
    access.inFlight &= access.younger < pending;
    if (access.inFlight || !access.ofRing)
      join(waited, {access});
  }
  open = waited;
}

nv::AllocOp allocOf(Value buffer) {
  while (Operation *op = buffer.getDefiningOp()) {
    if (auto alloc = dyn_cast<nv::AllocOp>(op))
      return alloc;
    buffer = op->getOperand(0); // nv.select_stage, nv.buffer_trans
  }
  return {};
}

Access bytesOf(nv::AllocOp alloc, bool write) {
  int64_t begin = *alloc.getOffset();
  return {begin,
          begin + alloc.getType().getDepth() *
                      static_cast<int64_t>(llvm::alignTo(alloc.getType().getStageBytes(), 16)),
          write};
}

/// What an operation touches before and after the barrier that it contains, if any.
struct Effects {
  Open before, after;
  bool containsBarrier = false;
};

void addBuffer(Effects &effects, Value buffer, bool write) {
  nv::AllocOp alloc = allocOf(buffer);
  if (!alloc->hasAttr(names::circularBuffer))
    effects.before.push_back(bytesOf(alloc, write));
}

bool isReadByMma(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    return isa<nv::AsyncMmaOpInterface>(user) ||
           (isa<nv::SelectStageOp, nv::BufferTransOp>(user) && isReadByMma(user->getResult(0)));
  });
}

/// A store, which MMAs see by a proxy of their own.
void addStore(Effects &effects, Value buffer) {
  addBuffer(effects, buffer, true);
  nv::AllocOp alloc = allocOf(buffer);
  if (alloc->hasAttr(names::circularBuffer) || !isReadByMma(alloc))
    return;
  effects.before.push_back(bytesOf(alloc, true));
  effects.before.back().byProxy = true;
}

/// A write also where the buffer is a circular buffer, as the circular buffer's loop orders its copies alone.
void addRounding(Effects &effects, Value buffer) {
  Access access = bytesOf(allocOf(buffer), true);
  effects.before.push_back(access);
  access.byProxy = true;
  effects.before.push_back(access);
}

/// What an MMA reads from its start until it is waited for.
void addMmaOperand(Effects &effects, nv::AsyncMmaOpInterface mma, Value buffer) {
  nv::AllocOp alloc = allocOf(buffer);
  Access access = bytesOf(alloc, false);
  access.inFlight = true;
  access.ofRing = alloc->hasAttr(names::circularBuffer);
  access.mma = mma;
  effects.before.push_back(access);
}

/// Null where `op` is no MMA that a wait with a count waits for.
nv::AsyncMmaOpInterface countedMma(Operation *op) {
  auto mma = dyn_cast<nv::AsyncMmaOpInterface>(op);
  return mma && mma.getCompletion() == nv::Completion::MmaGroup ? mma : nullptr;
}

/// What goes on after `op` was issued. What is waited for otherwise has barriers of its own.
void addAsync(Effects &effects, nv::AsyncOpInterface op) {
  for (Value buffer : op.getBuffersWritten())
    addBuffer(effects, buffer, true);
  if (nv::AsyncMmaOpInterface mma = countedMma(op))
    for (Value buffer : mma.getBuffersRead())
      addMmaOperand(effects, mma, buffer);
}

Effects effectsOf(Operation *op) {
  Effects effects;
  if (auto scratch = op->getAttrOfType<IntegerAttr>(names::scratch)) {
    int64_t begin = scratch.getInt(), end = begin + scratchBytes(op);
    const bool perWarp = scratchIsPerWarp(op);
    effects.before.push_back({begin, end, true, perWarp});
    effects.after.push_back({begin, end, false, perWarp});
    effects.containsBarrier = !perWarp;
  } else if (isa<nv::BarrierOp, BarrierOp>(op)) {
    effects.containsBarrier = true;
  } else if (auto alloc = dyn_cast<nv::AllocOp>(op);
             alloc && alloc->hasAttr(names::circularBuffer)) {
    effects.before.push_back(bytesOf(alloc, true));
  } else if (auto dealloc = dyn_cast<nv::DeallocOp>(op);
             dealloc && allocOf(dealloc.getBuffer())->hasAttr(names::circularBuffer)) {
    effects.before.push_back(bytesOf(allocOf(dealloc.getBuffer()), true));
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

class BarrierInserter {
public:
  explicit BarrierInserter(bool inFront) : inFront(inFront) {}

  void visit(Region &region, Open &open) {
    for (Block &block : region)
      for (Operation &op : llvm::make_early_inc_range(block))
        visit(&op, open);
  }

private:
  void visit(Operation *op, Open &open) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return visitFor(loop, open);
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return visitWhile(loop, open);
    if (isa<scf::IfOp>(op))
      return visitBranches(op, open);
    Effects effects = effectsOf(op);
    auto clashes = [&](const Access &access) {
      return llvm::any_of(open, [&](const Access &o) { return o.clashes(access); });
    };
    if (llvm::any_of(effects.before, clashes))
      meetBefore(op, open, effects.before);
    if (auto wait = dyn_cast<nv::MmaWaitOpInterface>(op))
      awaitMmas(open, wait.getPending().value_or(0));
    else if (countedMma(op))
      startMma(open);
    else if (isa<nv::FenceAsyncOp>(op))
      fence(open);
    else if (auto dealloc = dyn_cast<nv::DeallocOp>(op))
      forgetStores(open, bytesOf(allocOf(dealloc.getBuffer()), true));
    if (effects.containsBarrier)
      pastBarrier(open);
    else if (!isRingBirth(op))
      join(open, effects.before);
    join(open, effects.after);
  }

  /// Nothing is written by reserving a circular buffer; its bytes only had to be free.
  static bool isRingBirth(Operation *op) { return isa<nv::AllocOp>(op); }

  /// A barrier orders what is over. An MMA in flight goes on reading, and one that starts does not see
  /// what was not fenced.
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

  /// A barrier of all threads before `op`, after a wait for the MMAs in flight that clash with `next`
  /// and a fence for those that start later; only counted while it is tried what a loop would need.
  void meetBefore(Operation *op, Open &open, ArrayRef<Access> next = {}) {
    std::optional<unsigned> pending;
    nv::AsyncMmaOpInterface mma;
    for (const Access &access : open)
      if (access.inFlight &&
          llvm::any_of(next, [&](const Access &other) { return other.clashes(access); })) {
        pending = std::min(pending.value_or(access.younger), access.younger);
        mma = access.mma;
      }
    if (trial) {
      trial->insert(op);
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

  /// Barriers in the loop if `open` is so in front of it.
  size_t barriersIn(scf::ForOp loop, Open open) {
    llvm::SmallPtrSet<Operation *, 8> needed;
    trial = &needed;
    visitRounds(loop, open);
    trial = nullptr;
    return needed.size();
  }

  void visitFor(scf::ForOp loop, Open &open) {
    if (inFront && !trial && !open.empty() && barriersIn(loop, {}) < barriersIn(loop, open))
      meetBefore(loop, open);
    visitRounds(loop, open);
  }

  void visitRounds(scf::ForOp loop, Open &open) {
    for (int round = 0; round < 2; ++round) {
      Open body = open;
      visit(loop.getRegion(), body);
      join(open, body);
    }
  }

  void visitWhile(scf::WhileOp loop, Open &open) {
    Open exit;
    for (int round = 0; round < 2; ++round) {
      exit = open;
      visit(loop.getBefore(), exit);
      Open body = exit;
      visit(loop.getAfter(), body);
      join(open, body);
    }
    open = exit;
  }

  void visitBranches(Operation *branch, Open &open) {
    Open merged = branch->getNumRegions() < 2 || branch->getRegion(1).empty() ? open : Open();
    for (Region &region : branch->getRegions()) {
      Open body = open;
      visit(region, body);
      join(merged, body);
    }
    open = merged;
  }

  const bool inFront;
  llvm::SmallPtrSetImpl<Operation *> *trial = nullptr;
};

struct InsertBarriersPass : impl::InsertBarriersBase<InsertBarriersPass> {
  using InsertBarriersBase::InsertBarriersBase;
  void runOnOperation() override {
    getOperation().walk([&](func::FuncOp function) {
      Open open;
      BarrierInserter(inFront).visit(function.getBody(), open);
    });
  }
};
} // namespace
} // namespace pantile
