//===- TritonOperations.h - tile IR as operations of Triton's ------------------------------===//
// Needs: tile IR of one kernel as the front end emits it: a `scf.while` hands on what it tests.
// Gives: the operations and blocks of pantile/TritonView.h.
// How:   one walk. A value is numbered where it is first met; a number that was set before stands
//        for the value wherever it is used: that is how operands of a map's body and sizes of
//        descriptors are told.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "pantile/TritonView.h"
#include <set>

namespace pantile {

/// `extents`: the arguments of the kernel that are sizes and strides of descriptors, by position.
TritonView tritonOperations(mlir::ModuleOp module, const std::set<unsigned> &extents);

} // namespace pantile
