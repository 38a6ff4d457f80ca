//===- LowerParts.cpp - sums that several blocks make together ------------------------------===//
// Needs: what the launch passes as the two scratch pointers (ir/SplitPrograms.h).
// Gives: nv.cut, nv.put_part, nv.add_part.
// How:   each thread writes its own registers in vectors of 16 bytes, thread by thread within a
//        vector's number: the block that adds up has the same layout, so every access is coalesced
//        and a warp needs the same warp of the other block alone. When its lanes have written, the
//        first one releases the warp's flag; that of the other warp acquires it, sets it back for
//        the next launch, and lets the others read (PTX ISA, "Memory Consistency Model": where
//        lanes meet and the two accesses to the flag order the writes before the reads).
//===-----------------------------------------------------------------------------------===//
#include "ir/SplitPrograms.h"
#include "lower/Lowering.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {

/// One of the two scratch pointers.
llvm::Value *scratchPointer(Lowering &l, Operation *op, unsigned which) {
  return l.function->getArg(op->getParentOfType<func::FuncOp>().getNumArguments() + which);
}

llvm::Value *workspace(Lowering &l, Operation *op) { return scratchPointer(l, op, 0); }

llvm::Value *blockId(Lowering &l) {
  return l.b.CreateIntrinsic(l.b.getInt32Ty(), llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {});
}

/// Of this warp in `block`, as a 64-bit address.
llvm::Value *flagOf(Lowering &l, Operation *op, llvm::Value *block) {
  llvm::Value *number =
      l.b.CreateAdd(l.b.CreateMul(block, l.b.getInt32(flagsOfBlock)), l.uniformWarp());
  llvm::Value *place =
      l.b.CreateGEP(l.b.getInt32Ty(), workspace(l, op), l.b.CreateZExt(number, l.b.getInt64Ty()));
  return l.b.CreatePtrToInt(place, l.b.getInt64Ty());
}

/// Where registers of a tile wait, as vectors.
class Part {
public:
  Part(Lowering &l, Operation *op, llvm::Value *block, Type tile)
      : l(l), element(l.type(elementTypeOf(tile))), registers(l.count(tile)) {
    constexpr int bytesOfVector = 16;
    const int inVector = bytesOfVector * 8 / static_cast<int>(storageBits(elementTypeOf(tile)));
    length = registers % inVector == 0 ? inVector : 1;
    llvm::Value *number = l.b.CreateZExt(block, l.b.getInt64Ty());
    const int64_t bytes = int64_t(registers) * bytesOfVector / inVector * l.numThreads();
    llvm::Value *offset =
        l.b.CreateAdd(l.b.CreateMul(number, l.b.getInt64(static_cast<uint64_t>(bytes))),
                      l.b.getInt64(static_cast<uint64_t>(splitFlagBytes)));
    llvm::Value *base = l.b.CreateGEP(l.b.getInt8Ty(), workspace(l, op), offset);
    own = l.b.CreateGEP(type(), base, l.b.CreateZExt(l.thread(), l.b.getInt64Ty()));
  }

  int vectors() const { return registers / length; }

  void store(ValueList values) {
    for (int vector = 0; vector < vectors(); ++vector) {
      llvm::Value *packed = llvm::PoisonValue::get(type());
      for (int i = 0; i < length; ++i)
        packed = l.b.CreateInsertElement(packed, values[vector * length + i], uint64_t(i));
      l.b.CreateAlignedStore(packed, place(vector), alignment());
    }
  }

  Values load() {
    Values values;
    for (int vector = 0; vector < vectors(); ++vector) {
      llvm::Value *packed = l.b.CreateAlignedLoad(type(), place(vector), alignment());
      for (int i = 0; i < length; ++i)
        values.push_back(l.b.CreateExtractElement(packed, uint64_t(i)));
    }
    return values;
  }

private:
  llvm::FixedVectorType *type() const {
    return llvm::FixedVectorType::get(element, static_cast<unsigned>(length));
  }
  llvm::Align alignment() const { return llvm::Align(length == 1 ? 4 : 16); }
  llvm::Value *place(int vector) {
    return l.b.CreateGEP(type(), own, l.b.getInt64(static_cast<uint64_t>(vector) * l.numThreads()));
  }

  Lowering &l;
  llvm::Type *element;
  int registers, length;
  llvm::Value *own;
};

/// Runs `body` in the first lane only.
void inFirstLane(Lowering &l, llvm::function_ref<void()> body) {
  llvm::LLVMContext &context = l.module.getContext();
  auto *first = llvm::BasicBlock::Create(context, "first", l.function);
  auto *all = llvm::BasicBlock::Create(context, "all", l.function);
  l.b.CreateCondBr(l.b.CreateICmpEQ(l.lane(), l.b.getInt32(0)), first, all);
  l.b.SetInsertPoint(first);
  body();
  l.b.CreateBr(all);
  l.b.SetInsertPoint(all);
}

void meetWarp(Lowering &l) {
  l.b.CreateIntrinsic(l.b.getVoidTy(), llvm::Intrinsic::nvvm_bar_warp_sync, {l.b.getInt32(-1)});
}

LogicalResult lowerCut(Lowering &l, nv::CutOp op) {
  llvm::Value *cut = l.b.CreatePtrToInt(scratchPointer(l, op, 1), l.b.getInt64Ty());
  llvm::Value *low = l.b.CreateTrunc(cut, l.b.getInt32Ty());
  llvm::Value *high = l.b.CreateTrunc(l.b.CreateLShr(cut, 32), l.b.getInt32Ty());
  l.set(op.getCycles(), l.b.CreateAnd(low, l.b.getInt32(0xffff)));
  l.set(op.getBlocks(), l.b.CreateLShr(low, l.b.getInt32(16)));
  l.set(op.getPrograms(), high);
  return success();
}

LogicalResult lowerPutPart(Lowering &l, nv::PutPartOp op) {
  llvm::Value *own = blockId(l);
  Part(l, op, own, op.getValue().getType()).store(l.get(op.getValue()));
  meetWarp(l);
  inFirstLane(l, [&] {
    l.assembly(l.b.getVoidTy(), "st.release.gpu.global.u32 [$0], 1;", "l,~{memory}",
               {flagOf(l, op, own)});
  });
  return success();
}

void waitForFlag(Lowering &l, llvm::Value *flag) {
  auto *spin = llvm::BasicBlock::Create(l.module.getContext(), "spin", l.function);
  auto *ready = llvm::BasicBlock::Create(l.module.getContext(), "ready", l.function);
  l.b.CreateBr(spin);
  l.b.SetInsertPoint(spin);
  llvm::Value *seen =
      l.assembly(l.b.getInt32Ty(), "ld.acquire.gpu.global.u32 $0, [$1];", "=r,l,~{memory}", {flag});
  l.b.CreateCondBr(l.b.CreateIsNull(seen), spin, ready);
  l.b.SetInsertPoint(ready);
  l.assembly(l.b.getVoidTy(), "st.relaxed.gpu.global.u32 [$0], 0;", "l,~{memory}", {flag});
}

LogicalResult lowerAddPart(Lowering &l, nv::AddPartOp op) {
  llvm::Value *from = l.scalar(op.getFrom());
  llvm::Value *flag = flagOf(l, op, from);
  inFirstLane(l, [&] { waitForFlag(l, flag); });
  meetWarp(l);
  Values sums = Part(l, op, from, op.getSum().getType()).load();
  const bool isFloat = isa<FloatType>(elementTypeOf(op.getSum().getType()));
  for (auto [sum, before] : llvm::zip_equal(sums, l.get(op.getSum())))
    sum = isFloat ? l.b.CreateFAdd(before, sum) : l.b.CreateAdd(before, sum);
  l.set(op, sums);
  return success();
}
} // namespace

void lower::addParts(Handlers &h) {
  h.add<nv::CutOp>(lowerCut);
  h.add<nv::PutPartOp>(lowerPutPart);
  h.add<nv::AddPartOp>(lowerAddPart);
}
