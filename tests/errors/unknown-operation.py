# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    tl.store(p, tl.lod(p))

# ERROR: unknown-operation.py:8:20: error: there is no `tl.lod` in the language; did you mean `tl.load`?
# ERROR-NOT: error:
