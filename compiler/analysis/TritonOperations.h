//===- TritonOperations.h - tile IR as operations of Triton ------------------------===//
// Needs: tile IR of one kernel as the front end emits it: a `scf.while` passes on all that it
//        tests.
// Gives: the operations and blocks of pantile/TritonView.h.
// How:   One walk. A value is numbered at its first use or definition. Where a number is set
//        before, it stands for the value at all uses: operands of a map's body and sizes of
//        descriptors are expressed this way.
//===-------------------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "pantile/TritonView.h"
#include <set>

namespace pantile {

/// `extents`: the arguments of the kernel that are sizes and strides of descriptors, by position.
TritonView tritonOperations(mlir::ModuleOp module, const std::set<unsigned> &extents);

} // namespace pantile
