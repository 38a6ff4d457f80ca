//===- Operands.cpp - what an instruction does with its operands ---------------------===//
// Needs: see Operands.h.
// Gives: describe, Order.
// How:   The words of opcodes are compared once, when a kernel is read.
//===------------------------------------------------------------------------------------------===//
#include "Operands.h"
#include <algorithm>

namespace pantile::ptx {
namespace {

bool isOneOf(const std::string &base, std::initializer_list<std::string_view> bases) {
  return std::find(bases.begin(), bases.end(), base) != bases.end();
}

void addRegisters(const Operand &operand, std::vector<int> &to) {
  if (operand.reg >= 0 && operand.kind != Operand::Vector)
    to.push_back(operand.reg);
  for (const Operand &part : operand.parts)
    addRegisters(part, to);
}

bool writesNothing(const Instruction &i) {
  return i.operands.empty() || i[0].kind == Operand::Address ||
         isOneOf(i.op.base, {"st", "red", "bra", "bar", "barrier", "fence", "ret"});
}

bool isMove(const Instruction &i) {
  return i.op.base == "mov" && i.operands.size() == 2 && i[0].kind == Operand::Register &&
         i[1].kind == Operand::Register;
}

Kind kindOf(const Instruction &i) {
  const Opcode &op = i.op;
  if (op.base == "ld" && !op.has("param") && !op.has("local") && !op.has("const"))
    return Kind::Load;
  return op.base == "bra"                                      ? Kind::Branch
         : isMove(i)                                           ? Kind::Move
         : isOneOf(op.base, {"st", "red", "atom"})             ? Kind::Store
         : op.base == "shfl"                                   ? Kind::Shuffle
         : isOneOf(op.base, {"vote", "match", "redux", "mma"}) ? Kind::Exchange
         : op.base == "wgmma"                                  ? Kind::WarpGroupMma
                                                               : Kind::Other;
}

} // namespace

Order::Order(const Opcode &op) {
  const bool isAtomic = op.base == "atom" || op.base == "red";
  isStrong =
      isAtomic || op.has("volatile") || op.has("relaxed") || op.has("acquire") || op.has("release");
  acquires = op.has("acquire") || op.has("acq_rel");
  releases = op.has("release") || op.has("acq_rel");
  isReadOnly = op.has("nc");
  scope = op.has("volatile") || op.has("sys") ? Scope::Sys
          : op.has("cta")                     ? Scope::Cta
          : op.has("cluster")                 ? Scope::Cluster
                                              : Scope::Gpu;
}

void describe(Instruction &i) {
  i.kind = kindOf(i);
  i.order = Order(i.op);
  const size_t results = writesNothing(i) ? 0 : 1;
  for (size_t at = 0; at < i.operands.size(); ++at)
    addRegisters(i[at], at < results ? i.results : i.sources);
  if (i.guard >= 0)
    i.sources.push_back(i.guard);
}

} // namespace pantile::ptx
