//===- StageOperands.cpp - put the operands of tensor-core dots into shared memory ------===//
// Needs: layouts; every dot has `mma`.
// Gives: 1. A wgmma dot is `nv.wgmma` on buffers, followed by its wait. Its left operand stays in
//           registers if it is computed there in the layout of the instruction, or lanes can
//           exchange it.
//        2. A scalar dot is `nv.fma` on buffers.
//        3. An operand of mma.sync goes through a buffer in three cases. Either it is loaded: the
//           load can then become an asynchronous copy, or does not stall the next load. Or a loop keeps
//           what was loaded before it, and a thread has no registers for that: ldmatrix reads it in each
//           iteration. Or its vectors run across K, and its threads are not those of the instruction:
//           ldmatrix then transposes it. With option `in-place`, for kernels whose buffers do not fit
//           together, operands that are loaded outside of loops get no buffers.
// How:   1. An operand is traced through conversions and transposes to its source value.
//        2. The source is stored in its own order: fastest dimension first, widest swizzle. The
//           transposes become views of the buffer.
//        3. If the instruction needs another contiguous dimension, the elements are transposed on
//           their way into the buffer. wgmma reads 8-bit and fp32 operands along K alone. Scalar
//           FMA reads rows along K on the left, and along N on the right.
//        4. wgmma truncates fp32 to tf32, so fp32 is rounded before: in registers, or in the buffer
//           if a load goes there directly.
//        5. An fp32 left operand that is contiguous along M is read from its buffer into registers
//           (`paired_rows`). In registers A may have any order.
//        6. A right operand of fp32 or of bytes that is loaded contiguous along N, and is not
//           loop-invariant, has two buffers: the load goes to the first one, and threads move it to the
//           second one, which is contiguous along K.
//===------------------------------------------------------------------------------------===//
#include "analysis/OperandSource.h"
#include "analysis/Scratch.h"
#include "analysis/StagedLoad.h"
#include "ir/AsyncMma.h"
#include "ir/FindOps.h"
#include "ir/Machine.h"
#include "ir/MmaLayout.h"
#include "ir/Tile.h"
#include "layout/MatrixAccess.h"
#include "layout/TransposingLayout.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Passes.h"
#include "support/MachineModel.h"

using namespace mlir;

namespace pantile {
#define GEN_PASS_DEF_STAGEOPERANDS
#include "passes/Passes.h.inc"
namespace {

/// How a buffer is read: the dimension that must be contiguous (-1: any), and the widest swizzle.
struct Reading {
  int fastest = -1;
  int span = 128;
  bool asTf32 = false; ///< fp32 by wgmma, which does not round
};

/// The dimension along which the store of a computed tile takes the fewest cycles. A load is copied
/// along the dimension that it is contiguous in.
int fastestToStore(Value source, int mostSpan) {
  auto tile = cast<RankedTensorType>(source.getType());
  const LinearLayout layout = layoutOf(tile);
  if (source.getDefiningOp<LoadOp>())
    return layout.fastestDim();
  auto cycles = [&](int fastest) {
    return sharedCycles(layout, sharedLayoutOf(stageFor(tile, fastest, mostSpan)));
  };
  int best = layout.fastestDim();
  for (int dim = 0; dim < tile.getRank(); ++dim)
    if (cycles(dim) < cycles(best))
      best = dim;
  return best;
}

/// The type of a buffer for `source` that is read as `reading`, whose dimensions are the operand's.
nv::BufferType bufferTypeFor(OperandSource source, Reading reading) {
  auto tile = cast<RankedTensorType>(source.value.getType());
  if (reading.fastest < 0)
    return stageFor(tile, fastestToStore(source.value, reading.span), reading.span);
  const int fastest = source.transposed ? 1 - reading.fastest : reading.fastest;
  return stageFor(tile, fastest, reading.span);
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
  Operation *user; ///< the dot, or the outermost loop around it in which the operand is invariant:
                   ///< the buffer is freed after it
};

/// Stores `source` into a buffer before its outermost user.
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
  if (user != dot && isAsync(dot.getMmaAttr()))
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

/// The layout in which wgmma reads the left operand of `dot` from registers.
LinearLayout layoutOfLeft(DotOp dot) {
  const RankedTensorType tile = dot.getLhs().getType();
  return wgmmaLeftLayout(*dot.getMma(), tile.getShape(), storageBits(tile.getElementType()))
      .withWarps(moduleInt(dot, names::numWarps, 4));
}

/// Whether nothing else than `tile` reads the tiles whose registers it renames.
bool isViewedAlone(Value tile) {
  while (isa_and_nonnull<ConvertLayoutOp, TransOp>(tile.getDefiningOp())) {
    tile = tile.getDefiningOp()->getOperand(0);
    if (!tile.hasOneUse())
      return false;
  }
  return true;
}

/// The left operand of 8-bit elements, if lanes can exchange what wgmma reads from registers: a
/// thread reads four elements along K, and has two of an accumulator.
Value exchanged(DotOp dot, OperandSource source) {
  if (source.transposed)
    return {};
  const RankedTensorType tile = dot.getLhs().getType();
  const LinearLayout wanted = layoutOfLeft(dot);
  const ConversionKind kind = conversionKind(layoutOf(source.value.getType()), wanted, 8);
  // Renumbered registers would be those of the source, which others may read meanwhile.
  if (kind != ConversionKind::Shuffles && kind != ConversionKind::HalfShuffles)
    return {};
  OpBuilder builder(dot);
  return ConvertLayoutOp::create(builder, dot.getLoc(), withLayout(tile, wanted), source.value);
}

/// The left operand, if threads hold it in the layout in which wgmma reads A from registers, such as that
/// of another MMA's accumulator, or their lanes can exchange it. A tile that is loaded from memory goes
/// through a buffer and takes no registers. So does a loop-invariant one: ptxas 13.0 overwrites it.
Value inRegisters(DotOp dot) {
  Value left = dot.getLhs();
  const OperandSource source = sourceOf(left);
  const unsigned bits = storageBits(elementTypeOf(left.getType()));
  if (bits > 16 || source.value.getDefiningOp<LoadOp>() || outermostUser(dot, source.value) != dot)
    return {};
  if (bits == 8)
    return exchanged(dot, source);
  const LinearLayout wanted = layoutOfLeft(dot);
  if (!source.transposed && layoutOf(source.value.getType()) == wanted)
    return source.value;
  return layoutOf(left.getType()) == wanted && isViewedAlone(left) ? left : Value();
}

/// Loads the left operand into registers from a buffer in which it is contiguous along M. The
/// swizzle span is one from which pairs of rows are read without bank conflicts.
Value fromBuffer(DotOp dot, std::optional<Staged> &lhs) {
  lhs = stage(dot, sourceOf(dot.getLhs()), {0, 64});
  const RankedTensorType tile = dot.getLhs().getType();
  const RankedTensorType type = withLayout(tile, layoutOfLeft(dot));
  OpBuilder builder(dot);
  Value loaded = nv::LocalLoadOp::create(builder, dot.getLoc(), type, lhs->view);
  return nv::RoundTf32Op::create(builder, dot.getLoc(), loaded);
}

/// Makes ordinary instructions that may read `tile` after `dot` is issued read a copy: nothing else
/// may access the registers of an MMA in flight (PTX ISA, wgmma.wait_group). The copy is not for
/// the MMA, since ptxas moves copies for MMAs up past waits, and then serialises the MMAs.
void copyForLaterReaders(DotOp dot, Value tile) {
  auto isLater = [&](OpOperand &use) {
    if (isa<DotOp, nv::AsyncMmaOpInterface, nv::MmaWaitOpInterface>(use.getOwner()))
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

/// Stages an operand that a loop loads contiguous along N for an instruction that reads it along K:
/// threads move it from the buffer into which it is loaded to another one.
Staged stageTransposed(DotOp dot, OperandSource source) {
  Staged arrived = stage(dot, source, {1});
  OpBuilder builder(dot);
  Location loc = dot.getLoc();
  const RankedTensorType tile = dot.getRhs().getType();
  const bool isFp32 = tile.getElementType().isF32();
  auto typed = [&](int fastest) {
    const int warps = moduleInt(dot, names::numWarps, 4);
    return withLayout(
        tile, (isFp32 ? transposingLayout : transposingBytes)(tile.getShape(), warps, fastest));
  };
  Value read = nv::LocalLoadOp::create(builder, loc, typed(1), arrived.view);
  Value value = isFp32 ? nv::RoundTf32Op::create(builder, loc, read).getResult() : read;
  value = ConvertLayoutOp::create(builder, loc, typed(0), value); // between registers of a thread
  // The buffer outlives the iteration, so that the MMA may be in flight while threads read the next tile.
  Operation *parent = dot->getParentOp(), *user = isa<scf::ForOp>(parent) ? parent : dot;
  OpBuilder outside(user);
  auto alloc = nv::AllocOp::create(outside, loc, stageFor(tile, 0, 128), IntegerAttr());
  nv::LocalStoreOp::create(builder, loc, value, alloc);
  endBuffer(arrived);
  return {alloc, alloc, user};
}

/// How wgmma reads the right operand. Along K alone: elements of other than 16 bits, and those of 16 bits
/// where instructions have interleaved runs of 8 columns, or where a row along N fills no swizzle.
/// Otherwise along N in panels of one run of columns, or in any order if there are no runs.
Reading readingOfRight(DotOp dot) {
  const RankedTensorType tile = dot.getRhs().getType();
  const unsigned bits = storageBits(tile.getElementType()), run = dot.getMma()->getRun();
  const bool fillsSwizzle = tile.getDimSize(1) * bits / 8 % InstructionSet::sectorBytes == 0;
  if (bits != 16 || run == 8 || !fillsSwizzle)
    return {0, 128, tile.getElementType().isF32()};
  return run ? Reading{1, static_cast<int>(run * bits / 8)} : Reading();
}

/// Stages the right operand, contiguous along K where wgmma requires that.
Staged stageRight(DotOp dot, bool turnsBytes) {
  const OperandSource source = sourceOf(dot.getRhs());
  const RankedTensorType tile = dot.getRhs().getType();
  const unsigned bits = storageBits(tile.getElementType());
  auto load = source.value.getDefiningOp<LoadOp>();
  const bool isCopied = load && outermostUser(dot, source.value) == dot;
  const int fastest = layoutOf(source.value.getType()).fastestDim();
  if ((bits == 32 || (bits == 8 && turnsBytes)) && isCopied && (fastest == 1) != source.transposed)
    return stageTransposed(dot, source);
  return stage(dot, source, readingOfRight(dot));
}

void stageAsync(DotOp dot, bool turnsBytes) {
  Location loc = dot.getLoc();
  const Type element = dot.getLhs().getType().getElementType();
  const bool alongK = storageBits(element) != 16;
  const bool fromRegisters = element.isF32() && dot.getMma()->getAdjacentRows() > 1;
  std::optional<Staged> lhs, rhs;
  if (fromRegisters) // threads may hold the right operand: stage it first, not to hold both at once
    rhs = stageRight(dot, turnsBytes);
  Value left = fromRegisters ? fromBuffer(dot, lhs) : inRegisters(dot);
  if (!left) {
    lhs = stage(dot, sourceOf(dot.getLhs()), {alongK ? 1 : -1, 128, element.isF32()});
    left = lhs->view;
  }
  if (!rhs)
    rhs = stageRight(dot, turnsBytes);
  endBuffer(*rhs);
  if (lhs)
    endBuffer(*lhs);
  if (!lhs)
    copyForLaterReaders(dot, left); // readers of what comes from a buffer have a copy of their own
  OpBuilder builder(dot);
  nv::FenceAsyncOp::create(builder, loc);
  nv::AsyncMmaOpInterface mma = issueAsync(builder, dot, left, rhs->view);
  Operation *wait = mma.createWait(builder, loc, mma.getResult());
  dot.replaceAllUsesWith(wait->getResult(0));
  dot.erase();
}

/// Stages a scalar dot. The lowering reads 8 steps of K at a time, and advances by adding to addresses
/// (LowerFma.cpp), so these steps must fill whole periods of the swizzle. On the left they are one or
/// two panels of the smallest swizzle, whose period is 8 rows; with fewer rows there is no swizzle.
void stageFma(DotOp dot) {
  const int rank = dot.getType().getRank();
  const RankedTensorType left = dot.getLhs().getType();
  const bool hasPeriod = left.getNumElements() / left.getDimSize(rank - 1) >= 8;
  Staged lhs = stage(dot, sourceOf(dot.getLhs()), {rank - 1, hasPeriod ? 32 : 0}),
         rhs = stage(dot, sourceOf(dot.getRhs()), {rank - 1});
  endBuffer(rhs);
  endBuffer(lhs);
  OpBuilder builder(dot);
  auto mma =
      nv::FmaOp::create(builder, dot.getLoc(), dot.getType(), lhs.view, rhs.view, dot.getAcc());
  dot.replaceAllUsesWith(mma.getResult());
  dot.erase();
}

/// Whether an operand is worth a buffer: it is loaded in the same MLIR block, in elements that ldmatrix or
/// cp.async can move. Outside of loops the buffer lets all loads be issued before the first wait.
bool isStreamed(DotOp dot, OperandSource source) {
  auto load = source.value.getDefiningOp<LoadOp>();
  return load && load->getBlock() == dot->getBlock();
}

/// Whether a 16-bit operand is computed in the MLIR block in vectors across K: a conversion to the
/// layout of the instruction would write single elements, but ldmatrix can transpose it.
bool isTransposedByLdmatrix(DotOp dot, OperandSource source, bool isLeft) {
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

/// Whether a computed operand is in the threads that need it, in other registers at most.
bool isInPlace(Value operand) {
  auto convert = operand.getDefiningOp<ConvertLayoutOp>();
  return convert && layoutOf(convert.getSrc().getType()).sameThreads(layoutOf(operand.getType()));
}

/// Stages an mma.sync dot. `inPlace`: operands outside of loops get no buffer. `isCrowded`: operands that
/// the loop keeps do.
void stageMmaSync(DotOp dot, bool inPlace, bool isCrowded) {
  if (dot.getType().getRank() != 2 || (inPlace && !isa<scf::ForOp>(dot->getParentOp())))
    return;
  OpBuilder builder(dot);
  for (OpOperand *operand : {&dot.getLhsMutable(), &dot.getRhsMutable()}) {
    OperandSource source = sourceOf(operand->get());
    if (!isStreamed(dot, source) && !(isCrowded && isKept(dot, source)) &&
        (isInPlace(operand->get()) ||
         !isTransposedByLdmatrix(dot, source, operand == &dot.getLhsMutable())))
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
    const auto crowded = inPlace ? llvm::DenseSet<Operation *>() : crowdedLoops(getOperation());
    for (DotOp dot : opsIn<DotOp>(getOperation())) {
      if (!dot.getMma())
        continue;
      if (isAsync(dot.getMmaAttr()))
        stageAsync(dot, turnsBytes);
      else if (dot.getMma()->getKind() == MmaKind::MmaSync)
        stageMmaSync(dot, inPlace, crowded.contains(dot->getParentOp()));
      else
        stageFma(dot);
    }
    eraseUnusedViews();
  }

private:
  /// Erases conversions and transposes that only a dot used.
  void eraseUnusedViews() {
    const auto ops = opsIn<Operation *>(getOperation());
    for (Operation *op : llvm::reverse(ops))
      if (isa<ConvertLayoutOp, TransOp>(op) && op->use_empty())
        op->erase();
  }
};
} // namespace
} // namespace pantile
