//===- LowerShared.cpp - shared buffers, asynchronous copies and barriers ---------------------===//
// Needs: buffers with offsets.
// Gives: a buffer is its byte offset from `@shared`.
// How:   all offsets are linear over F2 up to the buffer's start, so a thread's part is computed
//        once and registers differ by constants. ldmatrix is found by the shape of the layout:
//        four lanes side by side, eight below one another.
//===-----------------------------------------------------------------------------------===//
#include "lower/Lowering.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
using Coord = LinearLayout::Coord;

LogicalResult lowerAlloc(Lowering &l, nv::AllocOp op) {
  if (!op.getOffset())
    return op.emitError("a buffer without an offset: `nv-allocate-shared` has not run");
  l.set(op.getBuffer(), l.b.getInt32(*op.getOffset()));
  return success();
}
LogicalResult lowerDealloc(Lowering &, nv::DeallocOp) { return success(); }

LogicalResult lowerSlot(Lowering &l, nv::SlotOp op) {
  const int64_t bytes = op.getBuffer().getType().getSlotBytes();
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

LogicalResult lowerCopyAsync(Lowering &l, nv::CopyAsyncOp op) {
  const LinearLayout &layout = l.layout(op.getPtr().getType());
  const SharedLayout shared = sharedLayoutOf(op.getBuffer().getType());
  const unsigned bytes = op.getVectorBytes();
  const int width = bytes * 8 / shared.elementBits();
  ValueList ptrs = l.get(op.getPtr());
  ValueList masks = op.getMask() ? l.get(op.getMask()) : ValueList();
  Values offsets = l.sharedOffsets(l.scalar(op.getBuffer()), shared, layout);
  llvm::Value *enable = op.getEnable() ? l.scalar(op.getEnable()) : nullptr;
  if (llvm::Value *chosen = l.firstReplica(op.getPtr().getType()))
    enable = enable ? l.b.CreateAnd(enable, chosen) : chosen;
  const unsigned replicas = layout.freeBits().reg;
  // Past the first level cache where whole sectors are copied: nothing reads them again there.
  const std::string copy = std::string("cp.async.") + (bytes == 16 ? "cg" : "ca") +
                           ".shared.global [$0], [$1], " + std::to_string(bytes);
  for (size_t i = 0; i < ptrs.size(); i += width) {
    if (i & replicas)
      continue;
    Values operands{l.sharedAddress(offsets[i]), ptrs[i]};
    std::string text = copy, constraints = "r,l", predicate;
    if (!masks.empty()) {
      operands.push_back(l.b.CreateSelect(masks[i], l.b.getInt32(bytes), l.b.getInt32(0)));
      text += ", $2";
      constraints += ",r";
    }
    if (enable) {
      predicate = "@$" + std::to_string(operands.size()) + " ";
      operands.push_back(enable);
      constraints += ",b";
    }
    l.assembly(l.b.getVoidTy(), predicate + text + ";", constraints, operands);
  }
  return success();
}

//===- registers from shared memory ----------------------------------------------------===//

/// What ldmatrix needs to know of a layout.
struct MatrixLoad {
  bool transposed;
  int wordRegs; // registers in one 32-bit word
  int matrices; // 1, 2 or 4 of 8x8 words an instruction
  int rowDim;   // the dimension that the eight rows of 16 bytes run along
};

/// Eight rows of four words: lanes 0-3 side by side along one dimension, the other lane bits along
/// another. Transposed: memory runs along the other one, which needs elements of 16 bits.
std::optional<MatrixLoad> findMatrixLoad(const LinearLayout &layout, const SharedLayout &shared,
                                         const Target &target) {
  const int bits = shared.elementBits();
  if (!target.hasLdmatrix() || bits > 32 || bits < 8 || layout.rank() != 2 ||
      layout.lane().size() != 5 || shared.rowBytes() < 16)
    return std::nullopt;
  const size_t inWord = llvm::Log2_32(32 / bits);
  if (layout.reg().size() < inWord)
    return std::nullopt;
  auto unit = [](int dim, int32_t step) { return dim == 0 ? Coord{step, 0} : Coord{0, step}; };
  for (int along : {0, 1}) {
    const int other = 1 - along;
    bool fits = true;
    for (size_t i = 0; i < inWord; ++i)
      fits &= layout.reg()[i] == unit(along, 1 << i);
    for (int i = 0; i < 2; ++i)
      fits &= layout.lane()[i] == unit(along, 1 << (inWord + i));
    for (int i = 0; i < 3; ++i)
      fits &= layout.lane()[2 + i] == unit(other, 1 << i);
    const bool transposed = shared.order()[0] == other;
    if (!fits || (transposed && bits != 16))
      continue;
    const int matrices = 1 << std::min<size_t>(layout.reg().size() - inWord, 2);
    return MatrixLoad{transposed, 1 << inWord, matrices, transposed ? along : other};
  }
  return std::nullopt;
}

llvm::Intrinsic::ID matrixIntrinsic(const MatrixLoad &plan) {
  using namespace llvm;
  switch (plan.matrices) {
  case 1:
    return plan.transposed ? Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x1_trans_b16
                           : Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x1_b16;
  case 2:
    return plan.transposed ? Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_trans_b16
                           : Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_b16;
  default:
    return plan.transposed ? Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16
                           : Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16;
  }
}

/// Lane 8*j + i gives the address of row i of matrix j; matrices are told apart by the register
/// bits above a word.
Values loadMatrices(Lowering &l, const MatrixLoad &plan, llvm::Value *base,
                    const SharedLayout &shared, const LinearLayout &layout,
                    llvm::Type *elementType) {
  const size_t inWord = llvm::Log2_32(plan.wordRegs), inMatrix = llvm::Log2_32(plan.matrices);
  SmallVector<int64_t> ofLane, ofWarp, ofReg;
  for (int i = 0; i < 3; ++i) {
    Coord row(2, 0);
    row[plan.rowDim] = 1 << i;
    ofLane.push_back(shared.offset(row));
  }
  for (size_t j = 0; j < inMatrix; ++j)
    ofLane.push_back(shared.offset(layout.reg()[inWord + j]));
  for (const auto &basis : layout.warp())
    ofWarp.push_back(shared.offset(basis));
  const int step = plan.wordRegs * plan.matrices;
  for (int reg = 0; reg < layout.numRegs(); reg += step)
    ofReg.push_back(shared.offset(layout.apply(reg, 0, 0)));
  llvm::Type *word = l.b.getInt32Ty();
  llvm::Type *type =
      plan.matrices == 1
          ? word
          : llvm::StructType::get(l.module.getContext(),
                                  llvm::SmallVector<llvm::Type *>(plan.matrices, word));
  Values result;
  for (llvm::Value *offset : l.sharedOffsets(base, ofLane, ofWarp, ofReg)) {
    llvm::Value *loaded =
        l.b.CreateIntrinsic(type, matrixIntrinsic(plan), {l.sharedPointer(offset)});
    result.append(
        l.unpack(l.results(loaded, plan.matrices), elementType, shared.elementBits(), step));
  }
  return result;
}

LogicalResult lowerLocalLoad(Lowering &l, nv::LocalLoadOp op) {
  const LinearLayout &layout = l.layout(op.getResult().getType());
  const SharedLayout shared = sharedLayoutOf(op.getBuffer().getType());
  llvm::Type *type = l.type(elementTypeOf(op.getResult().getType()));
  llvm::Value *base = l.scalar(op.getBuffer());
  if (auto plan = findMatrixLoad(layout, shared, l.target)) {
    l.set(op.getResult(), loadMatrices(l, *plan, base, shared, layout, type));
    return success();
  }
  Values offsets = l.sharedOffsets(base, shared, layout);
  l.set(op.getResult(),
        l.loadShared(type, shared.elementBits(), offsets, shared.vectorBytes(layout)));
  return success();
}

LogicalResult lowerLocalStore(Lowering &l, nv::LocalStoreOp op) {
  const LinearLayout &layout = l.layout(op.getValue().getType());
  const SharedLayout shared = sharedLayoutOf(op.getBuffer().getType());
  Values offsets = l.sharedOffsets(l.scalar(op.getBuffer()), shared, layout);
  l.storeShared(l.get(op.getValue()), shared.elementBits(), offsets, shared.vectorBytes(layout));
  return success();
}
} // namespace

void lower::addShared(Handlers &h) {
  h.add<nv::AllocOp>(lowerAlloc);
  h.add<nv::DeallocOp>(lowerDealloc);
  h.add<nv::SlotOp>(lowerSlot);
  h.add<nv::BufferTransOp>(lowerBufferTrans);
  h.add<nv::CommitOp>(lowerCommit);
  h.add<nv::WaitOp>(lowerWait);
  h.add<nv::FenceAsyncOp>(lowerFence);
  h.add<nv::BarrierOp>(lowerNvBarrier);
  h.add<BarrierOp>(lowerTileBarrier);
  h.add<nv::CopyAsyncOp>(lowerCopyAsync);
  h.add<nv::LocalLoadOp>(lowerLocalLoad);
  h.add<nv::LocalStoreOp>(lowerLocalStore);
}
