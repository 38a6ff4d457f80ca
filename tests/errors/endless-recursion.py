# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def count(n):
    return count(n + 1)


@triton.jit
def kernel(p):
    tl.store(p, count(0))

# ERROR: endless-recursion.py:8:12: error: calls nest deeper than 256: the recursion of `count` does not end
# ERROR: endless-recursion.py:8:12: note: in the call of `count`
# ERROR: endless-recursion.py:8:12: note: in the call of `count`
# ERROR: endless-recursion.py:8:12: note: in the call of `count`
# ERROR: endless-recursion.py:8:12: note: in the call of `count`
# ERROR: endless-recursion.py:8:12: note: in the call of `count`
# ERROR: endless-recursion.py:13:17: note: in the call of `count`
# ERROR-NOT: error:
# The sanitizers make frames larger, so that the stack ends first.
# UNSUPPORTED: sanitizers
