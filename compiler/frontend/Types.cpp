//===- Types.cpp - see Types.h ----------------------------------------------------------===//
#include "frontend/Types.h"
#include <algorithm>
#include <cassert>
#include <cmath>

using namespace pantile;

namespace {
struct ScalarRow {
  Scalar scalar;
  const char *name, *shortName;
  unsigned bits;
};
constexpr ScalarRow scalars[] = {
    {Scalar::Void, "void", "void", 0},
#define DTYPE(scalar, name, shortName, longName, bits, meaning)                                    \
  {Scalar::scalar, name, shortName, bits},
#include "pantile/Dtypes.def"
};

struct Alias {
  const char *name;
  Scalar scalar;
};
constexpr Alias aliases[] = {
    {"u1", Scalar::I1},
    {"bool", Scalar::I1},
#define DTYPE(scalar, name, shortName, longName, bits, meaning) {longName, Scalar::scalar},
#include "pantile/Dtypes.def"
};

const ScalarRow &row(Scalar scalar) { return scalars[static_cast<size_t>(scalar)]; }

DType promoteFloats(DType a, DType b, bool division) {
  auto either = [&](Scalar s) { return a.scalar == s || b.scalar == s; };
  if (either(Scalar::F64))
    return Scalar::F64;
  if (either(Scalar::F32))
    return Scalar::F32;
  if (either(Scalar::F16))
    return division ? Scalar::F32 : Scalar::F16;
  if (a.scalar == Scalar::BF16 && b.scalar == Scalar::BF16)
    return division ? Scalar::F32 : Scalar::BF16;
  if (either(Scalar::BF16))
    return Scalar::F32;
  return a == b && a.scalar != Scalar::F8E4B15 ? a : DType(Scalar::F16);
}

DType widenForDivision(DType type, bool division) {
  bool half = type.scalar == Scalar::F16 || type.scalar == Scalar::BF16;
  return division && half ? DType(Scalar::F32) : type;
}
} // namespace

unsigned DType::bits() const { return isPointer() ? 64 : row(scalar).bits; }

DType DType::pointee() const {
  assert(isPointer());
  DType result(scalar);
  result.pointers = pointers - 1;
  return result;
}

DType DType::pointerTo(bool toConst) const {
  DType result(scalar);
  result.pointers = pointers + 1;
  result.isConst = toConst;
  return result;
}

std::string DType::name() const {
  if (!isPointer())
    return row(scalar).name;
  return std::string("pointer<") + (isConst ? "const " : "") + pointee().name() + ">";
}

std::string DType::shortName() const {
  if (!isPointer())
    return row(scalar).shortName;
  return std::string(isConst ? "*k" : "*") + pointee().shortName();
}

std::optional<DType> pantile::parseDType(std::string_view name) {
  if (name.starts_with("*")) {
    bool isConst = name.starts_with("*k");
    auto pointee = parseDType(name.substr(isConst ? 2 : 1));
    return pointee ? std::optional(pointee->pointerTo(isConst)) : std::nullopt;
  }
  for (const ScalarRow &row : scalars)
    if (name == row.name || name == row.shortName)
      return DType(row.scalar);
  for (const Alias &alias : aliases)
    if (name == alias.name)
      return DType(alias.scalar);
  return std::nullopt;
}

int64_t Type::count() const {
  int64_t product = 1;
  for (int64_t size : shape)
    product *= size;
  return product;
}

std::string Type::name() const { return element.name() + (isTile() ? shapeText(shape) : ""); }

std::string pantile::shapeText(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::optional<Shape> pantile::broadcastShapes(llvm::ArrayRef<int64_t> a,
                                              llvm::ArrayRef<int64_t> b) {
  size_t rank = std::max(a.size(), b.size());
  Shape result(rank);
  for (size_t i = 0; i < rank; ++i) {
    int64_t x = i < rank - a.size() ? 1 : a[i - (rank - a.size())];
    int64_t y = i < rank - b.size() ? 1 : b[i - (rank - b.size())];
    if (x != y && x != 1 && y != 1)
      return std::nullopt;
    result[i] = std::max(x, y);
  }
  return result;
}

bool pantile::fitsInto(BigInt value, DType integer) {
  if (integer.isBool())
    return value == 0 || value == 1;
  BigInt one = 1;
  unsigned bits = integer.bits();
  if (integer.isSigned())
    return value >= -(one << (bits - 1)) && value < (one << (bits - 1));
  return value >= 0 && value < (one << bits);
}

std::optional<DType> pantile::literalType(BigInt value) {
  for (Scalar scalar : {Scalar::I32, Scalar::U32, Scalar::I64, Scalar::U64})
    if (fitsInto(value, scalar))
      return DType(scalar);
  return std::nullopt;
}

DType pantile::literalType(double value) {
  double magnitude = std::fabs(value);
  bool inRange = magnitude == 0 || std::isnan(value) || std::isinf(value) ||
                 (magnitude >= 0x1p-126 && magnitude <= 3.4028234663852886e38);
  return inRange ? Scalar::F32 : Scalar::F64;
}

DType pantile::promoteIntegers(DType a, DType b) {
  unsigned rankA = a.bits(), rankB = b.bits();
  if (a.isSigned() == b.isSigned())
    return rankA > rankB ? a : b;
  if (!a.isSigned())
    return rankA >= rankB ? a : b;
  return rankB >= rankA ? b : a;
}

std::optional<DType> pantile::promote(PromotionOperand a, PromotionOperand b, bool division) {
  if (!a.dtype.isNumber() || !b.dtype.isNumber())
    return std::nullopt;
  if (a.isNumber != b.isNumber) {
    DType number = a.isNumber ? a.dtype : b.dtype, typed = a.isNumber ? b.dtype : a.dtype;
    if (number.kind() <= typed.kind())
      return widenForDivision(typed, division);
  }
  if (a.dtype.isFloat() && b.dtype.isFloat())
    return promoteFloats(a.dtype, b.dtype, division);
  if (a.dtype.isFloat() || b.dtype.isFloat())
    return widenForDivision(a.dtype.isFloat() ? a.dtype : b.dtype, division);
  return promoteIntegers(a.dtype, b.dtype);
}
