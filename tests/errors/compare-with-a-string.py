# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p)
    if x < "a":
        tl.store(p, x)

# ERROR: compare-with-a-string.py:9:8: error: `<` takes no `fp32` and string
# ERROR-NOT: error:
