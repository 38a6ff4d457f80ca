# RUN: not pantilec %s --kernel kernel --signature "*fp32:16" --no-cache --emit tile 2>&1 | FileCheck %s --check-prefix=ERROR
import pantile as triton
import pantile.language as tl


@triton.jit
def kernel(p):
    x = tl.load(p + tl.arange(0, 16))
    tl.store(p, tl.stack((x, x[0:8])))
    tl.store(p, tl.pad(x, 8, mode="edge"))
    tl.store(p, tl.pad(x, (0, 2**64)))
    large = tl.zeros((1024, 1024), tl.float32)
    tl.store(p, tl.pad(large, ((0, 1024), (0, 0))))
    tl.store(p, tl.stack((large, large)))
    tl.store(p, tl.cat((large, large, large, large)))
    tl.store(p, tl.cat(large, large))

# ERROR: parts-of-several-sizes.py:9:26: error: `stack` takes tiles of one type, got `fp32[16]` and `fp32[8]`
# ERROR: parts-of-several-sizes.py:10:35: error: `pad` has the mode `constant` only, got `edge`
# ERROR: parts-of-several-sizes.py:11:27: error: `pad_width` takes numbers of elements before and after a dimension, at most 1048576
# ERROR: parts-of-several-sizes.py:13:31: error: shape [2048, 1024] has more than 1048576 elements
# ERROR: parts-of-several-sizes.py:14:26: error: shape [2, 1024, 1024] has more than 1048576 elements
# ERROR: parts-of-several-sizes.py:15:24: error: shape [4096, 1024] has more than 1048576 elements
# ERROR: parts-of-several-sizes.py:16:17: error: shape [2048, 1024] has more than 1048576 elements
# ERROR-NOT: error:
