//===- Scratch.cpp - shared memory that an operation needs as scratch -----------------------===//
#include "analysis/Scratch.h"
#include "analysis/ProducerStart.h"
#include "ir/Tile.h"
#include "layout/F2.h"
#include "layout/HalfExchange.h"
#include "layout/MatrixAccess.h"
#include "layout/WarpBoxes.h"
#include "layout/WarpConversion.h"
#include "support/MachineModel.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <bit>

using namespace mlir;
using namespace pantile;

namespace {
/// Elements of the hull.
int64_t elements(const LinearLayout &layout) {
  int64_t count = 1;
  for (int64_t extent : layout.hull())
    count *= extent;
  return count;
}

int64_t aligned(int64_t bytes) { return llvm::alignTo(bytes, 16); }

int64_t convertBytes(ConvertLayoutOp op) {
  return conversionBytes(layoutOf(op.getSrc().getType()), layoutOf(op.getType()),
                         storageBits(elementTypeOf(op.getType())));
}

int64_t reduceBytes(ReduceOp op) {
  int64_t bytes = 0;
  for (Value src : op.getSrcs())
    bytes += reduceScratchBytes(layoutOf(src.getType()), op.getAxis(),
                                storageBits(elementTypeOf(src.getType())));
  return bytes;
}

int64_t scanBytes(ScanOp op) {
  int64_t bytes = 0;
  for (Value src : op.getSrcs()) {
    const LinearLayout layout = layoutOf(src.getType());
    const AxisBits axis = AxisBits::of(layout, op.getAxis());
    for (size_t i = 0; i < axis.bits.size(); ++i)
      if (axis.bits[i].where == AxisBits::Warp &&
          (i == 0 || axis.bits[i - 1].where != AxisBits::Warp))
        bytes += scanScratchBytes(layout, axis, i, storageBits(elementTypeOf(src.getType())));
  }
  return bytes;
}

int64_t gatherBytes(GatherOp op) {
  if (gatherStaysInWarp(op))
    return 0;
  const int64_t bits = storageBits(elementTypeOf(op.getType()));
  return aligned(elements(layoutOf(op.getSrc().getType())) * bits / 8);
}

int64_t exchangeBytes(ExchangeOp op) {
  const LinearLayout layout = layoutOf(op.getType());
  if (exchangeMoves(layout, op.getAxis(), op.getDistance()).warp == 0)
    return 0;
  const int64_t count = int64_t(layout.numRegs()) * layout.numLanes() * layout.warpHull();
  return aligned(count * storageBits(elementTypeOf(op.getType())) / 8);
}

/// A part that threads exchange is in scratch row-major, or as the swizzled rows of a conversion.
int64_t extractSliceBytes(ExtractSliceOp op) {
  if (sliceStaysInWarp(op))
    return 0;
  const unsigned bits = storageBits(elementTypeOf(op.getType()));
  const LinearLayout to = layoutOf(op.getType());
  if (const auto store = SliceStore::of(op.slice(), layoutOf(op.getSrc().getType())))
    return aligned(conversionScratch(store->layout, to, bits).bytes());
  return aligned(elements(to) * bits / 8);
}

int64_t insertSliceBytes(InsertSliceOp op) {
  if (sliceStaysInThread(op))
    return 0;
  return aligned(elements(layoutOf(op.getSrc().getType())) *
                 storageBits(elementTypeOf(op.getType())) / 8);
}

int64_t extractBytes(ExtractOp op) {
  if (extractStaysInWarp(op))
    return 0;
  const unsigned bits = storageBits(elementTypeOf(op.getType()));
  const LinearLayout from = layoutOf(op.getSrc().getType()).collapseDim(op.getAxis());
  return aligned(conversionScratch(from, layoutOf(op.getType()), bits).bytes());
}

/// Scratch of a reshape that no layout expresses (LinearLayout::reshapesInPlace).
int64_t reshapeBytes(ReshapeOp op) {
  const auto from = op.getSrc().getType(), to = op.getType();
  return LinearLayout::reshapesInPlace(from.getShape(), to.getShape())
             ? 0
             : aligned(from.getNumElements() * storageBits(elementTypeOf(from)) / 8);
}

int64_t histogramBytes(HistogramOp op) { return aligned(elements(layoutOf(op.getType())) * 4); }

int64_t tmaStoreBytes(nv::TmaStoreOp op) {
  const auto type = op.getValue().getType();
  const LinearLayout layout = layoutOf(type);
  auto boxes = warpBoxes(layout, storageBits(elementTypeOf(type)), static_cast<int>(op.getFast()));
  return boxes ? layout.numWarps() * op.getPieces() * boxes->shared.bytes() : 0;
}

/// A word for each scalar that is handed to a producer that starts late, and one more.
int64_t producerBytes(nv::ProducerOp op) {
  const bool isLate = !op->getParentOfType<func::FuncOp>().getOps<nv::ForkProducerOp>().empty();
  return isLate ? aligned(8 * (1 + static_cast<int64_t>(handedScalars(op).size()))) : 0;
}

/// The old values of an atomic go through shared memory to the threads that hold replicas.
int64_t atomicBytes(Value result) {
  if (result.use_empty())
    return 0;
  const int64_t bytes = storageBits(elementTypeOf(result.getType())) / 8;
  if (!isa<RankedTensorType>(result.getType()))
    return aligned(bytes);
  const LinearLayout layout = layoutOf(result.getType());
  const LinearLayout::FreeBits free = layout.freeBits();
  return free.lane | free.warp ? aligned(elements(layout) * bytes) : 0;
}
} // namespace

ConversionKind pantile::conversionKind(const LinearLayout &from, const LinearLayout &to,
                                       unsigned bits) {
  if (from.sameThreads(to))
    return ConversionKind::Registers;
  const auto plan = from.shufflePlan(to);
  // A conversion through shared memory costs a store, a load and two barriers; few shuffles cost
  // less.
  const MemoryThresholds &limits = MachineModel::reference().memory;
  if (plan && bits <= 32 &&
      (plan->numShuffles() <= limits.shuffles ||
       (plan->regChoices.size() == 1 && plan->numShuffles() <= limits.shufflesInPlace)))
    return ConversionKind::Shuffles;
  // One shuffle for each word, next to two stores of a half: matrix instructions store 16-bit
  // elements alone.
  if (bits == 8 && halfExchange(from, to, bits))
    return ConversionKind::HalfShuffles;
  return warpConversion(from, to, bits) ? ConversionKind::WarpShared : ConversionKind::Shared;
}

int64_t pantile::conversionBytes(const LinearLayout &from, const LinearLayout &to, unsigned bits) {
  switch (conversionKind(from, to, bits)) {
  case ConversionKind::Registers:
  case ConversionKind::Shuffles:
  case ConversionKind::HalfShuffles:
    return 0;
  case ConversionKind::WarpShared:
    return to.numWarps() * warpConversion(from, to, bits)->bytesOfWarp();
  case ConversionKind::Shared:
    return aligned(conversionScratch(from, to, bits).bytes());
  }
  llvm_unreachable("all kinds are handled");
}

namespace {
/// With rows along `fastest`, and the swizzle that has the fewest bank conflicts.
SharedLayout scratchAlong(int fastest, const LinearLayout &from, const LinearLayout &to,
                          unsigned bits) {
  llvm::SmallVector<int, 4> order{fastest};
  for (int d = to.rank() - 1; d >= 0; --d)
    if (d != order[0])
      order.push_back(d);
  LinearLayout::Shape shape = to.reach();
  for (auto [most, other] : llvm::zip_equal(shape, from.reach()))
    most = std::max(most, other);
  const SharedLayout plain = SharedLayout::forOperand(shape, bits, order);
  // Matrix instructions access eight consecutive rows.
  if (plain.swizzle() == 0 || findMatrices(from, plain) || findMatrices(to, plain))
    return plain;
  auto conflictsOf = [](const LinearLayout &layout, const SharedLayout &shared) {
    const LinearLayout sorted = inVectorOrder(layout, shared);
    return shared.bankConflicts(sorted, shared.vectorBytes(sorted));
  };
  auto conflicts = [&](const SharedLayout &shared) {
    return conflictsOf(from, shared) + conflictsOf(to, shared);
  };
  SharedLayout best = plain;
  int fewest = conflicts(plain);
  for (int shift = 1; fewest > 2 && plain.panelBytes() >> (7 + shift) > 1; ++shift)
    if (const int here = conflicts(plain.withSwizzleShift(shift)); here < fewest) {
      best = plain.withSwizzleShift(shift);
      fewest = here;
    }
  return best;
}
} // namespace

SharedLayout pantile::conversionScratch(const LinearLayout &from, const LinearLayout &to,
                                        unsigned bits) {
  auto cycles = [&](const SharedLayout &shared) {
    return sharedCycles(from, shared) + sharedCycles(to, shared);
  };
  SharedLayout best = scratchAlong(to.fastestDim(), from, to, bits);
  int64_t fewest = cycles(best);
  for (int fastest = 0; fastest < to.rank(); ++fastest) {
    if (fastest == to.fastestDim())
      continue;
    const SharedLayout other = scratchAlong(fastest, from, to, bits);
    // Narrower vectors are more instructions, which count for more than their cycles.
    const double most = MachineModel::reference().memory.turnedScratch * fewest;
    if (const int64_t here = cycles(other); here <= most) {
      best = other;
      fewest = here;
    }
  }
  return best;
}

int64_t pantile::reduceScratchBytes(const LinearLayout &layout, int axis, unsigned bits) {
  const int warps =
      std::popcount(static_cast<unsigned>(AxisBits::of(layout, axis).mask(AxisBits::Warp)));
  if (warps == 0)
    return 0;
  return aligned((elements(layout) / layout.hull()[axis] << warps) * bits / 8);
}

int64_t pantile::scanScratchBytes(const LinearLayout &layout, const AxisBits &axis, size_t first,
                                  unsigned bits) {
  const int groups = layout.numRegs() >>
                     std::popcount(static_cast<unsigned>(axis.maskBelow(AxisBits::Reg, first)));
  return aligned(int64_t(groups) * layout.numLanes() * layout.warpHull() * bits / 8);
}

ExchangeMoves pantile::exchangeMoves(const LinearLayout &layout, int axis, int64_t distance) {
  auto flat = [&](const LinearLayout::Coord &coord) {
    uint64_t number = 0;
    for (auto [extent, at] : llvm::zip(layout.hull(), coord))
      number = number * extent + at;
    return number;
  };
  F2Span span;
  for (const LinearLayout::Bases *bases : {&layout.reg(), &layout.lane(), &layout.warp()})
    for (const LinearLayout::Coord &basis : *bases)
      span.insert(flat(basis));
  LinearLayout::Coord step(layout.rank(), 0);
  step[axis] = static_cast<int32_t>(distance);
  const auto found = span.express(flat(step));
  assert(found && "every element of a tile is held by some thread");
  const int regs = layout.reg().size(), lanes = layout.lane().size();
  return {static_cast<int>(*found & (layout.numRegs() - 1)),
          static_cast<int>(*found >> regs & (layout.numLanes() - 1)),
          static_cast<int>(*found >> (regs + lanes))};
}

bool pantile::gatherStaysInWarp(GatherOp op) {
  const int64_t mostCandidates = MachineModel::reference().memory.gatherShuffles;
  const LinearLayout src = layoutOf(op.getSrc().getType());
  if (src != layoutOf(op.getIndex().getType()))
    return false;
  const AxisBits axis = AxisBits::of(src, op.getAxis());
  return axis.mask(AxisBits::Warp) == 0 &&
         1 << std::popcount(unsigned(axis.mask(AxisBits::Reg))) <= mostCandidates;
}

bool pantile::sliceStaysInWarp(ExtractSliceOp op) {
  const SliceMoves moves =
      SliceMoves::of(op.slice(), layoutOf(op.getSrc().getType()), layoutOf(op.getType()),
                     storageBits(elementTypeOf(op.getType())));
  return moves.registers || moves.shuffles;
}

bool pantile::sliceStaysInThread(InsertSliceOp op) {
  return SliceReplacement::of(op.slice(), layoutOf(op.getType()), layoutOf(op.getSrc().getType()))
      .has_value();
}

bool pantile::extractStaysInWarp(ExtractOp op) {
  const LinearLayout src = layoutOf(op.getSrc().getType());
  return AxisBits::of(src, op.getAxis()).mask(AxisBits::Warp) == 0 &&
         src.collapseDim(op.getAxis()) == layoutOf(op.getType());
}

bool pantile::scratchIsPerWarp(Operation *op) {
  if (isa<nv::TmaStoreOp>(op))
    return true;
  auto convert = dyn_cast<ConvertLayoutOp>(op);
  return convert &&
         conversionKind(layoutOf(convert.getSrc().getType()), layoutOf(convert.getType()),
                        storageBits(elementTypeOf(convert.getType()))) ==
             ConversionKind::WarpShared;
}

int64_t pantile::scratchAlignment(Operation *op) {
  return isa<nv::TmaStoreOp>(op) ? InstructionSet::boxAlignment : InstructionSet::lineBytes;
}

int64_t pantile::scratchBytes(Operation *op) {
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([](ConvertLayoutOp op) { return convertBytes(op); })
      .Case([](ReduceOp op) { return reduceBytes(op); })
      .Case([](ScanOp op) { return scanBytes(op); })
      .Case([](GatherOp op) { return gatherBytes(op); })
      .Case([](ExtractSliceOp op) { return extractSliceBytes(op); })
      .Case([](InsertSliceOp op) { return insertSliceBytes(op); })
      .Case([](ExtractOp op) { return extractBytes(op); })
      .Case([](ExchangeOp op) { return exchangeBytes(op); })
      .Case([](ReshapeOp op) { return reshapeBytes(op); })
      .Case([](HistogramOp op) { return histogramBytes(op); })
      .Case([](nv::ClusterGatherOp op) { return aligned(storageBits(op.getSrc().getType()) / 8); })
      .Case([](nv::TmaStoreOp op) { return tmaStoreBytes(op); })
      .Case([](nv::ProducerOp op) { return producerBytes(op); })
      .Case<AtomicRmwOp, AtomicCasOp>([](auto op) { return atomicBytes(op.getResult()); })
      .Default(int64_t(0));
}
