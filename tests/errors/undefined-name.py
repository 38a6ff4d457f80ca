# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    offs = tl.arange(0, 16)
    tl.store(p + ofs, 1.0)

# ERROR: undefined-name.py:9:18: error: `ofs` is not defined; did you mean `offs`?
# ERROR-NOT: error:
