//===- OperandOrder.h - contiguous dimensions of dot operands, transposed dots -------------===//
// Needs: tile IR without layouts.
// Gives: the contiguous dimension of an operand in memory, and the transposed dot, C^T = B^T A^T.
// How:   an operand is traced through transposes and elementwise operations to a load, whose
//        pointers say which dimension is contiguous. Any other value is in registers, from which it
//        can be stored in either order.
//===--------------------------------------------------------------------------------------===//
#pragma once
#include "analysis/AxisInfo.h"
#include "ir/Tile.h"

namespace pantile {

enum class OperandOrder { AlongK, AcrossK, Any };

/// Along which dimension operand 0 or 1 of `dot` is contiguous in memory.
OperandOrder orderOf(const AxisInfoAnalysis &axes, DotOp dot, unsigned operand);

/// Whether the MLIR block of `dot` loads operand 0 or 1 as it is, or transposed.
bool isLoaded(DotOp dot, unsigned operand);

/// Whether threads compute operand 0 or 1 of `dot` from matrices that its MLIR block loads, in elements
/// that are no wider: several threads would read a word of several numbers.
bool isComputedFromLoads(DotOp dot, unsigned operand);

/// Replaces `dot` by the transposed one, with a transposed accumulator; returns the new dot.
DotOp transposeDot(DotOp dot);

/// Makes loops carry transposed what they only read transposed, such as accumulators of such dots.
void carryTransposes(mlir::Operation *top);

} // namespace pantile
