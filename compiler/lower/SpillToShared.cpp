//===- SpillToShared.cpp - words of a thread that wait in shared memory --------------------------===//
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
  llvm::SmallVector<llvm::Instruction *, 4> uses; ///< behind the first barrier after it
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

/// What computes with `use` alone, in the same block, up to a value that is used more than once or
/// leaves. A `use` that reads memory stays in front of the stores behind it.
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

/// `value` if it is a number of a tile that is held over a barrier. What all elements are computed
/// with, such as the result of a reduction, has more uses, and stays.
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

/// Stores words and loads them again, each a few words ahead of what is computed with it.
class Parking {
public:
  /// What follows from a use behind the barrier alone moves down to where the last of it is: the
  /// lowering computes with all elements of a tile in turn, so all that waits would be loaded
  /// before any of it is done with.
  void park(const Held &held, llvm::Value *place) {
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
  /// The use some words before this one, if it stands between `store` and it.
  llvm::Instruction *earlier(llvm::Instruction *use, llvm::Instruction *store) const {
    const auto ahead =
        static_cast<size_t>(pantile::MachineModel::reference().registers.reloadsAhead);
    if (uses.size() < ahead)
      return use;
    llvm::Instruction *early = uses[uses.size() - ahead];
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

void pantile::lower::parkRows(llvm::Function &function, int threads, int offset, int slots) {
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
  std::vector<int> freeFrom(slots, -1); ///< instruction behind whose operands each slot is
  Parking parking;
  for (const Held &held : all) {
    auto slot = llvm::find_if(freeFrom, [&](int number) { return number <= held.begin; });
    if (slot == freeFrom.end())
      continue;
    *slot = held.end;
    const auto distance = static_cast<uint32_t>(threads * (slot - freeFrom.begin()));
    parking.park(held, b.CreateInBoundsGEP(b.getInt32Ty(), first, b.getInt32(distance)));
  }
}
