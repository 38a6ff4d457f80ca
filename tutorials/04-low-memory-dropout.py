"""
Low-memory dropout
==================

Dropout zeroes each element with probability p and scales the others by 1 / (1 - p). Which elements
were dropped must be known again in the backward pass. Instead of storing that, this kernel computes
it twice from one number, the seed. You will see

* random numbers that are a function of a seed and a counter;
* a backward pass that stores nothing;
* how to test a kernel that is random by design.

With torch and a GPU the script runs there; otherwise it runs on the CPU, on NumPy arrays.
"""

import numpy as np
import pantile as triton
import pantile.language as tl

try:
    import torch

    ON_GPU = torch.cuda.is_available()
except ImportError:
    ON_GPU = False

# %%
# With a mask in memory
# ---------------------
# The direct way: the host makes a tensor of zeros and ones, the kernel applies it. The tensor is
# one more array to allocate, to write, to read, and to keep from the forward to the backward pass.


@triton.jit
def masked_dropout_kernel(x_ptr, keep_ptr, output_ptr, n_elements, p, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.load(keep_ptr + offsets, mask=mask) != 0
    tl.store(output_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


# %%
# With a seed
# -----------
# Most generators of random numbers carry a state from one number to the next, which a thousand
# programs cannot share. `tl.rand(seed, offsets)` is of another kind: it is a *function* that
# scrambles the seed and the counter so well that its values look random (Philox, by Salmon, Moraes,
# Dror and Shaw, 2011). The element at offset i always gets the same number, in any program, in
# whatever order.
#
# So nothing has to be remembered but the seed. The numbers are those of Triton, bit by bit: a model
# that is moved from one compiler to the other keeps its masks.


@triton.jit
def seeded_dropout_kernel(x_ptr, output_ptr, n_elements, p, seed, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) > p
    tl.store(output_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


# %%
# Four numbers at a time
# ----------------------
# Ten rounds of scrambling are some eighty instructions, more than the memory gives time for: the
# kernel above is bound by arithmetic. But a Philox call gives four numbers, of which `tl.rand`
# drops three. `tl.rand4x` gives all of them. Which element gets which number is our choice, as long
# as the forward and the backward pass agree: here a program takes four neighbouring tiles, one for
# each of the four tiles of numbers, so that every access stays contiguous.


@triton.jit
def fast_dropout_kernel(x_ptr, output_ptr, n_elements, p, seed, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    lanes = tl.arange(0, BLOCK_SIZE)
    numbers = tl.rand4x(seed, pid * BLOCK_SIZE + lanes)
    for part in tl.static_range(4):
        offsets = (4 * pid + part) * BLOCK_SIZE + lanes
        mask = offsets < n_elements
        x = tl.load(x_ptr + offsets, mask=mask)
        keep = numbers[part] > p
        tl.store(output_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


# %%
# `tl.static_range` unrolls its loop while compiling, so that `part` is a constant and may choose
# one of the four tiles.
#
# The wrappers
# ------------
# Dropout is a product with a diagonal matrix, so its backward pass is the same function, applied to
# the gradient with the same seed. There is no second kernel to write.


def masked_dropout(x, keep, p):
    output = (torch if ON_GPU else np).empty_like(x)
    n = len(x)
    masked_dropout_kernel[(triton.cdiv(n, 1024),)](x, keep, output, n, p, BLOCK_SIZE=1024)
    return output


def seeded_dropout(x, p, seed):
    output = (torch if ON_GPU else np).empty_like(x)
    n = len(x)
    seeded_dropout_kernel[(triton.cdiv(n, 1024),)](x, output, n, p, seed, BLOCK_SIZE=1024)
    return output


def fast_dropout(x, p, seed):
    output = (torch if ON_GPU else np).empty_like(x)
    n = len(x)
    fast_dropout_kernel[(triton.cdiv(n, 2048),)](x, output, n, p, seed, BLOCK_SIZE=512)
    return output


def seeded_dropout_backward(gradient, p, seed):
    return seeded_dropout(gradient, p, seed)


def random_vector(size):
    if ON_GPU:
        return torch.randn(size, device="cuda")
    return np.random.default_rng().standard_normal(size, dtype=np.float32)


def on_device(array):
    return torch.from_numpy(array).cuda() if ON_GPU else array


def on_host(array):
    return array.cpu().numpy() if ON_GPU else array


# %%
# Unit test
# ---------
# Randomness is no excuse for a vague test. Philox fits a few lines of NumPy, and the kernel has to
# agree with them exactly.


def philox(seed, counters):
    """Four arrays of 32 random bits for each counter: Philox-4x32 with ten rounds."""
    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    a, b, c, d = counters.astype(np.uint64), *np.zeros((3, len(counters)), np.uint64)
    for i in range(10):
        key0 = np.uint64((seed + i * 0x9E3779B9) & 0xFFFFFFFF)
        key1 = np.uint64(((seed >> 32) + i * 0xBB67AE85) & 0xFFFFFFFF)
        first, second = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, b, c, d = (
            (second >> shift) ^ b ^ key0,
            second & low,
            (first >> shift) ^ d ^ key1,
            first & low,
        )
    return [x.astype(np.uint32) for x in (a, b, c, d)]


def uniform(bits):
    """Bits as numbers of [0, 1), in the way of `tl.rand`."""
    signed = bits.view(np.int32)
    return np.where(signed < 0, -signed - 1, signed).astype(np.float32) * np.float32(
        4.6566127342e-10
    )


def test():
    # A known answer first, from the paper's own test vectors: all counters and keys zero.
    assert [int(word[0]) for word in philox(0, np.zeros(1))] == [
        0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8,
    ]  # fmt: skip
    n, p = 10007, 0.3
    x = random_vector(n)
    for seed in (123, 2**31 - 5):
        keep = uniform(philox(seed, np.arange(n))[0]) > np.float32(p)
        expected = np.where(keep, on_host(x).astype(np.float64) / (1 - p), 0)
        ours = seeded_dropout(x, p, seed)
        triton.testing.assert_close(ours, expected, atol=0, rtol=1e-6)
        by_mask = masked_dropout(x, on_device(keep.astype(np.int8)), p)
        triton.testing.assert_close(ours, by_mask, atol=0, rtol=0)
        # The backward pass drops what the forward pass dropped.
        gradient = seeded_dropout_backward(random_vector(n), p, seed)
        assert ((on_host(gradient) == 0) == ~keep).all()

        program, lane = np.divmod(np.arange(n), 2048)
        bits = np.stack(philox(seed, program * 512 + lane % 512))
        keep = uniform(bits[lane // 512, np.arange(n)]) > np.float32(p)
        expected = np.where(keep, on_host(x).astype(np.float64) / (1 - p), 0)
        triton.testing.assert_close(fast_dropout(x, p, seed), expected, atol=0, rtol=1e-6)
    print(f"ours and the library agree on {'the GPU' if ON_GPU else 'the CPU'}")


# %%
# Benchmark
# ---------
# One array in, one out, counted in bytes per second. The library's dropout also writes its mask.


def library_dropout(x, p):
    if ON_GPU:
        return torch.nn.functional.dropout(x, p)
    return np.where(np.random.default_rng(1).random(x.shape) > p, x / (1 - p), 0)


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["size"],
        x_vals=[2**i for i in range(16, 28)] if ON_GPU else [2**12, 2**15],
        x_log=True,
        line_arg="provider",
        line_vals=["seeded", "four", "library"],
        line_names=[
            "Pantile, tl.rand",
            "Pantile, tl.rand4x",
            "torch" if ON_GPU else "NumPy",
        ],
        styles=[("blue", "-"), ("blue", "--"), ("green", "-")],
        ylabel="GB/s",
        plot_name="dropout-performance",
        args={"p": 0.5},
    )
)
def benchmark(size, p, provider):
    x = random_vector(size)
    run = {
        "seeded": lambda: seeded_dropout(x, p, 123),
        "four": lambda: fast_dropout(x, p, 123),
        "library": lambda: library_dropout(x, p),
    }[provider]
    ms, fastest, slowest = triton.testing.do_bench(run, quantiles=[0.5, 0.2, 0.8])
    gbps = lambda ms: 2 * x.itemsize * size / ms * 1e-6
    return gbps(ms), gbps(slowest), gbps(fastest)


# %%
# What to try next
# ----------------
# * Drop whole rows of a matrix: what is the counter then?
# * Give each row a seed of its own, loaded from a vector of seeds.
# * Fuse dropout into a kernel that adds a bias and a residual, as transformers do.
# * A random projection multiplies with a matrix of normal numbers (`tl.randn`) that is never
#   stored. Take the loop of tutorial 03 and make the tiles of B where you need them.

if __name__ == "__main__":
    test()
    benchmark.run(print_data=True, save_path=".out")
