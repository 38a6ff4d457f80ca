//===- LowerMemory.cpp - loads, stores and prefetches of global memory ----------------------===//
// Needs: AxisInfo for the width of an access; mask and value in the pointer's layout.
// Gives: one instruction per up to 16 bytes of consecutive registers.
// How:   Unmasked accesses are LLVM loads and stores; masked ones, and those with a cache operator,
//        are predicated inline assembly, which needs no branch. Accesses at constant distances
//        share a pointer (PointerDistances). Registers with the same address are loaded once. Of
//        several threads that hold an element, one stores it.
//===-----------------------------------------------------------------------------------===//
#include "lower/Lowering.h"
#include "lower/PointerDistances.h"
#include "mlir/IR/Matchers.h"
#include "support/MachineModel.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
/// Number of registers that one instruction moves.
int accessWidth(Lowering &l, Value ptr, Value mask) {
  if (!isa<RankedTensorType>(ptr.getType()))
    return 1;
  return static_cast<int>(l.axisInfo().accessWidth(ptr, mask, l.layout(ptr.getType())));
}

std::string braces(int first, int count) {
  std::string list;
  for (int i = 0; i < count; ++i)
    list += (i ? ", $" : "$") + std::to_string(first + i);
  return count > 1 ? "{" + list + "}" : list;
}

const char *constraintOf(unsigned wordBits) {
  return wordBits == 64 ? "l" : wordBits == 32 ? "r" : "h";
}

/// ".v4.b32": what follows the cache operators.
std::string shapeOf(unsigned wordBits, size_t words) {
  return (words > 1 ? ".v" + std::to_string(words) : std::string()) + ".b" +
         std::to_string(wordBits);
}

/// An instruction takes a cache operator or an eviction priority, not both: the operator wins.
std::string cacheOf(CacheModifier cache, EvictionPolicy evict) {
  if (cache != CacheModifier::None)
    return "." + stringifyCacheModifier(cache).str();
  return evict != EvictionPolicy::Normal ? ".L1::" + stringifyEvictionPolicy(evict).str() : "";
}

/// Whether the accesses of `op` share pointers. Those before and after a loop do not: they run once
/// for many iterations of the loop, whose instructions ptxas orders by what stands around it. Fewer
/// of these cost more than they saved (attention on an H200: 0.94 to 0.97).
bool sharesPointers(Operation *op) {
  Operation *around = op->getParentOfType<LoopLikeOpInterface>();
  if (!around)
    around = op->getParentOfType<FunctionOpInterface>();
  const WalkResult found = around->walk([&](LoopLikeOpInterface loop) {
    return loop == around ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !found.wasInterrupted();
}

/// The address of every `width`th register of `ptr`, which `op` accesses.
llvm::SmallVector<Address> addressesOf(Lowering &l, Operation *op, Value ptr, Value mask,
                                       int width) {
  ValueList ptrs = l.get(ptr);
  if (!isa<RankedTensorType>(ptr.getType()) || !sharesPointers(op)) {
    llvm::SmallVector<Address> own;
    for (size_t i = 0; i < ptrs.size(); i += width)
      own.push_back({ptrs[i], 0});
    return own;
  }
  return sharedAddresses(l, ptr, mask, width, InstructionSet::globalReach);
}

/// 8-bit words use 16-bit registers: inline assembly has no smaller ones.
llvm::Type *carrier(Lowering &l, unsigned wordBits) {
  return l.b.getIntNTy(std::max(wordBits, 16u));
}

//===- loads ---------------------------------------------------------------------------===//

Values plainLoad(Lowering &l, llvm::Value *ptr, unsigned wordBits, int words, bool isVolatile) {
  llvm::Type *type = l.b.getIntNTy(wordBits);
  if (words > 1)
    type = llvm::FixedVectorType::get(type, words);
  llvm::Value *loaded =
      l.b.CreateAlignedLoad(type, ptr, llvm::Align(wordBits / 8 * words), isVolatile);
  Values result;
  for (int i = 0; i < words; ++i)
    result.push_back(words > 1 ? l.b.CreateExtractElement(loaded, i) : loaded);
  return result;
}

/// `others` are the results of masked-off lanes; they are tied to the results.
Values predicatedLoad(Lowering &l, LoadOp op, const Address &address, llvm::Value *mask,
                      unsigned wordBits, Values others) {
  const int words = others.size();
  llvm::Type *word = carrier(l, wordBits);
  std::string constraints, ties;
  for (int i = 0; i < words; ++i) {
    constraints += std::string("=") + constraintOf(wordBits) + ",";
    ties += "," + std::to_string(i);
  }
  Values operands{address.pointer};
  std::string asmString;
  if (mask) {
    operands.push_back(mask);
    asmString = "@$" + std::to_string(words + 1) + " ";
  }
  asmString += op.getIsVolatile() ? "ld.volatile.global"
                                  : "ld.global" + cacheOf(op.getCache(), op.getEvict());
  asmString +=
      shapeOf(wordBits, words) + " " + braces(0, words) + ", " + address.operand(words) + ";";
  for (llvm::Value *other : others)
    operands.push_back(l.b.CreateZExt(other, word));
  constraints += mask ? "l,b" : "l";
  llvm::Type *result = words > 1
                           ? llvm::StructType::get(l.module.getContext(),
                                                   llvm::SmallVector<llvm::Type *>(words, word))
                           : word;
  Values loaded = l.results(l.assembly(result, asmString, constraints + ties, operands), words);
  for (llvm::Value *&value : loaded)
    value = l.b.CreateTrunc(value, l.b.getIntNTy(wordBits));
  return loaded;
}

/// Bits of a register index such that the registers with and without the bit have the same address.
unsigned repeatedRegs(Lowering &l, LoadOp op) {
  if (!isa<RankedTensorType>(op.getPtr().getType()) || op.getIsVolatile() ||
      op.getCache() == CacheModifier::Cv)
    return 0;
  Attribute same;
  if (op.getOther() && !op.getOther().getDefiningOp<SplatOp>() &&
      (!matchPattern(op.getOther(), m_Constant(&same)) || !isa<SplatElementsAttr>(same)))
    return 0;
  return l.axisInfo().repeatedRegs(op.getPtr(), op.getMask(), l.layout(op.getPtr().getType()));
}

LogicalResult lowerLoad(Lowering &l, LoadOp op) {
  Type element = elementTypeOf(op.getType());
  llvm::Type *type = l.type(element);
  const unsigned bits = storageBits(element);
  ValueList ptrs = l.get(op.getPtr());
  ValueList masks = op.getMask() ? l.get(op.getMask()) : ValueList();
  ValueList others = op.getOther() ? l.get(op.getOther()) : ValueList();
  const int width = std::min<int>(accessWidth(l, op.getPtr(), op.getMask()), ptrs.size());
  const unsigned wordBits = Lowering::wordBits(bits, width);
  const int words = width * bits / wordBits;
  const bool plain = !op.getMask() && op.getCache() == CacheModifier::None &&
                     op.getEvict() == EvictionPolicy::Normal;
  const unsigned repeats = repeatedRegs(l, op);
  const auto addresses = addressesOf(l, op, op.getPtr(), op.getMask(), width);
  const Values inside = l.inside(op.getPtr().getType());
  Values result;
  for (size_t i = 0; i < ptrs.size(); i += width) {
    if (!l.isPresent(op.getPtr().getType(), i)) {
      result.append(width, llvm::PoisonValue::get(type));
      continue;
    }
    if (i & repeats) {
      for (int n = 0; n < width; ++n)
        result.push_back(result[(i + n) & ~repeats]);
      continue;
    }
    Values loaded;
    if (plain && !inside[i]) {
      loaded = plainLoad(l, addresses[i / width].computed(l), wordBits, words, op.getIsVolatile());
    } else {
      Values start = others.empty() ? Values(words, l.b.getIntN(wordBits, 0))
                                    : l.pack(others.slice(i, width), bits);
      llvm::Value *mask = l.masked(masks.empty() ? nullptr : masks[i], inside[i]);
      loaded = predicatedLoad(l, op, addresses[i / width], mask, wordBits, start);
    }
    result.append(l.unpack(loaded, type, bits, width));
  }
  l.set(op.getResult(), result);
  return success();
}

//===- stores --------------------------------------------------------------------------===//

void plainStore(Lowering &l, llvm::Value *ptr, ValueList words) {
  const unsigned wordBits = words[0]->getType()->getIntegerBitWidth();
  llvm::Value *value = words[0];
  if (words.size() > 1) {
    value = llvm::PoisonValue::get(llvm::FixedVectorType::get(value->getType(), words.size()));
    for (auto [i, word] : llvm::enumerate(words))
      value = l.b.CreateInsertElement(value, word, i);
  }
  l.b.CreateAlignedStore(value, ptr, llvm::Align(wordBits / 8 * words.size()));
}

void predicatedStore(Lowering &l, StoreOp op, const Address &address, ValueList words,
                     llvm::Value *mask) {
  const unsigned wordBits = words[0]->getType()->getIntegerBitWidth();
  const int count = words.size();
  Values operands{address.pointer};
  std::string constraints = "l", asmString;
  for (llvm::Value *word : words) {
    operands.push_back(l.b.CreateZExt(word, carrier(l, wordBits)));
    constraints += std::string(",") + constraintOf(wordBits);
  }
  if (mask) {
    operands.push_back(mask);
    constraints += ",b";
    asmString = "@$" + std::to_string(count + 1) + " ";
  }
  asmString += "st.global" + cacheOf(op.getCache(), op.getEvict()) + shapeOf(wordBits, count) +
               " " + address.operand(0) + ", " + braces(1, count) + ";";
  l.assembly(l.b.getVoidTy(), asmString, constraints, operands);
}

LogicalResult lowerStore(Lowering &l, StoreOp op) {
  const unsigned bits = storageBits(elementTypeOf(op.getValue().getType()));
  ValueList ptrs = l.get(op.getPtr()), values = l.get(op.getValue());
  ValueList masks = op.getMask() ? l.get(op.getMask()) : ValueList();
  const int width = std::min<int>(accessWidth(l, op.getPtr(), op.getMask()), ptrs.size());
  const bool cached =
      op.getCache() != CacheModifier::None || op.getEvict() != EvictionPolicy::Normal;
  llvm::Value *chosen = l.firstReplica(op.getPtr().getType());
  const unsigned replicas = isa<RankedTensorType>(op.getPtr().getType())
                                ? l.layout(op.getPtr().getType()).freeBits().reg
                                : 0;
  const auto addresses = addressesOf(l, op, op.getPtr(), op.getMask(), width);
  const Values inside = l.inside(op.getPtr().getType());
  for (size_t i = 0; i < ptrs.size(); i += width) {
    if (i & replicas || !l.isPresent(op.getPtr().getType(), i))
      continue;
    llvm::Value *mask = masks.empty() ? chosen
                        : chosen      ? l.b.CreateAnd(masks[i], chosen)
                                      : masks[i];
    mask = l.masked(mask, inside[i]);
    Values words = l.pack(values.slice(i, width), bits);
    if (mask || cached)
      predicatedStore(l, op, addresses[i / width], words, mask);
    else
      plainStore(l, addresses[i / width].computed(l), words);
  }
  return success();
}

//===- prefetches ----------------------------------------------------------------------===//

LogicalResult lowerPrefetch(Lowering &l, nv::PrefetchOp op) {
  ValueList ptrs = l.get(op.getPtr());
  ValueList masks = op.getMask() ? l.get(op.getMask()) : ValueList();
  llvm::Value *chosen = l.firstReplica(op.getPtr().getType());
  const unsigned replicas = l.layout(op.getPtr().getType()).freeBits().reg;
  const Values inside = l.inside(op.getPtr().getType());
  for (size_t i = 0; i < ptrs.size(); ++i) {
    if (i & replicas || !l.isPresent(op.getPtr().getType(), i))
      continue;
    llvm::Value *mask = masks.empty() ? l.b.getTrue() : masks[i];
    if (chosen)
      mask = l.b.CreateAnd(mask, chosen);
    mask = l.masked(mask, inside[i]);
    l.assembly(l.b.getVoidTy(), "@$1 prefetch.global.L2 [$0];", "l,b", {ptrs[i], mask});
  }
  return success();
}
} // namespace

void lower::addMemory(Handlers &h) {
  h.add<LoadOp>(lowerLoad);
  h.add<StoreOp>(lowerStore);
  h.add<nv::PrefetchOp>(lowerPrefetch);
}
