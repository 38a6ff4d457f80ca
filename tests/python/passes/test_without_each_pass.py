"""Numbers stay right without any one pass, and with each that is off by default.

On Hopper each one changes the code of some workload of workloads_of_passes.py; code that it does not change has run before.
"""

import contextlib

import pytest
from pantile.compiler.remarks import list_passes
from workloads_of_passes import ON_A_CPU, ON_A_GPU, OVERLAPPING, WORKLOADS, UnchangedError

# Left out, threads race for shared memory.
RACES = {"nv-insert-barriers"}
PASSES = [step for step in list_passes() if step.is_optional]
# Left out, values that are the same take registers of their own, or consumers get no more of them.
CROWDED = {"canonicalize", "nv-reallocate-registers"}
# Nothing here goes through memory within a program.
UNSEEN = {"tile-order-memory"}


@pytest.fixture(scope="module")
def usual():
    """The code of each workload as it is by default."""
    return {}


def marked(name):
    marks = pytest.mark.may_lack_registers if name in CROWDED else ()
    return pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", [marked(step.name) for step in PASSES])
def test_without_it_or_with_it(device, usual, name):
    """A default pass is left out, any other one switched on."""
    if name in RACES and device.arch:
        pytest.skip("orders accesses of shared memory")
    is_default = next(step.is_default for step in PASSES if step.name == name)
    options = {"disabled_passes" if is_default else "enabled_passes": name}
    chosen = ON_A_GPU if device.on_gpu else WORKLOADS if device.arch else ON_A_CPU
    changed = set()
    for workload in chosen:
        known = usual.get(workload)
        if device.arch and known is None:
            known = usual[workload] = workload(device).asm["ptx"]
        with contextlib.suppress(UnchangedError):
            workload(device, known=known, **options)
            changed.add(workload.__name__)
    if device.arch == 90 and not device.on_gpu and name not in UNSEEN:
        assert changed, f"`{name}` is not put to the test by any workload"


ACROSS_ITERATIONS = (
    "nv-overlap-dots,nv-overlap-iterations,nv-overlap-results,nv-carry-mmas,carried-accumulators"
)


@pytest.mark.parametrize("left_out", [ACROSS_ITERATIONS, ACROSS_ITERATIONS + ",nv-defer-waits"])
def test_less_overlap(device, left_out):
    """Kernels are compiled so where ptxas serialises MMAs that overlap."""
    if device.arch != 90:
        pytest.skip("leaves out what only Hopper has")
    for workload in OVERLAPPING:
        workload(device, disabled_passes=left_out)
