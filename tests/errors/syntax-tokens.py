# What is no token at all: each is reported once, and the statement around it stays silent.
# RUN: not pantilec %s --emit ast 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, n):
    a = 012
    b = 3jx
    c = 99999999999999999999
    d = 2x
    e = n ? 1 : 2
    f = "open
    tl.static_print(f"{n", “n”)
    return n]


# CHECK: :[[@LINE-10]]:9: error: a decimal integer cannot start with `0`; octal numbers start with `0o`
# CHECK-NEXT: a = 012
# CHECK-NEXT: {{^}}        ^~~
# CHECK-NEXT: :[[@LINE-12]]:9: error: `3jx` is neither a number nor a name
# CHECK-NEXT: b = 3jx
# CHECK-NEXT: {{^}}        ^~~
# CHECK-NEXT: :[[@LINE-14]]:9: error: this integer does not fit in 64 bits
# CHECK-NEXT: c = 99999999999999999999
# CHECK-NEXT: {{^}}        ^~~~~~~~~~~~~~~~~~~~
# CHECK-NEXT: :[[@LINE-16]]:9: error: `2x` is neither a number nor a name
# CHECK-NEXT: d = 2x
# CHECK-NEXT: {{^}}        ^~
# CHECK-NEXT: :[[@LINE-18]]:11: error: `?` has no meaning in the language
# CHECK: :[[@LINE-18]]:9: error: this string is not closed on its line
# CHECK-NEXT: f = "open
# CHECK-NEXT: {{^}}        ^~~~~
# CHECK-NEXT: :[[@LINE-20]]:23: error: `{` is never closed in this f-string
# CHECK: :[[@LINE-20]]:13: error: `]` closes nothing
# CHECK-NOT: error:
