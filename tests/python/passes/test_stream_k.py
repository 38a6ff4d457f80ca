"""GEMMs whose output tiles are split over CTAs (stream-K).

Every way to cut them, the same bits each time, memory of their own for launches side by side.
"""

import threading

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import check_gemm
from test_matmul_shapes import matmul

SPLIT, WHOLE = {"enabled_passes": "nv-stream-k"}, {"disabled_passes": "nv-stream-k"}


@triton.jit
def biased(a, b, bias, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = relu(A B + bias), the bias read before the loop, with `k` as a number."""
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    cols = tl.program_id(0) * BN + tl.arange(0, BN)
    offset = tl.load(bias + cols, mask=cols < N, other=0.0)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        deep = k + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * K + deep[None, :], mask=(rows[:, None] < M) & (deep[None, :] < K), other=0.0)  # fmt: skip
        y = tl.load(b + deep[:, None] * N + cols[None, :], mask=(deep[:, None] < K) & (cols[None, :] < N), other=0.0)  # fmt: skip
        acc = tl.dot(x, y, acc)
    result = tl.maximum(acc + offset[None, :], 0.0)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c + rows[:, None] * N + cols[None, :], result, mask=inside)


def launch(device, da, db, c, block, **options):
    """C = A B in place of `c`, by pointers that the loop advances; programs in a line."""
    block_m, block_n, block_k, stages, warps = block
    (M, K), N = da.shape, db.shape[1]
    return matmul[(triton.cdiv(N, block_n) * triton.cdiv(M, block_m),)](
        da, db, c, M, N, K, *device.strides(da), *device.strides(db), *device.strides(c),
        BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, WRAPS=False, PLANE=False,
        num_stages=stages, num_warps=warps, **options,
    )  # fmt: skip


def matrices(seed, M, N, K):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape).astype(np.float16) for shape in ((M, K), (K, N)))


# Three CTAs run at once on the emulated GPU: one program for two or three of them, less than a
# wave, a wave and some more, several, a full one, and edges.
@pytest.mark.parametrize(
    ("shape", "block", "is_cut"),
    [
        ((64, 64, 6400), (64, 64, 64, 3, 4), True),
        ((64, 64, 9600), (64, 64, 64, 3, 4), True),
        ((128, 64, 9600), (64, 64, 64, 3, 4), True),
        ((128, 128, 2560), (64, 64, 64, 3, 4), True),
        ((320, 64, 4864), (64, 64, 64, 3, 4), True),
        ((100, 208, 4880), (64, 64, 64, 3, 4), True),
        ((448, 64, 2560), (64, 64, 64, 4, 4), True),
        ((192, 64, 1600), (64, 64, 64, 3, 4), False),
        ((128, 128, 256), (64, 64, 64, 3, 4), False),
        ((248, 256, 1280), (128, 128, 64, 3, 8), True),
        ((128, 512, 3328), (64, 128, 64, 3, 4), True),
    ],
)
def test_ways_to_cut(device, shape, block, is_cut):
    a, b = matrices(sum(shape), *shape)
    da, db = device.to(a), device.to(b)
    results = []
    for options in (SPLIT, SPLIT, WHOLE):
        out = device.output(shape[:2], "fp32")
        launch(device, da, db, out.array, block, **options)
        results.append(out.numpy())
        check_gemm(results[-1], a, b)
    np.testing.assert_array_equal(results[0], results[1])
    if device.name == "emulated" and device.arch == 90:
        assert is_cut == bool((results[0] != results[2]).any())


@pytest.mark.parametrize(
    ("programs", "depth"),
    [(12, 5632), (14, 10752), (2, 20480), (4, 10752), (5, 14080), (13, 7040)],
    ids=["2 for 3, 4", "4 for 7, 2", "4 for 1, 2", "2 for 1, 4", "8 for 5", "8 for 13"],
)
def test_cycles_side_by_side(device, monkeypatch, programs, depth):
    """Numbers of CTAs, programs and launches: eight CTAs run at once."""
    monkeypatch.setenv("PANTILE_EMULATED_SMS", "8")
    a, b = matrices(programs, 64 * programs, 32, depth)
    results = []
    for options in (SPLIT, WHOLE):
        out = device.output((64 * programs, 32), "fp32")
        launch(device, device.to(a), device.to(b), out.array, (64, 32, 64, 3, 4), **options)
        results.append(out.numpy())
        check_gemm(results[-1], a, b)
    if device.name == "emulated" and device.arch == 90:
        assert (results[0] != results[1]).any()


@pytest.mark.parametrize("shape", [(128, 128, 2560), (320, 64, 4880)])
def test_what_follows_the_sum(device, shape):
    a, b = matrices(7, *shape)
    bias = np.random.default_rng(8).standard_normal(shape[1]).astype(np.float32)
    out = device.output(shape[:2], "fp32")
    biased[(triton.cdiv(shape[1], 64), triton.cdiv(shape[0], 64))](
        device.to(a), device.to(b), device.to(bias), out.array, *shape,
        BM=64, BN=64, BK=64, num_stages=3, num_warps=4, **SPLIT,
    )  # fmt: skip
    expected = np.maximum(a.astype(np.float64) @ b.astype(np.float64) + bias, 0)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-3, atol=2e-2)


@triton.jit
def prefix(a, b, c, M, N, K, depth, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = A[:, :depth] B[:depth], `depth` a multiple of BK."""
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    cols = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, depth, BK):
        deep = k + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * K + deep[None, :], mask=(rows[:, None] < M) & (deep[None, :] < K), other=0.0)  # fmt: skip
        y = tl.load(b + deep[:, None] * N + cols[None, :], mask=(deep[:, None] < K) & (cols[None, :] < N), other=0.0)  # fmt: skip
        acc = tl.dot(x, y, acc)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c + rows[:, None] * N + cols[None, :], acc, mask=inside)


@pytest.mark.parametrize("depth", [0, 64, 2560])
@pytest.mark.parametrize("programs", [1, 2, 4, 7])
def test_loops_of_all_lengths(device, programs, depth):
    """Programs without an iteration write zeros, each of them."""
    M, N, K = 64 * programs, 64, 2560
    a, b = matrices(programs, M, N, K)
    out = device.output((M, N), "fp32")
    prefix[(1, programs)](
        device.to(a), device.to(b), out.array, M, N, K, depth,
        BM=64, BN=64, BK=64, num_stages=3, num_warps=4, **SPLIT,
    )  # fmt: skip
    check_gemm(out.numpy(), a[:, :depth], b[:depth])


@triton.jit
def shuffled(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = A B with columns in another order, which takes scratch next to the circular buffers."""
    rows, cols = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    within = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (k + within)[None, :])
        y = tl.load(b + (k + within)[:, None] * N + cols[None, :])
        acc = tl.dot(x, y, acc)
    order = tl.broadcast_to((tl.arange(0, BN) ^ 3)[None, :], (BM, BN))
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c + rows[:, None] * N + cols[None, :], tl.gather(acc, order, 1), mask=inside)


@pytest.mark.may_lack_registers
@pytest.mark.parametrize(("stages", "warps"), [(3, 4), (5, 8)])
def test_what_does_not_fit_is_not_cut(device, stages, warps):
    """The first attempt cuts programs and needs too much shared memory; the kernel that is left gets no workspace."""
    if stages == 5 and device.arch and device.arch < 90:
        pytest.skip("has less shared memory")
    M, N, K = 640, 256, 320
    a, b = matrices(stages, M, N, K)
    out = device.output((M, N), "fp32")
    shuffled[(5, 1)](
        device.to(a), device.to(b), out.array, M, N, K, BM=128, BN=256, BK=64,
        num_stages=stages, num_warps=warps, enabled_passes="nv-stream-k,nv-tma-stores",
    )  # fmt: skip
    check_gemm(out.numpy(), a, b[:, np.arange(N) ^ 3])


def test_launches_side_by_side(gpu):
    """Streams, a graph and a thread of its own have memory of their own."""
    torch = gpu.torch
    shape, block = (1536, 1408, 1024), (128, 128, 64, 4, 8)
    a, b = matrices(9, *shape)
    da, db = gpu.to(a), gpu.to(b)
    outs = [gpu.output(shape[:2], "fp32") for _ in range(4)]
    streams = [torch.cuda.Stream() for _ in range(3)]

    def run(out, stream):
        with torch.cuda.stream(stream):
            for _ in range(20):
                launch(gpu, da, db, out.array, block, **SPLIT)

    launch(gpu, da, db, outs[3].array, block, **SPLIT)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch(gpu, da, db, outs[3].array, block, **SPLIT)
        launch(gpu, da, db, outs[3].array, block, **SPLIT)
    outs[3].array.fill_(float("nan"))
    torch.cuda.synchronize()
    threads = [threading.Thread(target=run, args=pair) for pair in zip(outs, streams)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        graph.replay()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    for out in outs:
        check_gemm(out.numpy(), a, b)
        np.testing.assert_array_equal(out.numpy(), outs[0].numpy())


def test_memory_is_given_back(device):
    """What launches took is freed, and taken again; elsewhere there is nothing to free."""
    shape, block = (128, 64, 9600), (64, 64, 64, 3, 4)
    a, b = matrices(10, *shape)
    da, db = device.to(a), device.to(b)
    is_cut = device.name == "emulated" and device.arch == 90
    triton.runtime.release_workspaces()
    for _ in range(2):
        out = device.output(shape[:2], "fp32")
        launch(device, da, db, out.array, block, **SPLIT)
        check_gemm(out.numpy(), a, b)
        freed = triton.runtime.release_workspaces()
        assert freed >= 3 * 64 * 64 * 4 if is_cut else freed == 0 or device.name == "cuda"
    assert triton.runtime.release_workspaces() == 0


def test_memory_of_graphs(gpu):
    """A graph's memory stays while it exists, and goes to the next graph then."""
    torch = gpu.torch
    shape, block = (1664, 1408, 1024), (128, 128, 64, 4, 8)  # 143 programs
    a, b = matrices(11, *shape)
    da, db, out = gpu.to(a), gpu.to(b), gpu.output(shape[:2], "fp32")

    def capture():
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            launch(gpu, da, db, out.array, block, **SPLIT)
        return graph

    def replay(graph):
        out.array.fill_(float("nan"))
        graph.replay()
        check_gemm(out.numpy(), a, b)

    launch(gpu, da, db, out.array, block, **SPLIT)
    graph = capture()
    assert triton.runtime.release_workspaces() > 0
    assert triton.runtime.release_workspaces() == 0
    replay(graph)
    del graph
    torch.cuda.synchronize()
    free_before = torch.cuda.mem_get_info()[0]
    for _ in range(100):
        graph = capture()
        graph.replay()
        torch.cuda.synchronize()
    replay(graph)
    del graph
    torch.cuda.synchronize()
    assert free_before - torch.cuda.mem_get_info()[0] < 64 << 20
    assert triton.runtime.release_workspaces() > 0


@triton.jit(do_not_specialize=["stop"])
def far_depths(
    a, b, c, start, stop, stride, STEP: tl.constexpr, B: tl.constexpr, BK: tl.constexpr,
    BELOW: tl.constexpr,
):  # fmt: skip
    """C = A B^T over BK columns of each number of `range(start, stop, STEP)`, those below 0 as zeros."""
    r, within = tl.arange(0, B), tl.arange(0, BK)
    xs = a + (tl.program_id(0) * B + r)[:, None] * stride
    ys = b + r[None, :] * stride
    acc = tl.zeros((B, B), tl.float32)
    for i in range(start, stop, STEP):
        deep = i + within
        if BELOW:
            x = tl.load(xs + deep[None, :], mask=deep[None, :] >= 0, other=0.0)
            y = tl.load(ys + deep[:, None], mask=deep[:, None] >= 0, other=0.0)
        else:
            x, y = tl.load(xs + deep[None, :]), tl.load(ys + deep[:, None])
        acc = tl.dot(x, y, acc)
    tl.store(c + (tl.program_id(0) * B + r)[:, None] * B + r[None, :], acc)


LAST = 2**31 - 1
BORDERS = [
    (LAST - 400 * 64 + 32, LAST, 64),  # the end and a step is beyond the last integer
    (LAST - 400 * 64, LAST, 64),
    (LAST - 400 * 64 + 1, LAST - 31, 64),
    (-200 * 64, 200 * 64, 64),
    (-(2**31), LAST, 2**23),  # a length of 2^32 - 1
    (-(2**31), LAST - 31, 2**23 - 16),
    (LAST, -(2**31), 64),
    (64, 64, 64),
]


def far_matrices(device, rows, depths, width, stride):
    """Both operands: zeros but for some columns, and these alone."""
    size = (max(depths, default=0) if depths else 0) + width + 256 * stride
    parts = [np.zeros((n, len(depths) * width), np.float16) for n in (rows, 64)]
    arrays = [device.empty(size, np.float16) for _ in parts]
    rng = np.random.default_rng(rows)
    for part, array in zip(parts, arrays):
        for i, depth in enumerate(depths):
            values = rng.standard_normal((len(part), width)).astype(np.float16)
            part[:, i * width : (i + 1) * width] = values if depth >= 0 else 0
            for row, line in enumerate(values if depth >= 0 else ()):
                at = row * stride + depth
                array[at : at + width] = device.to(line)
    return parts, arrays


@pytest.mark.parametrize("programs", [1, 4])
@pytest.mark.parametrize("bounds", BORDERS)
def test_bounds_next_to_the_last_integer(device, bounds, programs):
    """The iterations of a part begin and end where those of the whole loop do."""
    depths, stride = list(range(*bounds)), 2**15
    (a, b), arrays = far_matrices(device, 64 * programs, depths, 32, stride)
    outs = []
    for options in (SPLIT, WHOLE):
        out = device.output((64 * programs, 64), "fp32")
        kernel = far_depths[(programs,)](
            *arrays, out.array, *bounds[:2], stride, STEP=bounds[2],
            B=64, BK=32, BELOW=bounds[0] < 0, num_stages=3, num_warps=4, **options,
        )  # fmt: skip
        outs.append(out.numpy())
        check_gemm(outs[-1], a, b.T)
    # Rows that begin at no multiple of 16 bytes are not loaded by TMA, and without it nothing is cut.
    if device.name == "emulated" and device.arch == 90 and depths and bounds[0] % 16 == 0:
        assert (outs[0] != outs[1]).any(), [r.message for r in kernel.remarks]
