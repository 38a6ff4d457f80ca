"""Random numbers: bit for bit Philox, and what is made of it."""

import numpy as np
import pantile as triton
import pantile.language as tl
import philox as model
import pytest

ONES32, ONES64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
# Random123's known answers: word size, rounds, four counters, two keys, four results.
KNOWN = [
    (32, 7, [0] * 4, [0] * 2, [0x5F6FB709, 0x0D893F64, 0x4F121F81, 0x4F730A48]),
    (32, 7, [ONES32] * 4, [ONES32] * 2, [0x5207DDC2, 0x45165E59, 0x4D8EE751, 0x8C52F662]),
    (32, 10, [0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    (32, 10, [ONES32] * 4, [ONES32] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        32,
        10,
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
    (
        64,
        10,
        [0] * 4,
        [0] * 2,
        [0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B],
    ),
    (
        64,
        10,
        [ONES64] * 4,
        [ONES64] * 2,
        [0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0],
    ),
]


@triton.jit
def philox_impl_kernel(out, counters, keys, N: tl.constexpr, ROUNDS: tl.constexpr):
    i = tl.arange(0, N)
    c0, c1 = tl.load(counters + i), tl.load(counters + N + i)
    c2, c3 = tl.load(counters + 2 * N + i), tl.load(counters + 3 * N + i)
    k0, k1 = tl.load(keys + i), tl.load(keys + N + i)
    r0, r1, r2, r3 = tl.philox_impl(c0, c1, c2, c3, k0, k1, ROUNDS)
    tl.store(out + i, r0)
    tl.store(out + N + i, r1)
    tl.store(out + 2 * N + i, r2)
    tl.store(out + 3 * N + i, r3)


def unsigned(rng, shape, bits):
    words = rng.integers(0, 2**32, (2, *shape), dtype=np.uint64)
    return (words[0] << np.uint64(32) | words[1]).astype(f"uint{bits}")


@pytest.mark.parametrize("bits, rounds, counters, keys, want", KNOWN)
def test_known_answers(device, bits, rounds, counters, keys, want):
    kind = f"uint{bits}"
    for got in model.philox(counters, keys, bits, rounds), None:
        if got is None:
            out = device.output(4, f"u{bits}")
            c, k = np.array(counters, kind), np.array(keys, kind)
            philox_impl_kernel[(1,)](out.array, device.to(c), device.to(k), 1, rounds)
            got = out.numpy()
        assert [int(v) for v in got] == want


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("rounds", [6, 10])
def test_philox_impl(device, bits, rounds):
    rng = np.random.default_rng(bits + rounds)
    counters, keys = unsigned(rng, (4, 128), bits), unsigned(rng, (2, 128), bits)
    out = device.output((4, 128), f"u{bits}")
    philox_impl_kernel[(1,)](out.array, device.to(counters), device.to(keys), 128, rounds)
    np.testing.assert_array_equal(out.numpy(), np.stack(model.philox(counters, keys, bits, rounds)))


@triton.jit
def philox_kernel(out, seed, counters, N: tl.constexpr):
    i = tl.arange(0, N)
    c0, c1 = tl.load(counters + i), tl.load(counters + N + i)
    r0, r1, r2, r3 = tl.philox(seed, c0, c1, 0, 0)
    tl.store(out + i, r0)
    tl.store(out + N + i, r1)
    tl.store(out + 2 * N + i, r2)
    tl.store(out + 3 * N + i, r3)


@pytest.mark.parametrize("dtype", ["i32", "u32", "i64", "u64"])
@pytest.mark.parametrize("seed", [0, 42, 2**40 + 17, -3, 2**63 + 5])
def test_philox(device, dtype, seed):
    """`tl.philox` is the published algorithm, bit for bit."""
    bits = int(dtype[1:])
    rng = np.random.default_rng(bits)
    counters = unsigned(rng, (2, 64), bits).view(f"int{bits}" if dtype[0] == "i" else f"uint{bits}")
    out = device.output((4, 64), f"u{bits}")
    philox_kernel[(1,)](out.array, seed, device.to(counters), 64)
    key = seed & ONES64
    keys = [key & ONES32, key >> 32] if bits == 32 else [key, 0]
    zeros = [0] * 64
    want = model.philox([*counters.astype(object), zeros, zeros], keys, bits)
    np.testing.assert_array_equal(out.numpy(), np.stack(want))


@triton.jit
def numbers_kernel(
    out, seed, offset, N: tl.constexpr, KIND: tl.constexpr, WIDE: tl.constexpr, ROUNDS: tl.constexpr
):
    i = tl.arange(0, N)
    at = i + offset
    if WIDE:
        at = i.to(tl.int64) + offset
    if KIND == "randint":
        tl.store(out + i, tl.randint(seed, at, ROUNDS))
    elif KIND == "rand":
        tl.store(out + i, tl.rand(seed, at, ROUNDS))
    elif KIND == "randn":
        tl.store(out + i, tl.randn(seed, at, n_rounds=ROUNDS))
    elif KIND == "randint4x":
        a, b, c, d = tl.randint4x(seed, at, ROUNDS)
        tl.store(out + i, a)
        tl.store(out + N + i, b)
        tl.store(out + 2 * N + i, c)
        tl.store(out + 3 * N + i, d)
    elif KIND == "rand4x":
        a, b, c, d = tl.rand4x(seed, at, ROUNDS)
        tl.store(out + i, a)
        tl.store(out + N + i, b)
        tl.store(out + 2 * N + i, c)
        tl.store(out + 3 * N + i, d)
    elif KIND == "randn4x":
        a, b, c, d = tl.randn4x(seed, at, ROUNDS)
        tl.store(out + i, a)
        tl.store(out + N + i, b)
        tl.store(out + 2 * N + i, c)
        tl.store(out + 3 * N + i, d)


def numbers(device, kind, seed, offset, wide, rounds=10):
    rows = 4 if kind.endswith("4x") else 1
    out = device.output((rows, 256), "u32" if "randint" in kind else "fp32")
    numbers_kernel[(1,)](out.array, seed, offset, 256, kind, wide, rounds)
    return out.numpy()


@pytest.mark.parametrize("kind", ["randint", "randint4x", "rand", "rand4x"])
@pytest.mark.parametrize(
    "offset, wide", [(1000, False), (-77, False), (5, True), (2**35 + 3, True)]
)
@pytest.mark.parametrize("rounds", [10, 7])
def test_uniform(device, kind, offset, wide, rounds):
    """Integers and floats are those of the model, at any offset."""
    at = np.arange(256, dtype=np.int64 if wide else np.int32) + offset
    words = np.stack(model.randint4x(2**33 + 11, at, rounds)[: 4 if kind.endswith("4x") else 1])
    want = words if "randint" in kind else model.uniform(words)
    np.testing.assert_array_equal(numbers(device, kind, 2**33 + 11, offset, wide, rounds), want)


@pytest.mark.parametrize("kind", ["randn", "randn4x"])
def test_normal(device, kind):
    """Normal numbers are those of the model to 4e-6."""
    u = [model.uniform(w) for w in model.randint4x(7, np.arange(256, dtype=np.int32) + 9)]
    want = np.stack([*model.normal(u[0], u[1]), *model.normal(u[2], u[3])])
    got = numbers(device, kind, 7, 9, False)
    np.testing.assert_allclose(got, want[: len(got)], rtol=4e-6, atol=4e-6)


@triton.jit
def seeds_kernel(out, seeds, N: tl.constexpr, SEED: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.rand(tl.load(seeds + i), i))
    tl.store(out + N + i, tl.rand(SEED, i))
    first = tl.load(seeds)
    tl.store(out + 2 * N + i, tl.rand(first, i))
    tl.store(out + 3 * N, tl.rand(first, 12))


@pytest.mark.parametrize("dtype", ["i32", "i64", "u64"])
def test_seeds_of_every_kind(device, dtype):
    seeds = unsigned(np.random.default_rng(3), (64,), 64)
    seeds = seeds.astype(f"{'u' if dtype[0] == 'u' else ''}int{dtype[1:]}")
    out = device.output(3 * 64 + 1, "fp32")
    seeds_kernel[(1,)](out.array, device.to(seeds), 64, 123456789012)
    offsets = np.arange(64, dtype=np.int32)
    each = [
        model.uniform(model.randint4x(s, np.array([i], np.int32))[0])[0]
        for i, s in enumerate(seeds)
    ]
    fixed = [model.uniform(model.randint4x(s, offsets)[0]) for s in (123456789012, seeds[0])]
    single = model.uniform(model.randint4x(seeds[0], np.array([12], np.int32))[0])
    np.testing.assert_array_equal(
        out.numpy(), np.concatenate([each, *fixed, single]).astype(np.float32)
    )


@triton.jit
def conversion_kernel(out, normals, words, N: tl.constexpr):
    i = tl.arange(0, N)
    u1 = tl.random.uint_to_uniform_float(tl.load(words + i))
    u2 = tl.uint_to_uniform_float(tl.load(words + N + i))
    n1, n2 = tl.random.pair_uniform_to_normal(u1, u2)
    tl.store(out + i, u1)
    tl.store(out + N + i, u2)
    tl.store(normals + i, n1)
    tl.store(normals + N + i, n2)


@pytest.mark.parametrize("dtype", ["u32", "i32", "u64", "i64"])
def test_conversions(device, dtype):
    """Words become floats in [0, 1), and normal numbers, as the model says."""
    words = unsigned(np.random.default_rng(4), (2, 128), int(dtype[1:]))
    words[0, :4] = [0, 1, 2 ** (int(dtype[1:]) - 1), 2 ** int(dtype[1:]) - 1]
    words = words.view(f"{'u' if dtype[0] == 'u' else ''}int{dtype[1:]}")
    out, normals = device.output((2, 128), "fp32"), device.output((2, 128), "fp32")
    conversion_kernel[(1,)](out.array, normals.array, device.to(words), 128)
    want = model.uniform(words)
    np.testing.assert_array_equal(out.numpy(), want)
    np.testing.assert_allclose(normals.numpy(), np.stack(model.normal(*want)), rtol=4e-6, atol=4e-6)


def test_distribution(device):
    """Mean and deviation are within five standard errors."""
    u, n = (numbers(device, kind, 99, 0, False).ravel() for kind in ("rand4x", "randn4x"))
    assert 0 <= u.min() and u.max() < 1
    assert abs(u.mean() - 0.5) < 5 / np.sqrt(12 * u.size)
    assert abs(n.mean()) < 5 / np.sqrt(n.size) and abs(n.std() - 1) < 5 / np.sqrt(2 * n.size)
