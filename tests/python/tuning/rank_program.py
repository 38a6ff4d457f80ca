"""One rank of `test_ranks.py`: tunes and launches a kernel, prints what happened as JSON.

The argument is JSON: `device` ("emulated" or "cpu"), `sizes` (a launch each), `slow` (seconds that
a measurement takes), `own_clock` (measure by our clock), `keep` (keep the times of measurements),
`die_at` (the measurement at which this rank kills itself), `group` (join a process group of
torch.distributed at this address), `folder`, `tell` (a file there that this rank writes as it
begins to measure), `first` (a file there that another rank writes before this one begins), `file`
(write what happened to RANK.json there: ranks of one launcher share its standard output, on which
their lines may mix).
"""

import json
import os
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np

RANK = int(os.environ.get("RANK", "0"))
JOB = json.loads(sys.argv[1])
FOLDER = Path(JOB["folder"])
if JOB["device"] == "emulated":
    import emulated_device

    emulated_device.start()
    DEVICE = emulated_device.EmulatedDevice()
else:
    from device_arrays import Device

    DEVICE = Device("cpu")

import pantile as triton  # noqa: E402
import pantile.language as tl  # noqa: E402

CONFIGS = [
    triton.Config({"BLOCK": block}, num_warps=warps) for block in (64, 128) for warps in (1, 2)
]
measured, compiled = [], []


def bench(call, quantiles):
    """Times by which each rank for itself would make another choice."""
    call()
    measured.append(None)
    if "tell" in JOB:
        (FOLDER / JOB["tell"]).write_text("measuring")
    if len(measured) == JOB.get("die_at"):
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(JOB.get("slow", 0))
    return [1.0 + (len(measured) + RANK) % len(CONFIGS)] * 3


@triton.jit
def axpy(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    y = tl.load(out_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, y + 3 * x, mask=offsets < n)


class CountedTuner(triton.runtime.Autotuner):
    """The tuner, which counts what it measures by our own clock."""

    def _measure(self, configs, args, kwargs, device):
        if self._do_bench is None:
            measured.extend(configs)
        return super()._measure(configs, args, kwargs, device)


def tuned():
    return CountedTuner(
        axpy,
        axpy.arg_names,
        CONFIGS,
        ["n"],
        restore_value=["out_ptr"],
        do_bench=None if JOB.get("own_clock") else bench,
        cache_results=JOB.get("keep", False),
    )


def check(kernel, n):
    """Launch, and compare each element; return the choice."""
    random = np.random.default_rng(n + RANK)
    x, start = random.standard_normal((2, n)).astype(np.float32)
    expected = start.astype(np.float64) + 3 * x.astype(np.float64)
    out = DEVICE.to(start)
    kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](out, DEVICE.to(x), n)
    np.testing.assert_allclose(DEVICE.numpy(out), expected, rtol=2e-6, atol=2e-6)
    times = [kernel.configs_timings[config][0] for config in CONFIGS]
    return [CONFIGS.index(kernel.best_config), times]


def join(address):
    import torch.distributed as distributed

    distributed.init_process_group(
        "gloo", init_method=address, rank=RANK, world_size=int(os.environ["WORLD_SIZE"])
    )
    return distributed


def note(**facts):
    if not facts["cache_hit"]:
        compiled.append(facts["src"].fn.__name__)


def main():
    group = join(JOB["group"]) if "group" in JOB else None
    while "first" in JOB and not (FOLDER / JOB["first"]).exists():
        time.sleep(0.01)
    triton.knobs.compilation.listener = note
    start = time.monotonic()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel = tuned()
        choices = [check(kernel, n) for n in JOB["sizes"]]
    report = {
        "rank": RANK,
        "choices": choices,
        "measured": len(measured),
        "compiled": len(compiled),
        "seconds": time.monotonic() - start,
        "warnings": [str(one.message) for one in caught],
    }
    if "file" in JOB:
        (FOLDER / f"{RANK}.json").write_text(json.dumps(report))
    else:
        print(json.dumps(report), flush=True)
    if group is not None and JOB.get("meet", True):
        group.barrier()
        group.destroy_process_group()


main()
