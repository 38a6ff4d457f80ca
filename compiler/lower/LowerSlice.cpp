//===- LowerSlice.cpp - slices of tiles -------------------------------------------------------===//
// Gives: the lowering of tile.extract_slice, insert_slice, extract and wrap_index.
// How:   A slice whose elements stay in their threads selects registers; one that stays within
//        warps takes a shuffle per register. Any other slice goes through scratch: only the threads
//        that hold elements of the slice store them. A run-time index selects registers by its
//        bits, then a lane to shuffle from.
//===-----------------------------------------------------------------------------------===//
#include "analysis/Scratch.h"
#include "layout/TileSlice.h"
#include "lower/Matrices.h"
#include "lower/RowMajor.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
llvm::Value *number(Lowering &l, int64_t value) {
  return l.b.getInt32(static_cast<uint32_t>(value));
}

unsigned bitsOf(Value tile) { return storageBits(elementTypeOf(tile.getType())); }

/// Runs `store` in the threads where `condition` holds; null: in all.
void inThreads(Lowering &l, llvm::Value *condition, llvm::function_ref<void()> store) {
  if (!condition)
    return store();
  llvm::LLVMContext &context = l.module.getContext();
  auto *inside = llvm::BasicBlock::Create(context, "part", l.function);
  auto *after = llvm::BasicBlock::Create(context, "stored", l.function);
  l.b.CreateCondBr(condition, inside, after);
  l.b.SetInsertPoint(inside);
  store();
  l.b.CreateBr(after);
  l.b.SetInsertPoint(after);
}

llvm::Value *both(Lowering &l, llvm::Value *a, llvm::Value *b) {
  return a && b ? l.b.CreateAnd(a, b) : a ? a : b;
}

/// Whether the lane and the warp are `lane` and `warp` in the bits of the masks; null: no bits.
llvm::Value *isThread(Lowering &l, unsigned lanes, unsigned warps, llvm::Value *wanted) {
  const unsigned mask = lanes | warps << 5;
  if (mask == 0)
    return nullptr;
  return l.b.CreateICmpEQ(l.b.CreateAnd(l.thread(), number(l, mask)), wanted);
}

//===- extract_slice -----------------------------------------------------------------------===//

Values shuffled(Lowering &l, ValueList values, const SliceMoves &moves) {
  const LinearLayout::ShufflePlan &plan = *moves.shuffles;
  auto widen = [](ArrayRef<int> parts) { return SmallVector<int64_t>(parts.begin(), parts.end()); };
  llvm::Value *laneOfLane = l.linear(widen(plan.srcLaneOfLane), {});
  llvm::Value *regOfLane = l.linear(widen(plan.srcRegOfLane), {});
  Values result;
  for (auto [reg, lane] : llvm::zip_equal(plan.srcReg, plan.srcLane)) {
    llvm::Value *from = l.b.CreateXor(laneOfLane, number(l, lane ^ moves.lane));
    llvm::Value *chosen = nullptr;
    for (int choice : plan.regChoices) {
      llvm::Value *candidate = l.shuffleFrom(values[reg ^ choice ^ moves.reg], from);
      chosen = chosen ? l.b.CreateSelect(l.b.CreateICmpEQ(regOfLane, number(l, choice)), candidate,
                                         chosen)
                      : candidate;
    }
    result.push_back(chosen);
  }
  return result;
}

/// The index within the slice, along one dimension, of index `at` of the whole, and whether there
/// is one.
std::pair<llvm::Value *, llvm::Value *> inPart(Lowering &l, const TileSlice &slice, int dim,
                                               llvm::Value *at) {
  const uint32_t stride = static_cast<uint32_t>(slice.strides[dim]);
  llvm::Value *distance = l.b.CreateSub(at, number(l, slice.offsets[dim]));
  llvm::Value *index = l.b.CreateUDiv(distance, l.b.getInt32(stride));
  llvm::Value *isIn = l.b.CreateICmpULT(index, number(l, slice.part[dim]));
  llvm::Value *rest = l.b.CreateURem(distance, l.b.getInt32(stride));
  return {index, l.b.CreateAnd(isIn, l.b.CreateICmpEQ(rest, l.b.getInt32(0)))};
}

/// For each register of `whole`: its element's coordinates in the slice, and whether it is in it.
struct PartPlaces {
  std::vector<Values> coordinates; // by dimension
  Values isIn;
};

PartPlaces placesInPart(Lowering &l, const TileSlice &slice, const LinearLayout &whole) {
  PartPlaces result;
  result.coordinates.resize(slice.rank());
  result.isIn.assign(whole.numRegs(), l.b.getTrue());
  for (int dim = 0; dim < slice.rank(); ++dim)
    for (auto [reg, at] : llvm::enumerate(l.coordinates(whole, dim))) {
      auto [index, isIn] = inPart(l, slice, dim, at);
      result.coordinates[dim].push_back(index);
      result.isIn[reg] = l.b.CreateAnd(result.isIn[reg], isIn);
    }
  return result;
}

/// Goes through scratch, element by element, row-major.
void storePart(Lowering &l, ExtractSliceOp op, int64_t start) {
  const TileSlice slice = op.slice();
  const LinearLayout &whole = l.layout(op.getSrc().getType());
  const unsigned bits = bitsOf(op.getSrc());
  const PartPlaces places = placesInPart(l, slice, whole);
  const Values offsets = rowMajorOffsets(l, slice.part, places.coordinates, start, bits);
  const LinearLayout::FreeBits free = whole.freeBits();
  llvm::Value *isFirst = isThread(l, free.lane, free.warp, l.b.getInt32(0));
  for (auto [reg, value] : llvm::enumerate(l.get(op.getSrc()))) {
    llvm::Value *isIn = places.isIn[reg];
    if (isIn == l.b.getFalse() || (static_cast<unsigned>(reg) & free.reg))
      continue;
    inThreads(l, both(l, isFirst, isIn),
              [&] { l.storeShared(value, bits, offsets[reg], static_cast<int>(bits / 8)); });
  }
}

LogicalResult throughShared(Lowering &l, ExtractSliceOp op) {
  auto scratch = l.scratch(op);
  if (failed(scratch))
    return failure();
  const LinearLayout &from = l.layout(op.getSrc().getType()), &to = l.layout(op.getType());
  const unsigned bits = bitsOf(op.getSrc());
  llvm::Type *element = l.type(elementTypeOf(op.getType()));
  if (const auto store = SliceStore::of(op.slice(), from)) {
    const SharedLayout shared = conversionScratch(store->layout, to, bits);
    llvm::Value *base = number(l, *scratch), *wanted = number(l, store->lane | store->warp << 5);
    inThreads(l, isThread(l, store->lanes, store->warps, wanted), [&] {
      storeTile(l, pick(l.get(op.getSrc()), store->registers), base, shared, store->layout);
    });
    l.barrier();
    l.set(op.getResult(), loadTile(l, base, shared, to, element));
    return success();
  }
  storePart(l, op, *scratch);
  l.barrier();
  l.set(op.getResult(),
        l.loadShared(element, bits,
                     rowMajorOffsets(l, to.shape(), coordinatesOf(l, to), *scratch, bits),
                     static_cast<int>(bits / 8)));
  return success();
}

LogicalResult lowerExtractSlice(Lowering &l, ExtractSliceOp op) {
  const SliceMoves moves = SliceMoves::of(op.slice(), l.layout(op.getSrc().getType()),
                                          l.layout(op.getType()), bitsOf(op.getSrc()));
  ValueList values = l.get(op.getSrc());
  if (moves.registers)
    l.set(op.getResult(), pick(values, *moves.registers));
  else if (moves.shuffles)
    l.set(op.getResult(), shuffled(l, values, moves));
  else
    return throughShared(l, op);
  return success();
}

//===- insert_slice ------------------------------------------------------------------------===//

Values replaced(Lowering &l, InsertSliceOp op, const SliceReplacement &plan) {
  ValueList part = l.get(op.getSrc()), whole = l.get(op.getDest());
  llvm::Value *outer = l.linear(plan.ofLane, plan.ofWarp);
  const bool varies = llvm::any_of(plan.ofLane, [](int64_t bits) { return bits != 0; }) ||
                      llvm::any_of(plan.ofWarp, [](int64_t bits) { return bits != 0; });
  llvm::DenseMap<int64_t, llvm::Value *> conditions;
  Values result;
  for (auto [reg, entry] : llvm::enumerate(plan.registers)) {
    if (entry.source < 0 || !varies) {
      result.push_back(entry.source < 0 ? whole[reg] : part[entry.source]);
      continue;
    }
    llvm::Value *&isIn = conditions[entry.wanted];
    if (!isIn)
      isIn = l.b.CreateICmpEQ(outer, number(l, entry.wanted));
    result.push_back(l.b.CreateSelect(isIn, part[entry.source], whole[reg]));
  }
  return result;
}

/// Elements outside the slice read the first element of the slice, which is not used.
LogicalResult insertThroughShared(Lowering &l, InsertSliceOp op) {
  auto scratch = l.scratch(op);
  if (failed(scratch))
    return failure();
  const TileSlice slice = op.slice();
  const LinearLayout &from = l.layout(op.getSrc().getType()), &to = l.layout(op.getType());
  const unsigned bits = bitsOf(op.getSrc());
  const int bytes = static_cast<int>(bits / 8);
  const Values stored = rowMajorOffsets(l, slice.part, coordinatesOf(l, from), *scratch, bits);
  l.inFirstThreads(from.freeBits(),
                   [&] { l.storeShared(l.get(op.getSrc()), bits, stored, bytes); });
  l.barrier();
  const PartPlaces places = placesInPart(l, slice, to);
  Values offsets = rowMajorOffsets(l, slice.part, places.coordinates, *scratch, bits);
  for (auto [offset, isIn] : llvm::zip_equal(offsets, places.isIn))
    offset = l.b.CreateSelect(isIn, offset, number(l, *scratch));
  Values values = l.loadShared(l.type(elementTypeOf(op.getType())), bits, offsets, bytes);
  for (auto [value, isIn, old] : llvm::zip_equal(values, places.isIn, l.get(op.getDest())))
    value = l.b.CreateSelect(isIn, value, old);
  l.set(op.getResult(), values);
  return success();
}

LogicalResult lowerInsertSlice(Lowering &l, InsertSliceOp op) {
  if (op.getDest().getType() != op.getType())
    return op.emitError("layouts of the tiles before and after an insertion differ");
  const auto plan =
      SliceReplacement::of(op.slice(), l.layout(op.getType()), l.layout(op.getSrc().getType()));
  if (!plan)
    return insertThroughShared(l, op);
  l.set(op.getResult(), replaced(l, op, *plan));
  return success();
}

//===- extract -----------------------------------------------------------------------------===//

/// A run-time index into a dimension, bit by bit.
class IndexBits {
public:
  IndexBits(Lowering &l, const AxisBits &axis, llvm::Value *index) : l(l), index(index) {
    for (const AxisBits::Bit &bit : axis.bits)
      (bit.where == AxisBits::Reg ? inRegisters : inThreads).push_back(bit);
  }

  /// The register that the index selects, among those that differ from `base` in the dimension
  /// alone.
  llvm::Value *choose(ValueList values, int base) { return choose(values, base, 0); }

  /// The bits of the index, moved to the lane bits (and above them the warp bits) that hold them.
  llvm::Value *thread() {
    llvm::Value *sum = l.b.getInt32(0);
    for (const AxisBits::Bit &bit : inThreads) {
      const int to = bit.where == AxisBits::Lane ? bit.index : bit.index + 5;
      sum = l.b.CreateSelect(isSet(bit), l.b.CreateOr(sum, number(l, int64_t(1) << to)), sum);
    }
    return sum;
  }

private:
  llvm::Value *isSet(const AxisBits::Bit &bit) {
    llvm::Value *&known = tests[bit.weight];
    if (!known)
      known = l.b.CreateICmpNE(l.b.CreateAnd(index, number(l, bit.weight)), l.b.getInt32(0));
    return known;
  }
  llvm::Value *choose(ValueList values, int base, size_t next) {
    if (next == inRegisters.size())
      return values[base];
    const AxisBits::Bit &bit = inRegisters[next];
    llvm::Value *clear = choose(values, base, next + 1);
    llvm::Value *set = choose(values, base ^ bit.mask(), next + 1);
    return l.b.CreateSelect(isSet(bit), set, clear);
  }

  Lowering &l;
  llvm::Value *index;
  SmallVector<AxisBits::Bit, 8> inRegisters, inThreads;
  llvm::DenseMap<int64_t, llvm::Value *> tests;
};

LogicalResult lowerExtract(Lowering &l, ExtractOp op) {
  const LinearLayout &src = l.layout(op.getSrc().getType()), &to = l.layout(op.getType());
  const AxisBits axis = AxisBits::of(src, op.getAxis());
  const LinearLayout collapsed = src.collapseDim(op.getAxis());
  IndexBits index(l, axis, l.scalar(op.getIndex()));
  Values values;
  for (int reg = 0; reg < collapsed.numRegs(); ++reg) {
    const auto base = src.registerOf(collapsed.apply(reg, 0, 0), 0, 0);
    if (!base)
      return op.emitError("no register holds an element of the first index");
    values.push_back(index.choose(l.get(op.getSrc()), *base));
  }
  const unsigned lanes = axis.mask(AxisBits::Lane), warps = axis.mask(AxisBits::Warp);
  if (extractStaysInWarp(op)) {
    llvm::Value *rest = lanes ? l.b.CreateAnd(l.lane(), number(l, ~lanes & 31)) : nullptr;
    for (llvm::Value *&value : values)
      value = lanes ? l.shuffleFrom(value, l.b.CreateOr(rest, index.thread())) : value;
    l.set(op.getResult(), values);
    return success();
  }
  auto scratch = l.scratch(op);
  if (failed(scratch))
    return failure();
  const unsigned bits = bitsOf(op.getSrc());
  const LinearLayout::FreeBits free = src.freeBits();
  const SharedLayout shared = conversionScratch(collapsed, to, bits);
  llvm::Value *base = number(l, *scratch);
  inThreads(l, isThread(l, lanes | free.lane, warps | free.warp, index.thread()),
            [&] { storeTile(l, values, base, shared, collapsed); });
  l.barrier();
  l.set(op.getResult(), loadTile(l, base, shared, to, l.type(elementTypeOf(op.getType()))));
  return success();
}

LogicalResult lowerWrapIndex(Lowering &l, WrapIndexOp op) {
  const int64_t extent = op.getExtent();
  llvm::Value *index = l.b.CreateZExtOrTrunc(l.scalar(op.getIndex()), l.b.getInt32Ty());
  if (llvm::isPowerOf2_64(extent)) {
    l.set(op.getResult(), l.b.CreateAnd(index, number(l, extent - 1)));
    return success();
  }
  llvm::Value *fromEnd = l.b.CreateAdd(index, number(l, extent));
  llvm::Value *isNegative = l.b.CreateICmpSLT(index, l.b.getInt32(0));
  index = l.b.CreateSelect(isNegative, fromEnd, index);
  l.set(op.getResult(),
        l.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, index, number(l, extent - 1)));
  return success();
}
} // namespace

void lower::addSlice(Handlers &h) {
  h.add<ExtractSliceOp>(lowerExtractSlice);
  h.add<InsertSliceOp>(lowerInsertSlice);
  h.add<ExtractOp>(lowerExtract);
  h.add<WrapIndexOp>(lowerWrapIndex);
}
