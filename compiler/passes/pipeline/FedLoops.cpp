//===- FedLoops.cpp - which loops a producer can feed -------------------------------------===//
// Needs: see FedLoops.h.
// Gives: groupsOf, collectFedLoops.
// How:   every loop with products must take all their streamed operands from loads that tmaAccess
//        can raise, with coordinates of scalars, and nothing before may write memory or meet other
//        threads. Loops behind each other with equal slots go on with one ring.
//===--------------------------------------------------------------------------------------===//
#include "passes/pipeline/FedLoops.h"
#include "analysis/BufferReaders.h"
#include "analysis/MmaWaits.h"
#include "analysis/Programs.h"
#include "analysis/RegisterBudget.h"
#include "analysis/Residency.h"
#include "ir/Remarks.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/pipeline/OverlapIterations.h"
#include "passes/pipeline/ShareBuffers.h"
#include "passes/pipeline/SpecialiseWarps.h"
#include "passes/pipeline/StageValues.h"

using namespace mlir;

namespace pantile {
namespace names {
constexpr llvm::StringLiteral flatten = "tile.flatten";                // of tl.range, on scf.for
constexpr llvm::StringLiteral warpSpecialize = "tile.warp_specialize"; // the same
} // namespace names

SmallVector<unsigned> groupsOf(FedLoop &fed) {
  SmallVector<unsigned> groupOf;
  SmallVector<nv::WgmmaOp> products;
  for (Raised &raised : fed.loads) {
    auto it = llvm::find(products, raised.product);
    groupOf.push_back(it - products.begin());
    if (it == products.end())
      products.push_back(raised.product);
  }
  return groupOf;
}

namespace {
/// Loops behind each other, such as those left of the diagonal and on it, can have one ring: the
/// turns are counted on.
bool canShareRings(FedLoop &first, FedLoop &second) {
  auto sameSlots = [](Raised &a, Raised &b) {
    return a.staged.alloc.getType() == b.staged.alloc.getType();
  };
  return first.loop->getBlock() == second.loop->getBlock() &&
         first.loop->isBeforeInBlock(second.loop) && first.slots == second.slots &&
         first.inFlight == second.inFlight && llvm::equal(first.loads, second.loads, sameSlots) &&
         groupsOf(first) == groupsOf(second);
}

/// Operations that loads must not be moved before: they write memory, or meet other threads.
bool ordersLoads(Operation *op) { return isa<StoreOp>(op) || meetsOthers(op); }

class Collector {
public:
  Collector(func::FuncOp function, const Target &target, AffineAnalysis &affine)
      : function(function), target(target), affine(affine), axes(function) {}

  bool collect() {
    SmallVector<scf::ForOp> candidates;
    function.walk([&](nv::WgmmaOp product) {
      auto loop = dyn_cast<scf::ForOp>(product->getParentOp());
      if (loop && !loop->hasAttr(names::programs) && !llvm::is_contained(candidates, loop))
        candidates.push_back(loop);
    });
    for (scf::ForOp loop : candidates)
      shareStagedBuffers(loop);
    llvm::erase_if(candidates, [](scf::ForOp loop) { return findStagedLoads(loop).empty(); });
    if (candidates.empty())
      return false;
    if (Operation *assembly = opaqueAssembly())
      return refuse(candidates[0], "assembly with effects may count on its threads", assembly);
    for (scf::ForOp loop : candidates)
      if (!collect(loop))
        return false;
    addSlots();
    return true;
  }

private:
  bool refuse(Operation *at, const Twine &reason, Operation *culprit = nullptr) {
    InFlightDiagnostic remark = remarkMissed(at->getLoc(), Technique::WarpSpecialisation);
    remark << "warps are not specialised: " << reason;
    if (culprit)
      remark.attachNote(culprit->getLoc()) << "here";
    return false;
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
    fed.slots = stagesOf(loop);
    if (fed.slots < 2)
      return refuse(loop, "it has one stage");
    if (LoadOp value = valueToStage(loop, fed.slots, target))
      return refuse(value, "what the loop computes with is copied ahead by all warps");
    for (Operation *around = loop->getParentOp(); !isa<func::FuncOp>(around);
         around = around->getParentOp())
      if (!isa<scf::ForOp>(around) && !isPlainBranch(around))
        return refuse(loop, "it stands under a condition", around);
    for (StagedLoad staged : findStagedLoads(loop)) {
      SmallVector<BufferReader> readers = readersOf(staged.alloc, loop.getBody());
      if (readers.empty())
        return refuse(staged.load, "it feeds something else than products of the loop");
      std::string reason;
      auto access = accessFor(staged, readers, reason);
      if (!access)
        return refuse(staged.load, reason);
      if (!isScalarSlice(*access, loop))
        return refuse(staged.load, "its coordinates are no scalars of their own");
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
    nv::WgmmaOp accumulation = loneAccumulation(loop);
    fed.inFlight = accumulation && allRinged(accumulation, fed);
    loops.push_back(std::move(fed));
    return true;
  }

  /// How the copy engine reads `staged`: legal for each of its readers, and the same for all.
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

  /// What an early `return` leaves: whoever knows the scalar knows whether the rest is done.
  bool isPlainBranch(Operation *op) {
    auto branch = dyn_cast<scf::IfOp>(op);
    return branch && branch->getNumResults() == 0 && isScalarChain(branch.getCondition());
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

  /// Coordinates are made of leaves that one thread can compute again.
  bool isScalarSlice(const TmaAccess &access, scf::ForOp loop) {
    auto isScalar = [&](unsigned leaf) { return isScalarChain(affine.leaf(leaf)); };
    for (const TmaAccess::Dim &dim : access.dims)
      if (!dim.start.onlyUses(isScalar) || !dim.end.onlyUses(isScalar))
        return false;
    return isScalarChain(loop.getLowerBound()) && isScalarChain(loop.getUpperBound()) &&
           isScalarChain(loop.getStep());
  }

  bool isScalarChain(Value value) {
    if (isa<RankedTensorType>(value.getType()))
      return false;
    Operation *op = value.getDefiningOp();
    if (!op)
      return true;
    return op->getNumRegions() == 0 &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return isScalarChain(operand); });
  }

  bool allRinged(nv::WgmmaOp product, FedLoop &fed) {
    return llvm::all_of(ArrayRef<Value>{product.getLhs(), product.getRhs()}, [&](Value buffer) {
      while (auto view = buffer.getDefiningOp<nv::BufferTransOp>())
        buffer = view.getBuffer();
      auto alloc = buffer.getDefiningOp<nv::AllocOp>();
      return alloc && (fed.loop.isDefinedOutsideOfLoop(alloc) ||
                       llvm::any_of(fed.loads,
                                    [&](Raised &raised) { return raised.staged.alloc == alloc; }));
    });
  }

  /// A slot more than stages where a product stays under way, or where products of two iterations
  /// stand side by side then, if there is room for as many blocks.
  void addSlots() {
    auto module = function->getParentOfType<ModuleOp>();
    const int warps = moduleInt(module, names::numWarps, 4);
    CtaDemand demand{warps + 1, registersOfProducts(function), scratchBesideRings(function)};
    const MachineModel &machine = target.machine();
    const int64_t keep = blocksToKeep(module);
    auto hasRoom = [&](int64_t more) {
      CtaDemand larger = demand;
      larger.sharedBytes += more;
      return larger.sharedBytes <= machine.sm.sharedBytesOfCta &&
             std::min(machine.ctasPerSm(larger), keep) >= std::min(machine.ctasPerSm(demand), keep);
    };
    auto slotBytes = [&](FedLoop &fed) { // and its mbarriers
      int64_t sum = machine.occupancy.barriersOfStage;
      for (Raised &raised : fed.loads)
        sum += raised.staged.alloc.getType().getSlotBytes();
      return sum;
    };
    findSharedRings();
    for (FedLoop &fed : loops)
      demand.sharedBytes += fed.before ? 0 : fed.slots * slotBytes(fed);
    for (FedLoop &fed : loops)
      if (fed.before)
        fed.slots = fed.before->slots;
      else if (fed.inFlight ? hasRoom(slotBytes(fed))
                            : mayOverlap(fed, demand, slotBytes(fed), warps)) {
        ++fed.slots;
        demand.sharedBytes += slotBytes(fed);
      }
  }

  /// Whether `more` bytes let OverlapIterations do its work, and take the place of no block, also not
  /// of one whose scratch lies in the rings; the producer's registers are the others'.
  bool mayOverlap(FedLoop &fed, const CtaDemand &demand, int64_t more, int warps) {
    const RegisterBudget budget{target.machine(), warps};
    auto blocksWith = [&](int64_t sharedBytes) {
      return budget.mostCtas(demand.registersOfThread, target.machine().ctasByShared(sharedBytes));
    };
    const int64_t now = demand.sharedBytes + keptBytes(),
                  withoutScratch = now - scratchBesideRings(function);
    return fed.slots + 1 == target.machine().occupancy.stagesOfOverlap &&
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

public:
  std::vector<FedLoop> loops;
};
} // namespace

std::vector<FedLoop> collectFedLoops(func::FuncOp function, const Target &target,
                                     AffineAnalysis &affine) {
  Collector collector(function, target, affine);
  return collector.collect() ? std::move(collector.loops) : std::vector<FedLoop>();
}

} // namespace pantile
