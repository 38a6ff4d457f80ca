"""One of many processes that tune tutorial 03's GEMM, for `test_tuning_of_the_tutorial.py`.

The argument is JSON: `device` ("emulated" or "cuda"), `folder`, `die_at` (the measurement at which
this process kills itself). The process appends a line to `compiled` in the folder for each kernel
that it compiled, and to `measured` for each configuration that it measured, so that those of a
killed process count. It prints its choice as JSON.

On the emulated GPU a measurement runs the kernel once, and each rank finds other times; on a GPU
our own clock measures.
"""

import importlib.util
import json
import os
import signal
import sys
from pathlib import Path

import numpy as np

RANK = int(os.environ["RANK"])
JOB = json.loads(sys.argv[1])
FOLDER = Path(JOB["folder"])
if JOB["device"] == "emulated":
    import emulated_device

    sys.modules["torch"] = None  # of which a launch would want a stream
    emulated_device.start()
    DEVICE = emulated_device.EmulatedDevice()
else:
    from device_arrays import Device

    DEVICE = Device("cuda")

import pantile as triton  # noqa: E402

TUTORIAL = Path(__file__).resolve().parents[3] / "tutorials/03-matrix-multiplication.py"
SIZES = (64, 64, 64) if JOB["device"] == "emulated" else (1024, 1024, 1024)
measured = []


def note(name, line):
    """Append a line, whole even where others append at the same time."""
    descriptor = os.open(FOLDER / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{line}\n".encode())
    os.close(descriptor)


def note_compilation(**facts):
    if not facts["cache_hit"]:
        note("compiled", facts["metadata"]["hash"])


def note_measurement(config):
    measured.append(config)
    if len(measured) == JOB.get("die_at"):
        os.kill(os.getpid(), signal.SIGKILL)
    note("measured", config)


def bench(call, quantiles):
    """Times by which each rank for itself would make another choice."""
    call()
    note_measurement(len(measured))
    return [1.0 + (len(measured) + RANK) % 10] * 3


class NotedTuner(triton.runtime.Autotuner):
    """The tuner, which notes what it measures by our own clock."""

    def _measure(self, configs, args, kwargs, device):
        if self._do_bench is None:
            for config in configs:
                note_measurement(config)
        return super()._measure(configs, args, kwargs, device)


def tuned():
    spec = importlib.util.spec_from_file_location("matrix_multiplication", TUTORIAL)
    tutorial = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tutorial)
    kernel = tutorial.matmul_kernel
    return NotedTuner(
        kernel.fn,
        kernel.fn.arg_names,
        kernel.configs,
        kernel.keys,
        do_bench=bench if JOB["device"] == "emulated" else None,
    )


def main():
    triton.knobs.compilation.listener = note_compilation
    kernel = tuned()
    M, N, K = SIZES
    random = np.random.default_rng(3)
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((M, K), (K, N)))
    c = DEVICE.to(np.full((M, N), np.nan, np.float16))
    grid = lambda meta: (
        triton.cdiv(M, meta["BLOCK_SIZE_M"]) * triton.cdiv(N, meta["BLOCK_SIZE_N"]),
    )
    strides = (K, 1, N, 1, N, 1)
    kernel[grid](DEVICE.to(a), DEVICE.to(b), c, M, N, K, *strides, ACTIVATION="")
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(DEVICE.numpy(c), exact, rtol=2e-3, atol=2e-3 * np.abs(exact).max())
    times = [kernel.configs_timings.get(config) for config in kernel.configs]
    print(json.dumps({"best": kernel.configs.index(kernel.best_config), "times": times}))


main()
