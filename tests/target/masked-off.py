# Of the 32 columns only two are loaded: the seven registers of a thread that hold others are zero without a load. (ptxas 13.0 would fold the conversion of
# such a register's upper half wrongly.) The store of columns that the mask leaves out is gone, too.
# RUN: pantilec %s --kernel columns --signature "*fp8e4nv:16, *fp64:16" --num-warps 1 --target sm_90a --no-cache --emit ptx -o - | FileCheck %s
import pantile
import pantile.language as tl

# CHECK-COUNT-1: ld.global
# CHECK-NOT: ld.global
# CHECK-COUNT-2: st.global
# CHECK-NOT: st.global
# CHECK: ret


@pantile.jit
def columns(a, c):
    rows, cols = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    x = tl.load(a + rows + cols * 32, mask=(rows < 28) & (cols < 2), other=0.0)
    tl.store(c + rows + cols * 32, tl.cumsum(x.to(tl.float64), axis=0), mask=cols < 4)
