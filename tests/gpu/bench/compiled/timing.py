"""Times of a compiled program's calls, in milliseconds."""

import os
import statistics
import time

import torch

SETTLE = 0.02  # s before a measurement, so that the clocks have risen
LENGTH = 0.06  # s of a measurement
CALLS = (3, 40)  # at least and at most that many calls in it
CORES = 4  # on which every process is timed
CYCLES = 2_000_000  # of the GPU's clock in a millisecond, at most


def synchronise():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def pin():
    """Keep this process on the cores on which the other side is timed, too.

    On a shared machine one core is up to twice as fast as another, for minutes: processes that the
    system places differ by that. A program has few threads: its own, and that of gradients.
    """
    cores = sorted(os.sched_getaffinity(0))[:CORES]
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), cores)


def release_memory():
    """Give back what the other children may need."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _settle(call):
    end = time.perf_counter() + SETTLE
    call()
    while time.perf_counter() < end:
        call()
    synchronise()


def _one(call):
    synchronise()
    start = time.perf_counter()
    call()
    synchronise()
    return 1e3 * (time.perf_counter() - start)


def run_ms(call):
    """The median of a few calls, each with the wait for its results."""
    _settle(call)
    end = time.perf_counter() + LENGTH
    times = []
    while len(times) < CALLS[0] or (len(times) < CALLS[1] and time.perf_counter() < end):
        times.append(_one(call))
    return statistics.median(times)


def _events(before, call, count):
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    before()
    first.record()
    for _ in range(count):
        call()
    last.record()
    synchronise()
    return first.elapsed_time(last) / count


def device_ms(call):
    """Milliseconds between CUDA events; nothing without a GPU.

    `back_to_back_ms` is one of many calls that follow each other, host or device, whichever takes
    longer. `device_ms` is one call that was enqueued while the GPU slept, so the device's alone
    (with up to about 1,000 launches: more than that wait for the queue).
    """
    if not torch.cuda.is_available():
        return {}
    _settle(call)
    host = _one(call)
    count = max(3, min(50, int(1e3 * LENGTH / host)))
    asleep = lambda: torch.cuda._sleep(int(min(2 * host + 1, 200) * CYCLES))
    return {
        "back_to_back_ms": statistics.median(_events(lambda: None, call, count) for _ in range(3)),
        "device_ms": statistics.median(_events(asleep, call, 1) for _ in range(5)),
    }
