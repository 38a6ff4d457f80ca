"""Quantising to the 4-bit NormalFloat of QLoRA (arXiv 2305.14314, appendix E), and back.

As in bitsandbytes, blocks of BLOCK elements share their largest magnitude, and the first of two
codes of a byte is the high nibble. A code changes at the middle between two entries of the code
book, rounded to fp32, and the quotient compared with it is x / absmax rounded to fp32: so codes and
dequantised values follow exactly. Since the middle is rounded, another entry may be nearer by
2^-23.
"""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from device_arrays import DTYPES, random

NF4 = np.array(
    [
        -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
        -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
        0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
        0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
    ],
    np.float32,
)  # fmt: skip
MIDDLES = ((NF4[1:].astype(np.float64) + NF4[:-1]) / 2).astype(np.float32)


@triton.jit
def _nearest_code(x):
    """The code whose entry is nearest, by four comparisons."""
    return tl.where(
        x > 0.03979014977812767,
        tl.where(
            x > 0.3893125355243683,
            tl.where(
                x > 0.6427869200706482,
                tl.where(x > 0.8614784181118011, 15, 14),
                tl.where(x > 0.5016634166240692, 13, 12),
            ),
            tl.where(
                x > 0.2035212516784668,
                tl.where(x > 0.2920137718319893, 11, 10),
                tl.where(x > 0.1202552504837513, 9, 8),
            ),
        ),
        tl.where(
            x > -0.33967943489551544,
            tl.where(
                x > -0.13791173323988914,
                tl.where(x > -0.045525018125772476, 7, 6),
                tl.where(x > -0.23460740596055984, 5, 4),
            ),
            tl.where(
                x > -0.6106329262256622,
                tl.where(x > -0.4599952697753906, 3, 2),
                tl.where(x > -0.8480964004993439, 1, 0),
            ),
        ),
    )


@triton.jit
def _entry(code):
    """The code book's entry, by the bits of the code."""
    b0, b1, b2 = (code & 1) != 0, (code & 2) != 0, (code & 4) != 0
    return tl.where(
        (code & 8) != 0,
        tl.where(
            b2,
            tl.where(
                b1,
                tl.where(b0, 1.0, 0.7229568362236023),
                tl.where(b0, 0.5626170039176941, 0.44070982933044434),
            ),
            tl.where(
                b1,
                tl.where(b0, 0.33791524171829224, 0.24611230194568634),
                tl.where(b0, 0.16093020141124725, 0.07958029955625534),
            ),
        ),
        tl.where(
            b2,
            tl.where(
                b1,
                tl.where(b0, 0.0, -0.09105003625154495),
                tl.where(b0, -0.18477343022823334, -0.28444138169288635),
            ),
            tl.where(
                b1,
                tl.where(b0, -0.39491748809814453, -0.5250730514526367),
                tl.where(b0, -0.6961928009986877, -1.0),
            ),
        ),
    )


@triton.jit
def quantise_nf4_kernel(
    x_ptr, q_ptr, absmax_ptr, n, BLOCK: tl.constexpr, PER: tl.constexpr
):  # fmt: skip
    """`PER` blocks per program. A block of zeros has the code of zero, and so has what follows x."""
    block = tl.program_id(0) * PER + tl.arange(0, PER)
    at = block[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    absmax = tl.max(tl.abs(x), axis=1)
    tl.store(absmax_ptr + block, absmax, mask=block * BLOCK < n)
    divisor = tl.where(absmax > 0, absmax, 1.0)[:, None]
    code = _nearest_code(tl.div_rn(x, tl.broadcast_to(divisor, x.shape))).to(tl.uint8)
    first, second = tl.split(tl.reshape(code, (PER, BLOCK // 2, 2)))
    byte = block[:, None] * (BLOCK // 2) + tl.arange(0, BLOCK // 2)[None, :]
    tl.store(q_ptr + byte, first << 4 | second, mask=byte * 2 < n)


@triton.jit
def dequantise_nf4_kernel(
    q_ptr, absmax_ptr, out_ptr, n, BLOCK: tl.constexpr, PER: tl.constexpr
):  # fmt: skip
    block = tl.program_id(0) * PER + tl.arange(0, PER)
    byte = block[:, None] * (BLOCK // 2) + tl.arange(0, BLOCK // 2)[None, :]
    q = tl.load(q_ptr + byte, mask=byte * 2 < n, other=0)
    absmax = tl.load(absmax_ptr + block, mask=block * BLOCK < n, other=0.0)
    x = _entry(tl.interleave(q >> 4, q & 15)) * absmax[:, None]
    at = block[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    tl.store(out_ptr + at, x.to(out_ptr.dtype.element_ty), mask=at < n)


def quantised(x, block):
    """Codes and largest magnitudes by float32 arithmetic."""
    rows = np.pad(x.astype(np.float32), (0, -len(x) % block)).reshape(-1, block)
    absmax = np.abs(rows).max(axis=1)
    quotients = rows / np.where(absmax > 0, absmax, np.float32(1))[:, None]
    return np.searchsorted(MIDDLES, quotients, side="left"), absmax, quotients


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("n, block, per", [(64 * 37, 64, 8), (5001, 64, 16), (130, 128, 4)])
def test_quantise(device, dtype, n, block, per):
    """Each number gets the nearest of 16 codes of its block."""
    n = 50 * n + 1 if device.on_gpu else n
    x = random(n, dtype, n)
    x[block : block + 20] = 0
    x[:block] = 0
    q, absmax = device.output(-(-n // 2), "u8"), device.output(triton.cdiv(n, block), "fp32")
    quantise_nf4_kernel[(triton.cdiv(n, block * per),)](
        device.to(x), q.array, absmax.array, n, BLOCK=block, PER=per
    )
    codes, largest, quotients = quantised(x, block)
    far = np.abs(NF4.astype(np.float64)[codes] - quotients)
    nearest = np.abs(NF4.astype(np.float64) - quotients[..., None]).min(axis=2)
    assert (far <= nearest + 2.0**-23).all()
    pairs = codes.reshape(-1, 2)[: len(q.numpy())]
    np.testing.assert_array_equal(q.numpy(), pairs[:, 0] << 4 | pairs[:, 1])
    np.testing.assert_array_equal(absmax.numpy(), largest)


def test_middles_belong_to_the_lower_code(device):
    """Quotients at the thresholds and next to them; the block's last element is one."""
    at = [MIDDLES, np.nextafter(MIDDLES, np.float32(2)), np.nextafter(MIDDLES, np.float32(-2)), NF4]
    x = np.concatenate([*at, np.float32([0.5, -0.5, 1])])
    q, absmax = device.output(32, "u8"), device.output(1, "fp32")
    quantise_nf4_kernel[(1,)](device.to(x), q.array, absmax.array, 64, BLOCK=64, PER=1)
    codes = np.stack([q.numpy() >> 4, q.numpy() & 15], axis=1).reshape(-1)
    lower = np.arange(15)
    expected = np.concatenate([lower, lower + 1, lower, np.arange(16), [12, 2, 15]])
    np.testing.assert_array_equal(codes, expected)


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("n, block, per", [(64 * 37, 64, 8), (5001, 64, 16), (130, 128, 4)])
def test_dequantise(device, dtype, n, block, per):
    """Codes and scales give the numbers that they stand for."""
    n = 50 * n + 1 if device.on_gpu else n
    q = random(-(-n // 2), "u8", n, low=0, high=256)
    absmax = np.abs(random(triton.cdiv(n, block), "fp32", n + 1))
    out = device.output(n, dtype)
    dequantise_nf4_kernel[(triton.cdiv(n, block * per),)](
        device.to(q), device.to(absmax), out.array, n, BLOCK=block, PER=per
    )
    codes = np.stack([q >> 4, q & 15], axis=1).reshape(-1)[:n]
    expected = (NF4[codes] * absmax.repeat(block)[:n]).astype(DTYPES[dtype])
    np.testing.assert_array_equal(out.numpy(), expected)
