"""Loops whose last MMAs run one iteration later, in other shapes than attention's and its gradients'."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random

OVERLAPPED = "the last MMAs of an iteration are in flight together with the first of the next"


def is_overlapped(kernel):
    return any(OVERLAPPED in remark.message for remark in kernel.remarks)


@triton.jit
def attend_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, second_ptr, n,
    DEPTH: tl.constexpr, STEP: tl.constexpr, SAME: tl.constexpr, OUTPUTS: tl.constexpr,
    RESCALED: tl.constexpr,
):  # fmt: skip
    """One or two accumulators of the same weights; K may be V, too, as in MLA."""
    at, step, features = tl.arange(0, 64), tl.arange(0, STEP), tl.arange(0, DEPTH)
    q = tl.load(q_ptr + at[:, None] * DEPTH + features[None, :])
    best = tl.full((64,), float("-inf"), tl.float32)
    first = tl.full((64, DEPTH), 0.5, tl.float32)
    second = tl.full((64, DEPTH), 0.25, tl.float32)
    for start in range(0, n, STEP):
        rows = (start + step)[:, None] * DEPTH + features[None, :]
        k = tl.load(k_ptr + rows)
        scores = tl.dot(q, tl.trans(k))
        v = k
        if not SAME:
            v = tl.load(v_ptr + rows)
        if RESCALED:
            now = tl.maximum(best, tl.max(scores, 1))
            p = tl.exp2(scores - now[:, None])
            scale = tl.exp2(best - now)[:, None]
            first = tl.dot(p.to(tl.float16), v, first * scale)
            if OUTPUTS == 2:
                second = tl.dot((p * 0.5).to(tl.float16), k, second * scale)
            best = now
        else:
            p = scores * 0.25
            first = tl.dot(p.to(tl.float16), v, first)
            if OUTPUTS == 2:
                second = tl.dot((p * 0.5).to(tl.float16), k, second)
    own = at[:, None] * DEPTH + features[None, :]
    tl.store(out_ptr + own, first)
    tl.store(second_ptr + own, second)


def expected(q, k, v, step, rescaled):
    """float64, but for weights that are rounded to fp16."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    first, second = (np.full(q.shape, value) for value in (0.5, 0.25))
    best = np.full((len(q), 1), -np.inf)
    for start in range(0, len(k), step):
        keys, values = k[start : start + step], v[start : start + step]
        scores = q @ keys.T
        p = scores * 0.25
        if rescaled:
            now = np.maximum(best, scores.max(1, keepdims=True))
            p, scale = np.exp2(scores - now), np.exp2(best - now)
            first, second, best = first * scale, second * scale, now
        first, second = first + p @ values, second + (p * 0.5) @ keys
    return first, second


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("iterations", [0, 1, 2, 3, 7])
@pytest.mark.parametrize(
    "same,outputs,rescaled",
    [(True, 1, True), (False, 2, True), (True, 2, True), (True, 1, False), (False, 2, False)],
    ids=["shared", "two", "shared-two", "shared-plain", "two-plain"],
)
def test_any_stages(device, same, outputs, rescaled, iterations, stages):
    step, depth = 64, 64
    length = max(iterations, 1) * step
    q, k, v = (random((rows, depth), "fp16") / 4 for rows in (64, length, length))
    first, second = (device.output((64, depth), "fp32") for _ in range(2))
    attend_kernel[(1,)](
        *map(device.to, (q, k, v)), first.array, second.array, iterations * step,
        DEPTH=depth, STEP=step, SAME=same, OUTPUTS=outputs, RESCALED=rescaled,
        num_warps=4, num_stages=stages, disabled_passes="occupancy-first",
    )  # fmt: skip
    exact = expected(q, *((k[: iterations * step],) * 2 if same else
                          (k[: iterations * step], v[: iterations * step])), step, rescaled)  # fmt: skip
    outs = [first.numpy(), second.numpy()][:outputs]
    for result, right in zip(outs, exact, strict=False):
        np.testing.assert_allclose(result, right, rtol=0, atol=3e-3 * np.abs(right).max())


@triton.jit
def both_kernel(x_ptr, w_ptr, v_ptr, out_ptr, last_ptr, n):
    """One left operand in registers, read by the first dot of an iteration and by the last."""
    at = tl.arange(0, 64)
    square = at[:, None] * 64 + at[None, :]
    sums = tl.zeros((64, 64), tl.float32)
    last = tl.zeros((64,), tl.float32)
    for start in range(0, n, 64):
        rows = start * 64 + square
        column = tl.load(x_ptr + start + at).to(tl.float32)
        x = (column[:, None] * at[None, :].to(tl.float32) / 64).to(tl.float16)
        w, v = tl.load(w_ptr + rows), tl.load(v_ptr + rows)
        last += tl.max(tl.dot(x, w), 1)
        sums = tl.dot(x, v, sums)
    tl.store(out_ptr + square, sums)
    tl.store(last_ptr + at, last)


@pytest.mark.parametrize("iterations", [0, 1, 3, 6])
@pytest.mark.parametrize("stages", [3, 4])
def test_an_operand_of_both_stages(device, iterations, stages):
    length = max(iterations, 1) * 64
    x, w, v = (random(shape, "fp16") for shape in ((length,), (length, 64), (length, 64)))
    out, last = device.output((64, 64), "fp32"), device.output((64,), "fp32")
    both_kernel[(1,)](
        *map(device.to, (x, w, v)), out.array, last.array, iterations * 64,
        num_warps=4, num_stages=stages, disabled_passes="occupancy-first,buffered-values",
    )  # fmt: skip
    sums, most = np.zeros((64, 64)), np.zeros(64)
    for i in range(iterations):
        a, b, c = (t[i * 64 : i * 64 + 64].astype(np.float64) for t in (x, w, v))
        a = np.float32(a[:, None] * np.arange(64) / 64).astype(np.float16).astype(np.float64)
        sums, most = sums + a @ c, most + (a @ b).max(1)
    for result, right in ((out.numpy(), sums), (last.numpy(), most)):
        np.testing.assert_allclose(result, right, rtol=0, atol=1e-3 * max(np.abs(right).max(), 1))


SIGNATURE = {
    **dict.fromkeys(("q_ptr", "k_ptr", "v_ptr"), "*fp16"),
    **dict.fromkeys(("out_ptr", "second_ptr"), "*fp32"),
    "n": "i32",
}


@pytest.mark.parametrize(
    "same,outputs,rescaled,stages,overlapped",
    [
        (False, 1, True, 2, True),  # attention: V has barriers of its own
        (False, 1, False, 2, True),
        (True, 1, True, 4, True),
        (True, 1, True, 3, True),
        (True, 1, True, 2, False),  # two buffers are read, and none is left to fill
        (False, 2, True, 3, True),
        (False, 2, True, 2, False),
    ],
)
def test_what_is_overlapped(same, outputs, rescaled, stages, overlapped):
    constants = {"DEPTH": 64, "STEP": 64, "SAME": same, "OUTPUTS": outputs, "RESCALED": rescaled}
    aligned = {(i,): [["tt.divisibility", 16]] for i in range(6)}
    source = triton.compiler.ASTSource(
        attend_kernel, signature=dict(SIGNATURE) | dict.fromkeys(constants, "constexpr"),
        constexprs=constants, attrs=aligned,
    )  # fmt: skip
    options = {
        "num_warps": 4,
        "num_stages": stages,
        "disabled_passes": "occupancy-first",
        "launch_abi": "full",
    }
    kernel = triton.compile(source, target=triton.backends.compiler.GPUTarget("cuda", 90, 32),
                            options=options)  # fmt: skip
    assert is_overlapped(kernel) == overlapped
