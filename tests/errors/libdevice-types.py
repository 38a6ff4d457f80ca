# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, *fp16:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl
from pantile.language.extra import libdevice


@triton.jit
def kernel(out, p):
    x = tl.load(p + tl.arange(0, 16))
    tl.store(out, libdevice.erfinv(x))
    tl.store(out, libdevice.byte_perm(x, 1, 2))
    tl.store(out, libdevice.pow(x, x))
    tl.store(out, libdevice.sine(x))

# ERROR: libdevice-types.py:10:19: error: `libdevice.erfinv` takes `fp32` or `fp64`, got `fp16`
# ERROR: libdevice-types.py:11:19: error: `libdevice.byte_perm` takes (`int32`, `int32`, `int32`), got (`fp16`, `int32`, `int32`)
# ERROR: libdevice-types.py:12:19: error: `libdevice.pow` takes (`fp32`, `int32`), (`fp64`, `int32`), (`fp32`, `fp32`) or (`fp64`, `fp64`), got (`fp16`, `fp16`)
# ERROR: libdevice-types.py:13:29: error: there is no `tl.extra.libdevice.sine` in the language; did you mean `libdevice.sin`?
# ERROR-NOT: error:
