//===- PairBlocks.cpp - two blocks share the tiles that both read -------------------------===//
// Needs: MakePersistent and SpecialiseWarps ran, stores are raised.
// Gives: `nv.pairs` on the module: neighbouring blocks are a pair that runs neighbouring programs in
//        step, and loads of which both need the same tile are marked `to both`.
// How:   1. The rounds of the two: programs are dealt by pairs as they are by blocks, as long as the
//        number of blocks is even. Of an odd number of programs the last is run by both blocks, of
//        which one stores nothing. Loops within a program go round equally often (MakePersistent),
//        so the turns of both rings agree. 2. Whether a tile is the same is asked on the device: the
//        coordinates are computed from the other program's number as well and compared; both blocks
//        find the same answer. 3. Each copies half of a shared tile: half of its panels, or half of
//        the rows of its one panel, for which the map's box is halved. 4. Consumers release a slot
//        at both blocks, whose producers write to both; nobody leaves while the other still may.
//===--------------------------------------------------------------------------------------===//
#include "ir/Pairs.h"
#include "ir/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/pipeline/Programs.h"
#include "support/Target.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_PAIRBLOCKS
#include "passes/Passes.h.inc"
namespace {

scf::ForOp loopOverPrograms(Block &block) {
  for (auto loop : block.getOps<scf::ForOp>())
    if (loop->hasAttr(names::programs))
      return loop;
  return {};
}

/// Programs as MakePersistent deals them.
bool isDealtByBlocks(scf::ForOp programs) {
  return programs && programs.getLowerBound().getDefiningOp<nv::BlockIdOp>() &&
         programs.getUpperBound().getDefiningOp<nv::ProgramCountOp>() &&
         programs.getStep().getDefiningOp<nv::NumBlocksOp>();
}

//===- halves of a tile -------------------------------------------------------------------===//

/// The slowest dimension of a box that is more than one wide; 0: it has one row.
unsigned rowsOfBox(ArrayRef<int32_t> box) {
  for (unsigned i = box.size() - 1; i > 0; --i)
    if (box[i] > 1)
      return i;
  return 0;
}

/// Whether a buffer of one slot is copied in two halves; `halvesBox`: by boxes of half the rows.
bool hasHalves(nv::TmaLoadOp load, bool &halvesBox) {
  constexpr int64_t rowsOfSwizzle = 8, stillRows = 4;
  auto map = load.getMap().getDefiningOp<nv::TensorMapOp>();
  const SharedLayout shared = sharedLayoutOf(load.getBuffer().getType());
  halvesBox = shared.panels() % 2 != 0;
  if (!halvesBox || !map)
    return map != nullptr;
  const unsigned rows = rowsOfBox(map.getBox());
  return shared.panels() == 1 && rows != 0 && map.getBox()[rows] % stillRows == 0 &&
         shared.panelBytes() / shared.rowBytes() % (2 * rowsOfSwizzle) == 0 &&
         llvm::all_of(map->getUsers(), llvm::IsaPred<nv::TmaLoadOp>);
}

void halveBox(nv::TensorMapOp map) {
  SmallVector<int32_t> box(map.getBox());
  box[rowsOfBox(box)] /= 2;
  map.setBox(box);
}

//===- the other block's numbers ----------------------------------------------------------===//

/// Computes what values of a loop over programs are for another program.
class OtherProgram {
public:
  OtherProgram(scf::ForOp programs, Value own, Value other) : programs(programs) {
    values[own] = other;
  }

  /// `value` itself where programs do not differ; null: it cannot be computed.
  Value operator()(Value value) {
    auto [place, isNew] = values.try_emplace(value, Value());
    if (!isNew)
      return place->second;
    Value result = compute(value);
    return values[value] = result;
  }

private:
  Value compute(Value value) {
    if (!programs.getRegion().isAncestor(value.getParentRegion()))
      return value;
    if (auto argument = dyn_cast<BlockArgument>(value))
      return ofLoop(argument);
    Operation *op = value.getDefiningOp();
    if (op->getNumRegions() != 0 || !isMemoryEffectFree(op))
      return {};
    IRMapping others;
    bool differs = false;
    for (Value operand : op->getOperands()) {
      Value other = (*this)(operand);
      if (!other)
        return {};
      differs |= other != operand;
      others.map(operand, other);
    }
    if (!differs)
      return value;
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    return b.clone(*op, others)->getResult(cast<OpResult>(value).getResultNumber());
  }

  /// Iterations go in step, so a loop's number is the same where its start is.
  Value ofLoop(BlockArgument argument) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || loop == programs || argument != loop.getInductionVar())
      return {};
    const bool isSame = (*this)(loop.getLowerBound()) == loop.getLowerBound() &&
                        (*this)(loop.getStep()) == loop.getStep();
    return isSame ? Value(argument) : Value();
  }

  scf::ForOp programs;
  llvm::DenseMap<Value, Value> values;
};

/// Where `load` is in the program of the other block, or nothing.
std::optional<SmallVector<Value>> otherCoords(nv::TmaLoadOp load, OtherProgram &other) {
  SmallVector<Value> coords;
  for (Value coord : load.getCoords()) {
    coords.push_back(other(coord));
    if (!coords.back())
      return std::nullopt;
  }
  return coords;
}

Value areEqual(OpBuilder &b, Location loc, ValueRange own, ValueRange other) {
  Value equal;
  for (auto [mine, its] : llvm::zip_equal(own, other)) {
    if (mine == its)
      continue;
    Value same = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, mine, its);
    equal = equal ? arith::AndIOp::create(b, loc, equal, same).getResult() : same;
  }
  return equal ? equal : arith::ConstantIntOp::create(b, loc, 1, 1).getResult();
}

//===- a kernel ---------------------------------------------------------------------------===//

class Pairing {
public:
  explicit Pairing(func::FuncOp kernel) : kernel(kernel), b(kernel.getContext()) {}

  bool run() {
    Block &entry = kernel.getBody().front();
    for (auto op : entry.getOps<nv::ProducerOp>())
      producer = op;
    scf::ForOp consumed = loopOverPrograms(entry);
    scf::ForOp produced = producer ? loopOverPrograms(producer.getBody().front()) : scf::ForOp();
    if (!isDealtByBlocks(consumed) || !isDealtByBlocks(produced))
      return refuse("its blocks do not run one program after the other");
    if (!findLoads(produced))
      return refuse("no tile of a load is the same for neighbouring programs, or has halves");
    const Numbers numbers = dealByPairs(produced);
    markLoads(produced, numbers);
    storeOnce(consumed, dealByPairs(consumed));
    countBoth(entry);
    b.setInsertionPoint(entry.getTerminator());
    nv::MeetPairOp::create(b, kernel.getLoc());
    return true;
  }

private:
  /// Of the programs of a block and of the other one of its pair.
  struct Numbers {
    Value own, other, isOwn; ///< `isOwn`: the other block does not run the same program
  };

  bool refuse(const Twine &reason) {
    remarkMissed(kernel.getLoc(), Technique::Persistence)
        << "blocks do not load for each other: " << reason;
    return false;
  }

  /// Loads that have halves and whose place can be told for another program.
  bool findLoads(scf::ForOp produced) {
    produced.walk([&](nv::TmaLoadOp load) {
      bool halvesBox = false;
      if (isKnownElsewhere(load, produced) && hasHalves(load, halvesBox))
        loads.push_back(load);
    });
    return !loads.empty();
  }

  /// Tried with the program's own number, which adds nothing.
  static bool isKnownElsewhere(nv::TmaLoadOp load, scf::ForOp produced) {
    OtherProgram itself(produced, produced.getInductionVar(), produced.getInductionVar());
    return otherCoords(load, itself).has_value();
  }

  /// An even number of programs, the last of which may be one that is there already.
  Numbers dealByPairs(scf::ForOp programs) {
    Location loc = programs.getLoc();
    auto number = [&](int64_t value) {
      return arith::ConstantIntOp::create(b, loc, b.getI32Type(), value);
    };
    Value count = programs.getUpperBound();
    b.setInsertionPoint(programs);
    Value even =
        arith::AndIOp::create(b, loc, arith::AddIOp::create(b, loc, count, number(1)), number(-2));
    programs.getUpperBoundMutable().assign(even);
    Value dealt = programs.getInductionVar();
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : dealt.getUses())
      uses.push_back(&use);
    b.setInsertionPointToStart(programs.getBody());
    Value last = arith::SubIOp::create(b, loc, count, number(1));
    Value own = arith::MinSIOp::create(b, loc, dealt, last);
    Value neighbour = arith::XOrIOp::create(b, loc, dealt, number(1));
    Value other = arith::MinSIOp::create(b, loc, neighbour, last);
    Value isOwn = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, dealt, count);
    for (OpOperand *use : uses)
      use->set(own);
    return {own, other, isOwn};
  }

  void markLoads(scf::ForOp produced, const Numbers &numbers) {
    OtherProgram other(produced, numbers.own, numbers.other);
    for (nv::TmaLoadOp load : loads) {
      const auto coords = otherCoords(load, other);
      b.setInsertionPoint(load);
      load.getBothMutable().assign(areEqual(b, load.getLoc(), load.getCoords(), *coords));
      remarkApplied(load.getLoc(), Technique::TensorMaps)
          << "two blocks that need the same tile load half of it each, for both";
    }
    llvm::SetVector<Operation *> halved;
    for (nv::TmaLoadOp load : loads) {
      bool halvesBox = false;
      auto map = load.getMap().getDefiningOp<nv::TensorMapOp>();
      if (!halved.contains(map) && hasHalves(load, halvesBox) && halvesBox && halved.insert(map))
        halveBox(map);
    }
  }

  void storeOnce(scf::ForOp consumed, const Numbers &numbers) {
    SmallVector<Operation *> stores;
    consumed.walk([&](Operation *op) {
      if (isa<StoreOp, nv::TmaStoreOp>(op))
        stores.push_back(op);
    });
    for (Operation *store : stores) {
      b.setInsertionPoint(store);
      auto once = scf::IfOp::create(b, store->getLoc(), numbers.isOwn, /*withElseRegion=*/false);
      store->moveBefore(once.thenBlock()->getTerminator());
    }
  }

  /// A slot is released by the consumers of both.
  static void countBoth(Block &entry) {
    for (auto init : entry.getOps<nv::MbarrierInitOp>())
      init.setConsumers(2 * init.getConsumers());
  }

  func::FuncOp kernel;
  OpBuilder b;
  nv::ProducerOp producer;
  SmallVector<nv::TmaLoadOp> loads;
};

struct PairBlocksPass : impl::PairBlocksBase<PairBlocksPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto kernels = llvm::to_vector(module.getOps<func::FuncOp>());
    auto target = Target::parse(moduleTarget(module));
    if (kernels.size() != 1 || !target || !target->hasClusters() || !target->hasTma())
      return;
    if (Pairing(kernels[0]).run())
      module->setAttr(names::pairs, UnitAttr::get(&getContext()));
  }
};
} // namespace
} // namespace pantile
