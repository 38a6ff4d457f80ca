//===- Window.h - a rectangle of an array in memory ---------------------------------------===//
// Needs: the base pointer, sizes, strides and the position of the rectangle, at run time.
// Gives: the pointers to its elements, and the mask of those inside the array: what block
//        pointers and tensor descriptors come down to.
// How:   one index per dimension, `arange + offset`, in 32 bits; addresses are
//        `base + index * stride + ...` in 64 bits; the mask compares each index with the size.
//        One form everywhere, so that later passes recognise it.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/Emitter.h"

namespace pantile {

struct Window {
  Runtime base;                               ///< scalar pointer
  llvm::SmallVector<Runtime, 5> sizes;        ///< of the array: int32 or int64 scalars
  llvm::SmallVector<Runtime, 5> strides;      ///< in elements: int64 scalars
  llvm::SmallVector<Runtime, 5> indices;      ///< int32 tiles of rank 1, one a dimension
  llvm::SmallVector<bool, 5> isNeverNegative; ///< of each index
};

/// `offset` to `offset + count`, exclusive.
Runtime windowIndex(Emitter &e, const Runtime &offset, int64_t count);
/// Appends the index of `offset` and what is known of it.
void addWindowDimension(Emitter &e, Window &window, const Runtime &offset, int64_t count);

Runtime windowPointers(Emitter &e, const Window &window);
/// Which elements lie inside the array along the dimensions `checked`; None where there are none.
Value windowMask(Emitter &e, const Window &window, llvm::ArrayRef<int64_t> checked);

/// Scalars of type `dtype` out of a tuple of integers or one integer.
std::optional<std::vector<Value>> needScalars(Emitter &e, const Value &value, DType dtype,
                                              SourceSpan span, llvm::StringRef what);
llvm::SmallVector<Runtime, 5> scalarsOf(const Value &tuple);
Shape shapeOf(const Value &tuple);
Value tupleOf(llvm::ArrayRef<int64_t> sizes);

} // namespace pantile
