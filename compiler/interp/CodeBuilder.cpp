//===- CodeBuilder.cpp - lays registers out in an arena -----------------------------------===//
// Needs: see CodeBuilder.h.
// Gives: CodeBuilder.
//===------------------------------------------------------------------------------------===//
#include "interp/CodeBuilder.h"
#include <algorithm>
#include <map>

namespace pantile::interp {
namespace {

constexpr uint64_t alignment = 64;

uint64_t aligned(uint64_t bytes) {
  return std::max(alignment, (bytes + alignment - 1) / alignment * alignment);
}

/// Memory that is free at some point of the program, by offset.
class FreeList {
public:
  explicit FreeList(uint64_t start) : top(start) {}

  uint64_t take(uint64_t bytes) {
    for (auto range = ranges.begin(); range != ranges.end(); ++range) {
      if (range->second < bytes)
        continue;
      auto [offset, size] = *range;
      ranges.erase(range);
      if (size > bytes)
        ranges.emplace(offset + bytes, size - bytes);
      return offset;
    }
    uint64_t offset = top;
    top += bytes;
    return offset;
  }

  void give(uint64_t offset, uint64_t bytes) {
    auto range = ranges.emplace(offset, bytes).first;
    if (auto next = std::next(range);
        next != ranges.end() && range->first + range->second == next->first) {
      range->second += next->second;
      ranges.erase(next);
    }
    if (range == ranges.begin())
      return;
    if (auto before = std::prev(range); before->first + before->second == range->first) {
      before->second += range->second;
      ranges.erase(range);
    }
  }

  uint64_t end() const { return top; }

private:
  std::map<uint64_t, uint64_t> ranges;
  uint64_t top;
};

} // namespace

CodeBuilder::CodeBuilder() : result(std::make_unique<Code>()) { result->places.emplace_back(); }

Reg CodeBuilder::newReg(uint64_t bytes, bool constant) {
  registers.push_back({aligned(bytes), constant});
  return {static_cast<uint32_t>(registers.size() - 1), 0, constant};
}

void CodeBuilder::touch(Reg reg, size_t position) {
  if (reg.id == Reg::none)
    return;
  Register &target = registers[reg.id];
  target.first = std::min(target.first, position);
  target.last = std::max(target.last, position);
}

size_t CodeBuilder::emit(Handler run, const Operands &operands, uint64_t count, uint32_t extra,
                         uint32_t place, const std::vector<Reg> &others) {
  Instr instr;
  instr.run = run;
  instr.count = static_cast<uint32_t>(count);
  instr.extra = extra;
  bool constant = operands.dst.id != Reg::none && operands.dst.constant;
  auto &list = constant ? setup : body;
  if (!constant) {
    for (Reg reg : {operands.dst, operands.a, operands.b, operands.c})
      touch(reg, body.size());
    for (Reg reg : others)
      touch(reg, body.size());
  }
  list.push_back({instr, operands, place});
  return body.size() - 1;
}

void CodeBuilder::extendOverLoops() {
  // Inner loops end before outer ones, so one pass extends a live range outwards.
  std::stable_sort(loops.begin(), loops.end(),
                   [](const Loop &a, const Loop &b) { return a.last < b.last; });
  for (Register &reg : registers)
    for (const Loop &loop : loops)
      if (reg.first < loop.first && reg.last >= loop.first && reg.last < loop.last)
        reg.last = loop.last;
}

uint64_t CodeBuilder::layOutConstants() {
  uint64_t top = 0;
  for (Register &reg : registers)
    if (reg.constant) {
      reg.offset = top;
      top += reg.bytes;
    }
  return top;
}

uint64_t CodeBuilder::layOutOthers(uint64_t start) {
  std::vector<Register *> byStart;
  for (Register &reg : registers)
    if (!reg.constant && reg.first != SIZE_MAX)
      byStart.push_back(&reg);
  std::stable_sort(byStart.begin(), byStart.end(),
                   [](auto *a, auto *b) { return a->first < b->first; });
  std::multimap<size_t, Register *> live;
  FreeList memory(start);
  for (Register *reg : byStart) {
    while (!live.empty() && live.begin()->first < reg->first) {
      memory.give(live.begin()->second->offset, live.begin()->second->bytes);
      live.erase(live.begin());
    }
    reg->offset = memory.take(reg->bytes);
    live.emplace(reg->last, reg);
  }
  return memory.end();
}

uint32_t CodeBuilder::offsetOf(Reg reg) const {
  return reg.id == Reg::none ? 0 : static_cast<uint32_t>(registers[reg.id].offset + reg.addend);
}

void CodeBuilder::resolve(const std::vector<Pending> &from, std::vector<Instr> &to,
                          std::vector<uint32_t> &places) const {
  for (const Pending &pending : from) {
    Instr instr = pending.instr;
    instr.dst = offsetOf(pending.operands.dst);
    instr.a = offsetOf(pending.operands.a);
    instr.b = offsetOf(pending.operands.b);
    instr.c = offsetOf(pending.operands.c);
    to.push_back(instr);
    places.push_back(pending.place);
  }
}

void CodeBuilder::resolveTables() {
  for (Argument &argument : result->arguments)
    argument.reg = offsetOf(argument.reg);
  for (DotShape &dot : result->dots)
    dot.scratch = offsetOf(dot.scratch);
  for (Backedge &edge : result->backedges)
    for (LoopMove &move : edge.moves) {
      move.dst = offsetOf(move.dst);
      move.src = offsetOf(move.src);
    }
  for (Print &print : result->prints)
    for (PrintOperand &operand : print.operands)
      operand.reg = offsetOf(operand.reg);
}

std::unique_ptr<Code> CodeBuilder::finish() {
  extendOverLoops();
  uint64_t bytes = layOutOthers(layOutConstants());
  if (bytes > UINT32_MAX)
    return nullptr;
  result->arenaBytes = aligned(bytes);
  resolve(setup, result->setup, result->setupPlaces);
  resolve(body, result->body, result->bodyPlaces);
  resolveTables();
  return std::move(result);
}

} // namespace pantile::interp
