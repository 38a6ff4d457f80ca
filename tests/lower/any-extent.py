# Of an extent that is no power of two, a register outside in every thread costs nothing, and one outside in some is masked.
# RUN: pantilec %s --kernel copy --signature "*fp32:16, *fp32:16" -D N=96 --num-warps 1 --no-cache --emit ptx | FileCheck %s --check-prefix=WHOLE
# RUN: pantilec %s --kernel copy --signature "*fp32:16, *fp32:16" -D N=97 --num-warps 1 --no-cache --emit ptx | FileCheck %s --check-prefix=PARTIAL
import pantile as triton
import pantile.language as tl


# WHOLE-NOT: setp
# WHOLE-COUNT-3: ld.global
# WHOLE-COUNT-3: st.global
# WHOLE-NOT: st.global
# PARTIAL-COUNT-3: {{^}}{{[[:space:]]}}ld.global
# PARTIAL: @%p{{.*}} ld.global
# PARTIAL-COUNT-3: {{^}}{{[[:space:]]}}st.global
# PARTIAL: @%p{{.*}} st.global
@triton.jit
def copy(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, tl.load(x + at))
