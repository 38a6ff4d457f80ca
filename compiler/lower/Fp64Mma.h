//===- Fp64Mma.h - dots of fp64 on tensor cores -----------------------------------------------===//
#pragma once
#include "lower/Lowering.h"

namespace pantile::lower {

/// A dot of fp64 on mma.sync m8n8k4, or m16n8k4, k8 or k16.
llvm::LogicalResult lowerFp64Mma(Lowering &l, DotOp op);

} // namespace pantile::lower
