//===- OrderRaster.cpp - visit output tiles in raster order (threadblock swizzle) -------===//
// Needs: MakePersistent ran; SpecialiseWarps comes next.
// Gives: `nv.raster_program` between the loop over programs and the program indices: output tiles
//        are visited in groups, as with `GROUP_M` in a kernel's source, so that the programs of a
//        wave share rows of A and columns of B in L2.
// How:   1. Find how the addresses of each operand depend on the program: by an axis of the grid,
//        or by quotient and remainder of one axis by a width.
//        2. What both operands depend on is a batch. Without it each operand must depend on one
//        index: A on the row of tiles, B on the column.
//        3. A group has as many rows (or columns) of tiles as L2 holds operand rows for, and is
//        walked along the other index. Programs do not synchronise with each other, so any order is
//        legal.
//===--------------------------------------------------------------------------------------===//
#include "analysis/Programs.h"
#include "ir/Machine.h"
#include "ir/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_ORDERRASTER
#include "passes/Passes.h.inc"
namespace {

/// How an address depends on its program: by the index along an axis of the grid, or by the
/// quotient or remainder of the first index.
struct GridIndex {
  enum class Kind { Axis, Quotient, Remainder } kind = Kind::Axis;
  unsigned axis = 0;
  Value width;

  bool operator==(const GridIndex &other) const = default;
  /// Whether it differs between programs with consecutive numbers.
  bool isFast() const { return kind == Kind::Axis ? axis == 0 : kind == Kind::Remainder; }
};
using GridIndices = SmallVector<GridIndex>;

nv::ProgramAtOp firstIndex(Value value) {
  auto at = value.getDefiningOp<nv::ProgramAtOp>();
  return at && at.getAxis() == 0 ? at : nv::ProgramAtOp();
}

std::optional<GridIndex> gridIndexOf(Operation *op) {
  if (auto at = dyn_cast<nv::ProgramAtOp>(op))
    return GridIndex{GridIndex::Kind::Axis, at.getAxis(), Value()};
  if (auto quotient = dyn_cast<arith::DivSIOp>(op); quotient && firstIndex(quotient.getLhs()))
    return GridIndex{GridIndex::Kind::Quotient, 0, quotient.getRhs()};
  if (auto remainder = dyn_cast<arith::RemSIOp>(op); remainder && firstIndex(remainder.getLhs()))
    return GridIndex{GridIndex::Kind::Remainder, 0, remainder.getRhs()};
  return std::nullopt;
}

/// The values that `value` is directly computed from.
SmallVector<Value> sourcesOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument == loop.getInductionVar())
      return {};
    return {loop.getTiedLoopInit(argument)->get(), loop.getTiedLoopYieldedValue(argument)->get()};
  }
  Operation *op = value.getDefiningOp();
  SmallVector<Value> sources(op->getOperands());
  if (isa<nv::AllocOp>(op))
    for (Operation *user : op->getUsers())
      if (auto store = dyn_cast<nv::LocalStoreOp>(user))
        sources.push_back(store.getValue());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      llvm::append_range(sources, block.getTerminator()->getOperands());
  return sources;
}

GridIndices gridIndicesOf(Value operand) {
  GridIndices indices;
  SmallVector<Value> work{operand};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    const std::optional<GridIndex> index = op ? gridIndexOf(op) : std::nullopt;
    if (!index)
      llvm::append_range(work, sourcesOf(value));
    else if (!llvm::is_contained(indices, *index))
      indices.push_back(*index);
  }
  return indices;
}

/// The one index of `of` that `other` does not depend on.
std::optional<GridIndex> ownIndex(const GridIndices &of, const GridIndices &other) {
  GridIndices own;
  llvm::copy_if(of, std::back_inserter(own),
                [&](const GridIndex &index) { return !llvm::is_contained(other, index); });
  return own.size() == 1 ? std::optional(own[0]) : std::nullopt;
}

/// How the grid numbers the rows and columns of output tiles.
struct OutputTiles {
  GridIndex rows, columns;
  int64_t height = 0, width = 0; ///< of one tile, in elements

  bool operator==(const OutputTiles &other) const = default;
  const GridIndex &fast() const { return rows.isFast() ? rows : columns; }
};

std::optional<OutputTiles> outputTilesOf(nv::AsyncMmaOpInterface mma) {
  const GridIndices left = gridIndicesOf(mma.getLhs()), right = gridIndicesOf(mma.getRhs());
  const std::optional<GridIndex> rows = ownIndex(left, right), columns = ownIndex(right, left);
  if (!rows || !columns || rows->isFast() == columns->isFast() ||
      (rows->kind == GridIndex::Kind::Axis) != (columns->kind == GridIndex::Kind::Axis) ||
      rows->width != columns->width || rows->axis + columns->axis > 1)
    return std::nullopt;
  auto tile = cast<RankedTensorType>(mma.getResult().getType());
  return OutputTiles{*rows, *columns, tile.getDimSize(0), tile.getDimSize(1)};
}

/// The output tiles of all MMAs of the kernel; none where these differ.
std::optional<OutputTiles> commonOutputTiles(scf::ForOp programs) {
  std::optional<OutputTiles> common;
  auto end = programs.walk([&](nv::AsyncMmaOpInterface mma) {
    const std::optional<OutputTiles> tiles = outputTilesOf(mma);
    if (!tiles || (common && !(*common == *tiles)))
      return WalkResult::interrupt();
    common = tiles;
    return WalkResult::advance();
  });
  return end.wasInterrupted() ? std::nullopt : common;
}

/// The rows (or columns) of tiles in a group, such that L2 holds the operand rows that they read.
int64_t groupSizeOf(const OutputTiles &tiles, const MachineModel &machine) {
  const int64_t elements = machine.memory.rasterRows;
  return std::max<int64_t>(elements / (tiles.rows.isFast() ? tiles.height : tiles.width), 1);
}

/// The number of tiles along the fast and the slow index; none where it differs between programs.
std::optional<std::pair<Value, Value>> extentsOf(OpBuilder &b, scf::ForOp programs,
                                                 const GridIndex &fast) {
  Location loc = b.getUnknownLoc();
  auto alongAxis = [&](uint32_t axis) -> Value {
    return NumProgramsOp::create(b, loc, b.getI32Type(), axis);
  };
  if (fast.kind == GridIndex::Kind::Axis)
    return std::pair(alongAxis(0), alongAxis(1));
  if (!programs.isDefinedOutsideOfLoop(fast.width))
    return std::nullopt;
  return std::pair(fast.width, Value(arith::DivUIOp::create(b, loc, alongAxis(0), fast.width)));
}

bool order(scf::ForOp programs, const OutputTiles &tiles) {
  OpBuilder b(programs);
  auto extents = extentsOf(b, programs, tiles.fast());
  if (!extents)
    return false;
  Value index = programs.getInductionVar();
  b.setInsertionPointToStart(programs.getBody());
  auto ordered =
      nv::RasterProgramOp::create(b, programs.getLoc(), b.getI32Type(), index, extents->first,
                                  extents->second, groupSizeOf(tiles, machineOf(programs)));
  programs.walk([&](nv::ProgramAtOp at) { at.getProgramMutable().assign(ordered); });
  return true;
}

struct OrderRasterPass : impl::OrderRasterBase<OrderRasterPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      scf::ForOp programs = programLoop(kernel);
      const std::optional<OutputTiles> tiles =
          programs ? commonOutputTiles(programs) : std::nullopt;
      if (tiles && order(programs, *tiles))
        remarkApplied(kernel.getLoc(), Technique::Persistence)
            << "programs are run in raster order (threadblock swizzle), in groups of "
            << groupSizeOf(*tiles, machineOf(kernel))
            << " (as GROUP_M), so that a wave reads the same rows and columns";
    }
  }
};
} // namespace
} // namespace pantile
