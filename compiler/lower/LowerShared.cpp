//===- LowerShared.cpp - shared buffers, asynchronous copies and barriers ---------------------===//
// Needs: buffers with offsets.
// Gives: loads, stores, cp.async and barriers; a buffer is its byte offset from `@shared`.
// How:   Offsets within a buffer are linear over F2, so the contribution of the thread is computed
//        once and registers differ by constants.
//===-----------------------------------------------------------------------------------===//
#include "ir/CopyFill.h"
#include "lower/Matrices.h"
#include "lower/PointerDistances.h"
#include "lower/When.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
template <typename Op> LogicalResult lowerBuffer(Lowering &l, Op op) {
  if (!op.getOffset())
    return op.emitError("a buffer without an offset: `nv-allocate-shared` has not run");
  l.set(op.getBuffer(), l.b.getInt32(*op.getOffset()));
  return success();
}
LogicalResult lowerDealloc(Lowering &, nv::DeallocOp) { return success(); }

LogicalResult lowerSelectStage(Lowering &l, nv::SelectStageOp op) {
  const int64_t bytes = op.getBuffer().getType().getStageBytes();
  llvm::Value *start = l.b.CreateMul(l.scalar(op.getIndex()), l.b.getInt32(bytes), "", true, true);
  l.set(op.getResult(), l.b.CreateAdd(l.scalar(op.getBuffer()), start, "", true, true));
  return success();
}
LogicalResult lowerBufferTrans(Lowering &l, nv::BufferTransOp op) {
  l.set(op.getResult(), l.get(op.getBuffer()));
  return success();
}

//===- barriers ------------------------------------------------------------------------===//

LogicalResult lowerCommit(Lowering &l, nv::CommitOp) {
  l.b.CreateIntrinsic(l.b.getVoidTy(), llvm::Intrinsic::nvvm_cp_async_commit_group, {});
  return success();
}
LogicalResult lowerWait(Lowering &l, nv::WaitOp op) {
  l.b.CreateIntrinsic(l.b.getVoidTy(), llvm::Intrinsic::nvvm_cp_async_wait_group,
                      {l.b.getInt32(op.getPending())});
  return success();
}
LogicalResult lowerFence(Lowering &l, nv::FenceAsyncOp) {
  if (!l.target.hasTma())
    return success(); // no other proxy to be seen by
  l.b.CreateIntrinsic(l.b.getVoidTy(), llvm::Intrinsic::nvvm_fence_proxy_async_shared_cta, {});
  return success();
}
LogicalResult lowerNvBarrier(Lowering &l, nv::BarrierOp) { return l.barrier(), success(); }
LogicalResult lowerTileBarrier(Lowering &l, BarrierOp) { return l.barrier(), success(); }

//===- cp.async ------------------------------------------------------------------------===//

/// Masked-off elements are stored as zeros. A cp.async of 0 source bytes should write zeros, too;
/// but if CUDA 13.0's ptxas can see that the size is always 0, an H200 does not write shared
/// memory.
std::string storeZeros(unsigned bytes) {
  return bytes == 16  ? "@$1 st.shared.v4.b32 [$0], {0, 0, 0, 0};"
         : bytes == 8 ? "@$1 st.shared.v2.b32 [$0], {0, 0};"
                      : "@$1 st.shared.b32 [$0], 0;";
}

struct Piece {
  llvm::Value *address;
  Address from;
  llvm::Value *mask, *enable; ///< may be null: always
  unsigned bytes;
  llvm::Value *given = nullptr; ///< bytes that are copied, before zeros; null: all
};

/// How many of the bytes of a vector a mask gives that is true for its first elements only. `single`
/// elements have one mask value.
llvm::Value *givenBytes(Lowering &l, ValueList masks, int single, unsigned elementBytes) {
  llvm::Value *given = l.b.getInt32(0);
  for (size_t i = 0; i < masks.size(); i += single)
    given = l.b.CreateAdd(
        given, l.b.CreateSelect(masks[i], l.b.getInt32(single * elementBytes), l.b.getInt32(0)));
  return given;
}

/// Copies `piece` where its mask and enable hold.
void copyPiece(Lowering &l, const Piece &piece) {
  // 16-byte copies bypass L1 (cp.async.cg): nothing reads the data again there.
  const std::string copy =
      (llvm::Twine("cp.async.") + (piece.bytes == 16 ? "cg" : "ca") + ".shared.global [$0], " +
       piece.from.operand(1) + ", " + llvm::Twine(piece.bytes) + (piece.given ? ", $2" : ""))
          .str();
  Values operands{piece.address, piece.from.pointer};
  std::string constraints = "r,l", guard;
  if (piece.given) {
    operands.push_back(piece.given);
    constraints += ",r";
  }
  llvm::Value *when = piece.enable;
  if (piece.mask)
    when = when ? l.b.CreateAnd(when, piece.mask) : piece.mask;
  if (when) {
    guard = "@$" + std::to_string(operands.size()) + " ";
    operands.push_back(when);
    constraints += ",b";
  }
  l.assembly(l.b.getVoidTy(), guard + copy + ";", constraints, operands);
}

/// Each lane arrives when its copies are complete. That does not order the zeros that it has stored:
/// an arrival of its own does.
void completeOn(Lowering &l, nv::CopyAsyncOp op) {
  llvm::Value *barrier = l.sharedAddress(l.scalar(op.getBarrier()));
  for (StringRef arrive : {"cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];",
                           "mbarrier.arrive.shared::cta.b64 _, [$0];"})
    if (op.getMask() || arrive.starts_with("cp.async"))
      l.assembly(l.b.getVoidTy(), arrive, "r,~{memory}", {barrier});
}

LogicalResult lowerCopyAsync(Lowering &l, nv::CopyAsyncOp op) {
  const LinearLayout &layout = l.layout(op.getPtr().getType());
  const SharedLayout shared = sharedLayoutOf(op.getBuffer().getType());
  const unsigned bytes = op.getVectorBytes();
  const int width = bytes * 8 / shared.elementBits();
  ValueList ptrs = l.get(op.getPtr());
  const auto addresses =
      sharedAddresses(l, op.getPtr(), op.getMask(), width, InstructionSet::copyReach);
  ValueList masks = op.getMask() ? l.get(op.getMask()) : ValueList();
  Values offsets = l.sharedOffsets(l.scalar(op.getBuffer()), shared, layout);
  const unsigned replicas = layout.freeBits().reg;
  // Of several threads with the same elements, only one may write.
  llvm::Value *enable = op.getEnable() ? l.scalar(op.getEnable()) : nullptr;
  if (llvm::Value *chosen = l.firstReplica(op.getPtr().getType()))
    enable = enable ? l.b.CreateAnd(enable, chosen) : chosen;
  // All copies first: ptxas makes a copy wait for a store before it.
  llvm::SmallVector<Piece> unfilled;
  const Values inside = l.inside(op.getPtr().getType());
  const int64_t run = op.getRun().value_or(1);
  const int64_t alike =
      masks.empty() ? width : l.axisInfo().of(op.getMask()).runOfEquals(layout.fastestDim());
  const int single =
      static_cast<int>(std::min<int64_t>(width, alike)); // elements with one mask value
  for (size_t i = 0; i < ptrs.size(); i += width) {
    if (i & replicas || !offsets[i] || layout.apply(static_cast<int>(i), 0, 0).front() % run != 0)
      continue;
    Piece piece{l.sharedAddress(offsets[i]), addresses[i / width],
                masks.empty() ? nullptr : masks[i], l.masked(enable, inside[i]), bytes};
    if (piece.mask && single < width)
      piece.given = givenBytes(l, masks.slice(i, width), single, shared.elementBits() / 8);
    if (!op->hasAttr(names::onlyZeros))
      copyPiece(l, piece);
    if (piece.mask && !op->hasAttr(names::keepsZeros))
      unfilled.push_back(piece);
  }
  for (const Piece &piece : unfilled) {
    llvm::Value *off = l.b.CreateNot(piece.mask);
    l.assembly(l.b.getVoidTy(), storeZeros(bytes), "r,b",
               {piece.address, piece.enable ? l.b.CreateAnd(piece.enable, off) : off});
  }
  if (op.getBarrier())
    completeOn(l, op);
  return success();
}

//===- registers from shared memory ----------------------------------------------------===//

/// The bases of where runs begin.
LinearLayout::Bases startsOfRuns(nv::LocalLoadOp op, LinearLayout::Bases bases) {
  for (LinearLayout::Coord &basis : bases)
    for (auto [along, run] : llvm::zip_equal(basis, *op.getRuns()))
      along &= ~static_cast<int32_t>(run - 1);
  return bases;
}

/// Loads the registers of a thread that differ, each once, and of a run of equal elements the first.
Values loadRuns(Lowering &l, nv::LocalLoadOp op, const LinearLayout &layout, ValueList inside) {
  if (!op.getRuns())
    return loadTile(l, l.scalar(op.getBuffer()), sharedLayoutOf(op.getBuffer().getType()), layout,
                    l.type(elementTypeOf(op.getType())), inside);
  LinearLayout::Bases differing;
  unsigned kept = 0; // bits of the number of a register that such a basis belongs to
  for (auto [bit, basis] : llvm::enumerate(startsOfRuns(op, layout.reg())))
    if (llvm::any_of(basis, [](int32_t along) { return along != 0; }))
      differing.push_back(basis), kept |= 1U << bit;
  const LinearLayout few(layout.shape(), differing, startsOfRuns(op, layout.lane()),
                         startsOfRuns(op, layout.warp()), layout.numWarps());
  Values insideFew;
  for (auto [reg, isInside] : llvm::enumerate(inside))
    if ((reg & ~kept) == 0)
      insideFew.push_back(isInside);
  Values loaded = loadTile(l, l.scalar(op.getBuffer()), sharedLayoutOf(op.getBuffer().getType()),
                           few, l.type(elementTypeOf(op.getType())), insideFew);
  Values all(layout.numRegs());
  size_t next = 0;
  for (unsigned reg = 0; reg < all.size(); ++reg)
    all[reg] = reg & ~kept ? all[reg & kept] : loaded[next++];
  return all;
}

LogicalResult lowerLocalLoad(Lowering &l, nv::LocalLoadOp op) {
  const LinearLayout &layout = l.layout(op.getResult().getType());
  // Elements outside the shape are loaded from the buffer's start.
  l.set(op.getResult(), loadRuns(l, op, layout, l.inside(op.getResult().getType())));
  return success();
}

//===- tf32 ----------------------------------------------------------------------------===//

/// A number whose upper bits, the only ones that MMAs read, are those of the nearest tf32, ties
/// away from zero. cvt.rna.tf32.f32 also clears the lower bits, which takes a third instruction.
llvm::Value *roundedToTf32(Lowering &l, llvm::Value *number) {
  return l.assembly(l.b.getFloatTy(),
                    "{ .reg .pred p; .reg .f32 a; .reg .b32 n; abs.f32 a, $1; "
                    "setp.geu.f32 p, a, 0f7F800000; mov.b32 n, $1; @!p add.u32 n, n, 4096; "
                    "mov.b32 $0, n; }",
                    "=f,f", {number}, /*pure=*/true);
}

LogicalResult lowerRoundTf32(Lowering &l, nv::RoundTf32Op op) {
  l.set(op.getResult(), llvm::map_to_vector<8>(l.get(op.getSrc()), [&](llvm::Value *number) {
          return roundedToTf32(l, number);
        }));
  return success();
}

/// Rounds 16 bytes per thread at a time, in memory order: the position of an element is irrelevant.
LogicalResult lowerRoundBuffer(Lowering &l, nv::RoundBufferOp op) {
  const int64_t vectorBytes = InstructionSet::vectorBytes,
                warpThreads = InstructionSet::warpThreads,
                vectors = op.getBuffer().getType().getStageBytes() / vectorBytes,
                threads = warpThreads * moduleInt(op, names::numWarps, 4),
                busy = std::min<int64_t>(llvm::PowerOf2Ceil(vectors), threads);
  LinearLayout::FreeBits idle; // none if all threads are busy
  if (busy < threads) {
    idle.lane = (warpThreads - 1) & ~(busy - 1);
    idle.warp = l.warpMask() & (~(busy - 1) >> llvm::Log2_64(warpThreads));
  }
  auto *vector = llvm::FixedVectorType::get(l.b.getFloatTy(), vectorBytes / 4);
  l.inFirstThreads(idle, [&] {
    llvm::Value *own = l.b.CreateAdd(l.scalar(op.getBuffer()),
                                     l.b.CreateMul(l.thread(), l.b.getInt32(vectorBytes)));
    for (int64_t i = 0; i < vectors; i += threads) {
      const bool isWhole = i + busy <= vectors;
      const When when(l,
                      isWhole ? nullptr : l.b.CreateICmpULT(l.thread(), l.b.getInt32(vectors - i)));
      llvm::Value *place = l.sharedPointer(l.b.CreateAdd(own, l.b.getInt32(i * vectorBytes)));
      llvm::Value *numbers = l.b.CreateAlignedLoad(vector, place, llvm::Align(vectorBytes));
      for (int at = 0; at < vectorBytes / 4; ++at)
        numbers = l.b.CreateInsertElement(
            numbers, roundedToTf32(l, l.b.CreateExtractElement(numbers, at)), at);
      l.b.CreateAlignedStore(numbers, place, llvm::Align(vectorBytes));
    }
  });
  return success();
}

LogicalResult lowerLocalStore(Lowering &l, nv::LocalStoreOp op) {
  const LinearLayout &layout = l.layout(op.getValue().getType());
  const SharedLayout shared = sharedLayoutOf(op.getBuffer().getType());
  l.inFirstThreads(layout.freeBits(), [&] {
    storeTile(l, l.get(op.getValue()), l.scalar(op.getBuffer()), shared, layout,
              l.inside(op.getValue().getType()));
  });
  return success();
}
} // namespace

void lower::addShared(Handlers &h) {
  h.add<nv::AllocOp>(lowerBuffer<nv::AllocOp>);
  h.add<nv::ChannelOp>(lowerBuffer<nv::ChannelOp>);
  h.add<nv::DeallocOp>(lowerDealloc);
  h.add<nv::SelectStageOp>(lowerSelectStage);
  h.add<nv::BufferTransOp>(lowerBufferTrans);
  h.add<nv::CommitOp>(lowerCommit);
  h.add<nv::WaitOp>(lowerWait);
  h.add<nv::FenceAsyncOp>(lowerFence);
  h.add<nv::BarrierOp>(lowerNvBarrier);
  h.add<BarrierOp>(lowerTileBarrier);
  h.add<nv::CopyAsyncOp>(lowerCopyAsync);
  h.add<nv::LocalLoadOp>(lowerLocalLoad);
  h.add<nv::LocalStoreOp>(lowerLocalStore);
  h.add<nv::RoundTf32Op>(lowerRoundTf32);
  h.add<nv::RoundBufferOp>(lowerRoundBuffer);
}
