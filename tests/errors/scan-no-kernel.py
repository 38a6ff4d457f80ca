# Which kernel is meant, and why a function is none.
# RUN: not pantilec %s --emit ast 2>&1 | FileCheck %s --check-prefix=MANY
# RUN: not pantilec %s --kernel third --emit ast 2>&1 | FileCheck %s --check-prefix=UNKNOWN
# RUN: not pantilec %s --kernel plain --emit ast 2>&1 | FileCheck %s --check-prefix=PLAIN
import triton


@triton.jit
def first(x_ptr):
    pass


@triton.jit
def second(x_ptr):
    pass


def plain(x_ptr):
    pass


# MANY: error: which kernel is meant? {{.*}}scan-no-kernel.py has `first`, `second`
# UNKNOWN: error: there is no jit function `third` in {{.*}}scan-no-kernel.py; it has `first`, `second`
# PLAIN: scan-no-kernel.py:[[@LINE-6]]:5: error: `plain` is a Python function without the jit decorator
# PLAIN-NEXT: def plain(x_ptr):
# PLAIN-NEXT: {{^}}    ^~~~~
