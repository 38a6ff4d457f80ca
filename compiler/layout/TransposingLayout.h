//===- TransposingLayout.h - a layout between two buffers of opposite orders -------===//
// Needs: a matrix of fp32, K by N, both at least 8.
// Gives: a layout to read it along N from one buffer and to write it along K to another.
// How:   Threads hold blocks of 4 by 4. Lanes differ along both dimensions, so that in neither
//        buffer, each swizzled by 128 bytes, the vectors of a quarter warp have bank conflicts.
//===-------------------------------------------------------------------------------===//
#ifndef PANTILE_LAYOUT_TRANSPOSINGLAYOUT_H
#define PANTILE_LAYOUT_TRANSPOSINGLAYOUT_H

#include "layout/LinearLayout.h"

namespace pantile {

/// `fastest`: the dimension of a block of 4 by 4 along which consecutive registers run.
LinearLayout transposingLayout(llvm::ArrayRef<int64_t> shape, int numWarps, int fastest);

} // namespace pantile

#endif // PANTILE_LAYOUT_TRANSPOSINGLAYOUT_H
