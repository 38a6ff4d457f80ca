# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    return tl.load(p)

# ERROR: kernel-returns-a-value.py:8:5: error: a kernel returns no value; `tl.store` writes results
# ERROR-NOT: error:
