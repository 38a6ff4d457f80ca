//===- LayoutPlanOperands.cpp - operands that are computed in the layout of their MMA -----===//
// Needs: a complete plan, made without such operands.
// Gives: LayoutPlan::computed and the order of fragments of dots, for a second plan.
// How:   An operand may be computed from loaded tiles, as weights that are unpacked and scaled.
//        Computed in the layout of the loads, it goes through shared memory to that of the MMA: a
//        store, a load and two barriers. The pass follows the operand's MMA layout backwards to the
//        loaded tiles and reads these in the layout that results. Then the operand needs no shared
//        memory. The operations on the way are elementwise, or move elements as linear maps do.
//        mma.sync allows other orders of K, of columns and of rows (FragmentOrder), wgmma other orders
//        of the rows of a left operand in registers (adjacent_rows). That with the fewest cycles of
//        shared memory is taken, if they are fewer than before.
//        1. A computed tile has no other use, and no thread computes more elements than before: two
//        warps with the same part of the operand would each compute it.
//        2. For mma.sync, reads fill 32-bit registers: bytes that are read one by one are put
//        together, and computed with, one by one.
//        3. Columns and rows keep their order if there are further dots, which may share the
//        accumulator.
//===--------------------------------------------------------------------------------------===//
#include "analysis/Scratch.h"
#include "ir/AsyncMma.h"
#include "ir/Machine.h"
#include "layout/MatrixAccess.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/layout/LayoutPlan.h"

using namespace mlir;

namespace pantile {

/// What an operand is computed from, and in which layouts.
struct LayoutPlan::Computation {
  Block *block;
  llvm::MapVector<Value, LayoutAttr> layouts; ///< of the operand and all tiles before it
  SmallVector<LoadOp> loads;                  ///< one or more of these tiles
  int64_t cycles = 0;                         ///< per warp, to read these
  bool ofAsync = false;                       ///< the left operand of an asynchronous MMA
};

namespace {

/// The layout of each half of a join with layout `whole`, if a thread holds both elements of each
/// pair.
std::optional<LinearLayout> halfOf(const LinearLayout &whole) {
  auto movesInPair = [](const LinearLayout::Coord &basis) { return basis.back() != 0; };
  if (llvm::any_of(whole.lane(), movesInPair) || llvm::any_of(whole.warp(), movesInPair))
    return std::nullopt;
  return whole.removeDim(whole.rank() - 1);
}

bool isPowerOf2(ArrayRef<int64_t> extents) {
  return llvm::all_of(extents, [](int64_t extent) { return llvm::isPowerOf2_64(extent); });
}

/// The orders that fragments of `dot` may have; the first is that of the PTX manual.
SmallVector<FragmentOrder> ordersOf(DotOp dot, bool isAlone) {
  SmallVector<FragmentOrder> orders{{}};
  const MmaAttr mma = dot.getMmaAttr();
  const auto result = dot.getType().getShape(), left = dot.getLhs().getType().getShape();
  const int64_t k = left[1], warps[] = {mma.getWarpsM(), mma.getWarpsN()};
  if (!isPowerOf2(result) || !isPowerOf2(left) || !isPowerOf2(warps))
    return orders;
  const int64_t columns = isAlone ? std::max<int64_t>(result[1] / warps[1] / 8, 1) : 1;
  for (int adjacentN = 1; adjacentN <= columns; adjacentN *= 2)
    for (int adjacentK = 2; adjacentK == 2 || adjacentK * 4 <= k; adjacentK *= 2)
      for (bool rowsApart : {false, true})
        if (!rowsApart || (isAlone && result[0] / warps[0] >= 16))
          orders.push_back({adjacentK, adjacentN, rowsApart});
  return orders;
}

bool isMatrixOf16Bits(DotOp dot) {
  return dot.getType().getRank() == 2 && storageBits(dot.getLhs().getType().getElementType()) == 16;
}
} // namespace

/// Adds the tile at `use` to `found` in the layout in which the operation there needs it; false
/// where it cannot have that layout.
bool LayoutPlan::trace(OpOperand &use, LayoutAttr layout, Computation &found) const {
  Value value = use.get();
  if (!isTile(value) || isFree(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != found.block)
    return false;
  if (auto load = dyn_cast<LoadOp>(op)) {
    const SharedLayout buffer = choice.bufferOf(load);
    if (!choice.isPrefetchCandidate(load) || load.getIsVolatile() || native(load.getPtr()) ||
        (!found.ofAsync && !loadsWords(layout.getLinear(), buffer)))
      return false;
    layout = LayoutAttr::get(op->getContext(), inLoadOrder(layout.getLinear(), buffer));
  }
  auto [known, isNew] = found.layouts.insert({value, layout});
  if (!isNew)
    return known->second == layout;
  if (auto load = dyn_cast<LoadOp>(op)) {
    found.loads.push_back(load);
    return true;
  }
  auto reshape = dyn_cast<ReshapeOp>(op);
  if (isa<JoinOp>(op)) {
    const auto half = halfOf(layout.getLinear());
    if (!half)
      return false;
    layout = LayoutAttr::get(op->getContext(), *half);
  } else if (isa<SplitOp>(op)) {
    layout = LayoutAttr::get(op->getContext(), layout.getLinear().appendPairDim());
  } else if (reshape ? !LinearLayout::reshapesInPlace(reshape.getSrc().getType().getShape(),
                                                      reshape.getType().getShape())
                     : !isPureElementwise(op) && !isa<TransOp>(op)) {
    return false;
  }
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    return trace(operand, isTile(operand.get()) ? wantedFor(operand, layout) : layout, found);
  });
}

/// How `operand` of a dot is computed in `layout`; nothing where it cannot be, or where it is at
/// most widened after the load: then the loaded tile is converted anyway.
std::optional<LayoutPlan::Computation> LayoutPlan::computationOf(OpOperand &operand,
                                                                 LayoutAttr layout) const {
  Computation found{operand.getOwner()->getBlock(), {}, {}};
  found.ofAsync = isAsync(cast<DotOp>(operand.getOwner()).getMmaAttr());
  if (!trace(operand, layout, found) || found.loads.empty())
    return std::nullopt;
  auto isOwn = [&](Operation *user) {
    return user == operand.getOwner() || llvm::any_of(user->getResults(), [&](Value result) {
             return found.layouts.contains(result);
           });
  };
  bool computes = false;
  for (auto [value, own] : found.layouts) {
    if (!llvm::all_of(value.getUsers(), isOwn) ||
        own.getLinear().numPresentRegs() > native(value).getLinear().numPresentRegs())
      return std::nullopt;
    computes |= isPureElementwise(value.getDefiningOp()) &&
                (found.ofAsync || !isWideningCast(value.getDefiningOp()));
    if (auto load = value.getDefiningOp<LoadOp>())
      found.cycles += sharedCycles(own.getLinear(), choice.bufferOf(load));
  }
  return computes ? std::optional(found) : std::nullopt;
}

/// Cycles per warp to read the loaded tiles as the plan has them so far.
int64_t LayoutPlan::cyclesOfLoads(const Computation &found) const {
  int64_t cycles = 0;
  for (LoadOp load : found.loads)
    cycles += sharedCycles(access(load).getLinear(), choice.bufferOf(load));
  return cycles;
}

/// Cycles per warp of the same as the plan has it so far, with the conversion to the MMA's layout.
int64_t LayoutPlan::cyclesBefore(DotOp dot, unsigned index, const Computation &found) const {
  const int64_t cycles = cyclesOfLoads(found);
  const unsigned bits = storageBits(elementTypeOf(dot.getOperand(index).getType()));
  const LinearLayout from = native(dot.getOperand(index)).getLinear(),
                     to = choice.dotOperand(dot, index).getLinear();
  const ConversionKind kind = conversionKind(from, to, bits);
  if (kind == ConversionKind::Registers)
    return cycles;
  if (kind == ConversionKind::Shuffles)
    return cycles + from.shufflePlan(to)->numShuffles();
  if (kind == ConversionKind::HalfShuffles)
    return cycles + from.numRegs() * bits / 32;
  const SharedLayout scratch = conversionScratch(from, to, bits);
  return cycles + sharedCycles(from, scratch) + sharedCycles(to, scratch);
}

/// The same with a buffer, to which threads store the left operand, and from which wgmma reads it.
int64_t LayoutPlan::cyclesThroughBuffer(DotOp dot, const Computation &found) const {
  const RankedTensorType left = dot.getLhs().getType();
  const LinearLayout from = native(dot.getLhs()).getLinear();
  const int fastest = from.fastestDim(), bits = storageBits(left.getElementType());
  const SharedLayout buffer =
      SharedLayout::forOperand(left.getShape(), bits, {fastest, 1 - fastest});
  const int64_t bytes = left.getNumElements() * bits / 8 / from.numWarps();
  return cyclesOfLoads(found) + sharedCycles(from, buffer) + bytes / InstructionSet::lineBytes;
}

/// Cycles per warp to read an operand that a loop loads as it is; -1 for other operands.
int64_t LayoutPlan::cyclesOfLoaded(Value operand, LayoutAttr layout) const {
  LinearLayout linear = layout.getLinear();
  while (auto trans = operand.getDefiningOp<TransOp>()) {
    linear = linear.transpose({1, 0});
    operand = trans.getSrc();
  }
  auto load = operand.getDefiningOp<LoadOp>();
  return load && choice.isPrefetchCandidate(load) ? sharedCycles(linear, choice.bufferOf(load))
                                                  : -1;
}

/// Chooses the order of the fragments of `dot` that saves the most cycles, and computes its
/// operands in their layout.
void LayoutPlan::computeInPlace(DotOp dot, bool isAlone) {
  LayoutChoice trial = choice;
  SmallVector<Computation, 2> best;
  FragmentOrder bestOrder;
  int64_t mostSaved = 0;
  for (const FragmentOrder order : ordersOf(dot, isAlone)) {
    trial.setOrder(dot, order);
    SmallVector<Computation, 2> here;
    int64_t saved = 0;
    bool isPossible = true;
    for (unsigned index : {0u, 1u}) {
      OpOperand &operand = dot->getOpOperand(index);
      const LayoutAttr layout = trial.dotOperand(dot, index);
      const int64_t now = cyclesOfLoaded(operand.get(), layout);
      if (now >= 0) {
        saved += cyclesOfLoaded(operand.get(), choice.dotOperand(dot, index)) - now;
      } else if (auto found = computationOf(operand, layout)) {
        saved += cyclesBefore(dot, index, *found) - found->cycles;
        here.push_back(std::move(*found));
      } else {
        isPossible &= layout == choice.dotOperand(dot, index);
      }
    }
    if (isPossible && !here.empty() && saved > mostSaved) {
      mostSaved = saved;
      best = std::move(here);
      bestOrder = order;
    }
  }
  choice.setOrder(dot, bestOrder);
  for (const Computation &found : best)
    takeLoads(found);
}

void LayoutPlan::takeLoads(const Computation &found) {
  for (LoadOp load : found.loads)
    computed[load] = found.layouts.lookup(load.getResult());
}

/// Lets threads compute the left operand of a dot on wgmma where it is read from registers, if that
/// takes fewer cycles of shared memory than to store it there.
void LayoutPlan::computeLeftInRegisters(DotOp dot, bool isAlone) {
  const MmaAttr mma = dot.getMmaAttr();
  const int64_t blocks = dot.getType().getDimSize(0) / (16 * mma.getWarpsM());
  std::optional<Computation> best;
  for (const unsigned rows : {1, 2, 4}) {
    if (rows > 1 && (!isAlone || !llvm::isPowerOf2_64(blocks) || rows > 2 * blocks))
      break;
    if (rows > 2 && !llvm::isPowerOf2_64(mma.getWarpsM()))
      break;
    LayoutChoice trial = choice;
    trial.readLeftFromRegisters(dot, rows);
    auto found = computationOf(dot->getOpOperand(0), trial.dotOperand(dot, 0));
    if (!found || found->cycles >= (best ? best->cycles : cyclesThroughBuffer(dot, *found)))
      continue;
    best = std::move(found);
    choice.readLeftFromRegisters(dot, rows);
  }
  if (best)
    takeLoads(*best);
}

void LayoutPlan::computeInPlace(FunctionOpInterface function) {
  SmallVector<DotOp> dots;
  function.walk([&](DotOp dot) { dots.push_back(dot); });
  const bool isAlone = dots.size() == 1;
  for (DotOp dot : llvm::make_filter_range(dots, isMatrixOf16Bits))
    if (isAsync(dot.getMmaAttr())) {
      if (options.computedLeft)
        computeLeftInRegisters(dot, isAlone);
    } else if (options.computedOperands && dot.getMmaAttr().getKind() == MmaKind::MmaSync) {
      computeInPlace(dot, isAlone);
    }
}

} // namespace pantile
