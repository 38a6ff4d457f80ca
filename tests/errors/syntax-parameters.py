# RUN: not pantilec %s --kernel twice --emit ast 2>&1 | FileCheck %s --check-prefix=TWICE
# RUN: not pantilec %s --kernel order --emit ast 2>&1 | FileCheck %s --check-prefix=ORDER
# RUN: not pantilec %s --kernel colon --emit ast 2>&1 | FileCheck %s --check-prefix=COLON
import triton
import triton.language as tl


@triton.jit
def twice(x_ptr, n, x_ptr):
    pass


@triton.jit
def order(x_ptr, BLOCK: tl.constexpr = 16, n):
    pass


@triton.jit
def colon(x_ptr)
    pass


# TWICE: :[[@LINE-14]]:21: error: parameter `x_ptr` stands twice
# TWICE-NEXT: def twice(x_ptr, n, x_ptr):
# TWICE-NEXT: {{^}}                    ^~~~~
# TWICE-NEXT: :[[@LINE-17]]:11: note: the first one

# ORDER: :[[@LINE-14]]:44: error: parameter `n` without a default follows one with a default
# ORDER: :[[@LINE-15]]:18: note: the parameter with a default
# ORDER-NEXT: def order(x_ptr, BLOCK: tl.constexpr = 16, n):
# ORDER-NEXT: {{^}}                 ^~~~~~~~~~~~~~~~~~~~~~~

# COLON: :[[@LINE-14]]:17: error: expected `:` after the parameters of the function, found the end of the line
