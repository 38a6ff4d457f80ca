//===- LowerMemory.cpp - loads, stores and prefetches of global memory ----------------------===//
// Needs: AxisInfo for the width of an access; mask and value in the pointer's layout.
// Gives: one instruction per up to 16 bytes of consecutive registers.
// How:   Unmasked accesses are LLVM loads and stores. Masked accesses, and those with a cache operator,
//        are predicated inline assembly, without a branch. A vector that its mask may cut also has
//        element accesses, under a branch. Accesses at constant distances share a pointer
//        (PointerDistances). Registers with the same address are loaded once. Of several threads that
//        hold an element, one stores it.
//===-----------------------------------------------------------------------------------===//
#include "lower/Lowering.h"
#include "lower/PointerDistances.h"
#include "lower/When.h"
#include "mlir/IR/Matchers.h"
#include "support/MachineModel.h"
#include "target/Nvptx.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

namespace {
/// Numbers of registers that one instruction moves: where all masks of `vector` registers are true,
/// and elsewhere.
struct Widths {
  int vector = 1, single = 1;
  bool hasTail() const { return single < vector; }
  /// The register whose mask decides whether the vector from `first` on is accessed as a whole: a mask
  /// that ends within it has ended at the last one.
  size_t decisive(size_t first) const { return hasTail() ? first + vector - 1 : first; }
};

Widths widthsOf(Lowering &l, Value ptr, Value mask) {
  if (!isa<RankedTensorType>(ptr.getType()))
    return {};
  const LinearLayout layout = l.layout(ptr.getType());
  return {static_cast<int>(l.axisInfo().widthWithTail(ptr, mask, layout)),
          static_cast<int>(l.axisInfo().accessWidth(ptr, mask, layout))};
}

std::string braces(int first, int count) {
  std::string list;
  for (int i = 0; i < count; ++i)
    list += (i ? ", $" : "$") + std::to_string(first + i);
  return count > 1 ? "{" + list + "}" : list;
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

/// Lowers a load, vector by vector.
class Loader {
public:
  Loader(Lowering &l, LoadOp op)
      : l(l), op(op), type(l.type(elementTypeOf(op.getType()))),
        bits(storageBits(elementTypeOf(op.getType()))),
        masks(op.getMask() ? l.get(op.getMask()) : ValueList()),
        others(op.getOther() ? l.get(op.getOther()) : ValueList()),
        widths(widthsOf(l, op.getPtr(), op.getMask())),
        addresses(addressesOf(l, op, op.getPtr(), op.getMask(), widths.vector)),
        inside(l.inside(op.getPtr().getType())) {}

  Values run() {
    const size_t count = l.get(op.getPtr()).size();
    const unsigned repeats = repeatedRegs(l, op);
    Values result;
    for (size_t i = 0; i < count; i += widths.vector) {
      if (!l.isPresent(op.getPtr().getType(), i))
        result.append(widths.vector, llvm::PoisonValue::get(type));
      else if (i & repeats)
        for (int n = 0; n < widths.vector; ++n)
          result.push_back(result[(i + n) & ~repeats]);
      else
        result.append(l.unpack(vectorAt(i), type, bits, widths.vector));
    }
    return result;
  }

private:
  /// The words of the registers from `first` on.
  Values vectorAt(size_t first) {
    const Address &address = addresses[first / widths.vector];
    const bool plain = !op.getMask() && op.getCache() == CacheModifier::None &&
                       op.getEvict() == EvictionPolicy::Normal && !inside[first];
    if (plain) {
      const unsigned wordBits = Lowering::wordBits(bits, widths.vector);
      return plainLoad(l, address.computed(l), wordBits, widths.vector * bits / wordBits,
                       op.getIsVolatile());
    }
    if (widths.hasTail())
      return withTail(first, address);
    return predicated(first, widths.vector, address, masks.empty() ? nullptr : masks[first]);
  }

  /// Registers of a vector whose mask ends within it are loaded in a block of their own: with a
  /// predicate each, ptxas waits for loads one by one as soon as it runs out of predicates.
  Values withTail(size_t first, const Address &address) {
    l.function->addFnAttr(sinkAttribute);
    llvm::Value *all = masks[widths.decisive(first)];
    const Values whole = predicated(first, widths.vector, address, all);
    llvm::BasicBlock *before = l.b.GetInsertBlock(), *tail = nullptr;
    Values singles;
    {
      When isCut(l, l.b.CreateNot(all));
      for (int n = 0; n < widths.vector; n += widths.single)
        singles.append(
            l.unpack(predicated(first + n, widths.single,
                                {address.pointer, address.bytes + n * bits / 8}, masks[first + n]),
                     type, bits, widths.single));
      singles = l.pack(singles, bits);
      tail = l.b.GetInsertBlock();
    }
    Values words;
    for (auto [fromVector, fromSingles] : llvm::zip_equal(whole, singles)) {
      llvm::PHINode *word = l.b.CreatePHI(fromVector->getType(), 2);
      word->addIncoming(fromVector, before);
      word->addIncoming(fromSingles, tail);
      words.push_back(word);
    }
    return words;
  }

  Values predicated(size_t first, int width, const Address &address, llvm::Value *mask) {
    const unsigned wordBits = Lowering::wordBits(bits, width);
    Values start = others.empty() ? Values(width * bits / wordBits, l.b.getIntN(wordBits, 0))
                                  : l.pack(others.slice(first, width), bits);
    return predicatedLoad(l, op, address, l.masked(mask, inside[first]), wordBits, start);
  }

  Lowering &l;
  LoadOp op;
  llvm::Type *type;
  unsigned bits;
  ValueList masks, others;
  Widths widths;
  llvm::SmallVector<Address> addresses;
  Values inside;
};

LogicalResult lowerLoad(Lowering &l, LoadOp op) {
  l.set(op.getResult(), Loader(l, op).run());
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
  const Widths widths = widthsOf(l, op.getPtr(), op.getMask());
  const bool cached =
      op.getCache() != CacheModifier::None || op.getEvict() != EvictionPolicy::Normal;
  llvm::Value *chosen = l.firstReplica(op.getPtr().getType());
  const unsigned replicas = isa<RankedTensorType>(op.getPtr().getType())
                                ? l.layout(op.getPtr().getType()).freeBits().reg
                                : 0;
  const auto addresses = addressesOf(l, op, op.getPtr(), op.getMask(), widths.vector);
  const Values inside = l.inside(op.getPtr().getType());
  auto store = [&](size_t first, int width, const Address &address, llvm::Value *mask) {
    mask = l.masked(mask && chosen ? l.b.CreateAnd(mask, chosen)
                    : mask         ? mask
                                   : chosen,
                    inside[first]);
    Values words = l.pack(values.slice(first, width), bits);
    if (mask || cached)
      predicatedStore(l, op, address, words, mask);
    else
      plainStore(l, address.computed(l), words);
  };
  for (size_t i = 0; i < ptrs.size(); i += widths.vector) {
    if (i & replicas || !l.isPresent(op.getPtr().getType(), i))
      continue;
    const Address &address = addresses[i / widths.vector];
    llvm::Value *all = masks.empty() ? nullptr : masks[widths.decisive(i)];
    store(i, widths.vector, address, all);
    if (!widths.hasTail())
      continue;
    When isCut(l, l.b.CreateNot(all));
    for (int n = 0; n < widths.vector; n += widths.single)
      store(i + n, widths.single, {address.pointer, address.bytes + n * bits / 8}, masks[i + n]);
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
