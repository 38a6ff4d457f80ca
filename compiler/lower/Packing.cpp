//===- Packing.cpp - pack elements into 32-bit registers; shuffles and inline assembly ------===//
#include "lower/Lowering.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/PatternMatch.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

unsigned Lowering::wordBits(unsigned bits, int count) {
  return bits >= 64 ? 64 : std::min<unsigned>(bits * count, 32);
}

llvm::Value *Lowering::toInteger(llvm::Value *value, unsigned bits) {
  llvm::Type *integer = b.getIntNTy(bits);
  if (value->getType()->isPointerTy())
    return b.CreatePtrToInt(value, integer);
  if (value->getType()->isIntegerTy())
    return b.CreateZExt(value, integer);
  return b.CreateBitCast(value, integer);
}

llvm::Value *Lowering::fromInteger(llvm::Value *value, llvm::Type *type) {
  if (type->isPointerTy())
    return b.CreateIntToPtr(value, type);
  if (type->isIntegerTy())
    return b.CreateTrunc(value, type);
  return b.CreateBitCast(value, type);
}

namespace {
/// The 16-bit value whose lower and upper byte these are, if a conversion in pairs produced them.
llvm::Value *pairOfBytes(llvm::Value *low, llvm::Value *high) {
  namespace match = llvm::PatternMatch;
  llvm::Value *pair = nullptr;
  constexpr unsigned bits = 16;
  return match::match(low, match::m_Trunc(match::m_Value(pair))) &&
                 pair->getType()->isIntegerTy(bits) &&
                 match::match(high, match::m_Trunc(match::m_LShr(match::m_Specific(pair),
                                                                 match::m_SpecificInt(8))))
             ? pair
             : nullptr;
}

/// All elements, bytes, as such pairs; empty if they are none.
Values pairsOfBytes(ValueList elements) {
  Values pairs;
  for (size_t i = 0; i + 1 < elements.size(); i += 2)
    if (llvm::Value *pair = pairOfBytes(elements[i], elements[i + 1]))
      pairs.push_back(pair);
  return 2 * pairs.size() == elements.size() ? pairs : Values();
}
} // namespace

Values lower::withoutPoison(ValueList elements) {
  Values defined(elements);
  if (!llvm::all_of(elements, llvm::IsaPred<llvm::PoisonValue>))
    for (llvm::Value *&element : defined)
      if (isa<llvm::PoisonValue>(element))
        element = llvm::Constant::getNullValue(element->getType());
  return defined;
}

llvm::Value *lower::wordOfBytes(ValueList bytes) {
  namespace match = llvm::PatternMatch;
  llvm::Value *vector = nullptr, *word = nullptr;
  if (bytes.size() != 4 ||
      !match::match(bytes[0], match::m_ExtractElt(match::m_Value(vector), match::m_Zero())) ||
      !match::match(vector, match::m_BitCast(match::m_Value(word))) ||
      !word->getType()->isIntegerTy(32))
    return nullptr;
  for (auto [i, byte] : llvm::enumerate(bytes))
    if (!byte->getType()->isIntegerTy(8) ||
        !match::match(byte,
                      match::m_ExtractElt(match::m_Specific(vector), match::m_SpecificInt(i))))
      return nullptr;
  return word;
}

llvm::Value *lower::pairOfHalves(llvm::IRBuilder<> &b, llvm::Value *low, llvm::Value *high) {
  namespace match = llvm::PatternMatch;
  auto *pair = llvm::FixedVectorType::get(low->getType(), 2);
  llvm::Value *vector = nullptr, *word = nullptr;
  if (match::match(low, match::m_ExtractElt(match::m_Value(vector), match::m_Zero())) &&
      vector->getType() == pair &&
      match::match(high, match::m_ExtractElt(match::m_Specific(vector), match::m_One())))
    return vector;
  if (match::match(low, match::m_BitCast(match::m_Trunc(match::m_Value(word)))) &&
      word->getType()->isIntegerTy(32) &&
      match::match(high, match::m_BitCast(match::m_Trunc(
                             match::m_LShr(match::m_Specific(word), match::m_SpecificInt(16))))))
    return b.CreateBitCast(word, pair);
  return nullptr;
}

Values Lowering::pack(ValueList given, unsigned bits) {
  const Values elements = withoutPoison(given);
  if (bits == 8)
    if (Values pairs = pairsOfBytes(elements); !pairs.empty())
      return pack(pairs, 2 * bits);
  const unsigned word = wordBits(bits, elements.size());
  const unsigned each = word / bits;
  Values words;
  for (size_t i = 0; i < elements.size(); i += each) {
    if (llvm::Value *whole =
            each == 4 ? wordOfBytes(ValueList(elements).slice(i, each)) : nullptr) {
      words.push_back(whole);
      continue;
    }
    if (each == 1) {
      words.push_back(toInteger(elements[i], bits));
      continue;
    }
    llvm::Type *type = elements[i]->getType();
    const bool small = type->isIntegerTy() && !type->isIntegerTy(bits);
    llvm::Value *vector =
        llvm::PoisonValue::get(llvm::FixedVectorType::get(small ? b.getIntNTy(bits) : type, each));
    for (unsigned j = 0; j < each; ++j)
      vector = b.CreateInsertElement(vector,
                                     small ? toInteger(elements[i + j], bits) : elements[i + j], j);
    words.push_back(b.CreateBitCast(vector, b.getIntNTy(word)));
  }
  return words;
}

Values Lowering::unpack(ValueList words, llvm::Type *elementType, unsigned bits, int count) {
  const unsigned each = wordBits(bits, count) / bits;
  const bool small = elementType->isIntegerTy() && !elementType->isIntegerTy(bits);
  llvm::Type *stored = small ? b.getIntNTy(bits) : elementType;
  Values elements;
  for (llvm::Value *word : words) {
    if (each == 1) {
      elements.push_back(fromInteger(word, elementType));
      continue;
    }
    llvm::Value *vector = b.CreateBitCast(word, llvm::FixedVectorType::get(stored, each));
    for (unsigned j = 0; j < each; ++j) {
      llvm::Value *element = b.CreateExtractElement(vector, j);
      elements.push_back(small ? fromInteger(element, elementType) : element);
    }
  }
  return elements;
}

//===- shuffles ------------------------------------------------------------------------===//

llvm::Value *Lowering::shuffle(llvm::Value *value, llvm::Intrinsic::ID kind, llvm::Value *operand) {
  llvm::Type *type = value->getType();
  if (isa<llvm::PoisonValue>(value)) // of an absent register
    return value;
  auto shuffleWord = [&](llvm::Value *word) {
    return b.CreateIntrinsic(b.getInt32Ty(), kind, {b.getInt32(-1), word, operand, b.getInt32(31)});
  };
  const unsigned bits = type->isPointerTy() ? 64 : type->getPrimitiveSizeInBits();
  if (bits <= 32) {
    llvm::Value *word = b.CreateZExt(toInteger(value, bits), b.getInt32Ty());
    return fromInteger(b.CreateTrunc(shuffleWord(word), b.getIntNTy(bits)), type);
  }
  auto *pair = llvm::FixedVectorType::get(b.getInt32Ty(), 2);
  llvm::Value *halves = b.CreateBitCast(toInteger(value, 64), pair);
  for (int i = 0; i < 2; ++i)
    halves = b.CreateInsertElement(halves, shuffleWord(b.CreateExtractElement(halves, i)), i);
  return fromInteger(b.CreateBitCast(halves, b.getInt64Ty()), type);
}

llvm::Value *Lowering::shuffleXor(llvm::Value *value, int laneMask) {
  return shuffle(value, llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, b.getInt32(laneMask));
}

llvm::Value *Lowering::shuffleFrom(llvm::Value *value, llvm::Value *lane) {
  return shuffle(value, llvm::Intrinsic::nvvm_shfl_sync_idx_i32, lane);
}

//===- inline assembly -----------------------------------------------------------------===//

llvm::CallInst *Lowering::assembly(llvm::Type *result, StringRef asmString, StringRef constraints,
                                   ValueList operands, bool pure) {
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *operand : operands)
    types.push_back(operand->getType());
  auto *fn = llvm::FunctionType::get(result, types, false);
  llvm::CallInst *call =
      b.CreateCall(llvm::InlineAsm::get(fn, asmString, constraints, !pure), operands);
  call->setDoesNotThrow();
  call->setConvergent(); // whole warps take part in most of them
  if (pure)
    call->setDoesNotAccessMemory();
  return call;
}

Values Lowering::results(llvm::Value *call, int count) {
  if (count == 1)
    return {call};
  Values list;
  for (int i = 0; i < count; ++i)
    list.push_back(b.CreateExtractValue(call, i));
  return list;
}
