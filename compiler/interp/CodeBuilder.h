//===- CodeBuilder.h - instructions over virtual registers -----------------------------------===//
// Needs: instructions in their final order; loops as ranges of instructions.
// Gives: a Code whose registers are offsets into one arena.
// How:   A register is live from its first to its last mention. One that is mentioned before a loop
//        and in it is live to the loop's end. Registers with disjoint live ranges share memory;
//        those of the setup code have their own and are live for ever.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "interp/Code.h"
#include <initializer_list>
#include <memory>
#include <vector>

namespace pantile::interp {

/// A virtual register, and an offset in bytes into it. In the tables of a Code its number stands
/// for the register until finish().
struct Reg {
  static constexpr uint32_t none = UINT32_MAX;
  uint32_t id = none;
  uint32_t addend = 0;
  bool constant = false; ///< written by setup code
  bool operator==(const Reg &other) const { return id == other.id && addend == other.addend; }
};

struct Operands {
  Reg dst = {}, a = {}, b = {}, c = {};
};

class CodeBuilder {
public:
  CodeBuilder();

  Reg newReg(uint64_t bytes, bool constant = false);
  /// Appends an instruction, to the setup code if `dst` is constant, and returns its index in the
  /// body. `others` are further registers that the instruction accesses through a table.
  size_t emit(Handler run, const Operands &operands, uint64_t count, uint32_t extra, uint32_t place,
              const std::vector<Reg> &others = {});
  /// Index of the next instruction of the body.
  size_t position() const { return body.size(); }
  void setTarget(size_t instr, size_t target) {
    body[instr].instr.extra = static_cast<uint32_t>(target);
  }
  /// The instructions [first, last] are a loop.
  void addLoop(size_t first, size_t last) { loops.push_back({first, last}); }
  /// Keeps `reg` live from the start of the program.
  void liveFromStart(Reg reg) { touch(reg, 0); }

  /// The tables, to be filled while building.
  Code &code() { return *result; }
  /// Assigns offsets; null if the registers need more memory than an offset can address.
  std::unique_ptr<Code> finish();

private:
  struct Pending {
    Instr instr;
    Operands operands;
    uint32_t place;
  };
  struct Register {
    uint64_t bytes;
    bool constant;
    size_t first = SIZE_MAX, last = 0;
    uint64_t offset = 0;
  };
  struct Loop {
    size_t first, last;
  };
  void touch(Reg reg, size_t position);
  void extendOverLoops();
  uint64_t layOutConstants();
  uint64_t layOutOthers(uint64_t start);
  uint32_t offsetOf(Reg reg) const;
  uint32_t offsetOf(uint32_t id) const { return offsetOf(Reg{id}); }
  void resolve(const std::vector<Pending> &from, std::vector<Instr> &to,
               std::vector<uint32_t> &places) const;
  void resolveTables();

  std::unique_ptr<Code> result;
  std::vector<Pending> setup, body;
  std::vector<Register> registers;
  std::vector<Loop> loops;
};

} // namespace pantile::interp
