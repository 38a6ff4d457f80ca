//===- Code.h - a translated kernel -------------------------------------------------------===//
// Needs: Machine.h, Kernels.h. Nothing of MLIR.
// Gives: the instructions of a kernel with the tables that they index, their source positions, and
//        the arguments.
// How:   Registers below `setupBytes` are written by `setup`, once per arena, and are constant from
//        then on; `body` runs once per program.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "interp/Machine.h"
#include "interp/kernels/Kernels.h"
#include "pantile/Error.h"
#include <string>
#include <vector>

namespace pantile::interp {

/// The source position of an instruction, innermost call first, with the source lines.
struct Place {
  std::vector<SourceRange> ranges;
  std::vector<std::string> lines; ///< empty if the source is not known
};

struct Argument {
  std::string name;
  Elem elem = Elem::I32;
  uint32_t reg = 0;
  Elem pointee = Elem::I8; ///< of a pointer
};

/// A load or store. The lanes are `rows` times `cols`, the innermost dimension last.
struct Access {
  uint32_t rows = 1, cols = 1;
  Elem elem = Elem::F32;
  bool masked = false, hasOther = false;
  int argument = -1; ///< the argument that the addresses are computed from; -1: not known
};

enum class RmwOp : uint8_t {
  Add,
  AddF,
  MaxS,
  MaxU,
  MinS,
  MinU,
  MaxF,
  MinF,
  And,
  Or,
  Xor,
  Exchange,
  Read
};

struct Atomic {
  Access access;
  RmwOp op = RmwOp::Add; ///< unused by compare-and-swap
};

struct LoopMove {
  uint32_t dst, src, bytes;
};
/// The end of an iteration of a `while`: the values that the next iteration starts with.
struct Backedge {
  std::vector<LoopMove> moves;
  uint32_t target = 0;
};

struct PrintOperand {
  uint32_t reg;
  Elem elem;
  bool isSigned;
  std::vector<uint32_t> shape; ///< empty for a scalar
};
struct Print {
  std::string prefix;
  bool hex = false;
  std::vector<PrintOperand> operands;
};

/// A copy between a tile and the tensor of a map, fastest dimension first: `panels` boxes,
/// consecutive along that dimension. An element is at fast * `fastStride` + slow * `slowStride` in
/// the tile.
struct TensorBox {
  int argument = 0; ///< that the tensor is part of
  Elem elem = Elem::F32;
  std::vector<int32_t> sizes;
  uint32_t panels = 1, fastStride = 1, slowStride = 1;
  bool adds = false;
};

struct Code {
  std::string name;
  std::vector<Instr> setup, body;
  std::vector<uint32_t> setupPlaces, bodyPlaces; ///< index into `places`, one per instruction
  std::vector<Place> places;
  std::vector<Argument> arguments;
  size_t arenaBytes = 0;
  bool spins = false;           ///< a `while` reads memory: it may wait for another program
  bool isPersistent = false;    ///< persistent: a CTA runs several programs of the user's grid
  bool hasBarriers = false;     ///< copies complete on barriers
  bool foreignPointers = false; ///< addresses come from memory or from integers

  std::vector<std::vector<uint32_t>> tables;
  std::vector<StridedCopy> copies;
  std::vector<DotShape> dots;
  std::vector<Access> accesses;
  std::vector<TensorBox> boxes;
  std::vector<Atomic> atomics;
  std::vector<Backedge> backedges;
  std::vector<Print> prints;
  std::vector<std::string> messages;
  std::vector<std::vector<std::byte>> constants;

  const Place &placeOf(const Instr &instr) const {
    bool inBody = &instr >= body.data() && &instr < body.data() + body.size();
    return inBody ? places[bodyPlaces[&instr - body.data()]]
                  : places[setupPlaces[&instr - setup.data()]];
  }
};

} // namespace pantile::interp
