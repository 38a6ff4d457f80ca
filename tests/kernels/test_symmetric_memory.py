"""Kernels over symmetric memory: each rank writes to memory of its own, signals the others, and reads theirs.

Ranks are GPUs of one process that reach each other's memory; their buffers come as tables of addresses or as arrays.
A kernel of each rank is launched before the host waits for any. Results are compared with sums in float64.
"""

import contextlib
import ctypes
from types import SimpleNamespace

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import check_gemm, random
from device_arrays import torch_with_gpu
from pantile.tools.tensor_descriptor import TensorDescriptor

ALREADY_ENABLED = 704


class PeerArray:
    """Memory of another rank as an array of rank `index`: what `get_buffer` of torch's symmetric memory gives."""

    def __init__(self, array, index):
        self.array, self.dtype, self.shape = array, array.dtype, array.shape
        self.device = SimpleNamespace(type="cuda", index=index)

    def data_ptr(self):
        return self.array.data_ptr()

    def element_size(self):
        return self.array.element_size()

    def stride(self):
        return self.array.stride()


class Ranks:
    """GPUs that reach each other's memory."""

    def __init__(self, gpus, driver):
        self.gpus, self.driver = gpus, driver

    def __len__(self):
        return len(self.gpus)

    @contextlib.contextmanager
    def on(self, number):
        context = ctypes.c_void_p()
        self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), self.gpus[number].index)
        self.driver.cuCtxPushCurrent_v2(context)
        try:
            yield context
        finally:
            self.driver.cuCtxPopCurrent_v2(ctypes.byref(context))

    def reach(self, enables):
        """Enable the access of each rank to each other's memory, or disable it."""
        for here in range(len(self)):
            for there in range(len(self)):
                with self.on(there) as peer, self.on(here):
                    if here == there:
                        continue
                    if not enables:
                        self.driver.cuCtxDisablePeerAccess(peer)
                    elif self.driver.cuCtxEnablePeerAccess(peer, 0) not in (0, ALREADY_ENABLED):
                        pytest.skip("the GPUs are no peers")

    def to(self, arrays):
        """One array on each rank."""
        return [gpu.to(array) for gpu, array in zip(self.gpus, arrays, strict=True)]

    def zeros(self, count, dtype):
        return self.to([np.zeros(count, dtype)] * len(self))

    def tables(self, arrays):
        """On each rank the addresses of `arrays`."""
        addresses = np.array([array.data_ptr() for array in arrays], np.int64)
        return self.to([addresses] * len(self))

    def views(self, arrays, rank):
        """`arrays` as arrays of `rank`."""
        return [PeerArray(array, self.gpus[rank].index) for array in arrays]

    def wait(self):
        """For the launches of all ranks."""
        text = ctypes.c_char_p()
        for number in range(len(self)):
            with self.on(number):
                result = self.driver.cuCtxSynchronize()
                self.driver.cuGetErrorString(result, ctypes.byref(text))
                if result:
                    raise RuntimeError((text.value or b"").decode())

    def numpy(self, arrays):
        return [gpu.numpy(array) for gpu, array in zip(self.gpus, arrays, strict=True)]


@pytest.fixture
def make_ranks(gpus, monkeypatch):
    """Makes so many ranks."""
    made = []

    def make(count):
        if gpus[0].name == "emulated":
            import emulated_device

            monkeypatch.setenv("PANTILE_EMULATED_DEVICES", str(count))
            chosen = [emulated_device.EmulatedDevice(index) for index in range(count)]
            driver = ctypes.CDLL(str(emulated_device.library_path()))
        elif torch_with_gpu().cuda.device_count() < count:
            pytest.skip(f"needs {count} GPUs")
        else:
            chosen, driver = gpus[:count], ctypes.CDLL("libcuda.so.1")
        made.append(Ranks(chosen, driver))
        made[0].reach(True)
        return made[0]

    yield make
    for ranks in made:
        with contextlib.suppress(RuntimeError):
            ranks.wait()
        ranks.reach(False)


@pytest.fixture(params=[2, 4])
def ranks(request, make_ranks):
    return make_ranks(request.param)


@triton.jit
def tell_and_wait_by(
    pads, rank, epoch, SLOTS: tl.constexpr, RANKS: tl.constexpr,
    TELL: tl.constexpr, WAIT: tl.constexpr, SCOPE: tl.constexpr,
):  # fmt: skip
    """A barrier of program p of all ranks; `epoch` counts them from 1. Two pads in turn: no rank tells twice before all have heard."""
    slot = (epoch % 2) * SLOTS + tl.program_id(0)
    peers = tl.arange(0, RANKS)
    theirs = tl.load(pads + peers).to(tl.pointer_type(tl.int32))
    own = tl.load(pads + rank).to(tl.pointer_type(tl.int32))
    tl.atomic_store(theirs + slot * RANKS + rank, epoch, sem=TELL, scope=SCOPE)
    tl.atomic_poll(own + slot * RANKS + peers, epoch, sem=WAIT, scope=SCOPE)


@triton.jit
def tell_and_wait(pads, rank, epoch, SLOTS: tl.constexpr, RANKS: tl.constexpr):
    tell_and_wait_by(pads, rank, epoch, SLOTS, RANKS, "release", "acquire", "sys")


@triton.jit
def swap_and_wait(pads, rank, epoch, SLOTS: tl.constexpr, RANKS: tl.constexpr):
    """The same as torch's and vLLM's kernels do it: a word goes from 0 to 1 by the one that tells, and back by the one that waits."""
    slot = tl.program_id(0)
    for peer in range(RANKS):
        theirs = tl.load(pads + peer).to(tl.pointer_type(tl.int32)) + slot * RANKS + rank
        while tl.atomic_cas(theirs, 0, 1, sem="release", scope="sys") != 0:
            pass
    own = tl.load(pads + rank).to(tl.pointer_type(tl.int32)) + slot * RANKS
    for peer in range(RANKS):
        while tl.atomic_cas(own + peer, 1, 0, sem="acquire", scope="sys") != 1:
            pass


@triton.jit
def all_reduce_kernel(
    out, x, buffers, pads, rank, n, epochs, BARRIER: tl.constexpr,
    SLOTS: tl.constexpr, RANKS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One shot: each rank adds up what all ranks wrote; `epochs` times with the same buffers."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    own = tl.load(buffers + rank).to(tl.pointer_type(tl.float32))
    for epoch in range(epochs):
        tl.store(own + at, tl.load(x + epoch * n + at, at < n), at < n)
        BARRIER(pads, rank, 2 * epoch + 1, SLOTS, RANKS)
        total = tl.zeros((BLOCK,), tl.float32)
        for peer in range(RANKS):
            theirs = tl.load(buffers + peer).to(tl.pointer_type(tl.float32))
            total += tl.load(theirs + at, at < n)
        tl.store(out + epoch * n + at, total, at < n)
        BARRIER(pads, rank, 2 * epoch + 2, SLOTS, RANKS)


@pytest.mark.parametrize("barrier", [tell_and_wait, swap_and_wait])
@pytest.mark.parametrize("num_warps", [1, 4])
def test_all_reduce(ranks, barrier, num_warps):
    count, n, epochs, programs = len(ranks), 1000, 3, 2
    inputs = [random((epochs, n), seed=rank) for rank in range(count)]
    x = ranks.to(inputs)
    outs = [gpu.output((epochs, n), "fp32") for gpu in ranks.gpus]
    buffers = ranks.tables(own := ranks.zeros(n, np.float32))
    pads = ranks.tables(flags := ranks.zeros(2 * programs * count, np.int32))
    for rank in range(count):
        all_reduce_kernel[(programs,)](
            outs[rank].array, x[rank], buffers[rank], pads[rank], rank, n, epochs, barrier,
            SLOTS=programs, RANKS=count, BLOCK=512, num_warps=num_warps,
        )  # fmt: skip
    ranks.wait()
    expected = np.sum(np.array(inputs, np.float64), axis=0)
    for out in outs:
        np.testing.assert_allclose(out.numpy(), expected, 1e-5, 1e-5)
    del own, flags


@triton.jit
def all_reduce_by_addresses_kernel(
    out, x, buffers, pads, rank, n, BARRIER: tl.constexpr, SLOTS: tl.constexpr,
    RANKS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """As `all_reduce_kernel`, with the two tables as integers: torch's `buffer_ptrs_dev` and `signal_pad_ptrs_dev`."""
    buffers = buffers.to(tl.pointer_type(tl.int64))
    pads = pads.to(tl.pointer_type(tl.int64))
    all_reduce_kernel(out, x, buffers, pads, rank, n, 1, BARRIER, SLOTS, RANKS, BLOCK)


@pytest.mark.parametrize("barrier", [tell_and_wait, swap_and_wait])
def test_tables_as_integers(ranks, barrier):
    count, n, programs = len(ranks), 700, 2
    inputs = [random(n, seed=10 + rank) for rank in range(count)]
    x = ranks.to(inputs)
    outs = [gpu.output(n, "fp32") for gpu in ranks.gpus]
    buffers = ranks.tables(own := ranks.zeros(n, np.float32))
    pads = ranks.tables(flags := ranks.zeros(2 * programs * count, np.int32))
    for rank in range(count):
        all_reduce_by_addresses_kernel[(programs,)](
            outs[rank].array, x[rank], buffers[rank].data_ptr(), pads[rank].data_ptr(), rank, n,
            barrier, SLOTS=programs, RANKS=count, BLOCK=512,
        )  # fmt: skip
    ranks.wait()
    expected = np.sum(np.array(inputs, np.float64), axis=0)
    for out in outs:
        np.testing.assert_allclose(out.numpy(), expected, 1e-5, 1e-5)
    del own, flags


@triton.jit
def all_gather_kernel(
    out, x, buffer0, buffer1, pads, rank, n, BARRIER: tl.constexpr, SLOTS: tl.constexpr,
    EARLY: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Two ranks: each stores its part to its buffer, and copies both buffers, that come as arrays."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x + at, at < n)
    if rank == 0:
        tl.store(buffer0 + at, x, at < n)
    else:
        tl.store(buffer1 + at, x, at < n)
    if EARLY:
        second = tl.load(buffer1 + at, at < n)
    BARRIER(pads, rank, 1, SLOTS, 2)
    if not EARLY:
        second = tl.load(buffer1 + at, at < n)
    tl.store(out + at, tl.load(buffer0 + at, at < n), at < n)
    tl.store(out + n + at, second, at < n)


def run_all_gather(ranks, inputs, dtype, barrier, early=False, block=256):
    """The output of each rank."""
    n = len(inputs[0])
    x = ranks.to(inputs)
    outs = [gpu.output(2 * n, dtype) for gpu in ranks.gpus]
    buffers = ranks.zeros(n, inputs[0].dtype)
    pads = ranks.tables(flags := ranks.zeros(2 * 4 * 2, np.int32))
    for rank in range(2):
        all_gather_kernel[(4,)](
            outs[rank].array, x[rank], *ranks.views(buffers, rank), pads[rank], rank, n, barrier,
            SLOTS=4, EARLY=early, BLOCK=block,
        )  # fmt: skip
    ranks.wait()
    del flags
    return [out.numpy() for out in outs]


@pytest.mark.parametrize("barrier", [tell_and_wait, swap_and_wait])
@pytest.mark.parametrize("dtype", ["fp16", "i32"])
def test_all_gather(make_ranks, dtype, barrier):
    inputs = [random(1000, dtype, seed=rank) for rank in range(2)]
    for out in run_all_gather(make_ranks(2), inputs, dtype, barrier):
        np.testing.assert_array_equal(out, np.concatenate(inputs))


@triton.jit
def tell(flag, WAY: tl.constexpr):
    """Program p of the rank that writes is done."""
    if WAY == "add":
        tl.atomic_add(flag, 1, sem="release", scope="sys")
    elif WAY == "fence":
        tl.debug_barrier()
        tl.atomic_xchg(flag, 1, sem="acq_rel", scope="sys")
    else:
        tl.atomic_store(flag, 1, sem="release", scope="sys")


@triton.jit
def wait(flag, WAY: tl.constexpr):
    if WAY == "add":
        while tl.atomic_add(flag, 0, sem="acquire", scope="sys") == 0:
            pass
    elif WAY == "swap":
        while tl.atomic_cas(flag, 1, 1, sem="acquire", scope="sys") != 1:
            pass
    elif WAY == "load":
        while tl.atomic_load(flag, sem="acquire", scope="sys") == 0:
            pass
    elif WAY == "volatile":
        while tl.load(flag, volatile=True) == 0:
            pass
        tl.atomic_add(flag, 0, sem="acquire", scope="sys")
        tl.debug_barrier()
    else:
        tl.atomic_poll(flag, 1, sem="acquire", scope="sys")


@triton.jit
def write_kernel(a, x, flags, M, K, WAY: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr):
    """Program (p, q) writes a tile of `a` and raises its flag."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rk = tl.program_id(1) * BK + tl.arange(0, BK)
    at = rm[:, None] * K + rk[None, :]
    mask = (rm < M)[:, None] & (rk < K)[None, :]
    tl.store(a + at, tl.load(x + at, mask), mask)
    tell(flags + tl.program_id(0) * tl.num_programs(1) + tl.program_id(1), WAY)


@triton.jit
def wait_and_multiply_kernel(
    c, a, b, flags, M, N, K, WAY: tl.constexpr, WHERE: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Rows of `a` are another rank's: each flag is waited for before the loop, in it, or in one around it."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    steps = tl.cdiv(K, BK)
    flags += tl.program_id(0) * steps
    if WHERE == "before":
        for step in range(steps):
            wait(flags + step, WAY)
    acc = tl.zeros((BM, BN), tl.float32)
    HALF: tl.constexpr = BK // 2 if WHERE == "around" else BK
    for first in range(0, K, BK):
        if WHERE != "before":
            wait(flags + first // BK, WAY)
        for part in range(0, BK, HALF):
            rk = first + part + tl.arange(0, HALF)
            left = tl.load(
                a + rm[:, None] * K + rk[None, :], (rm < M)[:, None] & (rk < K)[None, :], 0.0
            )
            right = tl.load(
                b + rk[:, None] * N + rn[None, :], (rk < K)[:, None] & (rn < N)[None, :], 0.0
            )
            acc = tl.dot(left, right, acc)
    tl.store(
        c + rm[:, None] * N + rn[None, :], acc.to(tl.float16),
        (rm < M)[:, None] & (rn < N)[None, :],
    )  # fmt: skip


@pytest.mark.parametrize("way", ["poll", "add", "swap", "load", "volatile"])
@pytest.mark.parametrize("where", ["before", "inside", "around"])
def test_dots_of_what_a_peer_writes(make_ranks, where, way):
    """No load of a peer's memory is prefetched or moved by TMA past an acquire."""
    ranks = make_ranks(2)
    M, N, K = 136, 64, 208
    a, b = random((M, K), "fp16", 1), random((K, N), "fp16", 2)
    on_a, on_x = ranks.gpus[0].to(np.zeros((M, K), np.float16)), ranks.gpus[0].to(a)
    flags, on_b = ranks.gpus[1].to(np.zeros(64, np.int32)), ranks.gpus[1].to(b)
    c = ranks.gpus[1].output((M, N), "fp16")
    steps, bk = 4, 64
    view = ranks.views([on_a], 1)[0]
    wait_and_multiply_kernel[(2, 1)](
        c.array, view, on_b, flags, M, N, K, way, where, BM=128, BN=64, BK=bk, num_stages=3
    )
    write_kernel[(2, steps)](on_a, on_x, ranks.views([flags], 0)[0], M, K, way, BM=128, BK=bk)
    ranks.wait()
    check_gemm(c.numpy(), a, b)


@triton.jit
def wait_and_load_kernel(c, a, b, flag, M: tl.constexpr, N: tl.constexpr, WAITS: tl.constexpr):
    """Descriptors, which TMA would load from."""
    acc = tl.zeros((M, N), tl.float32)
    if WAITS:
        tl.atomic_poll(flag, 1, sem="acquire", scope="sys")
    for k in range(0, N, 64):
        acc = tl.dot(a.load([0, k]), b.load([k, 0]), acc)
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(c + at, acc.to(tl.float16))


@pytest.mark.parametrize("waits", [True, False])
def test_descriptors_of_a_peer(make_ranks, waits):
    """TMA reads what another rank wrote before the launch, and not what it writes meanwhile."""
    ranks = make_ranks(2)
    n = 128
    a, b = random((n, n), "fp16", 5), random((n, n), "fp16", 6)
    on_a, on_x = ranks.gpus[0].to(np.zeros((n, n), np.float16)), ranks.gpus[0].to(a)
    flags, on_b = ranks.gpus[1].to(np.zeros(4, np.int32)), ranks.gpus[1].to(b)
    c = ranks.gpus[1].output((n, n), "fp16")

    def write():
        flag = ranks.views([flags], 0)[0]
        write_kernel[(1, 1)](on_a, on_x, flag, n, n, "add", BM=128, BK=128)

    if not waits:
        write()
        ranks.wait()
    descriptors = [
        TensorDescriptor(ranks.views([on_a], 1)[0], [n, n], [n, 1], [n, 64]),
        TensorDescriptor(on_b, [n, n], [n, 1], [64, n]),
    ]
    kernel = wait_and_load_kernel[(1,)](c.array, *descriptors, flags, n, n, waits)
    if waits:
        write()
    ranks.wait()
    check_gemm(c.numpy(), a, b)
    if ranks.gpus[0].arch >= 90:  # the producer starts after the wait
        assert "complete_tx::bytes" in kernel.asm["ptx"]
        assert ("bar.sync \t7" in kernel.asm["ptx"]) == waits


@triton.jit
def multiply_and_tell_kernel(
    c, a, b, flags, M, N, K, WAY: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Writes a tile of the GEMM to another rank's memory, and raises its flag there."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for first in range(0, K, BK):
        rk = first + tl.arange(0, BK)
        left = tl.load(
            a + rm[:, None] * K + rk[None, :], (rm < M)[:, None] & (rk < K)[None, :], 0.0
        )
        right = tl.load(
            b + rk[:, None] * N + rn[None, :], (rk < K)[:, None] & (rn < N)[None, :], 0.0
        )
        acc = tl.dot(left, right, acc)
    tl.store(
        c + rm[:, None] * N + rn[None, :], acc.to(tl.float16),
        (rm < M)[:, None] & (rn < N)[None, :],
    )  # fmt: skip
    tell(flags + tl.program_id(0) * tl.num_programs(1) + tl.program_id(1), WAY)


@triton.jit
def wait_and_copy_kernel(
    out, c, flags, M, N, WAY: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    wait(flags + tl.program_id(0) * tl.num_programs(1) + tl.program_id(1), WAY)
    at, mask = rm[:, None] * N + rn[None, :], (rm < M)[:, None] & (rn < N)[None, :]
    tl.store(out + at, tl.load(c + at, mask), mask)


@pytest.mark.parametrize("raised", [False, True])
@pytest.mark.parametrize("way", ["poll", "add", "fence"])
def test_gemms_for_a_peer(make_ranks, way, raised):
    """A store of a dot's result, by TMA or not, comes before the release."""
    ranks = make_ranks(2)
    M, N, K = 136, 128, 208
    a, b = random((M, K), "fp16", 3), random((K, N), "fp16", 4)
    on_a, on_b = ranks.gpus[0].to(a), ranks.gpus[0].to(b)
    c, flags = (
        ranks.gpus[1].to(np.zeros((M, N), np.float16)),
        ranks.gpus[1].to(np.zeros(8, np.int32)),
    )
    out = ranks.gpus[1].output((M, N), "fp16")
    options = {"enabled_passes": "nv-tma-stores"} if raised else {}
    hears = {"poll": "poll", "add": "add", "fence": "swap"}[way]
    wait_and_copy_kernel[(2, 2)](out.array, c, flags, M, N, hears, BM=128, BN=64)
    multiply_and_tell_kernel[(2, 2)](
        ranks.views([c], 0)[0], on_a, on_b, ranks.views([flags], 0)[0], M, N, K, way,
        BM=128, BN=64, BK=64, num_stages=3, **options,
    )  # fmt: skip
    ranks.wait()
    check_gemm(out.numpy(), a, b)
