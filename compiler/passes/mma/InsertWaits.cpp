//===- InsertWaits.cpp - count what waits for MMAs leave in flight, insert those that lack ---===//
// Needs: MMAs stand where they start; waits without a count stand where MMAs have to be over.
// Gives: each wait has its count and holds the registers that its MMAs read. From the start of an
//        MMA until a wait for it nothing else has its accumulators, or the registers and stages
//        that it reads: where an operation would, a wait is inserted before it.
// How:   a forward data flow carries the MMAs in flight (MmasInFlight.h). The rule for each:
//        - Only another MMA adds to its accumulators, and then nothing else reads them. A loop may
//          carry them on in flight; results of branches and values of a `while` are waited for.
//        - The tile of its left operand is not computed again, as in the next iteration, and a
//          carried tile does not pass the back edge.
//        - Its stages are not released: neither one with the same index nor, if the MMA is of an
//          earlier iteration, any of that circular buffer.
//        Loops are visited until nothing changes, without inserting, and then once more. Stores
//        into buffers that MMAs read need a barrier as well: InsertBarriers has these, by bytes. A
//        loop orders the copies into its own circular buffers (ScheduleLoops chooses how many stages).
//        What is in flight where is decided elsewhere: at the dot (StageOperands), within an
//        iteration (DeferWaits), over the back edge (ScheduleLoops and SpecialiseWarps for one
//        accumulation, CarryAccumulators and DeferWaits for chains), beside the next iteration's MMAs
//        (OverlapIterations). Those passes move MMAs and waits; none counts.
//===------------------------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/mma/MmasInFlight.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_INSERTWAITS
#include "passes/Passes.h.inc"
namespace {

/// What a buffer is a view of, and the index of its stage; that is null if no stage was chosen.
struct Stage {
  Value ring, index;
};

Stage stageOf(Value buffer) {
  Stage stage{buffer, {}};
  while (true) {
    if (auto view = stage.ring.getDefiningOp<nv::BufferTransOp>()) {
      stage.ring = view.getBuffer();
    } else if (auto selected = stage.ring.getDefiningOp<nv::SelectStageOp>()) {
      stage = {selected.getBuffer(), selected.getIndex()};
    } else {
      return stage;
    }
  }
}

/// Whether `op`, or what it contains, reads `value` other than to wait for it or to carry it on.
bool reads(Operation *op, Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    const bool isInit = user == op && isa<scf::ForOp>(op);
    return op->isAncestor(user) && !isInit && !isa<nv::MmaWaitOpInterface>(user);
  });
}

/// Whether an MMA that takes `accumulator` over is not the only one to read it.
bool hasOtherReader(nv::AsyncMmaOpInterface mma, Value accumulator) {
  return llvm::any_of(accumulator.getUses(), [&](OpOperand &use) {
    auto wait = dyn_cast<nv::MmaWaitOpInterface>(use.getOwner());
    return use.getOwner() != mma && !(wait && llvm::is_contained(wait.getDone(), accumulator));
  });
}

class WaitInserter {
public:
  explicit WaitInserter(func::FuncOp function) {
    function.walk([&](nv::TmaLoadOp load) {
      barriersOf[stageOf(load.getBuffer()).ring] = stageOf(load.getBarrier()).ring;
    });
  }

  void visit(Block &block, MmasInFlight &state) {
    for (Operation &op : llvm::make_early_inc_range(block))
      visit(&op, state);
  }

private:
  void visit(Operation *op, MmasInFlight &state) {
    if (isa<nv::ProducerOp>(op)) // by other warps, which start no MMA
      return;
    if (auto wait = dyn_cast<nv::MmaWaitOpInterface>(op))
      return complete(wait, state);
    waitBefore(op, state);
    if (auto mma = dyn_cast<nv::AsyncMmaOpInterface>(op);
        mma && mma.getCompletion() == nv::Completion::MmaGroup)
      state.start(mma);
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      visitFor(loop, state);
    else if (auto loop = dyn_cast<scf::WhileOp>(op))
      visitWhile(loop, state);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      visitBranches(branch, state);
  }

  //===- the rule --------------------------------------------------------------------------===//

  static bool readsAccumulator(Operation *op, Value accumulator) {
    if (!accumulator)
      return false;
    if (auto mma = dyn_cast<nv::AsyncMmaOpInterface>(op))
      return mma.getLhs() == accumulator ||
             (mma.getAcc() == accumulator && hasOtherReader(mma, accumulator));
    const bool isCarried = isa<scf::YieldOp>(op) && isa<scf::ForOp>(op->getParentOp());
    return !isCarried && reads(op, accumulator);
  }

  /// The tile is computed again, or the next iteration's tile is given its registers.
  static bool writesRegisters(Operation *op, Flight flight) {
    Value tile = flight.mma.getHeldRegisters();
    auto carried = dyn_cast_or_null<BlockArgument>(tile);
    if (carried && carried.getOwner() == op->getBlock())
      return op->hasTrait<OpTrait::IsTerminator>();
    return tile && tile.getDefiningOp() == op;
  }

  bool releasesStage(Operation *op, Flight flight) {
    auto release = dyn_cast<nv::ReleaseOp>(op);
    if (!release)
      return false;
    const Stage released = stageOf(release.getBarrier());
    return llvm::any_of(flight.mma.getBuffersRead(), [&](Value buffer) {
      const Stage read = stageOf(buffer);
      auto barriers = barriersOf.find(read.ring);
      return barriers != barriersOf.end() && barriers->second == released.ring &&
             (flight.hasLeft || read.index == released.index);
    });
  }

  //===- waits -----------------------------------------------------------------------------===//

  /// Before `op`, for what has to be over then; those whose accumulators it reads are given back.
  void waitBefore(Operation *op, MmasInFlight &state) {
    llvm::SetVector<Value> accumulators;
    for (const Flight &flight : state.flights())
      if (readsAccumulator(op, flight.accumulator))
        accumulators.insert(flight.accumulator);
    auto pending = state.pendingFor([&](const Flight &flight) {
      return accumulators.contains(flight.accumulator) || writesRegisters(op, flight) ||
             releasesStage(op, flight);
    });
    if (accumulators.empty() && !pending)
      return;
    const unsigned count = pending.value_or(state.count());
    if (!isTrial)
      insert(op, accumulators.getArrayRef(), count, state);
    state.wait(count, accumulators.getArrayRef());
  }

  static void insert(Operation *op, ArrayRef<Value> accumulators, unsigned pending,
                     MmasInFlight &state) {
    OpBuilder b(op);
    nv::AsyncMmaOpInterface mma = state.flights().front().mma;
    nv::MmaWaitOpInterface wait = mma.createWait(b, op->getLoc(), accumulators);
    for (auto [value, waited] : llvm::zip_equal(accumulators, wait->getResults()))
      Value(value).replaceUsesWithIf(waited, [&](OpOperand &use) {
        Operation *user = op->getBlock()->findAncestorOpInBlock(*use.getOwner());
        return user && !user->isBeforeInBlock(op);
      });
    fill(wait, pending, state);
  }

  void complete(nv::MmaWaitOpInterface wait, MmasInFlight &state) {
    auto isMeant = [&](const Flight &flight) {
      return flight.accumulator && (llvm::is_contained(wait.getValues(), flight.accumulator) ||
                                    llvm::is_contained(wait.getDone(), flight.accumulator));
    };
    const unsigned pending =
        wait.getPending().value_or(state.pendingFor(isMeant).value_or(state.count()));
    if (!isTrial && !wait.getPending())
      fill(wait, pending, state);
    state.wait(pending, wait.getValues());
  }

  /// The count, and the registers of its own MMAs and of the others that it ends.
  static void fill(nv::MmaWaitOpInterface wait, unsigned pending, const MmasInFlight &state) {
    llvm::SetVector<Value> held;
    for (Value value : wait.getValues())
      if (auto mma = value.getDefiningOp<nv::AsyncMmaOpInterface>();
          mma && mma->getBlock() == wait->getBlock())
        if (Value tile = mma.getHeldRegisters())
          held.insert(tile);
    for (Flight flight : state.flights())
      if (Value tile = flight.mma.getHeldRegisters();
          tile && !flight.isOver && !flight.hasLeft && flight.younger >= pending)
        held.insert(tile);
    wait.setPending(pending);
    wait.getHeldMutable().assign(held.getArrayRef());
  }

  //===- control flow ----------------------------------------------------------------------===//

  /// Visits the body without inserting until `entry`, the state before each iteration, is stable,
  /// and then once more; gives the state after it.
  MmasInFlight iterate(MmasInFlight &entry, llvm::function_ref<MmasInFlight()> body,
                       llvm::function_ref<MmasInFlight(const MmasInFlight &)> backEdge) {
    const bool outer = std::exchange(isTrial, true);
    while (entry.join(backEdge(body()))) {
    }
    isTrial = outer;
    return body();
  }

  void visitFor(scf::ForOp loop, MmasInFlight &state) {
    ValueRange arguments = loop.getRegionIterArgs();
    auto yielded = [&] { return loop.getYieldedValues(); };
    MmasInFlight entry = state.across(loop.getInitArgs(), arguments, nullptr);
    auto body = [&] {
      MmasInFlight inside = entry;
      visit(*loop.getBody(), inside);
      return inside;
    };
    MmasInFlight end = iterate(entry, body, [&](const MmasInFlight &inside) {
      return inside.across(yielded(), arguments, loop);
    });
    state = state.across(loop.getInitArgs(), loop.getResults(), nullptr);
    state.join(end.across(yielded(), loop.getResults(), loop));
  }

  void visitWhile(scf::WhileOp loop, MmasInFlight &state) {
    MmasInFlight exit;
    auto body = [&] {
      exit = state;
      visit(*loop.getBeforeBody(), exit);
      MmasInFlight inside = exit;
      visit(*loop.getAfterBody(), inside);
      return inside;
    };
    iterate(state, body, [&](const MmasInFlight &inside) { return inside.across({}, {}, loop); });
    state = exit.across({}, {}, loop);
  }

  void visitBranches(scf::IfOp branch, MmasInFlight &state) {
    MmasInFlight merged = branch.getElseRegion().empty() ? state : MmasInFlight();
    for (Region &region : branch->getRegions()) {
      if (region.empty())
        continue;
      MmasInFlight inside = state;
      visit(region.front(), inside);
      merged.join(inside.across({}, {}, branch));
    }
    state = merged;
  }

  llvm::DenseMap<Value, Value> barriersOf; ///< of each circular buffer that a producer fills
  bool isTrial = false;
};

struct InsertWaitsPass : impl::InsertWaitsBase<InsertWaitsPass> {
  void runOnOperation() override {
    getOperation().walk([](func::FuncOp function) {
      WaitInserter inserter(function);
      for (Block &block : function.getBody()) {
        MmasInFlight state;
        inserter.visit(block, state);
      }
    });
  }
};
} // namespace
} // namespace pantile
