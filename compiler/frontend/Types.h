//===- Types.h - the types of the kernel language and their promotion -------------------===//
// Needs: nothing of MLIR.
// Gives: element types (with signedness, which tile IR does not have), tile types, names in
//        both spellings, and the rules by which two operands find a common type.
// How:   a scalar is a tile of rank 0. Promotion takes what the operand is: a number without
//        a type of its own follows the typed operand, where its kind is not above it.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/PythonArithmetic.h"
#include <cstdint>
#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallVector.h>
#include <optional>
#include <string>
#include <string_view>

namespace pantile {

enum class Scalar : uint8_t {
  Void,
#define DTYPE(scalar, name, shortName, longName, bits, meaning) scalar,
#include "pantile/Dtypes.def"
};

/// Promotion kinds, in order.
enum class NumberKind { Bool, Int, Float };

/// Type of an element: a scalar, or `pointers` levels of pointer to one.
struct DType {
  Scalar scalar = Scalar::Void;
  uint8_t pointers = 0;
  bool isConst = false; ///< a pointer that must not be stored through

  DType() = default;
  constexpr DType(Scalar scalar) : scalar(scalar) {}

  bool isPointer() const { return pointers != 0; }
  bool isVoid() const { return !isPointer() && scalar == Scalar::Void; }
  bool isBool() const { return !isPointer() && scalar == Scalar::I1; }
  bool isInt() const { return !isPointer() && scalar >= Scalar::I1 && scalar <= Scalar::U64; }
  bool isFloat() const { return !isPointer() && scalar >= Scalar::F8E5 && scalar <= Scalar::F64; }
  bool isComplex() const { return !isPointer() && scalar == Scalar::C64; }
  bool isFp8() const { return !isPointer() && scalar >= Scalar::F8E5 && scalar <= Scalar::F8E5B16; }
  /// A format that is 8 plain bits to tile IR: integer arithmetic converts it.
  bool isSoftFp8() const {
    return !isPointer() && scalar >= Scalar::F8E4B15 && scalar <= Scalar::F8E5B16;
  }
  /// One with a single NaN, and neither infinities nor a negative zero.
  bool isFnuz() const { return isSoftFp8() && scalar != Scalar::F8E4B15; }
  bool isSigned() const { return !isPointer() && scalar >= Scalar::I8 && scalar <= Scalar::I64; }
  bool isNumber() const { return isInt() || isFloat(); }
  NumberKind kind() const {
    return isFloat() ? NumberKind::Float : isBool() ? NumberKind::Bool : NumberKind::Int;
  }
  unsigned bits() const; ///< 64 of a pointer

  DType pointee() const;
  DType pointerTo(bool toConst = false) const;

  /// As the language prints it: "int32", "fp16", "pointer<fp16>".
  std::string name() const;
  /// As a signature spells it: "i32", "fp16", "*fp16".
  std::string shortName() const;

  bool operator==(const DType &other) const {
    return scalar == other.scalar && pointers == other.pointers;
  }
};

/// "fp16", "i32", "*kfp32", "c64"; also "u1", "float16", "int32", "complex64".
std::optional<DType> parseDType(std::string_view name);

using Shape = llvm::SmallVector<int64_t, 4>;

/// A scalar (empty shape) or a tile.
struct Type {
  DType element;
  Shape shape;

  bool isTile() const { return !shape.empty(); }
  size_t rank() const { return shape.size(); }
  int64_t count() const;
  Type withElement(DType other) const { return {other, shape}; }
  std::string name() const; ///< "fp16[64, 32]", "int32"
  bool operator==(const Type &) const = default;
};

std::string shapeText(llvm::ArrayRef<int64_t> shape); ///< "[64, 32]"

/// The shape that both broadcast to: ranks are padded with 1 on the left.
std::optional<Shape> broadcastShapes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// The type of a number without a type: int32, else uint32, int64, uint64 by range.
std::optional<DType> literalType(BigInt value);
/// fp32, or fp64 where the magnitude is outside fp32's normal range.
DType literalType(double value);

bool fitsInto(BigInt value, DType integer);

/// What an operand of an arithmetic operation brings to promotion.
struct PromotionOperand {
  DType dtype;
  bool isNumber = false; ///< a number without a type of its own; `dtype` is its literal type
};

/// Common type of an operation; none where the operands have none. `division`: `/` and `%` compute
/// 16-bit floats as fp32.
std::optional<DType> promote(PromotionOperand a, PromotionOperand b, bool division = false);

/// Rank first, then unsigned wins.
DType promoteIntegers(DType a, DType b);

} // namespace pantile
