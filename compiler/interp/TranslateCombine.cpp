//===- TranslateCombine.cpp - reductions and scans ----------------------------------------===//
// Needs: see Translator.h.
// Gives: instructions of tile.reduce and tile.scan, for any combiner.
// How:   The axis is moved to the front. A reduction combines one half of the rows with the other,
//        all at once, until one row is left. Rows are in the order of `pairedRows`, so that each
//        step combines neighbours, the left one first: the combiner need not be commutative, and
//        summation is pairwise. A scan combines each row with the one 1, 2, 4, ... before it. A
//        combiner with a loop runs element by element.
//===------------------------------------------------------------------------------------===//
#include "interp/Control.h"
#include "interp/Translator.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace pantile::interp {
namespace {

struct AxisView {
  uint32_t outer = 1, length = 1, inner = 1;
  uint32_t rowSize() const { return outer * inner; }
};

AxisView viewOf(RankedTensorType type, int axis) {
  AxisView view;
  for (int dim = 0; dim < type.getRank(); ++dim) {
    uint32_t &part = dim < axis ? view.outer : dim == axis ? view.length : view.inner;
    part *= static_cast<uint32_t>(type.getDimSize(dim));
  }
  return view;
}

/// An order of `count` rows in which the first half are the left neighbours of the second half, and
/// likewise in each further step: bit-reversed numbers, if `count` is a power of two. Of an odd
/// number, row 0 has no neighbour and comes first.
std::vector<uint32_t> pairedRows(uint32_t count) {
  if (count == 1)
    return {0};
  const uint32_t odd = count % 2;
  std::vector<uint32_t> rows;
  const std::vector<uint32_t> pairs = pairedRows(count / 2 + odd);
  for (uint32_t right : {0, 1})
    for (uint32_t pair : pairs)
      if (pair >= odd || right == 0)
        rows.push_back(pair < odd ? 0 : 2 * pair - odd + right);
  return rows;
}

Reg slice(Reg reg, uint64_t element, Elem elem) {
  reg.addend += static_cast<uint32_t>(element * sizeOf(elem));
  return reg;
}

} // namespace

uint32_t Translator::axisFirstTable(RankedTensorType type, int axis, bool inPairs, bool reversed) {
  AxisView view = viewOf(type, axis);
  std::vector<int64_t> key = {view.outer, view.length, view.inner, inPairs, reversed};
  auto &tables = builder.code().tables;
  auto [entry, isNew] = permutations.try_emplace(key, static_cast<uint32_t>(tables.size()));
  if (!isNew)
    return entry->second;
  std::vector<uint32_t> table;
  table.reserve(type.getNumElements());
  const std::vector<uint32_t> paired = inPairs ? pairedRows(view.length) : std::vector<uint32_t>();
  for (uint32_t position = 0; position < view.length; ++position) {
    uint32_t row = inPairs ? paired[position] : position;
    row = reversed ? view.length - 1 - row : row;
    for (uint32_t o = 0; o < view.outer; ++o)
      for (uint32_t i = 0; i < view.inner; ++i)
        table.push_back((o * view.length + row) * view.inner + i);
  }
  tables.push_back(std::move(table));
  return entry->second;
}

uint32_t Translator::inverseTable(uint32_t table) {
  auto &tables = builder.code().tables;
  auto [entry, isNew] = permutations.try_emplace({table}, static_cast<uint32_t>(tables.size()));
  if (!isNew)
    return entry->second;
  std::vector<uint32_t> inverse(tables[table].size());
  for (uint32_t i = 0; i < inverse.size(); ++i)
    inverse[tables[table][i]] = i;
  tables.push_back(std::move(inverse));
  return entry->second;
}

FailureOr<SmallVector<Reg>> Translator::combine(Region &region, ArrayRef<Reg> left,
                                                ArrayRef<Reg> right, uint32_t count) {
  Block &block = region.front();
  const bool hasLoop =
      region.walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); }).wasInterrupted();
  if (hasLoop) {
    SmallVector<Reg> sources(left), results;
    sources.append(right.begin(), right.end());
    for (Value value : block.getTerminator()->getOperands())
      results.push_back(builder.newReg(uint64_t(count) * sizeOf(*elemOf(value.getType()))));
    if (failed(loopOverElements(block, sources, results, 1, count)))
      return failure();
    return results;
  }
  for (size_t i = 0; i < left.size(); ++i) {
    bind(block.getArgument(i), left[i]);
    bind(block.getArgument(left.size() + i), right[i]);
  }
  lanes = count;
  combiner = &region;
  llvm::scope_exit leave([&] { lanes = 0, combiner = nullptr; });
  for (Operation &op : block.without_terminator())
    if (failed(visit(&op)))
      return failure();
  SmallVector<Reg> yields;
  for (Value value : block.getTerminator()->getOperands())
    yields.push_back(reg(value));
  return yields;
}

LogicalResult Translator::visitCombinerIf(scf::IfOp op) {
  for (Block *block : {op.thenBlock(), op.elseBlock()})
    if (block)
      for (Operation &inner : block->without_terminator())
        if (failed(visit(&inner)))
          return failure();
  Reg condition = reg(op.getCondition());
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    Operands operands{
        {}, condition, reg(op.thenYield().getOperand(i)), reg(op.elseYield().getOperand(i))};
    operands.dst = define(result);
    builder.emit(kernels().select(sizeOf(*elemOf(result.getType()))), operands, lanes, 0, 0);
  }
  return success();
}

Reg Translator::joinRows(Reg first, uint32_t firstCount, Reg rest, uint32_t restCount, Elem elem) {
  const uint64_t firstBytes = uint64_t(firstCount) * sizeOf(elem),
                 restBytes = uint64_t(restCount) * sizeOf(elem);
  Reg whole = builder.newReg(firstBytes + restBytes);
  emitCopy(whole, first, firstBytes);
  emitCopy(slice(whole, firstCount, elem), rest, restBytes);
  return whole;
}

LogicalResult Translator::visitReduce(ReduceOp op) {
  auto type = cast<RankedTensorType>(op.getSrcs().front().getType());
  int axis = static_cast<int>(op.getAxis());
  AxisView view = viewOf(type, axis);
  SmallVector<Elem> elems;
  SmallVector<Reg> rows;
  for (Value src : op.getSrcs()) {
    elems.push_back(*elemOf(src.getType()));
    Reg whole = reg(src);
    rows.push_back(view.length == 1
                       ? whole
                       : emitPermute(whole, elems.back(), axisFirstTable(type, axis, true, false),
                                     static_cast<uint32_t>(type.getNumElements())));
  }
  for (uint32_t length = view.length; length > 1; length = length / 2 + length % 2) {
    const uint32_t alone = length % 2 * view.rowSize(), count = length / 2 * view.rowSize();
    SmallVector<Reg> left, right;
    for (auto [reg, elem] : llvm::zip(rows, elems)) {
      left.push_back(slice(reg, alone, elem));
      right.push_back(slice(reg, alone + count, elem));
    }
    auto next = combine(op.getCombine(), left, right, count);
    if (failed(next))
      return failure();
    for (auto [reg, made, elem] : llvm::zip(rows, *next, elems))
      reg = alone == 0 ? made : joinRows(reg, alone, made, count, elem);
  }
  for (auto [result, reg] : llvm::zip(op.getResults(), rows))
    bind(result, reg);
  return success();
}

LogicalResult Translator::visitScan(ScanOp op) {
  auto type = cast<RankedTensorType>(op.getSrcs().front().getType());
  int axis = static_cast<int>(op.getAxis());
  AxisView view = viewOf(type, axis);
  auto total = static_cast<uint32_t>(type.getNumElements());
  uint32_t table = axisFirstTable(type, axis, false, op.getReverse());
  SmallVector<Elem> elems;
  SmallVector<Reg> rows;
  for (Value src : op.getSrcs()) {
    elems.push_back(*elemOf(src.getType()));
    rows.push_back(emitPermute(reg(src), elems.back(), table, total));
  }
  for (uint32_t distance = 1; distance < view.length; distance *= 2) {
    uint32_t kept = distance * view.rowSize(), count = total - kept;
    SmallVector<Reg> right;
    for (auto [reg, elem] : llvm::zip(rows, elems))
      right.push_back(slice(reg, kept, elem));
    auto sums = combine(op.getCombine(), rows, right, count);
    if (failed(sums))
      return failure();
    for (auto [reg, sum, elem] : llvm::zip(rows, *sums, elems)) {
      Reg next = builder.newReg(uint64_t(total) * sizeOf(elem));
      emitCopy(next, reg, uint64_t(kept) * sizeOf(elem));
      emitCopy(slice(next, kept, elem), sum, uint64_t(count) * sizeOf(elem));
      reg = next;
    }
  }
  for (auto [result, reg, elem] : llvm::zip(op.getResults(), rows, elems))
    bind(result, emitPermute(reg, elem, inverseTable(table), total));
  return success();
}

} // namespace pantile::interp
