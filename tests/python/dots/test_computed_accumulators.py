"""Dots that add to what was computed from the last sum: everything a register of the accumulator can hold.

The instruction for a computation may not move past the fence that orders registers before an MMA.
"""

import numpy as np
import pantile
import pantile.language as tl
import pytest
from conftest import random

SIZE = 64
COMPUTED = {
    "negated": lambda acc: -acc,
    "halved": lambda acc: acc * 0.5,
    "magnitude": np.abs,
    "shifted": lambda acc: acc + 1,
    "not negative": lambda acc: np.maximum(acc, 0),
    "rounded": lambda acc: acc.astype(np.float16).astype(np.float64),
    "chosen": lambda acc: np.where(acc < 0, -acc, 2 * acc),
    "rows": lambda acc: acc * (np.arange(SIZE) % 3 - 1)[:, None],
    "kept": lambda acc: acc,
}


@pantile.jit
def computed(acc, HOW: tl.constexpr, S: tl.constexpr):
    if HOW == "negated":
        acc = -acc
    elif HOW == "halved":
        acc = acc * 0.5
    elif HOW == "magnitude":
        acc = tl.abs(acc)
    elif HOW == "shifted":
        acc = acc + 1
    elif HOW == "not negative":
        acc = tl.maximum(acc, 0)
    elif HOW == "rounded":
        acc = acc.to(tl.float16).to(tl.float32)
    elif HOW == "chosen":
        acc = tl.where(acc < 0, -acc, 2 * acc)
    elif HOW == "rows":
        acc = acc * (tl.arange(0, S) % 3 - 1)[:, None]
    return acc


@pantile.jit
def kernel(a_ptr, b_ptr, c_ptr, count, HOW: tl.constexpr, S: tl.constexpr):
    at = tl.arange(0, S)[:, None] * S + tl.arange(0, S)[None, :]
    acc = tl.load(c_ptr + at)
    for i in range(0, count):
        a, b = tl.load(a_ptr + i * S * S + at), tl.load(b_ptr + i * S * S + at)
        acc = tl.dot(a, b, computed(acc, HOW, S))
    tl.store(c_ptr + at, acc)


@pytest.mark.parametrize("how", COMPUTED)
@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("count", [0, 1, 4])
def test_sums_that_are_computed_with_before_the_next_dot(device, count, stages, warps, how):
    # Small integers: sums are exact, and so is what is computed with them.
    a, b = (np.sign(random((4, SIZE, SIZE), "fp16")).astype(np.float16) for _ in range(2))
    want = np.round(random((SIZE, SIZE), "fp32") * 4).astype(np.float64)
    c = device.to(want.astype(np.float32))
    kernel[(1,)](
        device.to(a), device.to(b), c, count, HOW=how, S=SIZE, num_warps=warps, num_stages=stages
    )
    for x, y in zip(a[:count].astype(np.float64), b[:count].astype(np.float64), strict=True):
        want = COMPUTED[how](want) + x @ y
    np.testing.assert_array_equal(device.numpy(c), want)
