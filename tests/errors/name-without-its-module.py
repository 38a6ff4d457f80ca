# RUN: not pantilec %s --kernel kernel --signature "*fp32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.load(p).to(float32))

# ERROR: name-without-its-module.py:8:31: error: `float32` is not defined; did you mean `tl.float32`?
# ERROR-NOT: error:
