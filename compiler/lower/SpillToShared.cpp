//===- SpillToShared.cpp - spill values to shared memory across barriers --------------------===//
#include "lower/SpillToShared.h"
#include "support/MachineModel.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include <optional>
#include <vector>

namespace {
struct Held {
  llvm::Instruction *value;
  int begin, end;                                 ///< numbers of its definition and last use
  llvm::SmallVector<llvm::Instruction *, 4> uses; ///< after the first barrier that follows it
};

using Numbers = llvm::DenseMap<const llvm::Instruction *, int>;

Numbers numberInstructions(llvm::Function &function, llvm::SmallVectorImpl<int> &barriers) {
  Numbers numbers;
  for (llvm::Instruction &instruction : llvm::instructions(function)) {
    const int number = static_cast<int>(numbers.size());
    numbers[&instruction] = number;
    auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (call && call->getIntrinsicID() == llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all)
      barriers.push_back(number);
  }
  return numbers;
}

/// `use` and what depends on it alone, in the same block, up to a value with several uses or one in
/// another block. A `use` that reads memory is not moved, since stores may follow it.
llvm::SmallVector<llvm::Instruction *, 4> chainFrom(llvm::Instruction *use) {
  llvm::SmallVector<llvm::Instruction *, 4> chain{use};
  while (!use->mayReadOrWriteMemory() && chain.back()->hasOneUse()) {
    auto *next = llvm::cast<llvm::Instruction>(*chain.back()->user_begin());
    if (next->getParent() != use->getParent() || llvm::isa<llvm::PHINode>(next) ||
        next->mayReadOrWriteMemory())
      break;
    chain.push_back(next);
  }
  return chain;
}

/// `value` if it is an element of a tile and live across a barrier. Values that all elements use,
/// such as the result of a reduction, have more uses and are not spilled.
std::optional<Held> heldOver(llvm::Instruction &value, llvm::ArrayRef<int> barriers,
                             const Numbers &numbers) {
  const auto mostUses =
      static_cast<unsigned>(pantile::MachineModel::reference().registers.usesOfSpilled);
  if (!value.getType()->isFloatTy() || llvm::isa<llvm::PHINode>(value) ||
      value.hasNUsesOrMore(mostUses + 1))
    return std::nullopt;
  const int begin = numbers.at(&value);
  Held held{&value, begin, begin, {}};
  const int *barrier = llvm::upper_bound(barriers, begin);
  for (llvm::User *user : value.users()) {
    auto *use = llvm::cast<llvm::Instruction>(user);
    const int number = numbers.at(use);
    if (llvm::isa<llvm::PHINode>(use) || number < begin)
      return std::nullopt;
    held.end = std::max(held.end, numbers.at(chainFrom(use).back()));
    if (barrier != barriers.end() && number > *barrier && !llvm::is_contained(held.uses, use))
      held.uses.push_back(use);
  }
  if (held.uses.empty())
    return std::nullopt;
  return held;
}

/// Stores values and reloads each a few uses before its own.
class Spiller {
public:
  /// Moves what depends on a use alone down to its last user: the lowering applies each operation
  /// to all elements of a tile before the next one, so without this all values would be reloaded
  /// before the first is used up.
  void spill(const Held &held, llvm::Value *place) {
    llvm::Instruction *store = llvm::IRBuilder<>(held.value->getNextNode())
                                   .CreateAlignedStore(held.value, place, align, isVolatile);
    for (llvm::Instruction *use : held.uses) {
      const auto chain = chainFrom(use);
      llvm::Instruction *last = chain.back();
      for (llvm::Instruction *link : llvm::ArrayRef(chain).drop_back())
        link->moveBefore(last->getIterator());
      llvm::IRBuilder<> b(earlier(use, store));
      use->replaceUsesOfWith(held.value,
                             b.CreateAlignedLoad(held.value->getType(), place, align, isVolatile));
      uses.push_back(use);
    }
  }

private:
  /// The use `reloadDistance` uses before this one, if it is between `store` and this one.
  llvm::Instruction *earlier(llvm::Instruction *use, llvm::Instruction *store) const {
    const auto distance =
        static_cast<size_t>(pantile::MachineModel::reference().registers.reloadDistance);
    if (uses.size() < distance)
      return use;
    llvm::Instruction *early = uses[uses.size() - distance];
    const llvm::BasicBlock *block = use->getParent();
    const bool isBetween = early->getParent() == block && early->comesBefore(use) &&
                           (store->getParent() != block || store->comesBefore(early));
    return isBetween ? early : use;
  }

  static constexpr bool isVolatile = true;
  const llvm::Align align{4};
  llvm::SmallVector<llvm::Instruction *> uses; ///< in the order of their loads
};
} // namespace

void pantile::lower::spillToShared(llvm::Function &function, int threads, int offset, int slots) {
  llvm::SmallVector<int> barriers;
  const Numbers numbers = numberInstructions(function, barriers);
  std::vector<Held> all;
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto held = heldOver(instruction, barriers, numbers))
      all.push_back(std::move(*held));
  llvm::IRBuilder<> b(function.getEntryBlock().getTerminator());
  llvm::Value *thread =
      b.CreateIntrinsic(b.getInt32Ty(), llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {});
  llvm::Value *first = b.CreateInBoundsGEP(
      b.getInt32Ty(),
      b.CreateInBoundsGEP(b.getInt8Ty(), function.getParent()->getNamedGlobal("shared"),
                          b.getInt32(offset)),
      thread);
  std::vector<int> freeFrom(slots, -1); ///< number of the instruction after which each slot is free
  Spiller spiller;
  for (const Held &held : all) {
    auto slot = llvm::find_if(freeFrom, [&](int number) { return number <= held.begin; });
    if (slot == freeFrom.end())
      continue;
    *slot = held.end;
    const auto distance = static_cast<uint32_t>(threads * (slot - freeFrom.begin()));
    spiller.spill(held, b.CreateInBoundsGEP(b.getInt32Ty(), first, b.getInt32(distance)));
  }
}
