//===- OperandOrder.h - how the operands of a dot lie, and dots of transposed tiles ------------===//
// Needs: tile IR without layouts.
// Gives: along which dimension an operand's neighbours lie in memory, and the dot that computes the
//        transposed result: C^T = B^T A^T.
// How:   an operand is followed through transposes and elementwise operations to a load, whose
//        pointers say which of their dimensions is contiguous. What comes from elsewhere is held in
//        registers, from which it can be stored either way.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AxisInfo.h"
#include "ir/Tile.h"

namespace pantile {

enum class OperandOrder { AlongK, AcrossK, Any };

/// Of operand 0 or 1 of a dot of matrices.
OperandOrder orderOf(const AxisInfoAnalysis &axes, DotOp dot, unsigned operand);

/// Replaces `dot` by the one of its transposed operands, whose accumulator is transposed, too.
DotOp transposeDot(DotOp dot);

/// Matrices that loops carry and that are only read transposed, as accumulators of such dots, are
/// carried transposed.
void carryTransposes(mlir::Operation *top);

} // namespace pantile
