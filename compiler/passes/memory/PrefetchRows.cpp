//===- PrefetchRows.cpp - ask L2 for the row of a later program ---------------------------===//
// Needs: layouts; no loop has been taken apart or made.
// Gives: nv.prefetch behind loads of kernels that hold a row at once, as layer norm and softmax do.
// How:   such a program loads, reduces and stores, and memory waits while it computes; blocks that
//        share a multiprocessor fill the gaps only in part. So each asks for what a program some
//        megabytes behind it will load: the address and the mask are computed again with the number
//        of that program, for one element of each line, spread over all threads. Only what that
//        program reads is asked for: addresses and masks must follow from the program's number and
//        the arguments, and the load must stand on no condition. Loads that are the same in every
//        program, such as weights, are in a cache anyway.
//===--------------------------------------------------------------------------------------===//
#include "analysis/AxisInfo.h"
#include "ir/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/layout/LayoutPlan.h"

#include <numeric>

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_PREFETCHROWS
#include "passes/Passes.h.inc"
namespace {

/// What memory delivers in the time that it takes to answer, and a margin: the rows between a
/// program and the one for which it asks.
constexpr int64_t bytesAhead = 4 << 20;
/// Of a program's load: fewer have their multiprocessor full of loads anyway.
constexpr int64_t leastBytes = 4 << 10;
constexpr int64_t lineBytes = 128;

bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

//===- which loads ---------------------------------------------------------------------===//

/// Whether `op` can be computed again, for another program and in another layout.
bool canRepeat(Operation *op) {
  if (!isMemoryEffectFree(op) || op->getNumRegions() > 0 || op->getNumResults() != 1)
    return false;
  return isa<ProgramIdOp, NumProgramsOp, ArangeOp, SplatOp, ExpandDimsOp, BroadcastOp, AddPtrOp,
             ConvertLayoutOp>(op) ||
         isa<arith::ArithDialect>(op->getDialect());
}

/// Whether all of `roots` follow from arguments and the numbers of programs; counts those that are
/// numbers along the first axis.
bool followsFromProgram(ValueRange roots, int &numbers) {
  SmallVector<Value> work(roots);
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    if (!canRepeat(op))
      return false;
    if (auto id = dyn_cast<ProgramIdOp>(op))
      numbers += id.getAxis() == 0;
    work.append(op->operand_begin(), op->operand_end());
  }
  return true;
}

/// Whether a reduction takes what `value` becomes, element by element.
bool isReduced(Value value) {
  SmallVector<Value> work{value};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    for (Operation *user : next.getUsers()) {
      if (isa<ReduceOp, ScanOp>(user))
        return true;
      if (LayoutPlan::isPureElementwise(user) || isa<ConvertLayoutOp>(user))
        work.append(user->result_begin(), user->result_end());
    }
  }
  return false;
}

int64_t bytesOf(LoadOp load) {
  auto tile = cast<RankedTensorType>(load.getType());
  return tile.getNumElements() * storageBits(tile.getElementType()) / 8;
}

bool isStraightLine(func::FuncOp kernel) {
  return llvm::hasSingleElement(kernel.getBody()) &&
         llvm::all_of(kernel.getBody().front(), [](Operation &op) {
           return op.getNumRegions() == 0 || isa<ReduceOp, ScanOp, MapOp>(op);
         });
}

//===- one element of each line --------------------------------------------------------===//

/// The dimension along which a line lies, if lines are contiguous; -1 if not.
int lineDim(const AxisInfo &info, int64_t elements) {
  for (auto [dim, length] : llvm::enumerate(info.contiguity))
    if (length >= elements)
      return static_cast<int>(dim);
  return -1;
}

/// A layout that holds the first of each `elements` along `dim`, each in one thread if there are
/// threads enough.
LinearLayout firstsOfLines(ArrayRef<int64_t> shape, int dim, int64_t elements, int64_t numWarps) {
  const size_t rank = shape.size();
  SmallVector<int64_t> lines(shape), ones(rank, 1), lanes(rank, 1), warps(rank, 1);
  lines[dim] /= elements;
  SmallVector<int> order{dim};
  for (size_t d = rank; d-- > 0;)
    if (static_cast<int>(d) != dim)
      order.push_back(static_cast<int>(d));
  int64_t lanesLeft = 32, warpsLeft = numWarps;
  for (int d : order) {
    lanes[d] = std::min(lanesLeft, lines[d]);
    lanesLeft /= lanes[d];
    warps[d] = std::clamp<int64_t>(lines[d] / lanes[d], 1, warpsLeft);
    warpsLeft /= warps[d];
  }
  lanes[order.back()] *= lanesLeft;
  warps[order.back()] *= warpsLeft;
  const LinearLayout spread = LinearLayout::blocked(lines, ones, lanes, warps, order);
  auto scaled = [&](LinearLayout::Bases bases) {
    for (LinearLayout::Coord &basis : bases)
      basis[dim] *= static_cast<int32_t>(elements);
    return bases;
  };
  return {LinearLayout::Shape(shape), scaled(spread.reg()), scaled(spread.lane()),
          scaled(spread.warp())};
}

//===- a later program's addresses ------------------------------------------------------===//

class Later {
public:
  Later(OpBuilder &b, Value program) : b(b), program(program) {}

  /// `value` as the later program has it; a tile in `layout`.
  Value of(Value value, LayoutAttr layout) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return value;
    if (auto id = dyn_cast<ProgramIdOp>(op); id && id.getAxis() == 0)
      return program;
    if (auto convert = dyn_cast<ConvertLayoutOp>(op))
      return of(convert.getSrc(), layout);
    auto [known, isNew] = values.try_emplace({value, layout});
    if (!isNew)
      return known->second;
    Value made = again(op, layout);
    return values[{value, layout}] = made;
  }

private:
  Value again(Operation *op, LayoutAttr layout) {
    SmallVector<Value> operands;
    for (OpOperand &use : op->getOpOperands()) {
      const bool needsLayout = isTile(use.get());
      operands.push_back(
          of(use.get(), needsLayout ? LayoutPlan::wantedFor(use, layout) : LayoutAttr()));
    }
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
  Value program;
  llvm::DenseMap<std::pair<Value, LayoutAttr>, Value> values;
};

struct Row {
  LoadOp load;
  LayoutAttr layout; ///< of the elements that are asked for
};

/// What `kernel` loads by rows.
SmallVector<Row> rowsOf(func::FuncOp kernel) {
  const AxisInfoAnalysis axes(kernel);
  SmallVector<Row> rows;
  for (auto load : kernel.getBody().front().getOps<LoadOp>()) {
    auto tile = dyn_cast<RankedTensorType>(load.getType());
    if (!tile || load.getIsVolatile() || load.getCache() != CacheModifier::None ||
        bytesOf(load) < leastBytes || !isReduced(load.getResult()))
      continue;
    const int64_t elements = 8 * lineBytes / storageBits(tile.getElementType());
    const int dim = lineDim(axes.of(load.getPtr()), elements);
    int numbers = 0, others = 0;
    if (dim < 0 || !followsFromProgram(load.getPtr(), numbers) || numbers == 0 ||
        (load.getMask() && !followsFromProgram(load.getMask(), others)))
      continue;
    const int64_t numWarps = moduleInt(kernel, names::numWarps, 4);
    rows.push_back({load, LayoutAttr::get(kernel.getContext(), firstsOfLines(tile.getShape(), dim,
                                                                             elements, numWarps))});
  }
  return rows;
}

/// The flag as a tile, with the mask that `load` has in the later program.
Value maskOf(OpBuilder &b, LoadOp load, Value exists, LayoutAttr layout, Later &later) {
  auto tile = cast<RankedTensorType>(load.getType());
  auto flags = RankedTensorType::get(tile.getShape(), b.getI1Type(), layout);
  Value mask = SplatOp::create(b, load.getLoc(), flags, exists);
  if (load.getMask())
    mask = arith::AndIOp::create(b, load.getLoc(), later.of(load.getMask(), layout), mask);
  return mask;
}

void prefetchRows(func::FuncOp kernel) {
  const SmallVector<Row> rows = rowsOf(kernel);
  if (rows.empty())
    return;
  int64_t bytes = 0;
  for (const Row &row : rows)
    bytes += bytesOf(row.load);
  const int64_t distance = std::max<int64_t>(bytesAhead / bytes, 1);
  LoadOp last = rows.back().load;
  const Location loc = last.getLoc();
  OpBuilder b(kernel.getContext());
  b.setInsertionPointAfter(last);
  Type i32 = b.getI32Type();
  Value number = ProgramIdOp::create(b, loc, i32, 0);
  Value count = NumProgramsOp::create(b, loc, i32, 0);
  Value ahead = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(distance));
  // The number of a program that does not exist may be beyond the last integer.
  Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, number,
                                       arith::SubIOp::create(b, loc, count, ahead));
  Later later(b, arith::AddIOp::create(b, loc, number, ahead));
  for (const auto &[row, layout] : rows) {
    LoadOp load = row;
    Value mask = maskOf(b, load, exists, layout, later);
    nv::PrefetchOp::create(b, load.getLoc(), later.of(load.getPtr(), layout), mask);
    remarkApplied(load.getLoc(), Technique::Pipelining)
        << "what the program " << distance << " behind this one loads is asked for, into L2";
  }
}

struct PrefetchRowsPass : impl::PrefetchRowsBase<PrefetchRowsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (kernel->hasAttr(names::kernel) && isStraightLine(kernel))
        prefetchRows(kernel);
  }
};
} // namespace
} // namespace pantile
