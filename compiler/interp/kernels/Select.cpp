//===- Select.cpp - which instruction set's kernels this processor runs -------------------===//
// Needs: one kernelSet() for each set that the build made (PANTILE_HAVE_AVX2 and so on).
// Gives: kernels, allKernels.
//===------------------------------------------------------------------------------------===//
#include "interp/kernels/Kernels.h"

namespace pantile::interp {

namespace base {
const Kernels &kernelSet();
}
#if defined(PANTILE_HAVE_X86_SETS)
namespace avx2 {
const Kernels &kernelSet();
}
namespace avx512 {
const Kernels &kernelSet();
}
#endif

std::vector<const Kernels *> allKernels() {
  std::vector<const Kernels *> all = {&base::kernelSet()};
#if defined(PANTILE_HAVE_X86_SETS)
  if (__builtin_cpu_supports("x86-64-v3"))
    all.push_back(&avx2::kernelSet());
  if (__builtin_cpu_supports("x86-64-v4"))
    all.push_back(&avx512::kernelSet());
#endif
  return all;
}

const Kernels &kernels() {
  static const Kernels &best = *allKernels().back();
  return best;
}

} // namespace pantile::interp
