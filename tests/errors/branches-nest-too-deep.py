# RUN: not pantilec %s --kernel kernel --signature "*fp32:16, i32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def nest(p, n, DEPTH: tl.constexpr):
    if n > DEPTH:
        if n > 2 * DEPTH:
            nest(p, n + 1, DEPTH - 1)
    else:
        tl.store(p, 1.0)


@triton.jit
def kernel(p, n):
    nest(p, n, 500)

# ERROR: branches-nest-too-deep.py:10:13: error: branches and loops nest deeper than 400 levels here
# ERROR: branches-nest-too-deep.py:10:13: note: in the call of `nest`
# ERROR: branches-nest-too-deep.py:10:13: note: in the call of `nest`
# ERROR: branches-nest-too-deep.py:10:13: note: in the call of `nest`
# ERROR: branches-nest-too-deep.py:10:13: note: in the call of `nest`
# ERROR: branches-nest-too-deep.py:10:13: note: in the call of `nest`
# ERROR: branches-nest-too-deep.py:17:5: note: in the call of `nest`
# ERROR-NOT: error:
# The sanitizers make frames larger, so that the stack ends first.
# UNSUPPORTED: sanitizers
