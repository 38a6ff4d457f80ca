//===- MakeTensorMap.cpp - the tensor map of an access, and its coordinates --------===//
// Needs: see MakeTensorMap.h.
// Gives: makeTensorMap, testMultiples, makeCoordinates.
//===-------------------------------------------------------------------------------===//
#include "passes/memory/MakeTensorMap.h"
#include "analysis/HostExpression.h"
#include "support/MachineModel.h"
#include <limits>

using namespace mlir;

namespace pantile {
namespace {

/// Emits the arithmetic of coordinates: in 32 bits where that cannot overflow, else in 64 bits.
class DeviceArithmetic {
public:
  DeviceArithmetic(OpBuilder &b, Location loc, AffineAnalysis &affine)
      : b(b), loc(loc), affine(affine) {}

  Value coordinate(const TmaAccess::Dim &dim) {
    switch (dim.kind) {
    case TmaAccess::Dim::Plain: {
      Value all = value(dim.start, 32);
      return dim.modulus.isZero()
                 ? all
                 : arith::RemUIOp::create(b, loc, all, value(dim.modulus, 32)).getResult();
    }
    case TmaAccess::Dim::Saturated:
      return within(value(dim.start, 64), std::numeric_limits<int32_t>::min(), mostStart);
    case TmaAccess::Dim::ToEnd:
      return fromFar(pastEnd(dim));
    case TmaAccess::Dim::End:
      return fromFar(arith::SubIOp::create(b, loc, row(dim), pastEnd(dim)));
    }
    llvm_unreachable("all kinds are handled");
  }

  Value isMultiple(const TmaAccess::Multiple &multiple) {
    Value rest = arith::RemSIOp::create(b, loc, value(multiple.value, 64), number(multiple.of, 64));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, rest, number(0, 64));
  }

private:
  /// The last start of a box that ends within 32 bits.
  static constexpr int64_t mostStart =
      std::numeric_limits<int32_t>::max() - InstructionSet::boxExtent;

  /// The most rows that memory can have on either side of the argument. The sum and the difference
  /// of two such numbers, plus the rows of the tile, which may have several boxes, fit 32 bits.
  static int64_t mostOfMemory(const TmaAccess::Dim &dim) { return TmaAccess::far - 2 * dim.rows; }

  /// The tile's first row, clamped to the rows that memory can have.
  Value row(const TmaAccess::Dim &dim) {
    const int64_t most = mostOfMemory(dim);
    return within(value(dim.start, dim.startFits ? 32 : 64), -most, most);
  }

  /// The distance of that row past the end, which loops do not change. A distance before the end is
  /// clamped so that no coordinate is negative: there the row is negative, and what is left of the
  /// distance is less than the end.
  Value pastEnd(const TmaAccess::Dim &dim) {
    Value end = within(value(dim.end, 64), -mostOfMemory(dim), mostOfMemory(dim));
    Value past = arith::SubIOp::create(b, loc, row(dim), end);
    return within(past, -TmaAccess::far, TmaAccess::far - dim.rows);
  }

  Value fromFar(Value number32) {
    return arith::AddIOp::create(b, loc, number32, number(TmaAccess::far, 32));
  }

  /// Clamps to [least, most], and truncates to 32 bits.
  Value within(Value all, int64_t least, int64_t most) {
    const unsigned bits = all.getType().getIntOrFloatBitWidth();
    Value low = arith::MinSIOp::create(b, loc, all, number(most, bits));
    Value both = arith::MaxSIOp::create(b, loc, low, number(least, bits));
    return bits > 32 ? arith::TruncIOp::create(b, loc, b.getI32Type(), both).getResult() : both;
  }

  Value value(const Polynomial &polynomial, unsigned bits) {
    Value sum;
    for (const auto &[product, coefficient] : polynomial.products()) {
      Value term;
      for (unsigned leaf : product) {
        Value factor = resized(affine.leaf(leaf), bits);
        term = term ? arith::MulIOp::create(b, loc, term, factor).getResult() : factor;
      }
      if (!term)
        term = number(coefficient, bits);
      else if (coefficient != 1)
        term = arith::MulIOp::create(b, loc, term, number(coefficient, bits));
      sum = sum ? arith::AddIOp::create(b, loc, sum, term).getResult() : term;
    }
    return sum ? sum : number(0, bits);
  }

  Value number(int64_t value, unsigned bits) {
    return arith::ConstantIntOp::create(b, loc, b.getIntegerType(bits), value);
  }

  Value resized(Value value, unsigned bits) {
    Type type = b.getIntegerType(bits);
    if (isa<IndexType>(value.getType()))
      return arith::IndexCastOp::create(b, loc, type, value);
    const unsigned width = value.getType().getIntOrFloatBitWidth();
    if (width > bits)
      return arith::TruncIOp::create(b, loc, type, value);
    return width < bits ? arith::ExtSIOp::create(b, loc, type, value).getResult() : value;
  }

  OpBuilder &b;
  Location loc;
  AffineAnalysis &affine;
};
} // namespace

Value makeTensorMap(OpBuilder &b, Location loc, func::FuncOp kernel, AffineAnalysis &affine,
                    const TmaAccess &access, const TmaBox &box) {
  const int64_t bytes = storageBits(box.element) / 8;
  SmallVector<AffineExpr> extents, strides;
  SmallVector<AffineExpr> multiples;
  SmallVector<int64_t> divisors;
  SmallVector<int32_t> nonNegative;
  for (auto [i, dim] : llvm::enumerate(access.dims)) {
    extents.push_back(hostExpr(b, kernel, affine, dim.extent, 1));
    if (i > 0)
      strides.push_back(hostExpr(b, kernel, affine, dim.stride, bytes));
  }
  for (Value value : access.nonNegative)
    nonNegative.push_back(cast<BlockArgument>(value).getArgNumber());
  for (const TmaAccess::Multiple &multiple : access.multiples) {
    multiples.push_back(hostExpr(b, kernel, affine, multiple.value, 1));
    divisors.push_back(multiple.of);
  }
  auto map = [&](ArrayRef<AffineExpr> results, unsigned extents = 0) {
    return AffineMap::get(0, kernel.getNumArguments() + extents, results, b.getContext());
  };
  auto made = nv::TensorMapOp::create(
      b, loc, nv::TensorMapType::get(b.getContext()),
      cast<BlockArgument>(access.base).getArgNumber(),
      map(hostExpr(b, kernel, affine, access.offset, bytes)), map(extents), map(strides), box.sizes,
      box.span, box.element, nonNegative, AffineMapAttr(), DenseI64ArrayAttr(), AffineMapAttr(),
      /*may_be_empty=*/false);
  if (!multiples.empty()) {
    made.setMultiples(map(multiples));
    made.setDivisors(divisors);
  }
  SmallVector<AffineExpr> conditions;
  for (const Polynomial &condition : access.conditions)
    conditions.push_back(hostExpr(b, kernel, affine, condition, 1));
  if (!conditions.empty())
    made.setConditions(map(conditions, 3));
  return made;
}

Value testMultiples(OpBuilder &b, Location loc, AffineAnalysis &affine, const TmaAccess &access) {
  DeviceArithmetic device(b, loc, affine);
  Value all;
  for (const TmaAccess::Multiple &multiple : access.multiples) {
    Value one = device.isMultiple(multiple);
    all = all ? arith::AndIOp::create(b, loc, all, one).getResult() : one;
  }
  return all;
}

SmallVector<Value> makeCoordinates(OpBuilder &b, Location loc, AffineAnalysis &affine,
                                   const TmaAccess &access) {
  DeviceArithmetic device(b, loc, affine);
  SmallVector<Value> coordinates;
  for (const TmaAccess::Dim &dim : access.dims)
    coordinates.push_back(device.coordinate(dim));
  return coordinates;
}

} // namespace pantile
