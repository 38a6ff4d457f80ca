# One run reports every statement that does not parse, each with its range.
# RUN: not pantilec %s --emit ast 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK
    mask = offsets < = n
    if mask = 3:
        tl.store(x_ptr, 0 mask)
    tl.store(x_ptr + offsets, 1, mask=mask, 2)


# CHECK: syntax-several-errors.py:[[@LINE-7]]:24: error: `(` is never closed
# CHECK-NEXT: {{^}}    offsets = tl.arange(0, BLOCK
# CHECK-NEXT: {{^}}                       ^
# CHECK-NEXT: :[[@LINE-9]]:22: error: expected an expression, found `=`
# CHECK-NEXT: mask = offsets < = n
# CHECK-NEXT: {{^}}                     ^
# CHECK-NEXT: :[[@LINE-11]]:13: error: `=` assigns and stands only in a statement of its own; a comparison is `==`
# CHECK-NEXT: if mask = 3:
# CHECK-NEXT: {{^}}            ^
# CHECK-NEXT: :[[@LINE-13]]:27: error: expected `,` or `)`, found `mask`
# CHECK-NEXT: tl.store(x_ptr, 0 mask)
# CHECK-NEXT: {{^}}                          ^~~~
# CHECK-NEXT: :[[@LINE-16]]:17: note: `(` opened here
# CHECK-NEXT: tl.store(x_ptr, 0 mask)
# CHECK-NEXT: {{^}}                ^
# CHECK-NEXT: :[[@LINE-18]]:45: error: a positional argument cannot follow a keyword argument
# CHECK-NEXT: tl.store(x_ptr + offsets, 1, mask=mask, 2)
# CHECK-NEXT: {{^}}                                            ^
# CHECK-NEXT: :[[@LINE-21]]:34: note: the keyword argument
# CHECK-NOT: error:
