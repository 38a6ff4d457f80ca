//===- WgmmaRegisters.cpp - registers that an MMA in flight uses ---------------------===//
// Needs: Machine.h.
// Gives: watchRegisters, lendRegisters.
// How:   PTX ISA, "wgmma.fence" and "wgmma.wait_group". Accumulators and registers of the left
//        operand that other instructions accessed need a fence before the MMA; from then on nothing
//        may read its accumulators or write any of them until it is waited for. A move is no
//        access: it gives the same value another name, and ptxas removes it.
//===------------------------------------------------------------------------------------------===//
#include "Machine.h"

namespace pantile::ptx {
namespace {

std::string lineOf(const Warp &w, uint32_t instruction) {
  return std::to_string(w.kernel.code[instruction].line);
}

void requireReadable(Warp &w, const Instruction &i, int reg) {
  if (w.tags[reg])
    w.fault(i, "reads an accumulator of an MMA that was not waited for");
}

void requireWritable(Warp &w, const Instruction &i, int reg, uint32_t newTag) {
  if (w.lent.until[reg] <= w.lent.done || (newTag && newTag == w.tags[reg]))
    return;
  const bool isSum = w.tags[reg];
  w.fault(i, std::string("overwrites ") +
                 (isSum ? "an accumulator" : "a register of the left operand") +
                 " of the MMA in line " + lineOf(w, w.lent.to[reg]) + ", which was not waited for");
}

} // namespace

void LentRegisters::start(size_t registers) {
  touched.assign(registers, 0), by.assign(registers, 0);
  until.assign(registers, 0), to.assign(registers, 0);
  fence = 0, done = 0;
}

void watchRegisters(Warp &w, const Instruction &i) {
  if (i.kind == Kind::WarpGroupMma)
    return;
  const uint32_t number = &i - w.kernel.code.data();
  LentRegisters &lent = w.lent;
  if (i.kind == Kind::Move) {
    const int to = i[0].reg, from = i[1].reg;
    requireWritable(w, i, to, w.tags[from]);
    w.tags[to] = w.tags[from];
    lent.touched[to] = lent.touched[from], lent.by[to] = lent.by[from];
    return;
  }
  auto touch = [&](int reg) { lent.touched[reg] = w.steps, lent.by[reg] = number; };
  for (int reg : i.sources) {
    requireReadable(w, i, reg);
    touch(reg);
  }
  for (int reg : i.results) {
    requireWritable(w, i, reg, 0);
    w.tags[reg] = 0;
    touch(reg);
  }
}

void lendRegisters(Warp &w, const Instruction &i) {
  LentRegisters &lent = w.lent;
  if (!lent.fence)
    w.fault(i, "an MMA without `wgmma.fence` before it");
  const uint32_t number = &i - w.kernel.code.data();
  auto lend = [&](const Operand &part) {
    if (lent.touched[part.reg] > lent.fence)
      w.fault(i, "takes register `" + part.name + "`, which line " + lineOf(w, lent.by[part.reg]) +
                     " accessed without `wgmma.fence` after it");
    lent.until[part.reg] = w.mmas.committed + 1, lent.to[part.reg] = number;
  };
  for (const Operand &part : i[0].parts)
    lend(part);
  if (i[1].kind == Operand::Vector)
    for (const Operand &part : i[1].parts)
      lend(part);
}

} // namespace pantile::ptx
