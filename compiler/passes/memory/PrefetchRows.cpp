//===- PrefetchRows.cpp - prefetch the row of a later program or iteration into L2 ---===//
// Needs: layouts; PrefetchLoads ran.
// Gives: nv.prefetch after the loads of kernels that hold a whole row, as layer norm and softmax
//        do.
// How:   Such a program loads, reduces and stores, and DRAM idles while it computes; other CTAs on
//        the SM fill the gaps only in part. So each program prefetches the row of a program some
//        megabytes later. Where programs walk over rows in a loop, it prefetches the row of its own
//        next iteration. Address and mask are recomputed with the later program id or induction
//        variable, for one element per cache line, distributed over all threads. Only what the
//        later program certainly loads is prefetched: addresses and masks must depend on nothing
//        but the id and values known before, and the load must be unconditional. What all programs
//        load, such as weights, is in a cache anyway.
//===---------------------------------------------------------------------------------===//
#include "analysis/AxisInfo.h"
#include "analysis/StagedLoad.h"
#include "ir/FindOps.h"
#include "ir/Launch.h"
#include "ir/Machine.h"
#include "ir/Numbers.h"
#include "ir/Remarks.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "passes/Passes.h"
#include "passes/layout/LayoutPlan.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_PREFETCHROWS
#include "passes/Passes.h.inc"
namespace {

//===- which loads ---------------------------------------------------------------------===//

/// The value that distinguishes rows: the program id of axis 0, or a loop's induction variable.
struct RowIndex {
  scf::ForOp loop; ///< null: the program id

  bool operator==(Value value) const {
    if (scf::ForOp own = loop)
      return value == own.getInductionVar();
    auto id = value.getDefiningOp<ProgramIdOp>();
    return id && id.getAxis() == 0;
  }

  /// Whether `value` is a scalar defined before the loop, which is not recomputed.
  bool isDefinedBefore(Value value) const {
    return loop && !isTile(value) && !loop->isAncestor(value.getParentRegion()->getParentOp());
  }
};

/// Whether `op` can be recomputed for another row and in another layout.
bool canRecompute(Operation *op) {
  if (!isMemoryEffectFree(op) || op->getNumRegions() > 0 || op->getNumResults() != 1)
    return false;
  return isa<ProgramIdOp, NumProgramsOp, ArangeOp, SplatOp, ExpandDimsOp, BroadcastOp, AddPtrOp,
             ConvertLayoutOp>(op) ||
         isa<arith::ArithDialect>(op->getDialect());
}

/// Whether `root` can be recomputed from the row index and values defined before; sets `depends` if
/// it depends on the row index.
bool canRecomputeFrom(const RowIndex &row, Value root, bool &depends) {
  bool isPossible = true;
  traceBack(root, [&](Value value) {
    if (row.isDefinedBefore(value) || isKernelArgument(value))
      return false;
    const bool isRow = row == value;
    Operation *op = value.getDefiningOp();
    depends |= isRow;
    isPossible &= isRow || (op && canRecompute(op));
    return !isRow && isPossible;
  });
  return isPossible;
}

/// Whether `value`, after elementwise operations, is reduced, perhaps one iteration later.
bool isReduced(Value value) {
  SmallVector<Value> work{value};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    for (OpOperand &use : next.getUses()) {
      Operation *user = use.getOwner();
      if (isa<ReduceOp, ScanOp>(user))
        return true;
      if (LayoutPlan::isPureElementwise(user) || isa<ConvertLayoutOp>(user))
        work.append(user->result_begin(), user->result_end());
      else if (auto loop = dyn_cast<scf::ForOp>(user->getParentOp());
               loop && isa<scf::YieldOp>(user))
        work.push_back(loop.getRegionIterArg(use.getOperandNumber()));
    }
  }
  return false;
}

int64_t bytesOf(LoadOp load) {
  auto tile = cast<RankedTensorType>(load.getType());
  return tile.getNumElements() * storageBits(tile.getElementType()) / 8;
}

/// Whether `loop` is a grid-stride loop: its step is the number of programs.
bool isGridStride(scf::ForOp loop) {
  auto step = loop.getStep().getDefiningOp<NumProgramsOp>();
  return step && step.getAxis() == 0;
}

//===- one element of each line --------------------------------------------------------===//

/// The dimension along which `elements`, those of a cache line, are contiguous; -1 if there is
/// none.
int lineDim(const AxisInfo &info, int64_t elements) {
  for (auto [dim, length] : llvm::enumerate(info.contiguity))
    if (length >= elements)
      return static_cast<int>(dim);
  return -1;
}

/// A layout that holds the first of each `elements` along `dim`, each in one thread if there are
/// enough threads.
LinearLayout firstsOfLines(ArrayRef<int64_t> shape, int dim, int64_t elements, int64_t numWarps) {
  const size_t rank = shape.size();
  SmallVector<int64_t> lines(shape), ones(rank, 1), lanes(rank, 1), warps(rank, 1);
  lines[dim] /= elements;
  SmallVector<int> order{dim};
  for (size_t d = rank; d-- > 0;)
    if (static_cast<int>(d) != dim)
      order.push_back(static_cast<int>(d));
  int64_t lanesLeft = 32, warpsLeft = llvm::bit_floor(static_cast<uint64_t>(numWarps));
  for (int d : order) {
    lanes[d] = std::min(lanesLeft, lines[d]);
    lanesLeft /= lanes[d];
    warps[d] = std::clamp<int64_t>(lines[d] / lanes[d], 1, warpsLeft);
    warpsLeft /= warps[d];
  }
  lanes[order.back()] *= lanesLeft;
  warps[order.back()] *= warpsLeft;
  const LinearLayout spread =
      LinearLayout::blocked(lines, ones, lanes, warps, order).withWarps(numWarps);
  auto scaled = [&](LinearLayout::Bases bases) {
    for (LinearLayout::Coord &basis : bases)
      basis[dim] *= static_cast<int32_t>(elements);
    return bases;
  };
  return {LinearLayout::Shape(shape), scaled(spread.reg()), scaled(spread.lane()),
          scaled(spread.warp()), spread.numWarps()};
}

//===- addresses of later rows ----------------------------------------------------------===//

/// Recomputes values of the current row for a later one.
class LaterRow {
public:
  LaterRow(OpBuilder &b, RowIndex row, Value later) : b(b), row(row), later(later) {}

  /// `value` of the later row; a tile in `layout`.
  Value of(Value value, LayoutAttr layout) {
    if (row == value)
      return later;
    Operation *op = value.getDefiningOp();
    if (!op || row.isDefinedBefore(value))
      return value;
    if (auto convert = dyn_cast<ConvertLayoutOp>(op))
      return of(convert.getSrc(), layout);
    if (Value known = values.lookup({value, layout}))
      return known;
    Value made = recompute(op, layout);
    values[{value, layout}] = made;
    return made;
  }

private:
  Value recompute(Operation *op, LayoutAttr layout) {
    SmallVector<Value> operands;
    for (OpOperand &use : op->getOpOperands())
      operands.push_back(
          of(use.get(), isTile(use.get()) ? LayoutPlan::wantedFor(use, layout) : LayoutAttr()));
    Operation *clone = b.clone(*op);
    clone->setOperands(operands);
    Value made = clone->getResult(0);
    if (auto tile = dyn_cast<RankedTensorType>(made.getType()))
      made.setType(RankedTensorType::get(tile.getShape(), tile.getElementType(), layout));
    if (auto constant = dyn_cast<arith::ConstantOp>(clone); constant && isTile(made))
      constant.setValueAttr(
          cast<DenseElementsAttr>(constant.getValue()).reshape(cast<ShapedType>(made.getType())));
    return made;
  }

  OpBuilder &b;
  RowIndex row;
  Value later;
  llvm::DenseMap<std::pair<Value, LayoutAttr>, Value> values;
};

struct Row {
  LoadOp load;
  LayoutAttr layout; ///< of the prefetched elements, one per cache line
};

/// The rows that `block` loads and that are worth a prefetch; none if they are too many bytes.
SmallVector<Row> rowsOf(Block &block, const RowIndex &row, const AxisInfoAnalysis &axes) {
  SmallVector<Row> rows;
  int64_t bytes = 0;
  const TileThresholds &limits = machineOf(block.getParentOp()).tiles;
  for (auto load : block.getOps<LoadOp>()) {
    auto tile = dyn_cast<RankedTensorType>(load.getType());
    if (!tile || !llvm::all_of(tile.getShape(), llvm::isPowerOf2_64) || load.getIsVolatile() ||
        load.getCache() != CacheModifier::None ||
        tile.getNumElements() < limits.leastPrefetchedRow ||
        bytesOf(load) < limits.leastPrefetchedBytes || !isReduced(load.getResult()))
      continue;
    const int64_t elements = 8 * InstructionSet::lineBytes / storageBits(tile.getElementType());
    const int dim = lineDim(axes.of(load.getPtr()), elements);
    bool depends = false, maskDepends = false;
    if (dim < 0 || !canRecomputeFrom(row, load.getPtr(), depends) || !depends ||
        (load.getMask() && !canRecomputeFrom(row, load.getMask(), maskDepends)))
      continue;
    const int64_t numWarps = moduleInt(load, names::numWarps, 4);
    rows.push_back({load, LayoutAttr::get(load.getContext(), firstsOfLines(tile.getShape(), dim,
                                                                           elements, numWarps))});
    bytes += bytesOf(load);
  }
  const int64_t ofProgram = bytes * Launch::of(block.getParentOp()).ctasPerProgram;
  return ofProgram > limits.mostPrefetchedBytes ? SmallVector<Row>() : rows;
}

int64_t bytesOf(ArrayRef<Row> rows) {
  int64_t bytes = 0;
  for (const Row &row : rows)
    bytes += bytesOf(row.load);
  return bytes;
}

/// Prefetches `rows` of the later program or iteration `what` if `exists` is true.
void prefetch(OpBuilder &b, ArrayRef<Row> rows, Value exists, LaterRow later, const Twine &what) {
  for (const auto &[row, layout] : rows) {
    LoadOp load = row;
    auto tile = cast<RankedTensorType>(load.getType());
    auto flags = RankedTensorType::get(tile.getShape(), b.getI1Type(), layout);
    Value mask = SplatOp::create(b, load.getLoc(), flags, exists);
    if (load.getMask())
      mask = arith::AndIOp::create(b, load.getLoc(), later.of(load.getMask(), layout), mask);
    nv::PrefetchOp::create(b, load.getLoc(), later.of(load.getPtr(), layout), mask);
    remarkApplied(load.getLoc(), Technique::Pipelining)
        << "the row of " << what << " is prefetched into L2";
  }
}

/// Prefetches what a later program of the kernel loads.
void prefetchLaterProgram(ArrayRef<Row> rows) {
  LoadOp last = rows.back().load;
  const int64_t inFlight = machineOf(last).memory.prefetchAhead;
  const int64_t distance = std::max<int64_t>(inFlight / bytesOf(rows), 1);
  const Location loc = last.getLoc();
  OpBuilder b(last.getContext());
  b.setInsertionPointAfter(last);
  Type i32 = b.getI32Type();
  Value number = ProgramIdOp::create(b, loc, i32, 0);
  Value count = NumProgramsOp::create(b, loc, i32, 0);
  Numbers n(b, loc);
  Value step = n.of(distance);
  // The id of a program that does not exist may be beyond the last integer.
  Value exists = n.less(number, n.sub(count, step));
  LaterRow later(b, {}, n.add(number, step));
  prefetch(b, rows, exists, later, "the program " + Twine(distance) + " after this one");
}

/// How many iterations early `load` is issued: its value is loop-carried as often.
int64_t prefetchDistance(LoadOp load, scf::ForOp loop) {
  const ValueRange yielded = loop.getYieldedValues();
  Value carried = load.getResult();
  for (int64_t count = 0;; ++count) {
    const auto found = llvm::find(yielded, carried);
    if (found == yielded.end() || count == loop.getNumRegionIterArgs())
      return count;
    carried = loop.getRegionIterArg(found - yielded.begin());
  }
}

/// Prefetches what the next iteration of `loop` loads. Where its loads are issued iterations early,
/// these are the rows of a still later iteration.
void prefetchNextIteration(scf::ForOp loop, ArrayRef<Row> rows) {
  LoadOp last = rows.back().load;
  const Location loc = last.getLoc();
  OpBuilder b(last.getContext());
  b.setInsertionPointAfter(last);
  Value counter = loop.getInductionVar(), step = loop.getStep();
  // The counter plus a step may lie beyond the last integer.
  Numbers n(b, loc);
  Value exists = n.compare(arith::CmpIPredicate::ugt, n.sub(loop.getUpperBound(), counter), step);
  const int64_t bytes = bytesOf(rows) * (1 + prefetchDistance(last, loop));
  // With a larger step, the rows are evicted from L2 before the loop reads them.
  const int64_t mostSteps = machineOf(last).memory.residentRows / bytes;
  Value most = arith::ConstantOp::create(b, loc, b.getIntegerAttr(step.getType(), mostSteps));
  Value fits = n.compare(arith::CmpIPredicate::sle, step, most);
  LaterRow later(b, {loop}, n.add(counter, step));
  prefetch(b, rows, n.both(exists, fits), later, "the next iteration");
}

void prefetchRows(func::FuncOp kernel) {
  const AxisInfoAnalysis axes(kernel);
  Block &body = kernel.getBody().front();
  if (!containsOp<LoopLikeOpInterface>(kernel)) {
    // Programs that load two rows, such as a row and its residual, keep memory busy.
    if (const SmallVector<Row> rows = rowsOf(body, {}, axes); rows.size() == 1)
      prefetchLaterProgram(rows);
    return;
  }
  for (auto loop : body.getOps<scf::ForOp>())
    if (isGridStride(loop))
      if (const SmallVector<Row> rows = rowsOf(*loop.getBody(), {loop}, axes); !rows.empty())
        prefetchNextIteration(loop, rows);
}

struct PrefetchRowsPass : impl::PrefetchRowsBase<PrefetchRowsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr(names::kernel) && llvm::hasSingleElement(kernel.getBody()))
        prefetchRows(kernel);
  }
};
} // namespace
} // namespace pantile
