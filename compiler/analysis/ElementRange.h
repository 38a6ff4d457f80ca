//===- ElementRange.h - which integers the elements of a tile can be ------------------------===//
// Needs: a tile, or a scalar, of integers.
// Gives: bounds that every element lies between.
// How:   The bounds of an operation's result follow from those of its operands, as its
//        InferIntRangeInterface says. Operations that only move elements keep them. Arguments,
//        loads, and what is more than a few operations away are any integer of their type.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "mlir/Interfaces/InferIntRangeInterface.h"

namespace pantile {

mlir::ConstantIntRanges rangeOfElements(mlir::Value value);

} // namespace pantile
