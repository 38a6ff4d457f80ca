//===- TritonView.h - a kernel's operations under Triton's names ---------------------------===//
// Needs: a program, how it is specialised, options.
// Gives: the tile IR as emitted, before any pass, as plain data: what programs read that ask
//        Triton which arguments a kernel writes (torch.compile's mutation analysis).
// How:   values, blocks and regions are numbers. Operations stand in the order of MLIR's
//        post-order walk: those of a region before the operation that has it.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Compiler.h"

namespace pantile {

/// Names are Triton's ("tt.store", "scf.for"). The view differs from the tile IR where a reader
/// would lose the way of an address, such as one who takes a variable of a loop for what the loop
/// starts with:
/// - an address that a loop changes is started with and yielded as the result of an `arith.select`
///   before the loop, of what it starts with and what it yields;
/// - the body of `tt.map_elementwise` stands before it, and it has no region;
/// - an external function that is not pure is preceded by a `tt.atomic_rmw` of each address that it
///   is given;
/// - the sizes and strides of a host's descriptor are not the arguments that the function declares:
///   nothing is written through them.
struct TritonView {
  /// An operation, by its numbers.
  struct Operation {
    std::string name;                            ///< Triton's, such as "tt.store"
    std::vector<int> operands, results, regions; ///< numbers of values, and of regions
    int block = -1;                              ///< that it stands in; -1: the module itself
    std::map<std::string, std::string> texts;    ///< "sym_name" of functions
    std::map<std::string, bool> flags;           ///< "pure" of inline assembly
  };
  /// A block.
  struct Block {
    int region = -1;            ///< that it stands in
    std::vector<int> arguments; ///< numbers of values
  };
  std::vector<Operation> operations; ///< in post-order
  std::vector<Block> blocks;         ///< by number
  std::string text;                  ///< the tile IR itself
  bool isValid = false;              ///< the verifier accepts it
};

/// The view of the kernel of `program`, specialised as `specialization` says, for `options`. An Error
/// where it does not compile.
PANTILE_API Result<TritonView>
viewAsTriton(const Program &program, const Specialization &specialization, const Options &options);

} // namespace pantile
