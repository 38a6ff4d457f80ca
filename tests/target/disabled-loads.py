# No code is left of loads whose mask never holds: what stands in for them is known. Behind such a load ptxas 13.0 would take
# the upper half of a zero word for 16.
# RUN: pantilec %s --no-cache --signature "*fp8e4nv:16, *fp32:16" --num-warps 1 --emit ptx -o - | FileCheck %s
import pantile as triton
import pantile.language as tl


# CHECK-COUNT-1: ld.global.b32
# CHECK-NOT: ld.global
# CHECK-COUNT-8: st.global
@triton.jit
def columns(x, out):
    i, j = tl.arange(0, 32), tl.arange(0, 32)
    few = (i < 28)[:, None] & (j < 2)[None, :]
    tile = tl.load(x + i[:, None] + j[None, :] * 32, few, 0.0)
    tl.store(out + i[:, None] + j[None, :] * 32, tile.to(tl.float32))
