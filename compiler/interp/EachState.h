//===- EachState.h - one launch of a kernel in several states, compared -----------------------===//
// Needs: an interpreted kernel, and the same kernel after passes.
// Gives: the results of the first; an error if those of another state differ.
// How:   The memory of the arguments is saved and restored before each state runs. All states run
//        on one worker, so that programs run in the same order. Consecutive states that share a
//        kernel run once. Memory is freed after each: a test's process keeps thousands of states.
//===------------------------------------------------------------------------------------------===//
#pragma once
#include "interp/Interpreter.h"
#include "interp/Machine.h"
#include <string>
#include <vector>

namespace pantile::interp {

struct Code;

/// The kernel after pass `pass` for `target`; null, with the reason, if it has something that the
/// interpreter does not support.
struct State {
  std::string target, pass;
  std::shared_ptr<InterpretedKernel> kernel;
  std::string reason;
};

/// Writes a line per state, "target pass verdict kernel: reason", separated by tabs, to a file of
/// this process in the folder that PANTILE_CHECK_EACH_PASS_REPORT names, if it does.
Result<void> runStates(const InterpretedKernel &first, const Code &code,
                       const std::vector<State> &states, Grid grid,
                       const std::vector<LaunchArg> &args);

} // namespace pantile::interp
