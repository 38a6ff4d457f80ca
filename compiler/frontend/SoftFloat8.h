//===- SoftFloat8.h - 8-bit floats that tile IR has no type of ---------------------------===//
// Needs: values of fp8e4b15, fp8e4b8 or fp8e5b16, which are i8 in tile IR.
// Gives: their codes of numbers that are known, and conversions from and to wider floats.
// How:   integer arithmetic, see SoftFloat8.cpp; `Emitter::cast` chooses the way there.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Emitter.h"

namespace pantile {

/// The code of the number of `format` that `value` becomes.
uint8_t softFp8Of(DType format, double value);

/// As fp16, which has room for every number of these formats.
Runtime softFp8ToHalf(Emitter &e, const Runtime &x);

/// fp8e4b15 of fp16. Halves are rounded up.
Runtime halfToFp8E4B15(Emitter &e, const Runtime &half);

/// fp8e4b8 or fp8e5b16 of fp16, bf16, fp32 or fp64: rounded once, to nearest even or toward zero.
Runtime floatToFnuz(Emitter &e, const Runtime &x, DType format, bool roundToZero);

} // namespace pantile
