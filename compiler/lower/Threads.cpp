//===- Threads.cpp - coordinates and shared-memory addresses of a thread --------------------===//
// Needs: maps that are linear over F2: XOR of one number per set bit of lane and warp.
// Gives: the members of Lowering that compute them.
// How:   Lane bits that are shifted by the same distance are masked and shifted together, so a
//        swizzled address takes two or three terms, not one per bit.
//===-----------------------------------------------------------------------------------===//
#include "lower/When.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
int64_t bitsOf(ArrayRef<int64_t> parts) {
  int64_t bits = 0;
  for (int64_t part : parts)
    bits |= part;
  return bits;
}

/// Adds the terms of one operand to `sum`; `used` are the bits that `sum` may already have.
void addTerms(llvm::IRBuilder<> &b, llvm::Value *operand, ArrayRef<int64_t> parts,
              llvm::Value *&sum, int64_t &used) {
  std::map<int, uint32_t> maskOfShift;
  for (auto [bit, part] : llvm::enumerate(parts))
    for (int out = 0; out < 32; ++out)
      if (part >> out & 1)
        maskOfShift[out - static_cast<int>(bit)] |= 1u << bit;
  for (auto [shift, mask] : maskOfShift) {
    llvm::Value *term = b.CreateAnd(operand, b.getInt32(mask));
    if (shift > 0)
      term = b.CreateShl(term, b.getInt32(shift), "", true, true);
    else if (shift < 0)
      term = b.CreateLShr(term, b.getInt32(-shift));
    const int64_t bits = shift >= 0 ? int64_t(mask) << shift : mask >> -shift;
    if (!sum)
      sum = term;
    else
      sum = used & bits ? b.CreateXor(sum, term) : b.CreateOr(sum, term, "", true);
    used |= bits;
  }
}

SmallVector<int64_t> column(const LinearLayout::Bases &bases, int dim) {
  return llvm::map_to_vector(bases, [dim](const auto &basis) { return int64_t(basis[dim]); });
}
} // namespace

llvm::Value *Lowering::uniformWarp() {
  if (!uniformWarpId)
    uniformWarpId = inEntry([&]() -> llvm::Value * {
      if (numWarps() == 1)
        return b.getInt32(0);
      return b.CreateIntrinsic(b.getInt32Ty(), llvm::Intrinsic::nvvm_shfl_sync_idx_i32,
                               {b.getInt32(-1), warpId, b.getInt32(0), b.getInt32(31)});
    });
  return uniformWarpId;
}

llvm::Value *Lowering::linear(ArrayRef<int64_t> ofLane, ArrayRef<int64_t> ofWarp, bool uniform) {
  std::vector<int64_t> key{uniform, int64_t(ofLane.size())};
  key.insert(key.end(), ofLane.begin(), ofLane.end());
  key.insert(key.end(), ofWarp.begin(), ofWarp.end());
  llvm::Value *warp = uniform ? uniformWarp() : warpId;
  llvm::Value *&slot = linearMaps[key];
  if (!slot)
    slot = inEntry([&]() -> llvm::Value * {
      llvm::Value *sum = nullptr;
      int64_t used = 0;
      addTerms(b, laneId, ofLane, sum, used);
      addTerms(b, warp, ofWarp, sum, used);
      return sum ? sum : b.getInt32(0);
    });
  return slot;
}

Values Lowering::xorConstants(llvm::Value *threadPart, int64_t threadBits,
                              ArrayRef<int64_t> constants) {
  std::map<int64_t, llvm::Value *> swizzled{{0, threadPart}};
  Values result;
  for (int64_t constant : constants) {
    llvm::Value *&base = swizzled[constant & threadBits];
    if (!base)
      base = b.CreateXor(threadPart, b.getInt32(constant & threadBits));
    const int64_t rest = constant & ~threadBits;
    result.push_back(rest ? b.CreateAdd(base, b.getInt32(rest), "", true, true) : base);
  }
  return result;
}

Values Lowering::coordinates(const LinearLayout &layout, int dim) {
  const auto ofLane = column(layout.lane(), dim), ofWarp = column(layout.warp(), dim);
  SmallVector<int64_t> constants;
  for (int reg = 0; reg < layout.numRegs(); ++reg)
    constants.push_back(layout.apply(reg, 0, 0)[dim]);
  return xorConstants(linear(ofLane, ofWarp), bitsOf(ofLane) | bitsOf(ofWarp), constants);
}

Values Lowering::inside(Type type) {
  if (!isa<RankedTensorType>(type))
    return {nullptr};
  const LinearLayout &own = layout(type);
  Values result(own.numRegs(), nullptr);
  if (!own.hasPartialRegs())
    return result;
  for (auto [dim, extent] : llvm::enumerate(own.shape())) {
    if (llvm::isPowerOf2_64(extent))
      continue;
    for (auto [reg, coordinate] : llvm::enumerate(coordinates(own, dim)))
      if (own.isPartial(reg) && own.isPresent(reg))
        result[reg] =
            masked(result[reg], b.CreateICmpULT(coordinate, b.getInt32(uint32_t(extent))));
  }
  return result;
}

llvm::Value *Lowering::masked(llvm::Value *mask, llvm::Value *isInside) {
  return mask && isInside ? b.CreateLogicalAnd(isInside, mask) : mask ? mask : isInside;
}

llvm::Value *Lowering::isFirstThread() {
  if (!first)
    first = inEntry([&] { return b.CreateICmpEQ(threadId, b.getInt32(0)); });
  return first;
}

llvm::Value *Lowering::isFirstProducer() {
  return b.CreateICmpEQ(thread(), b.getInt32(numThreads()));
}

llvm::Value *Lowering::firstReplica(Type type) {
  if (!isa<RankedTensorType>(type))
    return isFirstThread();
  const LinearLayout::FreeBits free = layout(type).freeBits();
  const uint32_t mask = free.lane | free.warp << 5;
  if (mask == 0)
    return nullptr;
  if (mask == (31 | warpMask() << 5))
    return isFirstThread();
  return inEntry(
      [&] { return b.CreateICmpEQ(b.CreateAnd(threadId, b.getInt32(mask)), b.getInt32(0)); });
}

void Lowering::inFirstThreads(const LinearLayout::FreeBits &free,
                              llvm::function_ref<void()> store) {
  const uint32_t mask = free.lane | free.warp << 5;
  if (mask == 0)
    return store();
  llvm::Value *isFirst = inEntry(
      [&] { return b.CreateICmpEQ(b.CreateAnd(threadId, b.getInt32(mask)), b.getInt32(0)); });
  llvm::LLVMContext &context = module.getContext();
  auto *inside = llvm::BasicBlock::Create(context, "first", function);
  auto *after = llvm::BasicBlock::Create(context, "stored", function);
  b.CreateCondBr(isFirst, inside, after);
  b.SetInsertPoint(inside);
  store();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

void Lowering::barrier() {
  if (producers > 0) {
    b.CreateIntrinsic(b.getVoidTy(), llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_count,
                      {b.getInt32(0), b.getInt32(numThreads())});
    return;
  }
  b.CreateIntrinsic(b.getVoidTy(), llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all,
                    {b.getInt32(0)});
}

void Lowering::warpBarrier() {
  b.CreateIntrinsic(b.getVoidTy(), llvm::Intrinsic::nvvm_bar_warp_sync, {b.getInt32(-1)});
}

//===- shared memory -------------------------------------------------------------------===//

llvm::Value *Lowering::sharedPointer(llvm::Value *offset) {
  return b.CreateInBoundsGEP(b.getInt8Ty(), shared, offset);
}

llvm::Value *Lowering::sharedAddress(llvm::Value *offset) {
  return b.CreatePtrToInt(sharedPointer(offset), b.getInt32Ty());
}

llvm::Value *Lowering::placed(llvm::Value *linear, int64_t bits, const SharedLayout &shared) {
  const int64_t distance = shared.panelDistance(), gap = shared.panelGap();
  if (gap == 0 || bits < distance)
    return linear;
  llvm::Value *panel = b.CreateLShr(linear, b.getInt32(llvm::Log2_64(distance)));
  return b.CreateSub(linear, b.CreateMul(panel, b.getInt32(gap), "", true, true), "", true, true);
}

Values Lowering::sharedOffsets(llvm::Value *base, ArrayRef<int64_t> ofLane,
                               ArrayRef<int64_t> ofWarp, ArrayRef<int64_t> ofReg,
                               const SharedLayout *shared) {
  const int64_t threadBits = bitsOf(ofLane) | bitsOf(ofWarp);
  llvm::Value *thread = linear(ofLane, ofWarp);
  // base + (thread ^ swizzle) is the same for all registers with the same swizzle; the rest of
  // their offset is a constant.
  std::map<int64_t, llvm::Value *> starts;
  Values result;
  for (int64_t constant : ofReg) {
    if (constant < 0) {
      result.push_back(nullptr);
      continue;
    }
    llvm::Value *&start = starts[constant & threadBits];
    if (!start) {
      start = b.CreateXor(thread, b.getInt32(constant & threadBits));
      if (shared)
        start = placed(start, threadBits, *shared);
      start = b.CreateAdd(start, base, "", true, true);
    }
    const int64_t linear = constant & ~threadBits, rest = shared ? shared->place(linear) : linear;
    result.push_back(rest ? b.CreateAdd(start, b.getInt32(rest), "", true, true) : start);
  }
  return result;
}

Values Lowering::sharedOffsets(llvm::Value *base, const SharedLayout &shared,
                               const LinearLayout &layout) {
  assert(shared.isLinear());
  auto offsets = [&](const LinearLayout::Bases &bases) {
    return llvm::map_to_vector(bases,
                               [&](const auto &basis) { return shared.linearOffset(basis); });
  };
  SmallVector<int64_t> ofReg;
  for (int reg = 0; reg < layout.numRegs(); ++reg)
    ofReg.push_back(layout.isPresent(reg) ? shared.linearOffset(layout.apply(reg, 0, 0)) : -1);
  return sharedOffsets(base, offsets(layout.lane()), offsets(layout.warp()), ofReg, &shared);
}

FailureOr<int64_t> Lowering::scratch(Operation *op) {
  if (auto offset = op->getAttrOfType<IntegerAttr>(names::scratch))
    return offset.getInt();
  return op->emitError("`") << op->getName().getStringRef()
                            << "` needs scratch memory, but has no `" << names::scratch << "`";
}

void Lowering::storeShared(ValueList values, unsigned bits, ValueList offsets, int vectorBytes,
                           ValueList inside) {
  const size_t width = std::max<int>(vectorBytes * 8 / bits, 1);
  for (size_t i = 0; i < values.size(); i += width) {
    if (!offsets[i])
      continue;
    llvm::Value *isInside = inside.empty() ? nullptr : inside[i];
    const When when(*this, isInside);
    Values words = pack(values.slice(i, width), bits);
    llvm::Value *vector = words[0];
    if (words.size() > 1) {
      vector =
          llvm::PoisonValue::get(llvm::FixedVectorType::get(words[0]->getType(), words.size()));
      for (auto [j, word] : llvm::enumerate(words))
        vector = b.CreateInsertElement(vector, word, j);
    }
    b.CreateAlignedStore(vector, sharedPointer(offsets[i]), llvm::Align(width * bits / 8));
  }
}

Values Lowering::loadShared(llvm::Type *elementType, unsigned bits, ValueList offsets,
                            int vectorBytes) {
  const int width = std::max<int>(vectorBytes * 8 / bits, 1);
  const unsigned word = wordBits(bits, width);
  const unsigned numWords = width * bits / word;
  llvm::Type *type = b.getIntNTy(word);
  if (numWords > 1)
    type = llvm::FixedVectorType::get(type, numWords);
  Values result;
  for (size_t i = 0; i < offsets.size(); i += width) {
    if (!offsets[i]) {
      result.append(width, llvm::PoisonValue::get(elementType));
      continue;
    }
    llvm::Value *vector =
        b.CreateAlignedLoad(type, sharedPointer(offsets[i]), llvm::Align(width * bits / 8));
    Values words;
    for (unsigned j = 0; j < numWords; ++j)
      words.push_back(numWords > 1 ? b.CreateExtractElement(vector, j) : vector);
    result.append(unpack(words, elementType, bits, width));
  }
  return result;
}
