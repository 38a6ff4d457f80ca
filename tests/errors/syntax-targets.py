# RUN: not pantilec %s --emit ast 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    tl.load(x_ptr) = 1
    n + 1 = 2
    a, None = n, n
    a, n += 1
    for n < 3 in range(4):
        pass
    x_ptr + n < 3 = n


# CHECK: :[[@LINE-9]]:5: error: cannot assign to a call
# CHECK-NEXT: tl.load(x_ptr) = 1
# CHECK-NEXT: {{^}}    ^~~~~~~~~~~~~~
# CHECK-NEXT: :[[@LINE-11]]:5: error: cannot assign to an operation
# CHECK-NEXT: n + 1 = 2
# CHECK-NEXT: {{^}}    ^~~~~
# CHECK-NEXT: :[[@LINE-13]]:8: error: cannot assign to `None`
# CHECK-NEXT: a, None = n, n
# CHECK-NEXT: {{^}}       ^~~~
# CHECK-NEXT: :[[@LINE-15]]:5: error: an augmented assignment has a single target, not a tuple or list
# CHECK: :[[@LINE-15]]:11: error: expected `in` after the target of `for`, found `<`
# CHECK: :[[@LINE-14]]:5: error: cannot assign to a comparison
