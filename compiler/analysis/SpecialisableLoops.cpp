//===- SpecialisableLoops.cpp - see SpecialisableLoops.h ----------------------------------===//
// Gives: planProducer.
// How:   a kernel qualifies if all its loops with staged loads and MMAs do. The rules for a loop:
//        1. Its staged loads are read by MMAs of the loop alone. Tiles that are worth a buffer though
//        threads compute with them (StageValues.h) are read in the loop body alone. TMA can do each
//        of these loads (TmaAccess.h); with mixed transports one of them, where the consumers can
//        copy the others (PrefetchLegality.h). It loads at least as many bytes as threads load for their
//        own arithmetic: these wait for their own loads in any case.
//        2. One thread can compute their coordinates, and the bounds and conditions of the loops
//        and branches around: scalars that do not depend on memory that changes (ScalarSlice.h).
//        3. Nothing that writes memory or synchronises with other threads comes between the start of
//        the producer and the loop. Relaxed atomics through other arguments, whose old values are
//        unused, order nothing. Consecutive loops with equal stages share circular buffers.
//        4. Vectors that threads read are loaded by the producer if rules 1 to 3 hold for them, too,
//        and registers do not suffice for those of the next iteration. What TMA cannot load, its warp
//        copies by cp.async, if each lane can compute the addresses of its elements by itself: not one
//        iteration ahead, as registers allow, but as many as there are stages. Otherwise they stay in
//        registers.
//        5. If rule 2 or 3 does not hold for a producer that starts with the kernel, or if the loops are
//        in a branch with results, it starts after what is in the way, where that comes before all
//        loops (ProducerStart.h).
//        6. If a poll of a scalar is such an effect, and in no loop with MMAs, the producer polls
//        instead, if rule 2 holds for its operands. The producer may then poll earlier than the source
//        says. So rule 3 also holds for the flag, and no atomic of the consumers may come before,
//        since it might signal for what the producer waits for.
//===--------------------------------------------------------------------------------------===//
#include "analysis/SpecialisableLoops.h"
#include "analysis/BufferReaders.h"
#include "analysis/CtasPerSm.h"
#include "analysis/EarlierEffect.h"
#include "analysis/LateStage.h"
#include "analysis/ProducerDemand.h"
#include "analysis/Programs.h"
#include "analysis/RegisterBudget.h"
#include "analysis/ScalarSlice.h"
#include "ir/Candidates.h"
#include "ir/FindOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "support/MachineModel.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace pantile {
SmallVector<scf::ForOp> loadDotLoops(func::FuncOp kernel) {
  llvm::SetVector<scf::ForOp> loops;
  kernel.walk([&](nv::AsyncMmaOpInterface mma) {
    auto loop = dyn_cast<scf::ForOp>(mma->getParentOp());
    if (loop && !loop->hasAttr(names::programs) && !findStagedLoads(loop).empty())
      loops.insert(loop);
  });
  return loops.takeVector();
}

nv::BufferType barriersOfStage(MLIRContext *context) {
  return nv::BufferType::get(context, 1, {2}, IntegerType::get(context, 64),
                             nv::SwizzleAttr::get(context, {0}, 0));
}

namespace {
/// Whether `second` can go on with the circular buffers of `first`, as the two loops of causal
/// attention can: the stage index and the phase continue from one loop to the next.
bool canShareBuffers(const SpecialisableLoop &first, const SpecialisableLoop &second) {
  auto sameStages = [](const ProducerLoad &a, const ProducerLoad &b) {
    return a.buffer == b.buffer && a.group == b.group && a.warp == b.warp &&
           a.arrivals() == b.arrivals();
  };
  return first.loop->getBlock() == second.loop->getBlock() &&
         first.loop->isBeforeInBlock(second.loop) && first.depth == second.depth &&
         first.inFlight == second.inFlight && llvm::equal(first.loads, second.loads, sameStages);
}

class Collector {
public:
  Collector(func::FuncOp function, const Target &target, AffineAnalysis &affine, nv::ProgramMap map,
            ProducerChoices choices, int producerWarps, Refusal &refusal)
      : function(function), target(target), affine(affine), axes(function), map(map),
        choices(choices), warps(moduleInt(function, names::numWarps, 4)),
        producerWarps(producerWarps), slice(newSlice()), refusal(refusal) {}

  bool collect() {
    const SmallVector<scf::ForOp> candidates = loadDotLoops(function);
    if (candidates.empty())
      return false;
    if (InstructionSet::warpThreads * (warps + producerWarps) > target.maxThreadsPerBlock())
      return refuse(candidates[0], "a CTA of " + Twine(warps) + " warps has no room for another");
    if (Operation *assembly = opaqueAssembly())
      return refuse(candidates[0], "inline assembly with side effects may depend on its threads",
                    assembly);
    while (!collectAll(candidates))
      if (!startLater(candidates) && !pollInProducer(candidates))
        return false;
    findSharedBuffers();
    sharesBytes = demand().sharedBytes > target.maxSharedBytes();
    if (choices.bufferedValues && choices.tmaValues)
      addVectors();
    addStages();
    return true;
  }

  const ProducerStart &startOfProducer() const { return start; }
  ArrayRef<AtomicRmwOp> pollsOfProducer() const { return polls.getArrayRef(); }

  /// Of the producer: one that loads by TMA, the helper warp, and one for each vector of a loop.
  int extraWarps() const {
    int most = 0;
    for (const SpecialisableLoop &specialisable : loops)
      most = std::max(most, copiedVectors(specialisable));
    return producerWarps + most;
  }

  /// What a CTA takes: circular buffers and their mbarriers, and what is live next to them.
  CtaDemand demand() {
    // With setmaxnreg, warps that copy vectors take no registers: a producer has a warp group.
    return {warps + producerWarps, registersOfMmaLoops(function),
            circularBytes(function, loops, polls.size()) +
                bytesNextTo(function, loops, isPersistent(), sharesBytes)};
  }

private:
  bool refuse(Operation *at, const Twine &reason, Operation *culprit = nullptr) {
    refusal = {at, culprit, reason.str()};
    return false;
  }

  /// Refuses a producer that starts before `culprit`.
  bool refuseBefore(Operation *culprit, Operation *at, const Twine &reason) {
    obstacle = culprit;
    return refuse(at, reason, culprit);
  }

  /// Refuses one that starts before what `slice` cannot follow is known.
  bool refuseUnknown(Operation *at, const Twine &reason) {
    obstacle = slice.unknownScalar();
    return refuse(at, reason, slice.culprit());
  }

  bool collectAll(ArrayRef<scf::ForOp> candidates) {
    loops.clear();
    slice = newSlice();
    obstacle = nullptr;
    return llvm::all_of(candidates, [&](scf::ForOp loop) { return collect(loop); }) &&
           llvm::all_of(polls, [&](AtomicRmwOp poll) {
             return slice.addOperandsOf(poll) ||
                    refuseUnknown(poll, "what it polls depends on tiles or on values in memory");
           });
  }

  /// Lets the producer start after what is in its way; false if it cannot.
  bool startLater(ArrayRef<scf::ForOp> candidates) {
    const auto later = obstacle && map == nv::ProgramMap::Grid
                           ? startAfter(obstacle, start, candidates)
                           : std::nullopt;
    start = later.value_or(start);
    return later.has_value();
  }

  /// Lets the producer do the poll that is in its way; false if that is no poll, or cannot be moved.
  bool pollInProducer(ArrayRef<scf::ForOp> candidates) {
    auto poll = dyn_cast_or_null<AtomicRmwOp>(obstacle);
    return poll && poll.isPlainPoll() && map == nv::ProgramMap::Grid && producerWarps == 1 &&
           llvm::none_of(candidates, [&](scf::ForOp loop) { return loop->isAncestor(poll); }) &&
           polls.insert(poll);
  }

  ScalarSlice newSlice() const { return ScalarSlice(function, start, map == nv::ProgramMap::Grid); }

  /// Whether one thread can compute the coordinates of `load`, or one warp its addresses.
  bool followsCoordinates(const ProducerLoad &load) {
    auto follows = [&](const Polynomial &coordinate) {
      return coordinate.onlyUses([&](unsigned leaf) { return slice.add(affine.leaf(leaf)); });
    };
    if (!load.access)
      return llvm::all_of(addressRoots(load.staged.load),
                          [&](Value root) { return slice.add(root); });
    return llvm::all_of(load.access->dims, [&](const TmaAccess::Dim &dim) {
      return follows(dim.start) && follows(dim.end);
    });
  }

  bool isPersistent() { return map != nv::ProgramMap::Grid || programLoop(function); }

  /// Inline assembly with effects: its asm string may name barriers, or the number of threads.
  Operation *opaqueAssembly() {
    return findOp(function,
                  [](Operation *op) { return isa<InlineAsmOp>(op) && !isMemoryEffectFree(op); });
  }

  bool collect(scf::ForOp loop) {
    SpecialisableLoop specialisable;
    specialisable.loop = loop;
    specialisable.depth = stagesOf(loop);
    specialisable.ahead = specialisable.depth - 1;
    if (specialisable.depth < 2)
      return refuse(loop, "it has one stage");
    SmallVector<StagedValue> matrices;
    if (choices.bufferedValues)
      matrices = matricesToStage(loop, specialisable.depth, axes, target);
    for (Operation *op = loop;
         op->getBlock() != start.block && !isa<func::FuncOp>(op->getParentOp());
         op = op->getParentOp())
      if (Operation *around = op->getParentOp(); !isa<scf::ForOp>(around) && !isPlainBranch(around))
        return refuseBefore(around, loop, "it runs under a condition");
    if (!slice.addControlOf(loop.getBody()->getTerminator()))
      return refuseUnknown(loop, "its trip count depends on tiles or on values in memory");
    auto add = [&](auto load) { return addLoad(specialisable, load); };
    if (!llvm::all_of(findStagedLoads(loop), add) || !llvm::all_of(matrices, add))
      return false;
    if (!specialisable.copies.empty() && !mayCopy(specialisable))
      return false;
    if (!loadsMost(specialisable))
      return false;
    if (Operation *effect = earlierEffectFor(specialisable))
      return refuseBefore(effect, loop, "memory that it loads may have been written before");
    specialisable.inFlight =
        llvm::any_of(specialisable.loads, [](const ProducerLoad &load) { return load.mma; }) &&
        deferrableMma(loop, specialisable.stagedLoads());
    loops.push_back(std::move(specialisable));
    return true;
  }

  bool addLoad(SpecialisableLoop &specialisable, StagedLoad staged) {
    std::string reason;
    auto load = loadOfOperand(affine, axes, staged, specialisable.loop.getBody(), reason);
    return load ? addIfFollowed(specialisable, *load)
                : leaveToConsumers(specialisable, staged, staged.alloc.getType(), reason);
  }

  bool addLoad(SpecialisableLoop &specialisable, StagedValue matrix) {
    std::string reason = "tiles that the loop computes with are prefetched by all warps", why;
    if (choices.tmaValues) {
      if (auto load = loadOfValue(affine, axes, matrix, why))
        return addIfFollowed(specialisable, *load);
      reason += ": " + why;
    }
    return leaveToConsumers(specialisable, {matrix.load, {}, {}}, matrix.buffer, reason);
  }

  /// Whether the producer has something to load next to the copies, none of their indices among it,
  /// and the copies come after no store that the producer starts after: no barrier of the consumers
  /// orders these two.
  bool mayCopy(SpecialisableLoop &specialisable) {
    const CopiedLoad &first = specialisable.copies.front();
    if (specialisable.loads.empty())
      return refuse(first.staged.load, first.reason);
    if (start.isLate())
      return refuse(first.staged.load, "the consumers copy it, and the producer starts later");
    for (const ProducerLoad &load : specialisable.loads)
      if (specialisable.copiesDependOn(load.staged.load))
        return refuse(first.staged.load, "addresses of what the consumers copy depend on this",
                      load.staged.load);
    return true;
  }

  /// Lets the consumers copy what TMA cannot load for `reason`; refuses the loop if they cannot.
  bool leaveToConsumers(SpecialisableLoop &specialisable, StagedLoad staged, nv::BufferType buffer,
                        const std::string &reason) {
    const PrefetchCopy copy = prefetchCopyOf(specialisable.loop, staged.load, buffer, axes);
    if (!choices.mixedTransports || copy.bytes == 0)
      return refuse(staged.load, reason);
    specialisable.copies.push_back({staged, buffer, copy.bytes, reason});
    return true;
  }

  /// Refuses a producer that would load less than threads load for their own arithmetic.
  bool loadsMost(const SpecialisableLoop &specialisable) {
    int64_t bytes = 0;
    llvm::SmallDenseSet<Operation *> ofProducer;
    for (const ProducerLoad &load : specialisable.loads) {
      bytes += load.buffer.getStageBytes();
      ofProducer.insert(load.staged.load);
    }
    const OwnLoads own = ownLoadsOf(specialisable.loop, ofProducer, axes);
    return own.bytes <= bytes ||
           refuse(own.largest, "threads load more of an iteration for their own "
                               "arithmetic than a producer would");
  }

  bool addIfFollowed(SpecialisableLoop &specialisable, const ProducerLoad &load) {
    const auto before = choices.mixedTransports ? std::optional(slice) : std::nullopt;
    if (followsCoordinates(load)) {
      append(specialisable, load);
      return true;
    }
    const std::string reason = "its coordinates depend on tiles or on values in memory";
    Operation *unknown = slice.unknownScalar();
    if (!before || !unknown || !specialisable.loop->isAncestor(unknown))
      return refuseUnknown(load.staged.load, reason);
    slice = *before; // no later start helps
    return leaveToConsumers(specialisable, load.staged, load.buffer, reason);
  }

  void append(SpecialisableLoop &specialisable, ProducerLoad load) {
    load.group =
        groupOf(affine, load, specialisable.loads, specialisable.groups, specialisable.inFlight);
    specialisable.groups = std::max(specialisable.groups, load.group + 1);
    specialisable.loads.push_back(load);
  }

  /// Adds vectors, unless loops would then no longer share circular buffers, or it costs a CTA.
  void addVectors() {
    findSharedBuffers();
    const std::vector<SpecialisableLoop> without = loops;
    const CtaDemand before = demand();
    for (SpecialisableLoop &specialisable : loops) {
      const bool hasMatrices =
          llvm::any_of(specialisable.loads, [](auto &load) { return !load.mma; });
      const VectorLoads vectors = vectorsOf(specialisable.loop, target);
      for (StagedValue vector : vectors.all)
        if (!specialisable.copiesDependOn(vector.load))
          addVector(specialisable, vector, hasMatrices || !vectors.canBeHeld);
    }
    findSharedBuffers();
    auto sharesAlike = [](const SpecialisableLoop &a, const SpecialisableLoop &b) {
      return !a.previous == !b.previous;
    };
    const CtaDemand after = demand();
    if (!llvm::equal(loops, without, sharesAlike) || !keepsCtas(before, after) ||
        after.sharedBytes > target.maxSharedBytes())
      loops = without;
  }

  /// `evenByTma`: also where TMA can load it, and registers could hold it.
  void addVector(SpecialisableLoop &specialisable, StagedValue vector, bool evenByTma) {
    std::string reason;
    auto load = loadOfValue(affine, axes, vector, reason);
    if (load && !evenByTma)
      return;
    if (!load && mayCopyVector(specialisable, vector))
      load = copyOfVector(specialisable.loop, axes, vector,
                          producerWarps + copiedVectors(specialisable));
    const ScalarSlice before = slice;
    if (!load || !followsCoordinates(*load)) {
      slice = before;
      return;
    }
    SpecialisableLoop with = specialisable;
    append(with, *load);
    if (!earlierEffectFor(with))
      specialisable = std::move(with);
  }

  /// Whether another warp of the producer can copy `vector`: its lanes have registers for the
  /// addresses. A producer that polls, or starts later, has one warp.
  bool mayCopyVector(const SpecialisableLoop &specialisable, StagedValue vector) {
    const int64_t addresses =
        llvm::divideCeil(vector.buffer.getShape().front(), InstructionSet::warpThreads);
    const int64_t extraWarps = producerWarps + copiedVectors(specialisable) + 1;
    return choices.copiedVectors && !start.isLate() && polls.empty() &&
           addresses <= target.machine().registers.addressesOfProducer &&
           extraWarps <= RegisterBudget::producerWarps &&
           InstructionSet::warpThreads * (warps + extraWarps) <= target.maxThreadsPerBlock();
  }

  static int copiedVectors(const SpecialisableLoop &specialisable) {
    return static_cast<int>(
        llvm::count_if(specialisable.loads, [](const ProducerLoad &load) { return !load.access; }));
  }

  Operation *earlierEffectFor(const SpecialisableLoop &specialisable) {
    auto bases = llvm::map_to_vector(specialisable.loads,
                                     [](const ProducerLoad &load) { return load.base(); });
    return earlierEffect(function, start, specialisable.loop, bases, polls.getArrayRef(),
                         choices.pastStores);
  }

  /// The branch that an early `return` leaves: its condition is a scalar, so each side can branch.
  bool isPlainBranch(Operation *op) {
    auto branch = dyn_cast<scf::IfOp>(op);
    return branch && branch->getNumResults() == 0;
  }

  /// Adds a stage to the circular buffers where the wait for an MMA is deferred by one iteration,
  /// or where OverlapIterations can then run, if as many CTAs still fit on an SM.
  void addStages() {
    findSharedBuffers();
    for (SpecialisableLoop &specialisable : loops) {
      if (specialisable.previous) {
        specialisable.depth = specialisable.previous->depth;
        continue;
      }
      const CtaDemand before = demand();
      ++specialisable.depth;
      const CtaDemand after = demand();
      const bool pays = after.sharedBytes <= target.maxSharedBytes() &&
                        (specialisable.inFlight ? keepsCtas(before, after)
                                                : mayOverlap(specialisable, before, after));
      specialisable.depth -= !pays;
    }
  }

  bool keepsCtas(const CtaDemand &before, const CtaDemand &after) {
    const MachineModel &machine = target.machine();
    return machine.ctasPerSm(after) >=
           std::min(machine.ctasPerSm(before), ctasToKeep(machine, choices.thirdCta));
  }

  /// Whether OverlapIterations can run with the stage that is added, and it costs no CTA per SM,
  /// even compared with CTAs whose scratch reuses the circular buffers. Registers are counted after
  /// setmaxnreg.
  bool mayOverlap(SpecialisableLoop &specialisable, const CtaDemand &before,
                  const CtaDemand &after) {
    const MachineModel &machine = target.machine();
    auto ctasWith = [&](int64_t sharedBytes) {
      return RegisterBudget{machine, warps}.mostCtas(after.registersOfThread,
                                                     machine.ctasByShared(sharedBytes));
    };
    return specialisable.depth == machine.occupancy.stagesOfOverlap &&
           hasRegistersForOverlap(specialisable.loop, target, warps) &&
           ctasWith(after.sharedBytes) >=
               ctasWith(before.sharedBytes - scratchWithLiveBuffers(function, isPersistent()));
  }

  void findSharedBuffers() {
    for (size_t i = 1; i < loops.size(); ++i)
      loops[i].previous = canShareBuffers(loops[i - 1], loops[i]) ? &loops[i - 1] : nullptr;
  }

  func::FuncOp function;
  const Target &target;
  AffineAnalysis &affine;
  const AxisInfoAnalysis axes;
  const nv::ProgramMap map;
  const ProducerChoices choices;
  const int warps, producerWarps;
  ProducerStart start; // before `slice`, which is made from it
  ScalarSlice slice;
  Refusal &refusal;
  bool sharesBytes = false;           ///< what is not live at one time, where all does not fit else
  Operation *obstacle = nullptr;      ///< of a producer that starts before it
  llvm::SetVector<AtomicRmwOp> polls; ///< that the producer does

public:
  std::vector<SpecialisableLoop> loops;
};
} // namespace

std::optional<ProducerPlan> planProducer(func::FuncOp kernel, AffineAnalysis &affine,
                                         nv::ProgramMap map, ProducerChoices choices,
                                         Refusal &refusal) {
  auto module = kernel->getParentOfType<ModuleOp>();
  auto target = Target::parse(moduleTarget(module));
  if (!target || !target->hasTma() || !target->hasAsyncMma() ||
      moduleInt(module, names::numWarps, 4) % InstructionSet::warpsOfGroup != 0)
    return std::nullopt;
  const bool hasHelper =
      map == nv::ProgramMap::StreamK || !kernel.getOps<nv::HelperWarpOp>().empty();
  const int warps = hasHelper ? 2 : 1;
  Collector collector(kernel, *target, affine, map, choices, warps, refusal);
  if (!collector.collect())
    return std::nullopt;
  const CtaDemand demand = collector.demand();
  const int extraWarps = collector.extraWarps();
  return ProducerPlan{std::move(collector.loops), llvm::to_vector(collector.pollsOfProducer()),
                      demand, collector.startOfProducer(), extraWarps};
}

} // namespace pantile
