//===- FedLoops.cpp - which loops a producer can feed -------------------------------------===//
// Needs: see FedLoops.h.
// Gives: groupsOf, planProducer.
// How:   every loop with products must take all their streamed operands from loads that tmaAccess
//        can raise, with coordinates of scalars, and nothing before may write memory or meet other
//        threads. What one thread computes for them, and for the control flow around the loops, must be
//        scalars that no memory changes (ScalarSlice.h). Loops behind each other with equal stages go
//        on with one circular buffer.
//===--------------------------------------------------------------------------------------===//
#include "passes/pipeline/FedLoops.h"
#include "analysis/BufferReaders.h"
#include "analysis/MmaWaits.h"
#include "analysis/Programs.h"
#include "analysis/RegisterBudget.h"
#include "analysis/Residency.h"
#include "analysis/ScalarSlice.h"
#include "ir/Candidates.h"
#include "ir/Remarks.h"
#include "layout/TmaBoxes.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/pipeline/OverlapIterations.h"
#include "passes/pipeline/StageValues.h"
#include "support/MachineModel.h"

using namespace mlir;

namespace pantile {
namespace names {
constexpr llvm::StringLiteral flatten = "tile.flatten";                // of tl.range, on scf.for
constexpr llvm::StringLiteral warpSpecialize = "tile.warp_specialize"; // the same
} // namespace names

SmallVector<unsigned> groupsOf(FedLoop &fed) {
  SmallVector<unsigned> groupOf;
  SmallVector<nv::AsyncMmaOpInterface> products;
  for (Raised &raised : fed.loads) {
    auto it = llvm::find(products, raised.product);
    groupOf.push_back(it - products.begin());
    if (it == products.end())
      products.push_back(raised.product);
  }
  return groupOf;
}

namespace {
/// Loops behind each other, such as those left of the diagonal and on it, can have one circular buffer: the
/// turns are counted on.
bool canShareRings(FedLoop &first, FedLoop &second) {
  auto sameStages = [](Raised &a, Raised &b) {
    return a.staged.alloc.getType() == b.staged.alloc.getType();
  };
  return first.loop->getBlock() == second.loop->getBlock() &&
         first.loop->isBeforeInBlock(second.loop) && first.depth == second.depth &&
         first.inFlight == second.inFlight && llvm::equal(first.loads, second.loads, sameStages) &&
         groupsOf(first) == groupsOf(second);
}

/// Operations that loads must not be moved before: they write memory, or meet other threads.
bool ordersLoads(Operation *op) { return isa<StoreOp>(op) || meetsOthers(op); }

class Collector {
public:
  Collector(func::FuncOp function, const Target &target, AffineAnalysis &affine, ProgramMap map,
            ProducerChoices choices, int producerWarps, Refusal &refusal)
      : function(function), target(target), affine(affine), axes(function), map(map),
        choices(choices), warps(moduleInt(function, names::numWarps, 4)),
        producerWarps(producerWarps), slice(function, map == ProgramMap::AsIs), refusal(refusal) {}

  bool collect() {
    SmallVector<scf::ForOp> candidates;
    function.walk([&](nv::AsyncMmaOpInterface product) {
      auto loop = dyn_cast<scf::ForOp>(product->getParentOp());
      if (loop && !loop->hasAttr(names::programs) && !llvm::is_contained(candidates, loop))
        candidates.push_back(loop);
    });
    llvm::erase_if(candidates, [](scf::ForOp loop) { return findStagedLoads(loop).empty(); });
    if (candidates.empty())
      return false;
    if (InstructionSet::warpThreads * (warps + producerWarps) > target.maxThreadsPerBlock())
      return refuse(candidates[0],
                    "a block of " + Twine(warps) + " warps has no place for another");
    if (Operation *assembly = opaqueAssembly())
      return refuse(candidates[0], "assembly with effects may count on its threads", assembly);
    for (scf::ForOp loop : candidates)
      if (!collect(loop))
        return false;
    addStages();
    return true;
  }

  /// What a CTA takes: the circular buffers, their mbarriers, what loops keep, and scratch beside those.
  CtaDemand demand() {
    auto barriers = nv::SwizzleAttr::get(function.getContext(), {0}, 0);
    auto ringOf = [&](FedLoop &fed, ArrayRef<int64_t> shape, Type element,
                      nv::SwizzleAttr swizzle) {
      return ringBytes(
          nv::BufferType::get(function.getContext(), fed.depth, shape, element, swizzle));
    };
    CtaDemand demand{warps + producerWarps, registersOfProducts(function),
                     scratchBesideRings(function, isPersistent()) + keptBytes()};
    for (FedLoop &fed : loops) {
      if (fed.before)
        continue;
      for (Raised &raised : fed.loads) {
        nv::BufferType stage = raised.staged.alloc.getType();
        demand.sharedBytes +=
            ringOf(fed, stage.getShape(), stage.getElementType(), stage.getSwizzle());
      }
      demand.sharedBytes += (groupsOf(fed).back() + 1) *
                            ringOf(fed, {2}, IntegerType::get(function.getContext(), 64), barriers);
    }
    return demand;
  }

private:
  bool refuse(Operation *at, const Twine &reason, Operation *culprit = nullptr) {
    refusal = {at, culprit, reason.str()};
    return false;
  }

  /// One thread can follow where the tiles of `access` are.
  bool followsCoordinates(const TmaAccess &access) {
    auto follows = [&](const Polynomial &coordinate) {
      return coordinate.onlyUses([&](unsigned leaf) { return slice.add(affine.leaf(leaf)); });
    };
    return llvm::all_of(access.dims, [&](const TmaAccess::Dim &dim) {
      return follows(dim.start) && follows(dim.end);
    });
  }

  bool isPersistent() {
    return map == ProgramMap::Persistent || &programBody(function) != &function.getBody().front();
  }

  /// Its text may name barriers, or the number of threads.
  Operation *opaqueAssembly() {
    Operation *found = nullptr;
    function.walk([&](InlineAsmOp op) { found = isMemoryEffectFree(op) ? found : op; });
    return found;
  }

  bool collect(scf::ForOp loop) {
    FedLoop fed;
    fed.loop = loop;
    fed.depth = stagesOf(loop);
    if (fed.depth < 2)
      return refuse(loop, "it has one stage");
    if (LoadOp value = choices.bufferedValues ? valueToStage(loop, fed.depth, target) : LoadOp())
      return refuse(value, "what the loop computes with is prefetched by all warps");
    for (Operation *around = loop->getParentOp(); !isa<func::FuncOp>(around);
         around = around->getParentOp())
      if (!isa<scf::ForOp>(around) && !isPlainBranch(around))
        return refuse(loop, "it stands under a condition", around);
    if (!slice.addControlOf(loop.getBody()->getTerminator()))
      return refuse(loop, "how often it goes round only other threads know", slice.culprit());
    for (StagedLoad staged : findStagedLoads(loop)) {
      SmallVector<BufferReader> readers = readersOf(staged.alloc, loop.getBody());
      if (readers.empty())
        return refuse(staged.load, "it feeds something else than products of the loop");
      std::string reason;
      auto access = accessFor(staged, readers, reason);
      if (!access || !isFilledByBoxes(staged, reason))
        return refuse(staged.load, reason);
      if (!followsCoordinates(*access))
        return refuse(staged.load, "its coordinates come from tiles or numbers in memory",
                      slice.culprit());
      Raised raised{staged, readers.front().at, readers.front().product, readers.back().product,
                    *access};
      for (const BufferReader &reader : readers) {
        raised.first = reader.at->isBeforeInBlock(raised.first) ? reader.at : raised.first;
        raised.isReadByThreads |= reader.at != reader.product;
      }
      fed.loads.push_back(raised);
    }
    if (Operation *effect = earlierEffect(fed))
      return refuse(loop, "what it reads may have been written", effect);
    nv::AsyncMmaOpInterface accumulation = loneAccumulation(loop);
    fed.inFlight = accumulation && allRinged(accumulation, fed);
    loops.push_back(std::move(fed));
    return true;
  }

  /// How TMA reads `staged`: legal for each of its readers, and the same for all.
  std::optional<TmaAccess> accessFor(StagedLoad staged, ArrayRef<BufferReader> readers,
                                     std::string &reason) {
    std::optional<TmaAccess> access;
    for (const BufferReader &reader : readers) {
      auto own = tmaAccess(affine, axes, staged, reader, reason);
      if (!own)
        return std::nullopt;
      auto isSame = [](const TmaAccess::Dim &a, const TmaAccess::Dim &b) {
        return a.extent == b.extent && a.stride == b.stride && a.start == b.start &&
               a.modulus == b.modulus && a.kind == b.kind && a.end == b.end;
      };
      if (access && !llvm::equal(access->dims, own->dims, isSame)) {
        reason = "its products allow different extents";
        return std::nullopt;
      }
      if (!access)
        access = own;
    }
    return access;
  }

  static bool isFilledByBoxes(StagedLoad staged, std::string &reason) {
    reason = "no boxes of a tensor map fill its tile";
    return tmaBoxes(sharedLayoutOf(staged.alloc.getType())).has_value();
  }

  /// What an early `return` leaves: whoever knows the scalar knows whether the rest is done.
  bool isPlainBranch(Operation *op) {
    auto branch = dyn_cast<scf::IfOp>(op);
    return branch && branch->getNumResults() == 0;
  }

  /// A store through another argument than the loop's loads, in a loop around whose author says
  /// that its rounds may overlap: Triton loads for the next one before such a store, too.
  bool liesApart(Operation *op, FedLoop &fed) {
    auto store = dyn_cast<StoreOp>(op);
    Value target = store ? baseOf(store.getPtr()) : Value();
    if (!store || !isKernelArgument(target) ||
        llvm::any_of(fed.loads, [&](Raised &raised) { return raised.access.base == target; }))
      return false;
    for (auto around = fed.loop->getParentOfType<scf::ForOp>(); around;
         around = around->getParentOfType<scf::ForOp>())
      if (around->isAncestor(op) &&
          (around->hasAttr(names::flatten) || around->hasAttr(names::warpSpecialize)))
        return true;
    return false;
  }

  /// What orders loads and may have run before `fed.loop` is entered, or in an earlier iteration.
  Operation *earlierEffect(FedLoop &fed) {
    scf::ForOp loop = fed.loop;
    Block &program = programBody(function);
    Operation *repeated = loop; // also what stands behind the loop in there
    for (Operation *op = loop; op->getBlock() != &program; op = op->getParentOp())
      if (isa<scf::ForOp>(op->getParentOp()))
        repeated = op->getParentOp();
    Operation *effect = nullptr;
    auto look = [&](Operation *op) {
      op->walk([&](Operation *inner) {
        effect = ordersLoads(inner) && !liesApart(inner, fed) ? inner : effect;
      });
    };
    look(repeated);
    for (Operation *at = repeated; !effect; at = at->getParentOp()) {
      for (Operation &op : llvm::make_range(at->getBlock()->begin(), at->getIterator()))
        look(&op);
      if (at->getBlock() == &program)
        break;
    }
    return effect;
  }

  bool allRinged(nv::AsyncMmaOpInterface product, FedLoop &fed) {
    return llvm::all_of(ArrayRef<Value>{product.getLhs(), product.getRhs()}, [&](Value buffer) {
      while (auto view = buffer.getDefiningOp<nv::BufferTransOp>())
        buffer = view.getBuffer();
      auto alloc = buffer.getDefiningOp<nv::AllocOp>();
      return alloc && (fed.loop.isDefinedOutsideOfLoop(alloc) ||
                       llvm::any_of(fed.loads,
                                    [&](Raised &raised) { return raised.staged.alloc == alloc; }));
    });
  }

  /// A stage more than stages where a product stays under way, or where products of two iterations
  /// stand side by side then, if there is room for as many blocks.
  void addStages() {
    CtaDemand demand{warps + 1, registersOfProducts(function),
                     scratchBesideRings(function, isPersistent())};
    const MachineModel &machine = target.machine();
    const int64_t keep = ctasToKeep(machine, choices.thirdCta);
    auto hasRoom = [&](int64_t more) {
      CtaDemand larger = demand;
      larger.sharedBytes += more;
      return larger.sharedBytes <= machine.sm.sharedBytesOfCta &&
             std::min(machine.ctasPerSm(larger), keep) >= std::min(machine.ctasPerSm(demand), keep);
    };
    auto stageBytes = [&](FedLoop &fed) { // and its mbarriers
      int64_t sum = machine.occupancy.barriersOfStage;
      for (Raised &raised : fed.loads)
        sum += raised.staged.alloc.getType().getStageBytes();
      return sum;
    };
    findSharedRings();
    for (FedLoop &fed : loops)
      demand.sharedBytes += fed.before ? 0 : fed.depth * stageBytes(fed);
    for (FedLoop &fed : loops)
      if (fed.before)
        fed.depth = fed.before->depth;
      else if (fed.inFlight ? hasRoom(stageBytes(fed)) : mayOverlap(fed, demand, stageBytes(fed))) {
        ++fed.depth;
        demand.sharedBytes += stageBytes(fed);
      }
  }

  /// Whether `more` bytes let OverlapIterations do its work, and take the place of no block, also not
  /// of one whose scratch lies in the circular buffers; the producer's registers are the others'.
  bool mayOverlap(FedLoop &fed, const CtaDemand &demand, int64_t more) {
    const RegisterBudget budget{target.machine(), warps};
    auto blocksWith = [&](int64_t sharedBytes) {
      return budget.mostCtas(demand.registersOfThread, target.machine().ctasByShared(sharedBytes));
    };
    const int64_t now = demand.sharedBytes + keptBytes(),
                  withoutScratch = now - scratchBesideRings(function, isPersistent());
    return fed.depth + 1 == target.machine().occupancy.stagesOfOverlap &&
           hasRegistersForOverlap(fed.loop, target, warps) &&
           now + more <= target.maxSharedBytes() &&
           blocksWith(now + more) >= blocksWith(withoutScratch);
  }

  /// Of operands that loops keep.
  int64_t keptBytes() {
    int64_t bytes = 0;
    function.walk([&](nv::AllocOp alloc) { bytes += ringBytes(alloc.getType()); });
    for (FedLoop &fed : loops)
      for (Raised &raised : fed.loads)
        bytes -= ringBytes(raised.staged.alloc.getType());
    return bytes;
  }

  void findSharedRings() {
    for (size_t i = 1; i < loops.size(); ++i)
      if (canShareRings(loops[i - 1], loops[i]))
        loops[i].before = &loops[i - 1];
  }

  func::FuncOp function;
  const Target &target;
  AffineAnalysis &affine;
  const AxisInfoAnalysis axes;
  const ProgramMap map;
  const ProducerChoices choices;
  const int warps, producerWarps;
  ScalarSlice slice;
  Refusal &refusal;

public:
  std::vector<FedLoop> loops;
};
} // namespace

void remarkOn(func::FuncOp kernel, const Refusal &refusal) {
  if (!refusal.at)
    return;
  addCandidate(kernel, {.producer = true, .refused = refusal.reason});
  InFlightDiagnostic remark = remarkMissed(refusal.at->getLoc(), Technique::WarpSpecialisation);
  remark << "warps are not specialised: " << refusal.reason;
  if (refusal.culprit)
    remark.attachNote(refusal.culprit->getLoc()) << "here";
}

std::optional<ProducerPlan> planProducer(func::FuncOp kernel, AffineAnalysis &affine,
                                         ProgramMap map, ProducerChoices choices,
                                         Refusal &refusal) {
  auto module = kernel->getParentOfType<ModuleOp>();
  auto target = Target::parse(moduleTarget(module));
  if (!target || !target->hasTma() || !target->hasAsyncMma() ||
      moduleInt(module, names::numWarps, 4) % InstructionSet::warpsOfGroup != 0)
    return std::nullopt;
  const int warps = kernel.getOps<nv::HelperWarpOp>().empty() ? 1 : 2;
  Collector collector(kernel, *target, affine, map, choices, warps, refusal);
  if (!collector.collect())
    return std::nullopt;
  const CtaDemand demand = collector.demand();
  return ProducerPlan{std::move(collector.loops), demand, warps};
}

} // namespace pantile
