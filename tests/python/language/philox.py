"""Philox-4x32 and 4x64 (Salmon et al., SC 2011), on arrays of Python integers."""

import numpy as np

ROUND = {32: (0xD2511F53, 0xCD9E8D57), 64: (0xD2E7470EE14C6C93, 0xCA5A826395121157)}
STEP = {32: (0x9E3779B9, 0xBB67AE85), 64: (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)}


def philox(counters, keys, bits=32, rounds=10):
    """Four words for each element of four counters and two keys, as arrays of uint32 or uint64."""
    mask = (1 << bits) - 1
    c = [np.asarray(v, dtype=object) & mask for v in counters]
    k = [np.asarray(v, dtype=object) & mask for v in keys]
    for _ in range(rounds):
        first, second = c[0] * ROUND[bits][0], c[2] * ROUND[bits][1]
        c = [
            (second >> bits) ^ c[1] ^ k[0],
            second & mask,
            (first >> bits) ^ c[3] ^ k[1],
            first & mask,
        ]
        k = [(key + step) & mask for key, step in zip(k, STEP[bits])]
    return [np.asarray(v).astype(f"uint{bits}") for v in np.broadcast_arrays(*c)]


def randint4x(seed, offset, rounds=10):
    """What `tl.randint4x` gives: the offset's halves are the first two counters."""
    seed = int(seed) & (1 << 64) - 1
    wide = np.asarray(offset).dtype.itemsize == 8
    offset = np.asarray(offset, dtype=object)
    low, high = offset & 0xFFFFFFFF, (offset >> 32 if wide else offset * 0)
    return philox([low, high, low * 0, low * 0], [seed & 0xFFFFFFFF, seed >> 32], rounds=rounds)


def uniform(words):
    """Bits as fp32 of [0, 1)."""
    signed = words.view(np.int32 if words.dtype.itemsize == 4 else np.int64)
    scale = np.float32(4.6566127342e-10 if words.dtype.itemsize == 4 else 1.0842020432385337e-19)
    return np.where(signed < 0, -signed - 1, signed).astype(np.float32) * scale


def normal(u1, u2):
    """Two normally distributed numbers from two uniform ones, in fp64."""
    radius = np.sqrt(-2 * np.log(np.maximum(np.float32(1e-7), u1).astype(np.float64)))
    angle = 2 * np.pi * u2.astype(np.float64)
    return radius * np.cos(angle), radius * np.sin(angle)
