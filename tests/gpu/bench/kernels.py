"""Kernels of the benchmarks and of the memory checks, for Pantile and for Triton from one source.

`load("pantile")` and `load("triton")` each give a module of these kernels; the names `triton` and
`tl` mean that package in it.
"""

import importlib
import importlib.util

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
tl = importlib.import_module(PACKAGE + ".language")


def load(package, path=__file__):
    """Import this file, or another like it, once more, with its kernels belonging to `package`."""
    spec = importlib.util.spec_from_file_location(f"kernels_of_{package}", path)
    module = importlib.util.module_from_spec(spec)
    module.PACKAGE = package
    spec.loader.exec_module(module)
    return module


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    """C = A B for any M, N and K in the tutorial's form: rows wrap round, K is masked."""
    pid = tl.program_id(axis=0)
    rows = tl.cdiv(M, BLOCK_SIZE_M)
    columns = tl.cdiv(N, BLOCK_SIZE_N)
    in_group = GROUP_SIZE_M * columns
    first = (pid // in_group) * GROUP_SIZE_M
    height = min(rows - first, GROUP_SIZE_M)
    pid_m = first + (pid % in_group) % height
    pid_n = (pid % in_group) // height
    offs_m = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_n = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + ((offs_m % M)[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + (offs_n % N)[None, :] * stride_bn)
    wide: tl.constexpr = tl.float64 if c_ptr.dtype.element_ty == tl.float64 else tl.float32
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=wide)
    for k in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        left = K - k * BLOCK_SIZE_K
        a = tl.load(a_ptrs, mask=offs_k[None, :] < left, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < left, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk
    if ACTIVATION == "leaky_relu":
        accumulator = leaky_relu(accumulator)
    c = accumulator.to(c_ptr.dtype.element_ty)
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    tl.store(c_ptrs, c, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


@triton.jit
def leaky_relu(x):
    """The activation that the kernel may fuse."""
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def masked_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """C = A B for any M, N and K: every access is masked."""
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        in_k = offs_k < K - k
        a_ptrs = a_ptr + offs_m[:, None] * stride_a + (k + offs_k)[None, :]
        b_ptrs = b_ptr + (k + offs_k)[:, None] * stride_b + offs_n[None, :]
        a = tl.load(a_ptrs, mask=(offs_m[:, None] < M) & in_k[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=in_k[:, None] & (offs_n[None, :] < N), other=0.0)
        accumulator += tl.dot(a, b)
    c_ptrs = c_ptr + offs_m[:, None] * stride_c + offs_n[None, :]
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    tl.store(c_ptrs, accumulator.to(tl.float16), mask=mask)


@triton.jit
def gathered_matmul_kernel(
    a_ptr, b_ptr, c_ptr, table_ptr, K, stride_a, stride_b, stride_c,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """C = A[table] B, of whole tiles: TMA can load B alone."""
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    rows = tl.load(table_ptr + offs_m)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + rows[:, None] * stride_a + (k + offs_k)[None, :])
        b = tl.load(b_ptr + (k + offs_k)[:, None] * stride_b + offs_n[None, :])
        accumulator += tl.dot(a, b)
    c_ptrs = c_ptr + offs_m[:, None] * stride_c + offs_n[None, :]
    tl.store(c_ptrs, accumulator.to(tl.float16))


@triton.jit
def empty_kernel(x_ptr):
    """Launched first, so that neither package's start-up is in a compile time."""
    tl.store(x_ptr, 1.0)


@triton.jit
def overrun_kernel(x_ptr, n, BLOCK: tl.constexpr):
    """Planted fault: the last program writes past the end of `x`."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, offsets.to(tl.float32), mask=offsets <= n + 16)


@triton.jit
def sums_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Sums of several rows, one after another through one scratch: racy without barriers."""
    offsets = tl.arange(0, BLOCK)
    total = 0.0
    for row in range(n):
        total += tl.sum(tl.load(x_ptr + row * BLOCK + offsets), axis=0)
    tl.store(y_ptr + offsets, offsets * total)


def config(m, n, k, stages, warps, **passes):
    """One configuration of the tutorial; Pantile's may name passes to run or to leave out."""
    sizes = {"BLOCK_SIZE_M": m, "BLOCK_SIZE_N": n, "BLOCK_SIZE_K": k, "GROUP_SIZE_M": 8}
    return triton.Config(sizes, num_stages=stages, num_warps=warps, **passes)


def tutorial_configs():
    """The ten configurations that the tutorial tunes over."""
    return [
        config(128, 256, 32, 3, 8),
        config(256, 128, 32, 3, 8),
        config(256, 64, 32, 4, 4),
        config(64, 256, 32, 4, 4),
        config(128, 128, 32, 4, 4),
        config(128, 64, 32, 4, 4),
        config(64, 128, 32, 4, 4),
        config(128, 32, 32, 4, 4),
        config(64, 32, 32, 5, 2),
        config(32, 64, 32, 5, 2),
    ]


def larger_configs():
    """Tiles beyond the tutorial's that pay on a Hopper GPU; both compilers tune over them, too.

    Among them half tiles, two CTAs per SM or one with many stages, where tiles of 128x128 leave
    much of the last wave empty (1536 to 1792, 2176, 2944), deep tiles that load all of a small
    K, small ones, which at 256 give more SMs something to load, and few stages,
    whose blocks stay closer together: at 16384 L2 is asked for a quarter less.
    """
    return [
        config(128, 256, 64, 2, 8),
        config(128, 256, 64, 3, 8),
        config(128, 256, 64, 4, 8),
        config(256, 128, 64, 2, 8),
        config(256, 128, 64, 3, 8),
        config(128, 128, 64, 4, 8),
        config(128, 128, 64, 4, 4),
        config(64, 128, 64, 4, 4),
        config(64, 128, 64, 7, 4),
        config(64, 64, 64, 5, 4),
        config(64, 128, 64, 3, 4),
        config(64, 128, 128, 3, 4),
        config(64, 64, 128, 5, 4),
        config(64, 64, 128, 4, 4),
        config(32, 64, 64, 5, 4),
        config(32, 32, 64, 5, 4),
        config(32, 32, 128, 3, 4),
        config(64, 32, 128, 3, 4),
    ]


def own_configs():
    """Tiles of the lists above with choices that pay at some sizes; not for Triton.

    No producer and three CTAs per SM are what Triton has anyway; stream-K fills the last wave.
    """
    return [
        config(64, 64, 64, 5, 4, disabled_passes="nv-specialise-warps"),
        config(64, 128, 64, 3, 4, enabled_passes="third-cta"),
        config(128, 128, 64, 5, 8, enabled_passes="nv-stream-k"),
        config(128, 256, 64, 3, 8, enabled_passes="nv-stream-k"),
    ]


def any_extent_configs(size, sms=132, most=10):
    """The most promising of tiles that are no powers of two for a square GEMM: those whose last wave wastes least.

    A tile costs its MMAs and, as long as a few hundred of its rows and columns, its operands; not for Triton.
    """
    rows, columns = (64, 128, 192, 256), range(80, 257, 16)
    tiles = [(m, n) for m in rows for n in columns if m * n <= 128 * 384 and (m, n) != (192, 256)]
    odd = [(m, n) for m, n in tiles if (m == 192 and n % 32 == 0) or (m != 192 and n & (n - 1))]

    def cost(tile):
        m, n = tile
        waves = -(-(-(-size // m) * -(-size // n)) // sms)
        return waves * (m * n + 32 * (m + n))

    def stages(m, n):
        return min(6, (208 << 10) // (2 * 64 * (m + n)))

    best = sorted(odd, key=cost)[:most]
    half = [config(m, n, 64, stages(m, n), 4) for m, n in best if m * n <= 192 * 128 and m % 128]
    return [config(m, n, 64, stages(m, n), 8) for m, n in best if m > 64] + half


def grid(m, n):
    """Grid of `matmul_kernel`: one program per tile of C."""
    return lambda meta: (
        triton.cdiv(m, meta["BLOCK_SIZE_M"]) * triton.cdiv(n, meta["BLOCK_SIZE_N"]),
    )


def matmul_arguments(a, b, c):
    """Run-time arguments of `matmul_kernel`."""
    (m, k), n = a.shape, b.shape[1]
    return (a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride())
