//===- MakeTensorMap.cpp - the tensor map of an access, and coordinates in it -------------===//
// Needs: see MakeTensorMap.h.
// Gives: makeTensorMap, makeCoordinates.
//===--------------------------------------------------------------------------------------===//
#include "passes/memory/MakeTensorMap.h"

using namespace mlir;

namespace pantile {
namespace {

AffineExpr hostExpr(Builder &b, AffineAnalysis &affine, const Polynomial &polynomial,
                    int64_t scale) {
  AffineExpr sum = b.getAffineConstantExpr(0);
  for (const auto &[product, coefficient] : polynomial.products()) {
    AffineExpr term = b.getAffineConstantExpr(coefficient * scale);
    for (unsigned leaf : product)
      term = b.getAffineSymbolExpr(cast<BlockArgument>(affine.leaf(leaf)).getArgNumber()) * term;
    sum = sum + term;
  }
  return sum;
}

class DeviceArithmetic {
public:
  DeviceArithmetic(OpBuilder &b, Location loc, AffineAnalysis &affine)
      : b(b), loc(loc), affine(affine) {}

  Value value(const Polynomial &polynomial, const Polynomial &modulus) {
    Value all = value(polynomial);
    return modulus.isZero() ? all : arith::RemUIOp::create(b, loc, all, value(modulus)).getResult();
  }

private:
  Value value(const Polynomial &polynomial) {
    Value sum;
    for (const auto &[product, coefficient] : polynomial.products()) {
      Value term;
      for (unsigned leaf : product) {
        Value factor = asI32(affine.leaf(leaf));
        term = term ? arith::MulIOp::create(b, loc, term, factor).getResult() : factor;
      }
      if (!term)
        term = number(coefficient);
      else if (coefficient != 1)
        term = arith::MulIOp::create(b, loc, term, number(coefficient));
      sum = sum ? arith::AddIOp::create(b, loc, sum, term).getResult() : term;
    }
    return sum ? sum : number(0);
  }

  Value number(int64_t value) {
    return arith::ConstantIntOp::create(b, loc, b.getI32Type(), value);
  }

  Value asI32(Value value) {
    Type i32 = b.getI32Type();
    if (isa<IndexType>(value.getType()))
      return arith::IndexCastOp::create(b, loc, i32, value);
    unsigned width = value.getType().getIntOrFloatBitWidth();
    if (width > 32)
      return arith::TruncIOp::create(b, loc, i32, value);
    return width < 32 ? arith::ExtSIOp::create(b, loc, i32, value).getResult() : value;
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
    extents.push_back(hostExpr(b, affine, dim.extent, 1));
    if (i > 0)
      strides.push_back(hostExpr(b, affine, dim.stride, bytes));
  }
  for (Value value : access.nonNegative)
    nonNegative.push_back(cast<BlockArgument>(value).getArgNumber());
  for (const TmaAccess::Multiple &multiple : access.multiples) {
    multiples.push_back(hostExpr(b, affine, multiple.value, 1));
    divisors.push_back(multiple.of);
  }
  auto map = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(0, kernel.getNumArguments(), results, b.getContext());
  };
  auto made = nv::TensorMapOp::create(b, loc, nv::TensorMapType::get(b.getContext()),
                                      cast<BlockArgument>(access.base).getArgNumber(),
                                      map(hostExpr(b, affine, access.offset, bytes)), map(extents),
                                      map(strides), box.sizes, box.span, box.element, nonNegative,
                                      AffineMapAttr(), DenseI64ArrayAttr());
  if (!multiples.empty()) {
    made.setMultiples(map(multiples));
    made.setDivisors(divisors);
  }
  return made;
}

SmallVector<Value> makeCoordinates(OpBuilder &b, Location loc, AffineAnalysis &affine,
                                   const TmaAccess &access) {
  DeviceArithmetic device(b, loc, affine);
  SmallVector<Value> coordinates;
  for (const TmaAccess::Dim &dim : access.dims)
    coordinates.push_back(device.value(dim.start, dim.modulus));
  return coordinates;
}

} // namespace pantile
