//===- BankExchange.cpp - see BankExchange.h ------------------------------------------------===//
#include "layout/BankExchange.h"
#include "layout/F2.h"
#include "support/MachineModel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace pantile {
namespace {
/// What a basis changes of the bank, in units of `vector` bytes.
uint64_t bankOf(const SharedLayout &shared, const LinearLayout::Coord &basis, int vector) {
  return static_cast<uint64_t>(shared.linearOffset(basis) % InstructionSet::bankBytes / vector);
}

bool hasAllRegisters(const LinearLayout &layout) {
  return llvm::all_of(llvm::seq(layout.numRegs()), [&](int reg) { return layout.isPresent(reg); });
}
} // namespace

llvm::SmallVector<BankExchange> bankExchanges(const LinearLayout &layout,
                                              const SharedLayout &shared) {
  const int vector = shared.vectorBytes(layout);
  const int elements = vector * 8 / shared.elementBits();
  const unsigned lanes = std::min<unsigned>(
      llvm::Log2_32(InstructionSet::bankBytes / std::max(vector, 4)), layout.lane().size());
  if (!shared.isLinear() || shared.elementBits() != 32 || !hasAllRegisters(layout))
    return {};
  F2Span banks;
  llvm::SmallVector<unsigned> dependent;
  auto isReplica = [&](unsigned bit) { return shared.linearOffset(layout.lane()[bit]) == 0; };
  for (unsigned bit = 0; bit < lanes; ++bit)
    if (!isReplica(bit) && !banks.insert(bankOf(shared, layout.lane()[bit], vector)))
      dependent.push_back(bit);
  llvm::SmallVector<BankExchange> exchanges;
  for (unsigned bit : dependent) {
    const uint64_t own = bankOf(shared, layout.lane()[bit], vector);
    const auto first = static_cast<unsigned>(llvm::Log2_32(elements));
    auto candidates = llvm::seq<unsigned>(first, layout.reg().size());
    auto found = llvm::find_if(candidates, [&](unsigned reg) {
      return banks.insert(own ^ bankOf(shared, layout.reg()[reg], vector));
    });
    if (found == candidates.end())
      return {};
    exchanges.push_back({bit, *found});
  }
  return exchanges;
}

LinearLayout withExchanges(const LinearLayout &layout, llvm::ArrayRef<BankExchange> exchanges) {
  LinearLayout::Bases lanes = layout.lane();
  for (const BankExchange &exchange : exchanges)
    for (auto [lane, reg] : llvm::zip_equal(lanes[exchange.laneBit], layout.reg()[exchange.regBit]))
      lane ^= reg;
  return LinearLayout(layout.shape(), layout.reg(), lanes, layout.warp(), layout.numWarps());
}

} // namespace pantile
