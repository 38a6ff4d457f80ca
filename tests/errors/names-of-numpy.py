# RUN: not pantilec %s --kernel kernel --signature "*fp32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 16))
    tl.store(p, tl.concatenate(x, x))
    tl.store(p, tl.tanh(x))
    tl.store(p, x.mean())
    tl.store(p, x.astype(tl.float16))

# ERROR: names-of-numpy.py:9:20: error: there is no `tl.concatenate` in the language; `tl.cat` concatenates tiles
# ERROR: names-of-numpy.py:10:20: error: there is no `tl.tanh` in the language; `tl.extra.libdevice` has it
# ERROR: names-of-numpy.py:11:19: error: a `fp32[16]` has no attribute `mean`; `tl.sum` divided by the count gives it
# ERROR: names-of-numpy.py:12:19: error: a `fp32[16]` has no attribute `astype`; `.to(dtype)` converts
# ERROR-NOT: error:
