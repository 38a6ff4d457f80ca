import numpy as np
from saxpy import saxpy, triton

n = 1000
x, y = np.random.rand(2, n).astype(np.float32)
expected = 2.5 * x + y
saxpy[(triton.cdiv(n, 256),)](x, y, 2.5, n, BLOCK=256)
triton.testing.assert_close(y, expected, atol=1e-6)
