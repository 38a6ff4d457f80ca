//===- Program.h - the emulator's representation of PTX ------------------------------===//
// Needs: Order.h.
// Gives: Module, Kernel, Instruction, Operand; parseModule.
// How:   Every operand that is a value is the number of a register of 32 lanes of 64 bits each.
//        Immediates and special registers are registers, too, filled when a warp starts, so that
//        handlers of instructions have only one kind of operand.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "Order.h"
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace pantile::ptx {

using Word = uint64_t;
constexpr int warpSize = 32;

class Warp;
struct Instruction;
using Handler = void (*)(Warp &, const Instruction &);

/// What is wrong with a kernel, or with what it does.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Space : uint8_t { Generic, Global, Shared, Local, Param };

struct Operand {
  enum Kind : uint8_t { Register, Address, Vector, Discard, Name } kind = Register;
  int reg = -1;
  bool inverted = false;        // `!%p`
  int64_t offset = 0;           // of an address
  Space space = Space::Generic; // of the symbol in an address
  std::vector<Operand> parts;   // of a vector; of an address, what follows the pointer; of `d|p`, p
  std::string name;
};

/// An opcode split at its dots: "ld" and {"global", "v4", "b32"}.
struct Opcode {
  std::string text, base;
  std::vector<std::string> parts;

  explicit Opcode(std::string_view text = "");
  bool has(std::string_view part) const;
  /// The last part but `back`; "" if there are fewer.
  std::string_view last(size_t back = 0) const {
    return back < parts.size() ? std::string_view(parts[parts.size() - 1 - back])
                               : std::string_view();
  }
};

/// What warps and checks ask of each instruction that runs.
enum class Kind : uint8_t { Other, Branch, Move, Load, Store, Shuffle, Exchange, WarpGroupMma };

struct Instruction {
  Handler run = nullptr;
  Opcode op;
  Kind kind = Kind::Other; ///< Exchange: between lanes, but for shuffles
  Order order;             ///< of a memory access
  std::vector<Operand> operands;
  std::vector<int> sources, results; ///< registers: that it reads, its guard among them, and writes
  int guard = -1;
  bool guardInverted = false;
  bool wholeWarp = false; // waits until all lanes that live have come
  int target = -1;        // of a branch
  int number[4] = {};     // what a decoder wants to keep
  int line = 0;

  const Operand &operator[](size_t i) const { return operands[i]; }
};

enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaX,
  CtaY,
  CtaZ,
  NctaX,
  NctaY,
  NctaZ,
  Lane,
  WarpId,
  ClusterRank,
  ClusterSize,
  ClusterId,
  ClusterCount,
  IsCluster,
  Zero,
  EnvReg,
  LaneLt,
  LaneLe,
  LaneGt,
  LaneGe,
  LaneEq,
  Smid,
  Nsmid,
  DynamicSharedBytes,
  TotalSharedBytes,
  Clock
};

struct Kernel {
  struct Param {
    int offset, bytes;
    std::string name;
  };
  std::string name;
  std::vector<Param> params;
  int paramBytes = 0;
  int staticSharedBytes = 0; // with the reserved start
  int localBytes = 0;
  int requiredThreads = 0, mostThreads = 0; ///< of a CTA; 0: not said
  int mostRegisters = 0;                    ///< of a thread, `.maxnreg`; 0: not said
  int clusterCtas = 0;                      ///< along the first axis; 0: not said
  int registers = 0;
  std::vector<std::pair<int, Word>> constants;   // register, value
  std::vector<std::pair<int, Special>> specials; // register, meaning
  std::vector<Instruction> code;
};

struct Module {
  std::string target;
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<std::unique_ptr<std::vector<uint8_t>>> globals;
  std::map<std::string, size_t, std::less<>> variables; ///< by name: which of `globals`

  const Kernel *find(std::string_view name) const;
};

/// Reads PTX text; a Fault names the line.
std::unique_ptr<Module> parseModule(std::string_view text);

/// Sets `run` of an instruction, and what the handler wants to know. What is unknown faults when it
/// is reached.
void decode(Instruction &instruction);

/// The start of shared memory that the driver keeps.
constexpr int reservedSharedBytes = 1024;

/// Where the spaces lie among generic addresses; the rest are addresses of the host.
constexpr Word sharedWindow = 0xfff1'0000'0000'0000, localWindow = 0xfff2'0000'0000'0000,
               paramWindow = 0xfff3'0000'0000'0000, windowMask = 0xffff'0000'0000'0000;

} // namespace pantile::ptx
