"""The launches that launch.py times, for Pantile and for Triton from one source.

Each function of `CASES` makes a Case: the launches in a loop, written out as programs write them, argument sets, and for the bare launch of
the driver the compiled kernel with the values of its run-time arguments.
"""

import functools
import importlib
from dataclasses import dataclass
from typing import Any

import torch

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
tl = importlib.import_module(PACKAGE + ".language")


@dataclass
class Case:
    """One kind of launch: `loop(rounds, sets)` launches with every set of arguments."""

    loop: Any
    sets: list
    compiled: Any
    values: list
    maps: int = 0
    callable_loop: Any = None


@triton.jit
def empty_kernel(x_ptr, y_ptr, z_ptr, a, b, c, d, e, f):
    """Does nothing with 9 arguments."""
    return


@triton.jit
def empty20_kernel(
    p0, p1, p2, p3, p4, p5, p6, p7, i0, i1, i2, i3, i4, i5, i6, i7, i8, i9, f0, f1
):  # fmt: skip
    """Does nothing with 20 arguments."""
    return


@triton.jit
def products_kernel(
    a_ptr, b_ptr, c_ptr, d_ptr, out_ptr, steps, stride_a, stride_b,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """A B + C D, of which `steps` blocks are done: 0 here. Four tensors are read by maps."""
    rows, columns, ks = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a_ptrs = a_ptr + rows[:, None] * stride_a + ks[None, :]
    b_ptrs = b_ptr + ks[:, None] * stride_b + columns[None, :]
    c_ptrs = c_ptr + rows[:, None] * stride_a + ks[None, :]
    d_ptrs = d_ptr + ks[:, None] * stride_b + columns[None, :]
    total = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, steps):
        total = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), total)
        total = tl.dot(tl.load(c_ptrs), tl.load(d_ptrs), total)
        a_ptrs += K
        b_ptrs += K * stride_b
        c_ptrs += K
        d_ptrs += K * stride_b
    if steps > 0:
        tl.store(out_ptr + rows[:, None] * N + columns[None, :], total)


@triton.jit
def described_kernel(a, b, c, steps, M: tl.constexpr, N: tl.constexpr):
    """Copies `steps` blocks between three descriptors: 0 here."""
    for i in range(0, steps):
        c.store([i * M, 0], a.load([i * M, 0]) + b.load([i * M, 0]))


@triton.jit
def tuned_kernel(x_ptr, y_ptr, z_ptr, a, b, c, d, e, f, BLOCK: tl.constexpr):
    """Does nothing; tuned over two configurations."""
    return


def _arrays(count, shape, dtype=torch.float16):
    return [torch.empty(shape, dtype=dtype, device="cuda") for _ in range(count)]


def _numbers(count):
    """Integers of both kinds: divisible by 16, and not."""
    return [1024 if i % 2 else 1000 + i for i in range(count)]


def few(count):
    """3 tensors and 6 integers."""
    sets = [(*_arrays(3, 256), *_numbers(6)) for _ in range(count)]
    compiled = empty_kernel[(1,)](*sets[0])
    grid = lambda meta: (1,)  # noqa: E731

    def loop(rounds, sets):
        for _ in range(rounds):
            for x, y, z, a, b, c, d, e, f in sets:
                empty_kernel[(1,)](x, y, z, a, b, c, d, e, f)

    def callable_loop(rounds, sets):
        for _ in range(rounds):
            for x, y, z, a, b, c, d, e, f in sets:
                empty_kernel[grid](x, y, z, a, b, c, d, e, f)

    return Case(loop, sets, compiled, sets[0], callable_loop=callable_loop)


def many(count):
    """8 tensors, 10 integers, 2 floats."""
    sets = [(*_arrays(8, 256), *_numbers(10), 0.5, 2.5) for _ in range(count)]
    compiled = empty20_kernel[(1,)](*sets[0])

    def loop(rounds, sets):
        for _ in range(rounds):
            for p, q, r, s, t, u, v, w, a, b, c, d, e, f, g, h, i, j, x, y in sets:
                empty20_kernel[(1,)](p, q, r, s, t, u, v, w, a, b, c, d, e, f, g, h, i, j, x, y)

    return Case(loop, sets, compiled, sets[0])


def mapped(count):
    """Pointers from which the launcher makes four tensor maps (ours; Triton's makes none)."""
    constants = {"M": 128, "N": 128, "K": 64, "num_warps": 4, "num_stages": 3}
    sets = [(*_arrays(5, (256, 256)), 0, 256, 256) for _ in range(count)]
    compiled = products_kernel[(1,)](*sets[0], **constants)

    def loop(rounds, sets):
        for _ in range(rounds):
            for a, b, c, d, out, steps, p, q in sets:
                products_kernel[(1,)](
                    a, b, c, d, out, steps, p, q, M=128, N=128, K=64, num_warps=4, num_stages=3
                )

    kernel = getattr(compiled, "_kernel", None)
    return Case(loop, sets, compiled, sets[0], getattr(kernel, "tensor_maps", 0))


def described(count):
    """Three descriptors with pointers of their own."""
    make = importlib.import_module(PACKAGE + ".tools.tensor_descriptor").TensorDescriptor
    sets = [
        (*[make.from_tensor(array, [64, 64]) for array in _arrays(3, (256, 64))], 0)
        for _ in range(count)
    ]
    compiled = described_kernel[(1,)](*sets[0], M=64, N=64)

    def loop(rounds, sets):
        for _ in range(rounds):
            for a, b, c, steps in sets:
                described_kernel[(1,)](a, b, c, steps, M=64, N=64)

    # As our kernels take them: address, sizes, strides.
    values = []
    for one in sets[0][:3]:
        values += [one.base, *one.shape, *one.strides]
    kernel = getattr(compiled, "_kernel", None)
    return Case(loop, sets, compiled, [*values, 0], getattr(kernel, "tensor_maps", 0))


def tuned(count):
    """3 tensors and 6 integers of a tuned kernel."""
    configs = [triton.Config({"BLOCK": block}, num_warps=4) for block in (64, 128)]
    kernel = triton.autotune(configs=configs, key=["a", "b"])(tuned_kernel)
    sets = [(*_arrays(3, 256), *_numbers(6)) for _ in range(count)]
    compiled = kernel[(1,)](*sets[0])

    def loop(rounds, sets):
        for _ in range(rounds):
            for x, y, z, a, b, c, d, e, f in sets:
                kernel[(1,)](x, y, z, a, b, c, d, e, f)

    grid = lambda meta: (meta["BLOCK"] // meta["BLOCK"],)  # noqa: E731

    def callable_loop(rounds, sets):
        for _ in range(rounds):
            for x, y, z, a, b, c, d, e, f in sets:
                kernel[grid](x, y, z, a, b, c, d, e, f)

    return Case(loop, sets, compiled, sets[0], callable_loop=callable_loop)


def _of(name):
    """A function of (package's module, count) that calls `name` in that package's kernels."""

    @functools.wraps(globals()[name])
    def make(package, count):
        import kernels

        return getattr(kernels.load(package.__name__, __file__), name)(count)

    return make


CASES = [
    ("3 tensors, 6 integers", 1.3, _of("few")),
    ("20 arguments", 1.6, _of("many")),
    ("four maps of pointers", 1.6, _of("mapped")),
    ("three descriptors", 1.6, _of("described")),
    ("autotuned", 1.4, _of("tuned")),
]
