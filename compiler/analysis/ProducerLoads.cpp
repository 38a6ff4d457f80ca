//===- ProducerLoads.cpp - see ProducerLoads.h ---------------------------------------------===//
// How:   TmaAccess.h says how the addresses become coordinates. All MMAs that read an operand must
//        allow the same. Boxes must fill the buffer, and each stage must begin where a box may.
//===---------------------------------------------------------------------------------------===//
#include "analysis/ProducerLoads.h"
#include "analysis/AffineAccess.h"
#include "analysis/PrefetchLegality.h"
#include "layout/TmaBoxes.h"
#include "support/MachineModel.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace pantile {
namespace {

/// The TMA access of `staged`: legal for each of its readers, and the same for all.
std::optional<TmaAccess> accessFor(AffineAnalysis &affine, const AxisInfoAnalysis &axes,
                                   StagedLoad staged, ArrayRef<BufferReader> readers,
                                   std::string &reason) {
  std::optional<TmaAccess> access;
  for (const BufferReader &reader : readers) {
    auto own = tmaAccess(affine, axes, staged.load, staged.alloc.getType(), reader, reason);
    if (!own)
      return std::nullopt;
    auto isSame = [](const TmaAccess::Dim &a, const TmaAccess::Dim &b) {
      return a.extent == b.extent && a.stride == b.stride && a.start == b.start &&
             a.modulus == b.modulus && a.kind == b.kind && a.end == b.end;
    };
    if (access && !llvm::equal(access->dims, own->dims, isSame)) {
      reason = "its MMAs allow different extents";
      return std::nullopt;
    }
    if (!access)
      access = own;
  }
  return access;
}

bool isFilledByBoxes(nv::BufferType buffer, std::string &reason) {
  reason = "no boxes of a tensor map fill its tile";
  return tmaBoxes(sharedLayoutOf(buffer)) &&
         buffer.getStageBytes() % InstructionSet::lineBytes == 0; // the next stage is aligned, too
}

/// The arithmetic of `body` on scalars that follows from what is known when it starts, in order.
llvm::SetVector<Operation *> scalarArithmetic(Block *body) {
  llvm::SetVector<Operation *> found;
  auto isKnown = [&](Value value) {
    Operation *source = value.getDefiningOp();
    return !source || source->getBlock() != body || found.contains(source);
  };
  auto isTile = [](Type type) { return isa<RankedTensorType>(type); };
  for (Operation &op : *body)
    if (op.hasTrait<OpTrait::Elementwise>() && isMemoryEffectFree(&op) &&
        llvm::none_of(op.getResultTypes(), isTile) && llvm::all_of(op.getOperands(), isKnown))
      found.insert(&op);
  return found;
}

/// Whether the coordinates or addresses of `load` are known before `op` of the loop body, or will be
/// when advanceScalars has run.
bool isKnownBefore(AffineAnalysis &affine, const ProducerLoad &load, Operation *op) {
  const llvm::SetVector<Operation *> advanced = scalarArithmetic(op->getBlock());
  auto isComputed = [&](Value value) {
    Operation *source = value.getDefiningOp();
    return !source || source->getBlock() != op->getBlock() || source->isBeforeInBlock(op) ||
           advanced.contains(source);
  };
  auto isEarlier = [&](unsigned leaf) { return isComputed(affine.leaf(leaf)); };
  if (!load.access)
    return llvm::all_of(addressRoots(load.staged.load), isComputed);
  return llvm::all_of(load.access->dims, [&](const TmaAccess::Dim &dim) {
    return dim.start.onlyUses(isEarlier) && dim.end.onlyUses(isEarlier);
  });
}

bool isVector(const ProducerLoad &load) { return load.buffer.getShape().size() == 1; }
} // namespace

std::optional<ProducerLoad> loadOfOperand(AffineAnalysis &affine, const AxisInfoAnalysis &axes,
                                          StagedLoad staged, Block *body, std::string &reason) {
  const SmallVector<BufferReader> readers = readersOf(staged.alloc, body);
  const nv::BufferType buffer = staged.alloc.getType();
  auto isOfThreads = [](const BufferReader &reader) { return !reader.mma; };
  const auto first = llvm::find_if_not(readers, isOfThreads);
  reason = "its tile is read outside of the loop's body";
  if (first == readers.end())
    return std::nullopt;
  reason = "MMAs read its tile rounded to tf32, and threads as it is";
  if (isRounded(staged.alloc) && llvm::any_of(readers, isOfThreads))
    return std::nullopt;
  auto access = accessFor(affine, axes, staged, readers, reason);
  if (!access || !isFilledByBoxes(buffer, reason))
    return std::nullopt;
  BufferReader last = readers.back();
  ProducerLoad load{staged,     buffer, first->at, last.mma ? last.mma.getOperation() : last.at,
                    first->mma, *access};
  for (const BufferReader &reader : readers) {
    load.first = reader.at->isBeforeInBlock(load.first) ? reader.at : load.first;
    load.isReadByThreads |= reader.at != reader.mma;
  }
  return load;
}

std::optional<ProducerLoad> loadOfValue(AffineAnalysis &affine, const AxisInfoAnalysis &axes,
                                        StagedValue value, std::string &reason) {
  auto access = tmaAccess(affine, axes, value.load, value.buffer, BufferReader{}, reason);
  if (!access || !isFilledByBoxes(value.buffer, reason))
    return std::nullopt;
  const SmallVector<Operation *> users = usersOf(value.load);
  return ProducerLoad{
      {value.load, {}, {}},    value.buffer, users.front(), users.back(), {}, *access,
      /*isReadByThreads=*/true};
}

std::optional<ProducerLoad> copyOfVector(scf::ForOp loop, const AxisInfoAnalysis &axes,
                                         StagedValue vector, int warp) {
  const int bytes = storageBits(vector.buffer.getElementType()) / 8;
  if (bytes < 4 || bytes > 8 || !isKernelArgument(baseOf(vector.load.getPtr())) ||
      prefetchCopyOf(loop, vector.load, vector.buffer, axes).bytes == 0)
    return std::nullopt;
  const SmallVector<Operation *> users = usersOf(vector.load);
  ProducerLoad load{{vector.load, {}, {}}, vector.buffer, users.front(), users.back(), {}, {}};
  load.isReadByThreads = true;
  load.bytes = bytes;
  load.warp = warp;
  return load;
}

Value ProducerLoad::base() const {
  LoadOp load = staged.load;
  return access ? access->base : baseOf(load.getPtr());
}

int64_t ProducerLoad::arrivals() const {
  LoadOp load = staged.load;
  return access ? 0 : 1 + nv::CopyAsyncOp::arrivalsOf(load.getMask() != nullptr);
}

void advanceScalars(scf::ForOp loop) {
  Operation *place = nullptr; // after those that were moved
  for (Operation *op : scalarArithmetic(loop.getBody())) {
    if (place)
      op->moveAfter(place);
    else
      op->moveBefore(&loop.getBody()->front());
    place = op;
  }
}

unsigned groupOf(AffineAnalysis &affine, const ProducerLoad &load, ArrayRef<ProducerLoad> others,
                 unsigned groups, bool inFlight) {
  auto hasMma = [&](unsigned group) {
    return llvm::any_of(
        others, [&](const ProducerLoad &other) { return other.mma && other.group == group; });
  };
  auto areKnown = [&](unsigned group) {
    return llvm::all_of(others, [&](const ProducerLoad &other) {
      return other.group != group ||
             (isKnownBefore(affine, load, other.first) && isKnownBefore(affine, other, load.first));
    });
  };
  auto shares = [&](const ProducerLoad &other) {
    if (load.mma)
      return other.mma == load.mma;
    if (!load.access != !other.access || !areKnown(other.group))
      return false;
    if (other.mma)
      return load.last->isBeforeInBlock(other.end()) &&
             (!isVector(load) || other.first->isBeforeInBlock(load.first));
    return isVector(load) && isVector(other) && !hasMma(other.group);
  };
  auto endsBefore = [&](const ProducerLoad &other) {
    return load.access && isVector(load) && !inFlight && other.mma && areKnown(other.group) &&
           other.end()->isBeforeInBlock(load.first);
  };
  const auto *same = llvm::find_if(others, shares);
  for (const ProducerLoad &other : others)
    if (endsBefore(other) && (same == others.end() || same->end()->isBeforeInBlock(other.end())))
      same = &other;
  return same == others.end() ? groups : same->group;
}

} // namespace pantile
