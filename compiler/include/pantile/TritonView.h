//===- TritonView.h - a kernel's operations under Triton's names ---------------------------===//
// Needs: a program, how it is specialised, options.
// Gives: the tile IR as emitted, before any pass, as plain data, for programs that read Triton's IR
//        to find out which arguments a kernel writes (torch.compile's mutation analysis).
// How:   values, blocks and regions are numbered. Operations are in the order of MLIR's post-order
//        walk: those of a region before the operation that has it.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Compiler.h"

namespace pantile {

/// Operations have Triton's names ("tt.store", "scf.for"). Readers of the view follow an address
/// back to the argument that it comes from, and some take a loop-carried value for its initial
/// value only. So the view differs from the tile IR:
/// - an address that a loop changes is initialised with, and yields, the result of an
///   `arith.select` before the loop; its operands are the initial and the yielded value;
/// - the body of `tt.map_elementwise` comes before it, and it has no region;
/// - an external function that is not pure is preceded by a `tt.atomic_rmw` of each address that is
///   passed to it;
/// - the sizes and strides of a host's descriptor are not arguments of the function: nothing is
///   written through them.
struct TritonView {
  /// An operation: its name and the numbers of what it uses and defines.
  struct Operation {
    std::string name;                            ///< Triton's, such as "tt.store"
    std::vector<int> operands, results, regions; ///< numbers of values, and of regions
    int block = -1;                              ///< that contains it; -1: the module itself
    std::map<std::string, std::string> texts;    ///< "sym_name" of functions
    std::map<std::string, bool> flags;           ///< "pure" of inline assembly
  };
  /// A basic block of MLIR.
  struct Block {
    int region = -1;            ///< that contains it
    std::vector<int> arguments; ///< numbers of values
  };
  std::vector<Operation> operations; ///< in post-order
  std::vector<Block> blocks;         ///< by number
  std::string text;                  ///< the tile IR itself
  bool isValid = false;              ///< whether the verifier accepts it
};

/// Returns the view of the kernel of `program`, specialised as `specialization` says, for
/// `options`. An Error if it does not compile.
PANTILE_API Result<TritonView>
viewAsTriton(const Program &program, const Specialization &specialization, const Options &options);

} // namespace pantile
