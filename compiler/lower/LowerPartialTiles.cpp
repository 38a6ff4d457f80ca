//===- LowerPartialTiles.cpp - stream-K: exchange of partial tiles --------------------------===//
// Needs: the two scratch pointers that the launch passes (ir/WorkSplit.h).
// Gives: nv.work_range, nv.store_partial, nv.await_partials, nv.load_partial, nv.helper_warp.
// How:   Each thread stores its registers to the workspace in vectors of 16 bytes, the same vector
//        of all threads contiguously. The reducing CTA has the same layout, so every access is
//        coalesced.
//        Threads that have stored arrive at a barrier and continue. The helper warp waits at that
//        barrier; its first lane then releases the CTA's flag. The helper warp of the reducing CTA
//        acquires the flag, resets it for the next launch, and arrives at a second barrier, where
//        the threads that load the partial tile wait. The two barriers and the release and acquire
//        of the flag order the stores before the loads (PTX ISA, "Memory Consistency Model").
//===-----------------------------------------------------------------------------------===//
#include "lower/Lowering.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "support/MachineModel.h"
#include "support/WorkSplit.h"
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

llvm::Value *ctaId(Lowering &l) {
  return l.b.CreateIntrinsic(l.b.getInt32Ty(), llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {});
}

/// The address of a CTA's flag, as a 64-bit integer.
llvm::Value *flagOf(Lowering &l, Operation *op, llvm::Value *cta) {
  llvm::Value *number = l.b.CreateMul(cta, l.b.getInt32(wordsOfFlag));
  llvm::Value *place =
      l.b.CreateGEP(l.b.getInt32Ty(), workspace(l, op), l.b.CreateZExt(number, l.b.getInt64Ty()));
  return l.b.CreatePtrToInt(place, l.b.getInt64Ty());
}

/// A partial tile in the workspace, as vectors of registers.
class PartialTile {
public:
  PartialTile(Lowering &l, Operation *op, llvm::Value *cta, Type tile)
      : l(l), element(l.type(elementTypeOf(tile))), registers(l.count(tile)) {
    constexpr int64_t bytesOfVector = InstructionSet::vectorBytes;
    const int inVector = static_cast<int>(bytesOfVector * 8 / storageBits(elementTypeOf(tile)));
    length = registers % inVector == 0 ? inVector : 1;
    llvm::Value *number = l.b.CreateZExt(cta, l.b.getInt64Ty());
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

LogicalResult lowerWorkRange(Lowering &l, nv::WorkRangeOp op) {
  llvm::Value *range = l.b.CreatePtrToInt(scratchPointer(l, op, 1), l.b.getInt64Ty());
  llvm::Value *low = l.b.CreateTrunc(range, l.b.getInt32Ty());
  llvm::Value *high = l.b.CreateTrunc(l.b.CreateLShr(range, 32), l.b.getInt32Ty());
  l.set(op.getCycles(), l.b.CreateAnd(low, l.b.getInt32(0xffff)));
  l.set(op.getCtas(), l.b.CreateLShr(low, l.b.getInt32(16)));
  l.set(op.getPrograms(), high);
  return success();
}

/// Named barriers of the helper warp and the consumer warps.
constexpr int writtenBarrier = 4, readableBarrier = 5;

void helperWarpBarrier(Lowering &l, StringRef instruction, int barrier,
                       llvm::Value *enable = nullptr) {
  const std::string asmString =
      (Twine(enable ? "@$0 " : "") + "barrier.cta." + instruction + ".aligned " + Twine(barrier) +
       ", " + Twine(l.numThreads() + 32) + ";")
          .str();
  Values operands;
  if (enable)
    operands.push_back(enable);
  l.assembly(l.b.getVoidTy(), asmString, enable ? "b,~{memory}" : "~{memory}", operands);
}

LogicalResult lowerStorePartial(Lowering &l, nv::StorePartialOp op) {
  PartialTile(l, op, ctaId(l), op.getValue().getType()).store(l.get(op.getValue()));
  helperWarpBarrier(l, "arrive", writtenBarrier);
  return success();
}

LogicalResult lowerAwaitPartials(Lowering &l, nv::AwaitPartialsOp op) {
  helperWarpBarrier(l, "sync", readableBarrier, l.scalar(op.getEnable()));
  return success();
}

/// Runs `body` where `condition` holds.
void runIf(Lowering &l, llvm::Value *condition, llvm::function_ref<void()> body) {
  llvm::LLVMContext &context = l.module.getContext();
  auto *inside = llvm::BasicBlock::Create(context, "inside", l.function);
  auto *after = llvm::BasicBlock::Create(context, "after", l.function);
  l.b.CreateCondBr(condition, inside, after);
  l.b.SetInsertPoint(inside);
  body();
  l.b.CreateBr(after);
  l.b.SetInsertPoint(after);
}

/// The result of `load` where `enable` holds, else poison.
Values loadIf(Lowering &l, llvm::Value *enable, llvm::function_ref<Values()> load) {
  llvm::BasicBlock *before = l.b.GetInsertBlock(), *loading = nullptr;
  Values values;
  runIf(l, enable, [&] {
    values = load();
    loading = l.b.GetInsertBlock();
  });
  for (llvm::Value *&value : values) {
    llvm::PHINode *either = l.b.CreatePHI(value->getType(), 2);
    either->addIncoming(value, loading);
    either->addIncoming(llvm::PoisonValue::get(value->getType()), before);
    value = either;
  }
  return values;
}

LogicalResult lowerLoadPartial(Lowering &l, nv::LoadPartialOp op) {
  PartialTile partial(l, op, l.scalar(op.getFrom()), op.getType());
  auto load = [&] { return partial.load(); };
  l.set(op, op.getEnable() ? loadIf(l, l.scalar(op.getEnable()), load) : load());
  return success();
}

//===- the helper warp ---------------------------------------------------------------------===//

void publishPartial(Lowering &l, nv::HelperWarpOp op) {
  helperWarpBarrier(l, "sync", writtenBarrier);
  runIf(l, l.b.CreateICmpEQ(l.lane(), l.b.getInt32(0)), [&] {
    l.assembly(l.b.getVoidTy(), "st.release.gpu.global.u32 [$0], 1;", "l,~{memory}",
               {flagOf(l, op, l.scalar(op.getCta()))});
  });
  l.warpBarrier();
}

void waitForFlag(Lowering &l, llvm::Value *flag) {
  auto *spin = l.newBlock("spin");
  auto *ready = l.newBlock("ready");
  l.b.CreateBr(spin);
  l.b.SetInsertPoint(spin);
  llvm::Value *seen =
      l.assembly(l.b.getInt32Ty(), "ld.acquire.gpu.global.u32 $0, [$1];", "=r,l,~{memory}", {flag});
  l.b.CreateCondBr(l.b.CreateIsNull(seen), spin, ready);
  l.b.SetInsertPoint(ready);
  l.assembly(l.b.getVoidTy(), "st.relaxed.gpu.global.u32 [$0], 0;", "l,~{memory}", {flag});
}

/// Waits for one flag after another, in the first lane; there is at least one.
void waitForPartials(Lowering &l, nv::HelperWarpOp op) {
  runIf(l, l.b.CreateICmpEQ(l.lane(), l.b.getInt32(0)), [&] {
    llvm::BasicBlock *before = l.b.GetInsertBlock();
    auto *next = l.newBlock("next");
    auto *all = l.newBlock("all");
    l.b.CreateBr(next);
    l.b.SetInsertPoint(next);
    llvm::PHINode *from = l.b.CreatePHI(l.b.getInt32Ty(), 2);
    from->addIncoming(l.scalar(op.getFirst()), before);
    waitForFlag(l, flagOf(l, op, from));
    llvm::Value *following = l.b.CreateAdd(from, l.scalar(op.getStep()));
    from->addIncoming(following, l.b.GetInsertBlock());
    l.b.CreateCondBr(l.b.CreateICmpSLT(following, l.scalar(op.getCta())), next, all);
    l.b.SetInsertPoint(all);
  });
  l.warpBarrier();
  helperWarpBarrier(l, "arrive", readableBarrier);
}

LogicalResult lowerHelperWarp(Lowering &l, nv::HelperWarpOp op) {
  auto *helper = l.newBlock("helper");
  auto *producer = l.newBlock("producer");
  l.b.CreateCondBr(l.b.CreateICmpEQ(l.thread(), l.b.getInt32(l.numThreads())), producer, helper);
  l.b.SetInsertPoint(helper);
  runIf(l, l.scalar(op.getStores()), [&] { publishPartial(l, op); });
  runIf(l, l.b.CreateICmpSLT(l.scalar(op.getFirst()), l.scalar(op.getCta())),
        [&] { waitForPartials(l, op); });
  l.b.CreateRetVoid();
  l.b.SetInsertPoint(producer);
  return success();
}
} // namespace

void lower::addPartialTiles(Handlers &h) {
  h.add<nv::WorkRangeOp>(lowerWorkRange);
  h.add<nv::StorePartialOp>(lowerStorePartial);
  h.add<nv::AwaitPartialsOp>(lowerAwaitPartials);
  h.add<nv::LoadPartialOp>(lowerLoadPartial);
  h.add<nv::HelperWarpOp>(lowerHelperWarp);
}
