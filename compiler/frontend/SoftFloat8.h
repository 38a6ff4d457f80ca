//===- SoftFloat8.h - 8-bit floats without a type in tile IR -----------------------------===//
// Needs: values of fp8e4b15, fp8e4b8 or fp8e5b16, which are i8 in tile IR.
// Gives: the codes of compile-time numbers, and conversions from and to wider floats.
// How:   Integer arithmetic, see SoftFloat8.cpp; `Emitter::cast` calls it.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Emitter.h"

namespace pantile {

/// The code in `format` to which `value` is rounded.
uint8_t softFp8Of(DType format, double value);

/// The value as fp16, which has every number of these formats.
Runtime softFp8ToHalf(Emitter &e, const Runtime &x);

/// fp8e4b15 of fp16. Halves are rounded up.
Runtime halfToFp8E4B15(Emitter &e, const Runtime &half);

/// fp8e4b8 or fp8e5b16 of fp16, bf16, fp32 or fp64: rounded once, to nearest even or toward zero.
Runtime floatToFnuz(Emitter &e, const Runtime &x, DType format, bool roundToZero);

} // namespace pantile
