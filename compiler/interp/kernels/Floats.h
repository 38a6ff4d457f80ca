//===- Floats.h - run a float function over tiles of any float type ---------------------------===//
// Needs: Narrow.h.
// Gives: `mapFloats<T>(count, f, dst, sources...)`: dst[i] = f(sources[i]...), with narrow types
//        computed in fp32 and rounded once, and forFloat, which picks the C++ type of an element.
// How:   narrow tiles go through short buffers on the stack, so that each loop vectorises. `dst`
//        may be one of the sources.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "interp/kernels/Kernels.h"
#include "interp/kernels/Narrow.h"

namespace pantile::interp {
namespace {

constexpr size_t blockSize = 256;

/// One copy of the loop for each function and each of fp32 and fp64.
template <typename W, typename F, typename... Src>
[[gnu::noinline]] void mapWide(size_t count, F f, W *dst, const Src *...src) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i)
    dst[i] = f(src[i]...);
}

template <typename T, typename F, typename... Src>
void mapFloats(size_t count, F f, T *dst, const Src *...src) {
  if constexpr (!isNarrow<T>) {
    mapWide(count, f, dst, src...);
  } else {
    float buffers[sizeof...(Src)][blockSize];
    for (size_t base = 0; base < count; base += blockSize) {
      size_t length = count - base < blockSize ? count - base : blockSize;
      size_t n = 0;
      (widen(src + base, buffers[n++], length), ...);
      if constexpr (sizeof...(Src) == 1)
        mapWide(length, f, buffers[0], buffers[0]);
      else
        mapWide(length, f, buffers[0], buffers[0], buffers[1]);
      narrow(buffers[0], dst + base, length);
    }
  }
}

/// Calls `make` with a value of the C++ type of `elem`; nullptr for integers.
template <typename Make> Handler forFloat(Elem elem, Make make) {
  switch (elem) {
  case Elem::F8E4M3:
    return make(E4M3());
  case Elem::F8E5M2:
    return make(E5M2());
  case Elem::F16:
    return make(Half());
  case Elem::BF16:
    return make(BFloat());
  case Elem::F32:
    return make(float());
  case Elem::F64:
    return make(double());
  default:
    return nullptr;
  }
}

} // namespace
} // namespace pantile::interp
