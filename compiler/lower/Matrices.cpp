//===- Matrices.cpp - whole tiles between registers and shared memory -----------------------===//
// Needs: shared layouts without padding.
// Gives: ldmatrix and stmatrix if registers form 8x8 matrices, else vectors.
// How:   findMatrices (layout/MatrixAccess.h) finds such matrices in the layout. Lane 8*j + i
//        provides the address of row i of matrix j; register bits above a 32-bit register select
//        the matrix.
//===-----------------------------------------------------------------------------------===//
#include "lower/Matrices.h"
#include "layout/BankExchange.h"
#include "layout/MatrixAccess.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
/// Offsets of this lane's row, one per instruction.
Values rowOffsets(Lowering &l, const MatrixAccess &plan, llvm::Value *base,
                  const SharedLayout &shared) {
  const LinearLayout &layout = plan.ordered;
  const size_t inWord = llvm::Log2_32(plan.registersPerWord),
               inMatrix = llvm::Log2_32(plan.matrices);
  SmallVector<int64_t> ofLane, ofWarp, ofReg;
  for (const auto &basis : plan.rows)
    ofLane.push_back(shared.linearOffset(basis));
  for (size_t j = 0; j < inMatrix; ++j)
    ofLane.push_back(shared.linearOffset(layout.reg()[inWord + j]));
  for (const auto &basis : layout.warp())
    ofWarp.push_back(shared.linearOffset(basis));
  for (int reg = 0; reg < layout.numRegs(); reg += plan.registersPerWord * plan.matrices)
    ofReg.push_back(layout.isPresent(reg) ? shared.linearOffset(layout.apply(reg, 0, 0)) : -1);
  return l.sharedOffsets(base, ofLane, ofWarp, ofReg, &shared);
}

llvm::Intrinsic::ID loadIntrinsic(const MatrixAccess &plan) {
  using namespace llvm::Intrinsic;
  constexpr ID ids[][2] = {
      {nvvm_ldmatrix_sync_aligned_m8n8_x1_b16, nvvm_ldmatrix_sync_aligned_m8n8_x1_trans_b16},
      {nvvm_ldmatrix_sync_aligned_m8n8_x2_b16, nvvm_ldmatrix_sync_aligned_m8n8_x2_trans_b16},
      {nvvm_ldmatrix_sync_aligned_m8n8_x4_b16, nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16}};
  return ids[llvm::Log2_32(plan.matrices)][plan.transposed];
}

llvm::Intrinsic::ID storeIntrinsic(const MatrixAccess &plan) {
  using namespace llvm::Intrinsic;
  constexpr ID ids[][2] = {
      {nvvm_stmatrix_sync_aligned_m8n8_x1_b16, nvvm_stmatrix_sync_aligned_m8n8_x1_trans_b16},
      {nvvm_stmatrix_sync_aligned_m8n8_x2_b16, nvvm_stmatrix_sync_aligned_m8n8_x2_trans_b16},
      {nvvm_stmatrix_sync_aligned_m8n8_x4_b16, nvvm_stmatrix_sync_aligned_m8n8_x4_trans_b16}};
  return ids[llvm::Log2_32(plan.matrices)][plan.transposed];
}

/// A 16-byte vector per thread moves as much as a matrix instruction, without its shuffling.
bool vectorsAreWide(const SharedLayout &shared, const LinearLayout &sorted) {
  return shared.vectorBytes(sorted) == 16;
}

/// Bytes that are read two by two, as words, on which later operations work (LowerBytes.cpp).
Values loadHalvesOfWords(Lowering &l, ValueList offsets, llvm::Type *elementType) {
  Values ofPairs;
  for (size_t i = 0; i < offsets.size(); i += 2)
    ofPairs.push_back(offsets[i]);
  const Values pairs = l.loadShared(l.b.getInt16Ty(), 16, ofPairs, 2);
  return l.unpack(l.pack(pairs, 16), elementType, 8, static_cast<int>(offsets.size()));
}

Values loadVectors(Lowering &l, llvm::Value *base, const SharedLayout &shared,
                   const LinearLayout &sorted, llvm::Type *elementType, ValueList inside) {
  Values offsets = l.sharedOffsets(base, shared, sorted);
  for (auto [offset, isInside] : llvm::zip(offsets, inside))
    if (offset && isInside)
      offset = l.b.CreateSelect(isInside, offset, base);
  const int vectorBytes = shared.vectorBytes(sorted);
  if (shared.elementBits() == 8 && vectorBytes == 2 && offsets.size() % 4 == 0)
    return loadHalvesOfWords(l, offsets, elementType);
  return l.loadShared(elementType, shared.elementBits(), offsets, vectorBytes);
}
/// Stores whole tiles by vectors, for which lanes may exchange registers.
void storeVectors(Lowering &l, Values values, llvm::Value *base, const SharedLayout &shared,
                  const LinearLayout &sorted) {
  const auto exchanges = bankExchanges(sorted, shared);
  for (auto [laneBit, regBit] : exchanges) {
    llvm::Value *exchanged =
        l.b.CreateICmpNE(l.b.CreateAnd(l.lane(), l.b.getInt32(1U << laneBit)), l.b.getInt32(0));
    const Values before = values;
    for (auto [reg, value] : llvm::enumerate(values))
      value = l.b.CreateSelect(exchanged, before[reg ^ (size_t(1) << regBit)], before[reg]);
  }
  const LinearLayout stored = withExchanges(sorted, exchanges);
  l.storeShared(values, shared.elementBits(), l.sharedOffsets(base, shared, stored),
                shared.vectorBytes(sorted));
}
} // namespace

Values lower::loadTile(Lowering &l, llvm::Value *base, const SharedLayout &shared,
                       const LinearLayout &layout, llvm::Type *elementType, ValueList inside) {
  const unsigned bits = shared.elementBits();
  auto plan = l.target.hasLdmatrix() ? findMatrices(layout, shared) : std::nullopt;
  const LinearLayout sorted = inVectorOrder(layout, shared);
  if (!plan || vectorsAreWide(shared, sorted)) {
    const Values ordered = inside.empty() ? Values() : pick(inside, *layout.registerMoves(sorted));
    const Values loaded = loadVectors(l, base, shared, sorted, elementType, ordered);
    return pick(loaded, *sorted.registerMoves(layout));
  }
  llvm::Type *word = l.b.getInt32Ty();
  llvm::Type *type = word;
  if (plan->matrices > 1)
    type = llvm::StructType::get(l.module.getContext(),
                                 llvm::SmallVector<llvm::Type *>(plan->matrices, word));
  Values result;
  for (llvm::Value *offset : rowOffsets(l, *plan, base, shared)) {
    if (!offset) {
      result.append(plan->registersPerWord * plan->matrices, llvm::PoisonValue::get(elementType));
      continue;
    }
    llvm::Value *loaded =
        l.b.CreateIntrinsic(type, loadIntrinsic(*plan), {l.sharedPointer(offset)});
    result.append(l.unpack(l.results(loaded, plan->matrices), elementType, bits,
                           plan->registersPerWord * plan->matrices));
  }
  return pick(result, *plan->ordered.registerMoves(layout));
}

void lower::storeTile(Lowering &l, ValueList values, llvm::Value *base, const SharedLayout &shared,
                      const LinearLayout &layout, ValueList inside) {
  const unsigned bits = shared.elementBits();
  auto plan = l.target.hasStmatrix() ? findMatrices(layout, shared) : std::nullopt;
  const LinearLayout sorted = inVectorOrder(layout, shared);
  if (!plan || vectorsAreWide(shared, sorted) || plan->matrices < 4) {
    const auto moves = *layout.registerMoves(sorted);
    if (inside.empty())
      return storeVectors(l, pick(values, moves), base, shared, sorted);
    return l.storeShared(pick(values, moves), bits, l.sharedOffsets(base, shared, sorted),
                         shared.vectorBytes(sorted), pick(inside, moves));
  }
  const int step = plan->registersPerWord * plan->matrices;
  const Values ordered = pick(values, *layout.registerMoves(plan->ordered));
  for (auto [i, offset] : llvm::enumerate(rowOffsets(l, *plan, base, shared))) {
    if (!offset)
      continue;
    Values operands{l.sharedPointer(offset)};
    operands.append(l.pack(ValueList(ordered).slice(i * step, step), bits));
    l.b.CreateIntrinsic(l.b.getVoidTy(), storeIntrinsic(*plan), operands);
  }
}
