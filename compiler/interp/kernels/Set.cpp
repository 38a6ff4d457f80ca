//===- Set.cpp - one instruction set's Kernels --------------------------------------------===//
// Needs: Set.h; compiled once for each instruction set.
// Gives: `kernelSet()` of the set.
//===------------------------------------------------------------------------------------===//
#include "interp/kernels/Set.h"

#define PANTILE_TEXT(x) #x
#define PANTILE_NAME(x) PANTILE_TEXT(x)

namespace pantile::interp::PANTILE_ISA {
namespace {

Handler binary(BinaryOp op, Elem elem) {
  return op < BinaryOp::AddF ? intBinary(op, elem) : floatBinary(op, elem);
}
Handler unary(UnaryOp op, Elem elem) {
  return op < UnaryOp::NegF ? intUnary(op, elem) : floatUnary(op, elem);
}

constexpr Kernels set = {PANTILE_NAME(PANTILE_ISA),
                         binary,
                         unary,
                         floatTest,
                         compareInt,
                         compareFloat,
                         convert,
                         fma,
                         select,
                         fill,
                         addPtr,
                         permute,
                         strided,
                         dot,
                         dotScratchBytes,
                         span,
                         read,
                         write};

} // namespace

const Kernels &kernelSet() { return set; }

} // namespace pantile::interp::PANTILE_ISA
