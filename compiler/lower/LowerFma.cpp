//===- LowerFma.cpp - dots of buffers by scalar FMA -------------------------------------------===//
// Needs: the left buffer with K fastest, the right one with N fastest, in swizzles whose pattern
//        repeats after 8 steps of K.
// Gives: the accumulator's registers.
// How:   A loop over K, 8 steps per iteration. An iteration loads the thread's rows of the left
//        buffer, in vectors along K, and its columns of the right one, in vectors along N. Each
//        address advances by a constant per iteration, so a thread holds 8 steps of its rows and
//        columns at a time, however large K is.
//===-----------------------------------------------------------------------------------===//
#include "lower/Lowering.h"
#include "support/MachineThresholds.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
using Coord = LinearLayout::Coord;

/// The same for every machine of the model.
constexpr int stepsPerIteration = TileThresholds().stepsOfFma;

/// One operand: loads the elements that a thread's registers of the result need.
class OperandReader {
public:
  /// `common`: the dimension that operand and result have in common; the other one is K.
  OperandReader(Lowering &l, Value buffer, Type tile, int common, int k)
      : l(l), layout(sharedLayoutOf(cast<nv::BufferType>(buffer.getType()))), acc(l.layout(tile)),
        k(k), type(l.type(cast<nv::BufferType>(buffer.getType()).getElementType())),
        start(l.scalar(buffer)) {
    auto offsets = [&](const LinearLayout::Bases &bases) {
      return llvm::map_to_vector(
          bases, [&](const Coord &basis) { return layout.linearOffset(at(basis, 0)); });
    };
    ofLane = offsets(acc.lane());
    ofWarp = offsets(acc.warp());
    insideOf.assign(acc.numRegs(), nullptr);
    const int64_t end = acc.shape()[common];
    if (acc.hasPartialRegs() && !llvm::isPowerOf2_64(end))
      for (auto [inside, at] : llvm::zip_equal(insideOf, l.coordinates(acc, common)))
        inside = l.b.CreateICmpULT(at, l.b.getInt32(static_cast<uint32_t>(end)));
    const int fastest = layout.order()[0];
    const int run = fastest == k ? stepsPerIteration : acc.contiguousRegs(common);
    const int64_t extent = layout.shape()[fastest], together = extent & -extent;
    width = std::min<int64_t>({run, together, 128 / layout.elementBits()});
  }

  /// The coordinate in the buffer for element `coord` of the result.
  Coord at(Coord coord, int step) const {
    coord[k] = step;
    return coord;
  }
  llvm::Value *firstOffset() const { return start; }
  int64_t bytesPerIteration() const {
    return layout.offset(at(Coord(acc.rank(), 0), stepsPerIteration));
  }

  /// Elements of steps [0, count) of K from the offset `base` on, by coordinate.
  std::map<std::vector<int>, llvm::Value *> read(llvm::Value *base, int count) const {
    std::vector<std::vector<int>> coords;
    Values isInside;
    std::map<std::vector<int>, llvm::Value *> elements;
    auto add = [&](int reg, int step) {
      if (!acc.isPresent(reg))
        return;
      const Coord coord = at(acc.apply(reg, 0, 0), step);
      std::vector<int> key(coord.begin(), coord.end());
      if (elements.try_emplace(key, nullptr).second) {
        coords.push_back(key);
        isInside.push_back(insideOf[reg]);
      }
    };
    if (layout.order()[0] == k) {
      for (int reg = 0; reg < acc.numRegs(); ++reg)
        for (int step = 0; step < count; ++step)
          add(reg, step);
    } else {
      for (int step = 0; step < count; ++step)
        for (int reg = 0; reg < acc.numRegs(); ++reg)
          add(reg, step);
    }
    SmallVector<int64_t> ofElement;
    for (const auto &coord : coords)
      ofElement.push_back(layout.linearOffset(ArrayRef<int32_t>(coord)));
    const int vector = std::min<int>(width, layout.order()[0] == k ? count & -count : width);
    Values offsets = l.sharedOffsets(base, ofLane, ofWarp, ofElement, &layout);
    for (auto [offset, inside] : llvm::zip_equal(offsets, isInside))
      if (inside)
        offset = l.b.CreateSelect(inside, offset, base);
    Values loaded =
        l.loadShared(type, layout.elementBits(), offsets, vector * layout.elementBits() / 8);
    for (auto [coord, value] : llvm::zip_equal(coords, loaded))
      elements[coord] = value;
    return elements;
  }

private:
  Lowering &l;
  const SharedLayout layout;
  const LinearLayout &acc;
  const int k;
  llvm::Type *type;
  llvm::Value *start;
  SmallVector<int64_t> ofLane, ofWarp;
  Values insideOf; ///< per register of the result: whether its row or column is within this operand
  int64_t width;
};

class FmaDot {
public:
  FmaDot(Lowering &l, nv::FmaOp op)
      : l(l), acc(l.layout(op.getType())), rank(acc.rank()),
        depth(static_cast<int>(op.getLhs().getType().getShape()[rank - 1])),
        lhs(l, op.getLhs(), op.getType(), rank - 2, rank - 1),
        rhs(l, op.getRhs(), op.getType(), rank - 1, rank - 2) {}

  Values run(ValueList sums) {
    const int rest = depth % stepsPerIteration, whole = depth - rest;
    if (depth <= stepsPerIteration)
      return iterate(lhs.firstOffset(), rhs.firstOffset(), sums, depth);
    auto &b = l.b;
    llvm::BasicBlock *before = b.GetInsertBlock();
    auto *body = l.newBlock("dot"), *exit = l.newBlock("dot.end");
    b.CreateBr(body);
    b.SetInsertPoint(body);
    auto phi = [&](llvm::Value *init) {
      llvm::PHINode *node = b.CreatePHI(init->getType(), 2);
      node->addIncoming(init, before);
      return node;
    };
    llvm::PHINode *left = phi(lhs.firstOffset()), *right = phi(rhs.firstOffset()),
                  *step = phi(b.getInt32(0));
    llvm::SmallVector<llvm::PHINode *> carried = llvm::map_to_vector(sums, phi);
    Values next = iterate(left, right, Values(carried.begin(), carried.end()), stepsPerIteration);
    llvm::BasicBlock *latch = b.GetInsertBlock();
    auto advance = [&](llvm::PHINode *node, int64_t by) {
      llvm::Value *moved = b.CreateAdd(node, b.getInt32(by), "", true, true);
      node->addIncoming(moved, latch);
      return moved;
    };
    llvm::Value *nextLeft = advance(left, lhs.bytesPerIteration()),
                *nextRight = advance(right, rhs.bytesPerIteration());
    llvm::Value *done = advance(step, stepsPerIteration);
    for (auto [node, value] : llvm::zip_equal(carried, next))
      node->addIncoming(value, latch);
    b.CreateCondBr(b.CreateICmpULT(done, b.getInt32(whole)), body, exit);
    b.SetInsertPoint(exit);
    return rest ? iterate(nextLeft, nextRight, next, rest) : next;
  }

private:
  Values iterate(llvm::Value *left, llvm::Value *right, ValueList sums, int count) {
    auto rows = lhs.read(left, count), columns = rhs.read(right, count);
    Values result(sums);
    for (int step = 0; step < count; ++step)
      for (int reg = 0; reg < acc.numRegs(); ++reg) {
        if (!acc.isPresent(reg))
          continue;
        const Coord at = acc.apply(reg, 0, 0), row = lhs.at(at, step), column = rhs.at(at, step);
        llvm::Value *x = rows.at({row.begin(), row.end()}),
                    *y = columns.at({column.begin(), column.end()});
        result[reg] =
            x->getType()->isIntegerTy()
                ? l.b.CreateAdd(l.b.CreateMul(x, y), result[reg])
                : l.b.CreateIntrinsic(x->getType(), llvm::Intrinsic::fma, {x, y, result[reg]});
      }
    return result;
  }

  Lowering &l;
  const LinearLayout &acc;
  const int rank, depth;
  OperandReader lhs, rhs;
};

LogicalResult lowerFma(Lowering &l, nv::FmaOp op) {
  const int rank = op.getType().getRank();
  if (sharedLayoutOf(op.getLhs().getType()).order()[0] != rank - 1 ||
      sharedLayoutOf(op.getRhs().getType()).order()[0] != rank - 1)
    return op.emitError(
        "a dot by scalar FMA reads rows of K on the left and rows of N on the right");
  l.set(op.getResult(), FmaDot(l, op).run(l.get(op.getAcc())));
  return success();
}
} // namespace

void lower::addFma(Handlers &h) { h.add<nv::FmaOp>(lowerFma); }
