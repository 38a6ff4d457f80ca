//===- OrderRaster.cpp - programs that run together read the same rows and columns ------===//
// Needs: MakePersistent ran; SpecialiseWarps comes next.
// Gives: `nv.raster_program` between the loop over programs and the numbers that they ask for:
//        a grid whose one axis chooses rows of the left operand and whose other chooses columns of
//        the right one is walked in bands, as a kernel's own grouping would do.
// How:   1. What the addresses of each operand take from the program's number: an axis of the grid,
//        or its quotient and remainder by one width. 2. One thing of each kind must be left when
//        what both operands take (a batch) is put aside. 3. A band has so many rows (or columns)
//        that L2 keeps what its programs read of one operand, while they walk along the other.
//        Programs do not meet, so any order is the same.
//===--------------------------------------------------------------------------------------===//
#include "analysis/Programs.h"
#include "ir/Machine.h"
#include "ir/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_ORDERRASTER
#include "passes/Passes.h.inc"
namespace {

/// What an address takes from its program: the index along an axis, or a quotient or remainder of
/// the first one.
struct Place {
  enum class Kind { Axis, Quotient, Remainder } kind = Kind::Axis;
  unsigned axis = 0;
  Value width;

  bool operator==(const Place &other) const = default;
  /// Whether programs that follow each other differ in it.
  bool isFast() const { return kind == Kind::Axis ? axis == 0 : kind == Kind::Remainder; }
};
using Places = SmallVector<Place>;

nv::ProgramAtOp firstIndex(Value value) {
  auto at = value.getDefiningOp<nv::ProgramAtOp>();
  return at && at.getAxis() == 0 ? at : nv::ProgramAtOp();
}

std::optional<Place> placeOf(Operation *op) {
  if (auto at = dyn_cast<nv::ProgramAtOp>(op))
    return Place{Place::Kind::Axis, at.getAxis(), Value()};
  if (auto quotient = dyn_cast<arith::DivSIOp>(op); quotient && firstIndex(quotient.getLhs()))
    return Place{Place::Kind::Quotient, 0, quotient.getRhs()};
  if (auto remainder = dyn_cast<arith::RemSIOp>(op); remainder && firstIndex(remainder.getLhs()))
    return Place{Place::Kind::Remainder, 0, remainder.getRhs()};
  return std::nullopt;
}

/// What `value` is computed from, one step back.
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

Places placesOf(Value operand) {
  Places places;
  SmallVector<Value> work{operand};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    const std::optional<Place> place = op ? placeOf(op) : std::nullopt;
    if (!place)
      llvm::append_range(work, sourcesOf(value));
    else if (!llvm::is_contained(places, *place))
      places.push_back(*place);
  }
  return places;
}

/// The one place in `of` that `other` has not.
std::optional<Place> ownPlace(const Places &of, const Places &other) {
  Places own;
  llvm::copy_if(of, std::back_inserter(own),
                [&](const Place &place) { return !llvm::is_contained(other, place); });
  return own.size() == 1 ? std::optional(own[0]) : std::nullopt;
}

/// Rows and columns of blocks as the grid has them.
struct Blocks {
  Place rows, columns;
  int64_t height = 0, width = 0; ///< of one block, in elements

  bool operator==(const Blocks &other) const = default;
  const Place &fast() const { return rows.isFast() ? rows : columns; }
};

std::optional<Blocks> blocksOf(nv::AsyncMmaOpInterface product) {
  const Places left = placesOf(product.getLhs()), right = placesOf(product.getRhs());
  const std::optional<Place> rows = ownPlace(left, right), columns = ownPlace(right, left);
  if (!rows || !columns || rows->isFast() == columns->isFast() ||
      (rows->kind == Place::Kind::Axis) != (columns->kind == Place::Kind::Axis) ||
      rows->width != columns->width || rows->axis + columns->axis > 1)
    return std::nullopt;
  auto tile = cast<RankedTensorType>(product.getResult().getType());
  return Blocks{*rows, *columns, tile.getDimSize(0), tile.getDimSize(1)};
}

/// The same for all products of the kernel.
std::optional<Blocks> commonBlocks(scf::ForOp programs) {
  std::optional<Blocks> common;
  auto end = programs.walk([&](nv::AsyncMmaOpInterface product) {
    const std::optional<Blocks> blocks = blocksOf(product);
    if (!blocks || (common && !(*common == *blocks)))
      return WalkResult::interrupt();
    common = blocks;
    return WalkResult::advance();
  });
  return end.wasInterrupted() ? std::nullopt : common;
}

/// Programs next to each other in a band, whose rows L2 holds.
int64_t bandOf(const Blocks &blocks, const MachineModel &machine) {
  const int64_t elements = machine.memory.rasterRows;
  return std::max<int64_t>(elements / (blocks.rows.isFast() ? blocks.height : blocks.width), 1);
}

/// `value` at the place of `b`, computed again where it stands in `body`. None: it takes something
/// that differs from program to program, or is more than scalars.
Value before(OpBuilder &b, Value value, Block *body, IRMapping &copies) {
  if (Value known = copies.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != body)
    return body->getParentOp()->isAncestor(value.getParentRegion()->getParentOp()) ? Value()
                                                                                   : value;
  if (isa<nv::ProgramAtOp>(op) || op->getNumRegions() != 0 || !isPure(op) ||
      !value.getType().isInteger())
    return Value();
  for (Value operand : op->getOperands())
    if (!before(b, operand, body, copies))
      return Value();
  Operation *copy = b.clone(*op, copies);
  return copy->getResult(cast<OpResult>(value).getResultNumber());
}

/// The number of blocks along the grid's fast and slow axes; none: it is not known in front.
std::optional<std::pair<Value, Value>> extentsOf(OpBuilder &b, Block *body, const Place &fast) {
  Location loc = b.getUnknownLoc();
  auto alongAxis = [&](uint32_t axis) -> Value {
    return NumProgramsOp::create(b, loc, b.getI32Type(), axis);
  };
  if (fast.kind == Place::Kind::Axis)
    return std::pair(alongAxis(0), alongAxis(1));
  IRMapping copies;
  Value width = before(b, fast.width, body, copies);
  if (!width)
    return std::nullopt;
  return std::pair(width, Value(arith::DivUIOp::create(b, loc, alongAxis(0), width)));
}

bool order(scf::ForOp programs, const Blocks &blocks) {
  Block *body = programs.getBody();
  OpBuilder b(programs);
  auto extents = extentsOf(b, body, blocks.fast());
  if (!extents)
    return false;
  Value place = programs.getInductionVar();
  b.setInsertionPointToStart(body);
  auto ordered =
      nv::RasterProgramOp::create(b, programs.getLoc(), b.getI32Type(), place, extents->first,
                                  extents->second, bandOf(blocks, machineOf(programs)));
  programs.walk([&](nv::ProgramAtOp at) { at.getProgramMutable().assign(ordered); });
  return true;
}

scf::ForOp loopOverPrograms(func::FuncOp kernel) {
  for (auto loop : kernel.getOps<scf::ForOp>())
    if (loop->hasAttr(names::programs))
      return loop;
  return {};
}

struct OrderProgramsPass : impl::OrderRasterBase<OrderProgramsPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      scf::ForOp programs = loopOverPrograms(kernel);
      const std::optional<Blocks> blocks = programs ? commonBlocks(programs) : std::nullopt;
      if (blocks && order(programs, *blocks))
        remarkApplied(kernel.getLoc(), Technique::Persistence)
            << "programs are run in bands of " << bandOf(*blocks, machineOf(kernel))
            << ", so that those which run together read the same rows and columns";
    }
  }
};
} // namespace
} // namespace pantile
