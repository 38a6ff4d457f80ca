//===- Machine.h - the register machine that runs a kernel ---------------------------------===//
// Needs: nothing of MLIR. Included by code that is compiled for several instruction sets, so every
//        inline function here is forced inline.
// Gives: instructions and the state of one program of the grid.
// How:   A register is a byte offset into the program's arena and holds a scalar or a whole tile in
//        row-major order. An instruction is a function and its operands; a program is a counter and
//        an arena, so it can be suspended between any two instructions.
//===------------------------------------------------------------------------------------===//
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace pantile::interp {

/// Element types in memory: i1 is a byte of 0 or 1, pointers are 8 bytes.
enum class Elem : uint8_t { I1, I8, I16, I32, I64, F8E4M3, F8E5M2, F16, BF16, F32, F64, Ptr };

constexpr unsigned sizeOf(Elem elem) {
  constexpr unsigned sizes[] = {1, 1, 2, 4, 8, 1, 1, 2, 2, 4, 8, 8};
  return sizes[static_cast<unsigned>(elem)];
}
constexpr bool isFloat(Elem elem) { return elem >= Elem::F8E4M3 && elem <= Elem::F64; }

struct Frame;
struct Instr;
using Handler = void (*)(Frame &, const Instr &);

/// `dst`, `a`, `b`, `c` are registers; `count` is a number of elements (of bytes for copies);
/// `extra` is an immediate, a jump target or an index into a table of the Code, depending on the
/// handler.
struct Instr {
  Handler run = nullptr;
  uint32_t dst = 0, a = 0, b = 0, c = 0;
  uint32_t count = 1;
  uint32_t extra = 0;
};

struct Code;
struct Launch;
struct Mailbox;

/// One program of the grid.
struct Frame {
  std::byte *base = nullptr;
  uint32_t pc = 0;
  bool stop = false;          ///< leave the dispatch loop: done, failed or waiting
  bool done = false;          ///< ran to its end
  bool touchedShared = false; ///< an atomic or volatile load ran in this iteration of a `while`
  bool progressed = false;    ///< when suspended: a loop-carried value has changed
  const Instr *lastShared = nullptr; ///< that atomic or load
  int32_t pid[3] = {0, 0, 0};
  int32_t cta = 0;          ///< index of the CTA among those that run
  Launch *launch = nullptr; ///< null while the setup code runs
  const Code *code = nullptr;
  Mailbox *mailbox = nullptr; ///< null unless the program has barriers on which copies complete

  template <typename T> [[gnu::always_inline]] T *at(uint32_t reg) const {
    return reinterpret_cast<T *>(base + reg);
  }
};

/// Ends the launch with an error at the line of `instr`.
[[gnu::cold]] void fail(Frame &frame, const Instr &instr, const char *message);
/// Warns once per source line; ends the launch instead if checks are strict.
[[gnu::cold]] void divisionByZero(Frame &frame, const Instr &instr);

} // namespace pantile::interp
