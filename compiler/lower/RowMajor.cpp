//===- RowMajor.cpp - see RowMajor.h --------------------------------------------------------===//
#include "lower/RowMajor.h"

using namespace mlir;
using namespace pantile;
using namespace pantile::lower;

Values lower::rowMajorOffsets(Lowering &l, ArrayRef<int64_t> shape, ArrayRef<Values> coordinates,
                              int64_t start, unsigned bits) {
  Values offsets;
  for (size_t reg = 0; reg < coordinates[0].size(); ++reg) {
    if (llvm::any_of(coordinates,
                     [&](const Values &ofDim) { return isa<llvm::PoisonValue>(ofDim[reg]); })) {
      offsets.push_back(nullptr);
      continue;
    }
    llvm::Value *flat = l.b.getInt32(0);
    for (auto [extent, ofDim] : llvm::zip_equal(shape, coordinates))
      flat = l.b.CreateAdd(
          l.b.CreateMul(flat, l.b.getInt32(static_cast<uint32_t>(extent)), "", true, true),
          ofDim[reg], "", true, true);
    flat = l.b.CreateMul(flat, l.b.getInt32(bits / 8), "", true, true);
    offsets.push_back(l.b.CreateAdd(flat, l.b.getInt32(start), "", true, true));
  }
  return offsets;
}

std::vector<Values> lower::coordinatesOf(Lowering &l, const LinearLayout &layout) {
  std::vector<Values> coordinates;
  for (int dim = 0; dim < layout.rank(); ++dim) {
    coordinates.push_back(l.coordinates(layout, dim));
    for (auto [reg, coordinate] : llvm::enumerate(coordinates.back()))
      if (!layout.isPresent(reg))
        coordinate = llvm::PoisonValue::get(coordinate->getType());
  }
  return coordinates;
}
