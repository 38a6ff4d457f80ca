//===- Kernels.h - loops over whole tiles, one set per instruction set -----------------------===//
// Needs: Machine.h.
// Gives: handlers by operation and element type. `kernels()` is the set for this processor.
// How:   The files of this folder are compiled once per instruction set, each into a namespace of
//        its own (PANTILE_ISA); the copies have nothing in common.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "interp/Machine.h"
#include <vector>

namespace pantile::interp {

enum class BinaryOp : uint8_t {
  // Integers.
  Add,
  Sub,
  Mul,
  DivS,
  DivU,
  RemS,
  RemU,
  FloorDivS,
  CeilDivS,
  CeilDivU,
  And,
  Or,
  Xor,
  Shl,
  ShrS,
  ShrU,
  MaxS,
  MaxU,
  MinS,
  MinU,
  MulHiS,
  MulHiU,
  // Floats.
  AddF,
  SubF,
  MulF,
  DivF,
  RemF,
  MaximumF,
  MinimumF,
  MaxNumF,
  MinNumF,
  PowF,
  Atan2,
  CopySign,
};

enum class UnaryOp : uint8_t {
  // Integers.
  AbsI,
  CountLeadingZeros,
  CountTrailingZeros,
  PopCount,
  // Floats.
  NegF,
  AbsF,
  Acos,
  Acosh,
  Asin,
  Asinh,
  Atan,
  Atanh,
  Cbrt,
  Ceil,
  Cos,
  Cosh,
  Erf,
  Erfc,
  Exp,
  Exp2,
  ExpM1,
  Floor,
  Log,
  Log10,
  Log1p,
  Log2,
  Round,
  RoundEven,
  Rsqrt,
  Sin,
  Sinh,
  Sqrt,
  Tan,
  Tanh,
  Trunc,
};

/// Float to a truth value.
enum class TestOp : uint8_t { IsNan, IsInf, IsFinite, IsNormal };

/// How a value changes its type. Float to integer truncates and saturates, NaN gives 0.
enum class ConvertOp : uint8_t {
  SignedInt,
  UnsignedInt,
  SignedToFloat,
  UnsignedToFloat,
  FloatToSigned,
  FloatToUnsigned,
  Float,
  FloatTowardZero
};

/// A copy between two strided boxes, in elements. Innermost dimension last.
struct StridedCopy {
  std::vector<uint32_t> sizes, srcStrides, dstStrides;
};

struct DotShape {
  uint32_t batch = 1, m = 1, n = 1, k = 1;
  bool tf32 = false;
  uint32_t scratch = 0; ///< register of scratchBytes(); set when registers are laid out
};

/// Lowest and highest address of the lanes that are read; lo > hi if there is none.
struct AddressSpan {
  uint64_t lo, hi;
};

struct Kernels {
  const char *name;
  Handler (*binary)(BinaryOp, Elem);
  Handler (*unary)(UnaryOp, Elem);
  Handler (*test)(TestOp, Elem);
  Handler (*compareInt)(unsigned predicate, Elem);   ///< numbered as arith::CmpIPredicate
  Handler (*compareFloat)(unsigned predicate, Elem); ///< numbered as arith::CmpFPredicate
  Handler (*convert)(ConvertOp, Elem from, Elem to);
  Handler (*fma)(Elem);
  Handler (*select)(unsigned bytes);  ///< a: conditions, b and c: values
  Handler (*fill)(unsigned bytes);    ///< dst: tile, a: scalar
  Handler (*addPtr)(Elem offset);     ///< a: addresses, b: offsets, extra: bytes per element
  Handler (*permute)(unsigned bytes); ///< dst[i] = a[table[i]], extra: Code::tables
  Handler (*strided)(unsigned bytes); ///< extra: Code::copies
  Handler (*dot)(Elem operands,
                 Elem accumulator); ///< a, b: operands, c: accumulator, extra: Code::dots
  size_t (*dotScratchBytes)(const DotShape &, Elem operands);
  AddressSpan (*span)(const uint64_t *addresses, const uint8_t *mask, size_t count);
  /// Reads or writes rows of `cols` lanes without checks. `mask` and `other` may be null.
  void (*read)(unsigned bytes, void *dst, const uint64_t *addresses, const uint8_t *mask,
               const void *other, size_t rows, size_t cols);
  void (*write)(unsigned bytes, const void *src, const uint64_t *addresses, const uint8_t *mask,
                size_t rows, size_t cols);
};

const Kernels &kernels();
/// Every set that this processor can run, for tests.
std::vector<const Kernels *> allKernels();

} // namespace pantile::interp
