//===- StageOperands.cpp - put the operands of tensor-core dots into shared memory ------===//
// Needs: layouts; every dot carries `mma`.
// Gives: a wgmma dot is `nv.wgmma` on buffers, its left operand in registers where they hold it as
//        the instruction reads it, waited for at once; a scalar one is `nv.fma` on buffers. The
//        operand of an mma.sync dot that comes from a load passes through a buffer, so that the
//        load can become an asynchronous copy, or does not hold up the next; so does one that
//        threads hold in vectors across K, which ldmatrix turns as it reads. Outside of loops they
//        do not where all buffers together have no room (option `in-place`). Dots of a loop
//        that read one load read one buffer.
// How:   an operand is followed back through conversions and transposes to the value that holds
//        it; that value is stored as it lies in memory (fastest dimension first, widest swizzle),
//        and the transposes are done on the view of the buffer. Where the reader needs another
//        fastest dimension, the elements are transposed on their way into the buffer: wgmma reads
//        8-bit and fp32 operands along K alone, scalar FMA a row of K on the left and a row of N on
//        the right. fp32 that lies along M goes on from its buffer into registers (`paired_rows`),
//        which may hold A in any order. wgmma only drops the bits that tf32 lacks, so fp32 is rounded
//        before: in registers, or in the buffer where a load goes straight there. fp32 that a loop loads
//        along N goes from the buffer where it arrives to one along K.
//===------------------------------------------------------------------------------------===//
#include "ir/Machine.h"
#include "ir/Tile.h"
#include "layout/TransposingLayout.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "passes/mma/ShareBuffers.h"
#include "support/MachineModel.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_STAGEOPERANDS
#include "passes/Passes.h.inc"
namespace {

/// Where a dot operand comes from: `value`, seen transposed or not.
struct OperandSource {
  Value value;
  bool transposed = false;
};

OperandSource sourceOf(Value operand) {
  OperandSource source{operand};
  while (true) {
    if (auto convert = source.value.getDefiningOp<ConvertLayoutOp>()) {
      source.value = convert.getSrc();
    } else if (auto trans = source.value.getDefiningOp<TransOp>();
               trans && trans.getSrc().getType().getRank() == 2) {
      source.value = trans.getSrc();
      source.transposed ^= trans.getOrder()[0] == 1;
    } else {
      return source;
    }
  }
}

/// How a buffer is read: the dimension that must be its fastest (-1: any), and its widest swizzle.
struct Reading {
  int fastest = -1;
  int span = 128;
  bool asTf32 = false; ///< fp32 by wgmma, which does not round
};

nv::BufferType bufferTypeFor(RankedTensorType tile, int fastest, int mostSpan) {
  SmallVector<int> order{fastest};
  for (int d = tile.getRank() - 1; d >= 0; --d)
    if (d != fastest)
      order.push_back(d);
  SharedLayout shared =
      SharedLayout::forOperand(tile.getShape(), storageBits(tile.getElementType()), order);
  auto swizzle = nv::SwizzleAttr::get(tile.getContext(), SmallVector<int32_t>(order),
                                      std::min(shared.swizzle(), mostSpan));
  return nv::BufferType::get(tile.getContext(), 1, tile.getShape(), tile.getElementType(), swizzle);
}

/// The buffer of `source` that is read as `reading`, which counts the dimensions of the operand.
nv::BufferType bufferTypeFor(OperandSource source, Reading reading) {
  auto tile = cast<RankedTensorType>(source.value.getType());
  if (reading.fastest < 0)
    return bufferTypeFor(tile, layoutOf(tile).fastestDim(), reading.span);
  const int fastest = source.transposed ? 1 - reading.fastest : reading.fastest;
  return bufferTypeFor(tile, fastest, reading.span);
}

nv::BufferType transposedType(nv::BufferType type) {
  auto order = type.getSwizzle().getOrder();
  auto swizzle = nv::SwizzleAttr::get(type.getContext(), {1 - order[0], 1 - order[1]},
                                      type.getSwizzle().getSpan());
  return nv::BufferType::get(type.getContext(), type.getDepth(),
                             {type.getShape()[1], type.getShape()[0]}, type.getElementType(),
                             swizzle);
}

/// A buffer that holds one operand before `dot`, and the view of it that the dot reads.
struct Staged {
  nv::AllocOp alloc;
  Value view;
  Operation *user; ///< the dot, or the outermost loop around it that leaves the operand alone: the
                   ///< buffer ends behind it
};

/// `dot`, or the outermost loop around it in which `value` does not change.
Operation *outermostUser(Operation *dot, Value value) {
  Operation *user = dot;
  for (auto loop = user->getParentOfType<scf::ForOp>();
       loop && loop == user->getParentOp() && loop.isDefinedOutsideOfLoop(value);
       loop = user->getParentOfType<scf::ForOp>())
    user = loop;
  return user;
}

Staged stage(DotOp dot, OperandSource source, Reading reading = {}) {
  Operation *user = outermostUser(dot, source.value);
  OpBuilder builder(user);
  Location loc = dot.getLoc();
  auto alloc = nv::AllocOp::create(builder, loc, bufferTypeFor(source, reading), IntegerAttr());
  const bool isCopied = isa_and_nonnull<LoadOp>(source.value.getDefiningOp()) && user == dot;
  Value value = source.value;
  if (reading.asTf32 && !isCopied)
    value = nv::RoundTf32Op::create(builder, loc, value);
  nv::LocalStoreOp::create(builder, loc, value, alloc);
  if (reading.asTf32 && isCopied)
    nv::RoundBufferOp::create(builder, loc, alloc);
  if (user != dot && dot.getMma()->getKind() == MmaKind::Wgmma)
    nv::FenceAsyncOp::create(builder, loc);
  builder.setInsertionPoint(dot);
  Value view = alloc;
  if (source.transposed)
    view = nv::BufferTransOp::create(builder, loc, transposedType(alloc.getType()), view);
  return {alloc, view, user};
}

void endBuffer(Staged staged) {
  OpBuilder builder(staged.user);
  builder.setInsertionPointAfter(staged.user);
  nv::DeallocOp::create(builder, staged.user->getLoc(), staged.alloc);
}

/// The left operand where its threads hold it as wgmma reads it from registers, as the sum of
/// another product does. A tile that only comes from memory goes by a buffer and takes no
/// registers; so does one that a loop keeps: ptxas 13.0 writes other numbers into its registers.
Value inRegisters(DotOp dot) {
  OperandSource source = sourceOf(dot.getLhs());
  auto tile = cast<RankedTensorType>(source.value.getType());
  if (source.transposed || storageBits(tile.getElementType()) != 16 ||
      source.value.getDefiningOp<LoadOp>() || outermostUser(dot, source.value) != dot)
    return {};
  const MmaAttr mma = *dot.getMma();
  const LinearLayout wanted =
      LinearLayout::mmaOperandA(tile.getShape(), {mma.getWarpsM(), mma.getWarpsN()}, 16)
          .withWarps(moduleInt(dot, names::numWarps, 4));
  return layoutOf(tile) == wanted ? source.value : Value();
}

/// The left operand in registers, from a buffer in which it lies along M. The span is one that
/// LinearLayout::pairRows reads without bank conflicts.
Value fromBuffer(DotOp dot, std::optional<Staged> &lhs) {
  lhs = stage(dot, sourceOf(dot.getLhs()), {0, 64});
  const RankedTensorType tile = dot.getLhs().getType();
  const MmaAttr mma = *dot.getMma();
  const LinearLayout fragments =
      LinearLayout::mmaOperandA(tile.getShape(), {mma.getWarpsM(), mma.getWarpsN()}, 32)
          .withWarps(moduleInt(dot, names::numWarps, 4));
  auto type = RankedTensorType::get(tile.getShape(), tile.getElementType(),
                                    LayoutAttr::get(dot.getContext(), fragments.pairRows()));
  OpBuilder builder(dot);
  Value loaded = nv::LocalLoadOp::create(builder, dot.getLoc(), type, lhs->view);
  return nv::RoundTf32Op::create(builder, dot.getLoc(), loaded);
}

/// Ordinary instructions that may read `tile` after `dot` has started read a copy: the registers of an
/// MMA in flight are its own (PTX ISA, wgmma.wait_group). It is they that read the copy and not the
/// MMA, since ptxas moves copies for MMAs up, past waits, and serialises these then.
void copyForLaterReaders(DotOp dot, Value tile) {
  auto isLater = [&](OpOperand &use) {
    if (isa<DotOp, nv::WgmmaOp, nv::WgmmaWaitOp>(use.getOwner()))
      return false;
    Operation *reader = dot->getBlock()->findAncestorOpInBlock(*use.getOwner());
    return !reader || !reader->isBeforeInBlock(dot);
  };
  if (llvm::none_of(tile.getUses(), isLater))
    return;
  OpBuilder builder(dot.getContext());
  builder.setInsertionPointAfterValue(tile); // before readers in other blocks, too
  auto copy = nv::CopyRegistersOp::create(builder, dot.getLoc(), tile);
  tile.replaceUsesWithIf(copy,
                         [&](OpOperand &use) { return use.getOwner() != copy && isLater(use); });
}

/// What a loop loads along N, for an instruction that reads it along K: threads take it from the
/// buffer where it arrives to another one.
Staged transposedOnTheWay(DotOp dot, OperandSource source) {
  Staged arrived = stage(dot, source, {1});
  OpBuilder builder(dot);
  Location loc = dot.getLoc();
  const RankedTensorType tile = dot.getRhs().getType();
  auto typed = [&](int fastest) {
    auto layout = transposingLayout(tile.getShape(), moduleInt(dot, names::numWarps, 4), fastest);
    return RankedTensorType::get(tile.getShape(), tile.getElementType(),
                                 LayoutAttr::get(dot.getContext(), layout));
  };
  Value value = nv::LocalLoadOp::create(builder, loc, typed(1), arrived.view);
  value = nv::RoundTf32Op::create(builder, loc, value);
  value = ConvertLayoutOp::create(builder, loc, typed(0), value); // between a thread's registers
  auto alloc = nv::AllocOp::create(builder, loc, bufferTypeFor(tile, 0, 128), IntegerAttr());
  nv::LocalStoreOp::create(builder, loc, value, alloc);
  endBuffer(arrived);
  return {alloc, alloc, dot};
}

/// How wgmma reads the right operand: elements of other than 16 bits along K alone, and others, too,
/// where MMAs take turns at 8 of its columns, or a row along N fills no swizzle; along N in panels of
/// the columns that they take turns at.
Reading readingOfRight(DotOp dot) {
  const RankedTensorType tile = dot.getRhs().getType();
  const unsigned bits = storageBits(tile.getElementType()), run = dot.getMma()->getRun();
  const bool fillsSwizzle = tile.getDimSize(1) * bits / 8 % InstructionSet::sectorBytes == 0;
  if (bits != 16 || run == 8 || !fillsSwizzle)
    return {0, 128, tile.getElementType().isF32()};
  return run ? Reading{1, static_cast<int>(run * bits / 8)} : Reading();
}

/// The right operand, along K where nothing else is read.
Staged stageRight(DotOp dot) {
  const OperandSource source = sourceOf(dot.getRhs());
  const RankedTensorType tile = dot.getRhs().getType();
  const bool isFp32 = tile.getElementType().isF32();
  auto load = source.value.getDefiningOp<LoadOp>();
  const bool isCopied = load && outermostUser(dot, source.value) == dot;
  const int fastest = layoutOf(source.value.getType()).fastestDim();
  if (isFp32 && isCopied && (fastest == 1) != source.transposed)
    return transposedOnTheWay(dot, source);
  return stage(dot, source, readingOfRight(dot));
}

void stageWgmma(DotOp dot) {
  Location loc = dot.getLoc();
  const Type element = dot.getLhs().getType().getElementType();
  const bool alongK = storageBits(element) != 16;
  const bool fromRegisters = dot.getMma()->getPairedRows();
  std::optional<Staged> lhs, rhs;
  if (fromRegisters) // threads may hold the right operand before: not both at once
    rhs = stageRight(dot);
  Value left = fromRegisters ? fromBuffer(dot, lhs) : inRegisters(dot);
  if (!left) {
    lhs = stage(dot, sourceOf(dot.getLhs()), {alongK ? 1 : -1, 128, element.isF32()});
    left = lhs->view;
  }
  if (!rhs)
    rhs = stageRight(dot);
  endBuffer(*rhs);
  if (lhs)
    endBuffer(*lhs);
  if (!lhs)
    copyForLaterReaders(dot, left); // others read another copy of what came from a buffer
  OpBuilder builder(dot);
  nv::FenceAsyncOp::create(builder, loc);
  auto product = nv::WgmmaOp::create(builder, loc, dot.getType(), left, rhs->view, dot.getAcc(),
                                     *dot.getMma(), UnitAttr());
  if (int most = dot.getMaxImprecise())
    product->setAttr(names::maxImprecise, builder.getI32IntegerAttr(most));
  auto wait = nv::WgmmaWaitOp::create(builder, loc, product.getResult());
  dot.replaceAllUsesWith(wait.getResult(0));
  dot.erase();
}

/// The lowering reads 8 steps of K at a time and goes on from there by adding (LowerFma.cpp): they
/// must fill whole periods of the swizzle. On the left they are a panel or two of the smallest one,
/// which has a period of 8 rows; with fewer rows there is none.
void stageFma(DotOp dot) {
  const int rank = dot.getType().getRank();
  const RankedTensorType left = dot.getLhs().getType();
  const bool hasPeriod = left.getNumElements() / left.getDimSize(rank - 1) >= 8;
  Staged lhs = stage(dot, sourceOf(dot.getLhs()), {rank - 1, hasPeriod ? 32 : 0}),
         rhs = stage(dot, sourceOf(dot.getRhs()), {rank - 1});
  endBuffer(rhs);
  endBuffer(lhs);
  OpBuilder builder(dot);
  auto product =
      nv::FmaOp::create(builder, dot.getLoc(), dot.getType(), lhs.view, rhs.view, dot.getAcc());
  dot.replaceAllUsesWith(product.getResult());
  dot.erase();
}

/// An operand worth a buffer: a load of the same block, in elements that ldmatrix or cp.async can
/// move. Outside of loops the buffer lets all loads start before the first is waited for.
bool isStreamed(DotOp dot, OperandSource source) {
  auto load = source.value.getDefiningOp<LoadOp>();
  return load && load->getBlock() == dot->getBlock();
}

/// An operand of 16 bits that the block computes in vectors along the dimension that is not K: a
/// conversion to the instruction's layout would write single elements.
bool isTurned(DotOp dot, OperandSource source, bool isLeft) {
  auto tile = dyn_cast<RankedTensorType>(source.value.getType());
  Operation *maker = source.value.getDefiningOp();
  if (!tile || !maker || storageBits(tile.getElementType()) != 16 ||
      maker->getBlock() != dot->getBlock())
    return false;
  const LinearLayout layout = layoutOf(tile);
  const bool fastestIsRow = (layout.fastestDim() == 0) != source.transposed;
  const int64_t leastBytes = machineOf(dot).memory.leastTransposedStore;
  return fastestIsRow == isLeft &&
         sharedLayoutOf(bufferTypeFor(source, Reading())).vectorBytes(layout) >= leastBytes;
}

/// `inPlace`: outside of loops, no operand gets a buffer.
void stageMmaSync(DotOp dot, bool inPlace) {
  if (dot.getType().getRank() != 2 || (inPlace && !isa<scf::ForOp>(dot->getParentOp())))
    return;
  OpBuilder builder(dot);
  for (OpOperand *operand : {&dot.getLhsMutable(), &dot.getRhsMutable()}) {
    OperandSource source = sourceOf(operand->get());
    if (!isStreamed(dot, source) && !isTurned(dot, source, operand == &dot.getLhsMutable()))
      continue;
    Staged staged = stage(dot, source);
    endBuffer(staged);
    builder.setInsertionPoint(dot);
    operand->set(
        nv::LocalLoadOp::create(builder, dot.getLoc(), operand->get().getType(), staged.view));
  }
}

struct StageOperandsPass : impl::StageOperandsBase<StageOperandsPass> {
  using StageOperandsBase::StageOperandsBase;
  void runOnOperation() override {
    SmallVector<DotOp> dots;
    getOperation().walk([&](DotOp dot) { dots.push_back(dot); });
    for (DotOp dot : dots) {
      if (!dot.getMma())
        continue;
      if (dot.getMma()->getKind() == MmaKind::Wgmma)
        stageWgmma(dot);
      else if (dot.getMma()->getKind() == MmaKind::MmaSync)
        stageMmaSync(dot, inPlace);
      else
        stageFma(dot);
    }
    eraseUnusedViews();
    getOperation().walk([](scf::ForOp loop) { shareStagedBuffers(loop); });
  }

private:
  /// Conversions and transposes that only led to a dot.
  void eraseUnusedViews() {
    SmallVector<Operation *> views;
    getOperation().walk([&](Operation *op) {
      if (isa<ConvertLayoutOp, TransOp>(op))
        views.push_back(op);
    });
    for (Operation *op : llvm::reverse(views))
      if (op->use_empty())
        op->erase();
  }
};
} // namespace
} // namespace pantile
