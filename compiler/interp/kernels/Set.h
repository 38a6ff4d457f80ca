//===- Set.h - the parts of one instruction set's Kernels -------------------------------------===//
// Needs: PANTILE_ISA, the name of the instruction set's namespace.
// Gives: the functions that the files of this folder define for that set.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "interp/kernels/Kernels.h"

namespace pantile::interp::PANTILE_ISA {

Handler intBinary(BinaryOp op, Elem elem);
Handler intUnary(UnaryOp op, Elem elem);
Handler compareInt(unsigned predicate, Elem elem);
Handler floatBinary(BinaryOp op, Elem elem);
Handler floatUnary(UnaryOp op, Elem elem);
Handler floatTest(TestOp op, Elem elem);
Handler compareFloat(unsigned predicate, Elem elem);
Handler fma(Elem elem);
Handler convert(ConvertOp op, Elem from, Elem to);
Handler select(unsigned bytes);
Handler fill(unsigned bytes);
Handler addPtr(Elem offset);
Handler permute(unsigned bytes);
Handler strided(unsigned bytes);
Handler dot(Elem operands, Elem accumulator);
size_t dotScratchBytes(const DotShape &shape, Elem operands);
AddressSpan span(const uint64_t *addresses, const uint8_t *mask, size_t count);
void read(unsigned bytes, void *dst, const uint64_t *addresses, const uint8_t *mask,
          const void *other, size_t rows, size_t cols);
void write(unsigned bytes, const void *src, const uint64_t *addresses, const uint8_t *mask,
           size_t rows, size_t cols);

} // namespace pantile::interp::PANTILE_ISA
