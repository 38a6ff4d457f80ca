"""Clusters on the emulated GPU: CTAs access each other's shared memory, and missing synchronisation is reported.

The kernels are PTX, given to the emulated driver itself.
"""

import numpy as np
import pytest
from emulated_device import library_path
from emulated_driver import LANES, Driver

pytestmark = pytest.mark.skipif(library_path() is None, reason="the emulated driver is not built")

CLUSTERS = 24

# Each lane reads the number that the same lane in the other CTA of the cluster wrote.
EXCHANGE = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry exchange(.param .u64 from, .param .u64 to)
.reqntid 32, 1, 1
.explicitcluster
.reqnctapercluster 2, 1, 1
{
  .shared .align 16 .b8 numbers[128];
  .reg .b32 %r<16>;
  .reg .b64 %d<8>;
  ld.param.u64 %d1, [from];
  ld.param.u64 %d2, [to];
  mov.u32 %r1, %laneid;
  mov.u32 %r2, %ctaid.x;
  shl.b32 %r3, %r2, 5;
  add.u32 %r3, %r3, %r1;
  mul.wide.u32 %d3, %r3, 4;
  add.u64 %d1, %d1, %d3;
  add.u64 %d2, %d2, %d3;
  ld.global.u32 %r4, [%d1];
  mov.u32 %r5, numbers;
  shl.b32 %r6, %r1, 2;
  add.u32 %r5, %r5, %r6;
  st.shared.u32 [%r5], %r4;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  mov.u32 %r7, %cluster_ctarank;
  xor.b32 %r7, %r7, 1;
  mapa.shared::cluster.u32 %r8, %r5, %r7;
  ld.shared::cluster.u32 %r9, [%r8];
  getctarank.shared::cluster.u32 %r10, %r8;
  mov.u32 %r11, %cluster_nctarank;
  mad.lo.u32 %r9, %r10, %r11, %r9;
  st.global.u32 [%d2], %r9;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
"""

# The second CTA arrives at a barrier of the first, which waits for that.
TELL = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry tell(.param .u64 from, .param .u64 to)
.reqntid 32, 1, 1
.explicitcluster
.reqnctapercluster 2, 1, 1
{
  .shared .align 8 .b8 barrier[8];
  .reg .b32 %r<16>;
  .reg .b64 %d<8>;
  .reg .pred %p<4>;
  ld.param.u64 %d1, [from];
  ld.param.u64 %d2, [to];
  mov.u32 %r1, %laneid;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %cluster_ctarank;
  mov.u32 %r4, barrier;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r4], 32;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  setp.eq.u32 %p2, %r3, 0;
  @%p2 bra first;
  shl.b32 %r5, %r2, 5;
  add.u32 %r5, %r5, %r1;
  mul.wide.u32 %d3, %r5, 4;
  add.u64 %d4, %d1, %d3;
  add.u64 %d5, %d2, %d3;
  ld.global.u32 %r6, [%d4];
  st.global.u32 [%d5], %r6;
  mov.u32 %r7, 0;
  mapa.shared::cluster.u32 %r8, %r4, %r7;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r8];
  bra over;
first:
  mov.u32 %r9, 0;
again:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r4], %r9;
  @!%p3 bra again;
  add.u32 %r10, %r2, 1;
  shl.b32 %r10, %r10, 5;
  add.u32 %r10, %r10, %r1;
  mul.wide.u32 %d3, %r10, 4;
  add.u64 %d5, %d2, %d3;
  ld.global.u32 %r11, [%d5];
  sub.u64 %d5, %d5, 128;
  st.global.u32 [%d5], %r11;
over:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
"""

# Each CTA copies half of a tile of four rows to both, and writes all of it when it is there.
SPREAD = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry spread(.param .align 64 .b8 map[128], .param .u64 to)
.reqntid 32, 1, 1
.explicitcluster
.reqnctapercluster 2, 1, 1
{
  .shared .align 128 .b8 tile[512];
  .shared .align 8 .b8 barrier[8];
  .reg .b16 %h<2>;
  .reg .b32 %r<24>;
  .reg .b64 %d<8>;
  .reg .pred %p<4>;
  mov.b64 %d1, map;
  cvta.param.u64 %d2, %d1;
  ld.param.u64 %d3, [to];
  mov.u32 %r1, %laneid;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %cluster_ctarank;
  mov.u32 %r4, tile;
  mov.u32 %r5, barrier;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r5], 1;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 512;
  mov.u32 %r6, %clusterid.x;
  shl.b32 %r7, %r6, 2;
  shl.b32 %r8, %r3, 1;
  add.u32 %r7, %r7, %r8;
  shl.b32 %r8, %r3, 8;
  add.u32 %r8, %r4, %r8;
  mov.u32 %r9, 0;
  mov.u16 %h1, 3;
  @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%r8], [%d2, {%r9, %r7}], [%r5], %h1;
again:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r5], %r9;
  @!%p3 bra again;
  shl.b32 %r10, %r1, 4;
  add.u32 %r11, %r4, %r10;
  ld.shared.v4.u32 {%r12, %r13, %r14, %r15}, [%r11];
  shl.b32 %r16, %r2, 9;
  add.u32 %r16, %r16, %r10;
  cvt.u64.u32 %d4, %r16;
  add.u64 %d3, %d3, %d4;
  st.global.v4.u32 [%d3], {%r12, %r13, %r14, %r15};
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
"""


@pytest.fixture(scope="module")
def driver():
    return Driver()


def run(driver, text, name, blocks=2 * CLUSTERS):
    """What `name` makes of random numbers; both by CTA and lane."""
    values = np.random.default_rng().integers(1, 1 << 30, blocks * LANES, dtype=np.uint32)
    source, _ = driver.array(values)
    target, made = driver.array(np.zeros_like(values))
    try:
        driver.launch(text, name, blocks, [source, target])
        return values.reshape(-1, LANES), made.copy().reshape(-1, LANES)
    finally:
        driver.cuMemFree_v2(source)
        driver.cuMemFree_v2(target)


def test_blocks_read_each_others_memory(driver):
    values, made = run(driver, EXCHANGE, "exchange")
    ranks = np.tile([1, 0], CLUSTERS)[:, None]
    expected = values.reshape(CLUSTERS, 2, LANES)[:, ::-1].reshape(-1, LANES)
    np.testing.assert_array_equal(made, expected + 2 * ranks)


def test_a_block_arrives_at_the_barrier_of_another(driver):
    values, made = run(driver, TELL, "tell")
    expected = np.repeat(values[1::2], 2, axis=0)
    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize(
    "text, name, instruction, message",
    [
        (EXCHANGE, "exchange", "barrier.cluster.wait.aligned#0", "arrives again"),
        (EXCHANGE, "exchange", "barrier.cluster.arrive.aligned#1", "without having arrived"),
        (TELL, "tell", "mbarrier.init", "there is no mbarrier"),
        (TELL, "tell", "mbarrier.arrive", "nothing goes on"),
        (TELL, "tell", "fence.mbarrier_init", "without `fence.mbarrier_init`"),
        (TELL, "tell", "mapa", "the cluster has no CTA"),
    ],
)
def test_what_is_left_out_is_noticed(driver, monkeypatch, text, name, instruction, message):
    """Each instruction that a cluster needs is missed, with a message of its own."""
    monkeypatch.setenv("PANTILE_EMULATION_WITHOUT", instruction)
    with pytest.raises(RuntimeError, match=message):
        run(driver, text, name)


def without_barrier(text, which):
    """`text` without its barrier of the cluster number `which`."""
    pair = "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n"
    parts = text.split(pair)
    return pair.join(parts[: which + 1]) + pair.join(parts[which + 1 :])


def test_a_read_that_comes_too_early_is_noticed(driver):
    with pytest.raises(RuntimeError, match="shared memory at .* nothing orders the two"):
        run(driver, without_barrier(EXCHANGE, 0), "exchange")


@pytest.mark.parametrize("qualifier", ["arrive.release.cluster", "parity.acquire.cluster"])
def test_an_arrival_of_another_block_orders_nothing_within_the_block(driver, qualifier):
    narrow = TELL.replace(qualifier, qualifier.replace("cluster", "cta"))
    with pytest.raises(RuntimeError, match="a race: .* of the array of `to`"):
        run(driver, narrow, "tell")


def test_a_block_that_has_left_is_out_of_reach(driver):
    with pytest.raises(RuntimeError, match="of the cluster has left"):
        run(driver, without_barrier(EXCHANGE, 1), "exchange")


def test_a_grid_is_a_multiple_of_its_clusters(driver):
    with pytest.raises(RuntimeError, match="clusters of 2 CTAs"):
        run(driver, EXCHANGE, "exchange", blocks=5)


def spread(driver, text):
    """What the CTAs make of a random matrix, and the matrix; by cluster, four rows each."""
    rows = np.random.default_rng().integers(1, 1 << 30, 4 * CLUSTERS * LANES, dtype=np.uint32)
    source, _ = driver.array(rows)
    target, made = driver.array(np.zeros(2 * rows.size, np.uint32))
    try:
        driver.launch(text, "spread", 2 * CLUSTERS, [driver.map_of(source, 4 * CLUSTERS), target])
        return made.copy().reshape(CLUSTERS, 2, 4 * LANES), rows.reshape(CLUSTERS, 1, 4 * LANES)
    finally:
        driver.cuMemFree_v2(source)
        driver.cuMemFree_v2(target)


def test_a_copy_to_several_blocks(driver):
    made, rows = spread(driver, SPREAD)
    np.testing.assert_array_equal(made, np.broadcast_to(rows, made.shape))


def test_a_copy_to_a_block_that_has_no_barrier_yet(driver):
    with pytest.raises(RuntimeError, match="there is no mbarrier"):
        spread(driver, without_barrier(SPREAD, 0))


def test_a_copy_to_a_block_that_has_left(driver, monkeypatch):
    monkeypatch.setenv("PANTILE_EMULATION_UNCHECKED", "races")  # it reads too early as well
    wait = SPREAD.index("again:\n"), SPREAD.index("  shl.b32 %r10")
    hasty = without_barrier(SPREAD[: wait[0]] + SPREAD[wait[1] :], 1)
    with pytest.raises(RuntimeError, match="of the cluster has left"):
        spread(driver, hasty)


def test_a_copy_to_a_block_that_the_cluster_has_not(driver):
    with pytest.raises(RuntimeError, match="the cluster has no CTA 2"):
        spread(driver, SPREAD.replace("mov.u16 %h1, 3", "mov.u16 %h1, 7"))
