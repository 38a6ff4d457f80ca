//===- TransposingLayout.h - registers between two buffers of other orders ----------------------===//
// Needs: a matrix of fp32, K by N, both at least 8.
// Gives: a layout to read it along N from one buffer and to write it along K to another.
// How:   threads hold blocks of 4 by 4. Lanes are apart along both dimensions, so that in neither
//        buffer, each swizzled by 128 bytes, vectors of a quarter warp meet in banks.
//===----------------------------------------------------------------------------------------===//
#ifndef PANTILE_LAYOUT_TRANSPOSINGLAYOUT_H
#define PANTILE_LAYOUT_TRANSPOSINGLAYOUT_H

#include "layout/LinearLayout.h"

namespace pantile {

/// `fastest`: the dimension of a block of 4 by 4 that neighbouring registers go along.
LinearLayout transposingLayout(llvm::ArrayRef<int64_t> shape, int numWarps, int fastest);

} // namespace pantile

#endif // PANTILE_LAYOUT_TRANSPOSINGLAYOUT_H
