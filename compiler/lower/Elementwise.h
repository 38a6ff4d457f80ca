//===- Elementwise.h - operations on one element at a time ----------------------------------===//
#pragma once
#include "lower/Lowering.h"

namespace pantile::lower {

/// Lowers `op` by `make` on the operands' values of each register. Registers with the same operands
/// (broadcast tiles), or whose results are known to be equal, have one result.
llvm::LogicalResult mapElements(Lowering &l, mlir::Operation *op,
                                llvm::function_ref<llvm::Value *(ValueList)> make);

/// Lowers an operation on two tiles of bytes four at a time; false, and nothing done, where that is
/// none or its operands are not the bytes of words.
bool lowerOnPackedBytes(Lowering &l, mlir::Operation *op);

/// Lowers a sum, difference or product of two tiles of 16-bit floats two at a time; false where it is
/// none or no operand has pairs.
bool lowerInPairs(Lowering &l, mlir::Operation *op, llvm::Instruction::BinaryOps opcode);

using Unary = llvm::Value *(*)(Lowering &, llvm::Value *);
using Binary = llvm::Value *(*)(Lowering &, llvm::Value *, llvm::Value *);
using Ternary = llvm::Value *(*)(Lowering &, llvm::Value *, llvm::Value *, llvm::Value *);

template <typename... Ops> void addUnary(Handlers &h, Unary fn) {
  (h.add<Ops>([fn](Lowering &l, mlir::Operation *op) {
    return mapElements(l, op, [&](ValueList v) { return fn(l, v[0]); });
  }),
   ...);
}
template <typename... Ops> void addBinary(Handlers &h, Binary fn) {
  (h.add<Ops>([fn](Lowering &l, mlir::Operation *op) {
    return mapElements(l, op, [&](ValueList v) { return fn(l, v[0], v[1]); });
  }),
   ...);
}
template <typename... Ops> void addTernary(Handlers &h, Ternary fn) {
  (h.add<Ops>([fn](Lowering &l, mlir::Operation *op) {
    return mapElements(l, op, [&](ValueList v) { return fn(l, v[0], v[1], v[2]); });
  }),
   ...);
}

/// Runs `fn` in fp32 and rounds back when `value` is a half or bfloat.
llvm::Value *viaFloat(Lowering &l, llvm::Value *value,
                      llvm::function_ref<llvm::Value *(llvm::Value *)> fn);

/// The natural or binary logarithm of a fp32 value.
llvm::Value *logarithm(Lowering &l, llvm::Value *x, bool isBinary);

/// A byte that holds an 8-bit float of type `element`, as a value of the wider float type `to`.
llvm::Value *widenFloat8(Lowering &l, llvm::Value *byte, mlir::Type element, llvm::Type *to);
bool isFloat8(mlir::Type type);

/// Floats rounded to nearest even to a narrower type `to`.
Values narrowFloats(Lowering &l, ValueList values, mlir::Type to);

/// `by`, but 1 where it is 0. LLVM takes what is divided by for not 0, also in masks and conditions
/// (LLVM Language Reference, `sdiv`). In less than 32 bits the quotient of the 32 bits that hardware
/// computes with would not fit, and spoil the elements that share its word.
llvm::Value *divisorOf(Lowering &l, llvm::Value *by);

/// Signed quotients and remainders.
void addDivisions(Handlers &);
/// Integers to floats.
void addIntToFloats(Handlers &);

} // namespace pantile::lower
