//===- Occupancy.h - CTAs per SM to request from the assembler -------------------===//
// Needs: a kernel at its last stage, with layouts.
// Gives: `.minnctapersm`, which sets ptxas's register budget, for kernels that wait for memory in
//        loops, hold large tiles at once, or only compute with what they load.
// How:   Without it ptxas saves registers for occupancy: it uses each loaded vector before it
//        issues the next load. Such a loop waits for memory once per vector instead of once per
//        iteration, and an elementwise kernel, with at most a reduction at the end, does so even
//        outside loops. For large CTAs ptxas spills although the values would fit.
//        So the budget is the least of 64, 128 and all registers that holds the tiles that are live
//        at once; then loads are in flight together. Kernels with dots have budgets of their own:
//        if the plan relies on several CTAs per SM, their registers must fit.
//===-----------------------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "support/Target.h"

namespace pantile::lower {

/// Returns the CTAs per SM to request; nothing to leave the choice to ptxas.
std::optional<int> minCtasPerSm(mlir::func::FuncOp kernel, int threads, const Target &target);

} // namespace pantile::lower
