# RUN: not pantilec %s --kernel kernel --signature "*fp32" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


import numpy as np


@triton.jit
def kernel(p):
    tl.store(p, np.sqrt(tl.load(p)))

# ERROR: module-in-a-kernel.py:11:17: error: the global variable `np` is the module `numpy`, which a kernel cannot use; `tl` has the functions of kernels
# ERROR-NOT: error:
