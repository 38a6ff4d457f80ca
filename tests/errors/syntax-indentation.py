# RUN: not pantilec %s --emit ast 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    for i in range(n):
    tl.store(x_ptr + i, i)
    while n > 0:
        n -= 1
      n -= 2
        n -= 3


# CHECK: syntax-indentation.py:[[@LINE-7]]:5: error: expected an indented block after `for`, found `tl`
# CHECK-NEXT: {{^}}    tl.store(x_ptr + i, i)
# CHECK-NEXT: {{^}}    ^~
# CHECK-NEXT: :[[@LINE-7]]:1: error: this line is indented like no line before it
# CHECK-NEXT: {{^}}      n -= 2
# CHECK-NEXT: {{^}}^~~~~~
# CHECK-NEXT: :[[@LINE-9]]:1: error: this line is indented more than the block it is in
