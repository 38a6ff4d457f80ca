"""Several emulated GPUs that reach each other's memory: kernels run at the same time, and only the scope `sys` orders them.

Each pair of kernels is right as it stands, and wrong with one change. The kernels are PTX, given to the emulated driver itself.
"""

import contextlib
import ctypes
import threading

import numpy as np
import pytest
from emulated_device import library_path
from emulated_driver import Driver
from test_emulated_races import RACE, changed, kernel

pytestmark = pytest.mark.skipif(library_path() is None, reason="the emulated driver is not built")

ALREADY, NOT_ENABLED, NO_DEVICE = 704, 705, 101

# One GPU writes 32 numbers and raises a flag; another waits for it and copies them.
TELL = kernel("""
  st.global.u32 [%d6], %r6;
  bar.sync 0;
  @%p1 st.release.sys.global.u32 [%d3], 1;
""")
HEAR = kernel("""
again:
  ld.acquire.sys.global.u32 %r7, [%d3];
  setp.eq.u32 %p3, %r7, 0;
  @%p3 bra again;
  ld.global.u32 %r8, [%d6];
  st.global.u32 [%d6+512], %r8;
""")
FENCED_TELL = changed(TELL, "st.release", "fence.acq_rel.sys;\n  @%p1 st.relaxed")
FENCED_HEAR = changed(
    HEAR,
    "ld.acquire.sys.global.u32 %r7, [%d3];",
    "ld.relaxed.sys.global.u32 %r7, [%d3];\n  fence.acq_rel.sys;",
)


class Peers(Driver):
    """The emulated driver with several GPUs, all peers of each other."""

    def __init__(self, count):
        super().__init__()
        self.contexts = [ctypes.c_void_p() for _ in range(count)]
        for number, made in enumerate(self.contexts):
            self.cuDevicePrimaryCtxRetain(ctypes.byref(made), number)
        self.call_of_each_pair("cuCtxEnablePeerAccess", 0)

    def call_of_each_pair(self, name, *arguments):
        for here in range(len(self.contexts)):
            for there, context in enumerate(self.contexts):
                if here != there:
                    with self.on(here):
                        getattr(self, name)(context, *arguments)

    @contextlib.contextmanager
    def on(self, number):
        """Within, the context of GPU `number` is this thread's."""
        self.cuCtxPushCurrent_v2(self.contexts[number])
        try:
            yield
        finally:
            self.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))

    def array_on(self, number, values):
        with self.on(number):
            return self.array(values)

    def start(self, number, text, arrays, blocks=1):
        with self.on(number):
            self.launch(text, "kernel", blocks, arrays)

    def wait(self, *numbers):
        for number in numbers:
            with self.on(number):
                self.cuCtxSynchronize()


@pytest.fixture
def make_peers(monkeypatch):
    """Makes the driver of so many GPUs."""
    made = []

    def make(count):
        monkeypatch.setenv("PANTILE_EMULATED_DEVICES", str(count))
        made.append(Peers(count))
        return made[0]

    yield make
    for peers in made:
        peers.call_of_each_pair("cuCtxDisablePeerAccess")


@pytest.fixture
def peers(make_peers):
    return make_peers(2)


class Exchange:
    """What a pair of kernels works on: GPU 0 has the numbers, GPU 1 what is sent and the flag."""

    def __init__(self, peers):
        self.peers = peers
        self.values = np.random.default_rng().integers(1, 1 << 30, 256, dtype=np.uint32)
        zeros = np.zeros(256, np.uint32)
        self.source, _ = peers.array_on(0, self.values)
        self.told, self.made = peers.array_on(1, zeros)
        self.flags, _ = peers.array_on(1, zeros)
        self.arrays = [self.source, self.told, self.flags]

    def run(self, tell, hear):
        self.peers.start(1, hear, self.arrays)
        self.peers.start(0, tell, self.arrays)
        self.peers.wait(0, 1)
        np.testing.assert_array_equal(self.made[128:160], self.values[:32])


def fails(peers, tell, hear, message):
    for _ in range(4):
        with pytest.raises(RuntimeError, match=message):
            Exchange(peers).run(tell, hear)
        peers.call_of_each_pair("cuCtxDisablePeerAccess")
        peers.call_of_each_pair("cuCtxEnablePeerAccess", 0)


@pytest.mark.parametrize("tell", [TELL, FENCED_TELL], ids=["release", "fence before"])
@pytest.mark.parametrize("hear", [HEAR, FENCED_HEAR], ids=["acquire", "fence after"])
def test_a_flag_orders_gpus(peers, tell, hear):
    for _ in range(4):
        Exchange(peers).run(tell, hear)


MISTAKES = {
    "release of the GPU": ("st.release.sys", "st.release.gpu", None, None),
    "no release": ("st.release.sys", "st.relaxed.sys", None, None),
    "acquire of the GPU": (None, None, "ld.acquire.sys", "ld.acquire.gpu"),
    "no acquire": (None, None, "ld.acquire.sys", "ld.relaxed.sys"),
    "plain flag": ("st.release.sys.global", "st.global", None, None),
    "write after the release": ("ret;", "st.global.u32 [%d6], 5;\n  ret;", None, None),
    "read before the acquire": (None, None, "again:", "ld.global.u32 %r9, [%d6];\nagain:"),
    "scopes of the CTA": ("st.release.sys", "st.release.cta", "ld.acquire.sys", "ld.acquire.cta"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_races_of_two_gpus(peers, mistake):
    tell_from, tell_to, hear_from, hear_to = MISTAKES[mistake]
    tell = changed(TELL, tell_from, tell_to) if tell_from else TELL
    hear = changed(HEAR, hear_from, hear_to) if hear_from else HEAR
    fails(peers, tell, hear, RACE)


def test_fences_of_the_gpu_order_no_gpus(peers):
    fails(peers, changed(FENCED_TELL, "fence.acq_rel.sys", "fence.acq_rel.gpu"), FENCED_HEAR, RACE)
    fails(peers, FENCED_TELL, changed(FENCED_HEAR, "fence.acq_rel.sys", "fence.acq_rel.gpu"), RACE)


def test_the_non_coherent_path_reads_what_was_there_before(peers):
    """An acquire does not order it: the line may be in its cache."""
    hear = changed(HEAR, "ld.global.u32 %r8", "ld.global.nc.u32 %r8")
    fails(
        peers, TELL, hear, "by the non-coherent path, which .* wrote after the launch had started"
    )
    # What the host waited for is there; the flag is no matter then.
    exchange = Exchange(peers)
    peers.start(0, TELL, exchange.arrays)
    peers.wait(0)
    peers.start(1, hear, exchange.arrays)
    peers.wait(1)
    np.testing.assert_array_equal(exchange.made[128:160], exchange.values[:32])


COPY = kernel("""
  ld.global.u32 %r8, [%d6];
  st.global.u32 [%d6+512], %r8;
""")


def test_what_orders_launches(peers):
    """The order on a GPU and a wait of the host do; a launch on another GPU does not."""
    write = changed(TELL, "@%p1 st.release", "@!%p1 st.release").replace("@!%p1", "@%p7")
    write = write.replace("bar.sync 0;", "setp.ne.u32 %p7, %r1, %r1;")
    exchange = Exchange(peers)
    peers.start(0, write, exchange.arrays)
    peers.start(0, COPY, exchange.arrays)
    peers.wait(0)
    np.testing.assert_array_equal(exchange.made[128:160], exchange.values[:32])
    exchange = Exchange(peers)
    peers.start(0, write, exchange.arrays)
    peers.wait(0)
    peers.start(1, COPY, exchange.arrays)
    peers.wait(1)
    np.testing.assert_array_equal(exchange.made[128:160], exchange.values[:32])
    fails(peers, write, COPY, RACE)


def test_a_wait_for_one_gpu_orders_nothing_of_another(peers):
    write = TELL.replace("@%p1 st.release.sys.global.u32 [%d3], 1;", "")
    exchange = Exchange(peers)
    other, _ = peers.array_on(1, np.zeros(256, np.uint32))
    peers.start(0, write, exchange.arrays)
    peers.start(1, COPY, [exchange.source, other, exchange.flags])
    peers.wait(1)
    peers.start(1, COPY, exchange.arrays)
    with pytest.raises(RuntimeError, match=RACE):
        peers.wait(1)
        peers.wait(0)


def test_what_an_earlier_launch_acquired(peers):
    """What a launch wrote is ordered by the release of the next one on its GPU."""
    write = TELL.replace("@%p1 st.release.sys.global.u32 [%d3], 1;", "")
    tell = TELL.replace("st.global.u32 [%d6], %r6;", "")
    for _ in range(4):
        exchange = Exchange(peers)
        peers.start(1, HEAR, exchange.arrays)
        peers.start(0, write, exchange.arrays)
        peers.start(0, tell, exchange.arrays)
        peers.wait(0, 1)
        np.testing.assert_array_equal(exchange.made[128:160], exchange.values[:32])


def test_a_launch_is_ordered_after_what_the_one_before_it_acquired(peers):
    hear = HEAR.replace("ld.global.u32 %r8, [%d6];", "").replace(
        "st.global.u32 [%d6+512], %r8;", ""
    )
    for _ in range(4):
        exchange = Exchange(peers)
        peers.start(1, hear, exchange.arrays)
        peers.start(1, COPY, exchange.arrays)
        peers.start(0, TELL, exchange.arrays)
        peers.wait(1, 0)
        np.testing.assert_array_equal(exchange.made[128:160], exchange.values[:32])


# Adds one to the counter that `flags` is, and waits until all have.
COUNT = kernel("""
  @!%p1 bra over;
  atom.acq_rel.sys.global.add.u32 %r7, [%d3], 1;
again:
  ld.acquire.sys.global.u32 %r7, [%d3];
  setp.lt.u32 %p3, %r7, ALL;
  @%p3 bra again;
  st.global.u32 [%d6], %r7;
over:
""")


@pytest.mark.parametrize("count", [2, 4, 8])
def test_all_wait_for_all(make_peers, count):
    """Two launches on each GPU; the second adds to the same counter."""
    peers = make_peers(count)
    zeros = np.zeros(256, np.uint32)
    flags, total = peers.array_on(count - 1, zeros)
    source, _ = peers.array_on(0, zeros)
    made = [[peers.array_on(number, zeros) for _ in range(2)] for number in range(count)]
    for turn in range(2):
        text = COUNT.replace("ALL", str((turn + 1) * count))
        for number in range(count):
            peers.start(number, text, [source, made[number][turn][0], flags])
    peers.wait(*range(count))
    assert total[0] == 2 * count
    for number in range(count):
        first, second = (view[0] for _, view in made[number])
        assert count <= first <= 2 * count and second == 2 * count


def test_threads_that_launch_and_wait(peers):
    """Each rank is a thread of the host, that waits before the other may have launched."""
    exchange, failures = Exchange(peers), []

    def work(number, text):
        try:
            peers.start(number, text, exchange.arrays)
            peers.wait(number)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=pair) for pair in ((1, HEAR), (0, TELL))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]
    np.testing.assert_array_equal(exchange.made[128:160], exchange.values[:32])


def test_a_wait_in_vain_is_an_error(peers):
    exchange = Exchange(peers)
    peers.start(1, HEAR, exchange.arrays)
    with pytest.raises(
        RuntimeError, match="nothing changes in memory .* GPU 1 .CTA 0: warp 0 at line"
    ):
        peers.wait(1)


def test_memory_that_is_freed_while_a_launch_waits(peers):
    """As stream-ordered memory: it is given back when the launches are over."""
    exchange = Exchange(peers)
    peers.start(1, HEAR, exchange.arrays)
    peers.start(0, TELL, exchange.arrays)
    for pointer in exchange.arrays:
        peers.cuMemFree_v2(pointer)
    peers.wait(0, 1)
    with pytest.raises(RuntimeError, match="not allocated"):
        peers.cuMemFree_v2(exchange.source)


def test_functions_of_peers(peers):
    can, none = ctypes.c_int(-1), ctypes.c_void_p()
    for here, there, wanted in ((0, 1, 1), (1, 0, 1), (0, 0, 0)):
        peers.cuDeviceCanAccessPeer(ctypes.byref(can), here, there)
        assert can.value == wanted
    library = peers.library
    assert library.cuDeviceCanAccessPeer(ctypes.byref(can), 0, 2) == NO_DEVICE
    with peers.on(0):
        assert library.cuCtxEnablePeerAccess(peers.contexts[1], 0) == ALREADY
        assert library.cuCtxEnablePeerAccess(peers.contexts[0], 0), "no peer of its own"
        assert library.cuCtxEnablePeerAccess(none, 0), "no context"
        assert library.cuCtxDisablePeerAccess(peers.contexts[1]) == 0
        assert library.cuCtxDisablePeerAccess(peers.contexts[1]) == NOT_ENABLED
        try:
            exchange = Exchange(peers)
            peers.start(0, COPY, exchange.arrays)
            with pytest.raises(RuntimeError, match="not allocated"):
                peers.wait(0)
        finally:
            library.cuCtxEnablePeerAccess(peers.contexts[1], 0)
