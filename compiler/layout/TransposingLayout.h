//===- TransposingLayout.h - a layout between two buffers of opposite orders -------===//
// Needs: a matrix of fp32 or of bytes, K by N, both at least 8.
// Gives: a layout to read it along N from one buffer and to write it along K to another.
// How:   Of fp32, threads hold blocks of 4 by 4. Lanes differ along both dimensions, so that in neither
//        buffer, each swizzled by 128 bytes, the vectors of a quarter warp have bank conflicts.
//        Of bytes, a thread reads words of 4 along N, and writes words of 4 along K, or vectors of 16
//        where it holds 64 bytes. Of all orders of lanes these take the fewest cycles of both
//        (SharedLayoutTest), about twice as many as without conflicts.
//===-------------------------------------------------------------------------------===//
#ifndef PANTILE_LAYOUT_TRANSPOSINGLAYOUT_H
#define PANTILE_LAYOUT_TRANSPOSINGLAYOUT_H

#include "layout/LinearLayout.h"

namespace pantile {

/// `fastest`: the dimension of a block along which consecutive registers run.
LinearLayout transposingLayout(llvm::ArrayRef<int64_t> shape, int numWarps, int fastest);
LinearLayout transposingBytes(llvm::ArrayRef<int64_t> shape, int numWarps, int fastest);

} // namespace pantile

#endif // PANTILE_LAYOUT_TRANSPOSINGLAYOUT_H
