"""The profiler with the CUPTI of tests/cupti, in processes of their own.

`run(program, folder)` runs a program in which `fake` is that library, `proton` the profiler, and
`tree(name)` the frames of a file; on the emulated GPU with `emulated=True`.
"""

import os
import subprocess
import sys
from pathlib import Path

import pantile
import pytest

BUILD = Path(pantile.__file__).absolute().parents[2]
FOLDER = BUILD / "tests/cupti"
needs_fake = pytest.mark.skipif(
    not (FOLDER / "libcupti.so").exists(), reason="the CUPTI of the tests is not built"
)

PREAMBLE = """
import ctypes, json, os, threading, warnings
import numpy as np
import pantile, pantile.language as tl, pantile.profiler as proton
from pathlib import Path

fake = ctypes.CDLL(os.environ["TRITON_CUPTI_LIB_PATH"] + "/libcupti.so")
for name in ("fakeCuptiSetDuration", "fakeCuptiDrop", "fakeCuptiCapture"):
    getattr(fake, name).argtypes = [ctypes.c_uint64]
fake.fakeCuptiCloneNode.argtypes = [ctypes.c_uint64, ctypes.c_uint64]

def launch(name, nanoseconds, device=0, stream=7, own_ids=True):
    fake.fakeCuptiSetDuration(nanoseconds)
    fake.fakeCuptiLaunch(name.encode(), device, stream, int(own_ids))

def launch_graph(*kernels):
    names = (ctypes.c_char_p * len(kernels))(*(name.encode() for name, _ in kernels))
    nodes = (ctypes.c_uint64 * len(kernels))(*(node for _, node in kernels))
    fake.fakeCuptiLaunchGraph(names, nodes, len(kernels))

def simple(frame):
    return {child["frame"]["name"]: (child["metrics"], simple(child)) for child in frame["children"]}

def tree(name):
    return simple(json.loads(Path(name + ".hatchet").read_text())[0])

def kernel(nanoseconds, count=1, device=0, **more):
    return {"count": count, "time (ns)": nanoseconds, "device_id": str(device), "device_type": "CUDA", **more}
"""

EMULATED = """
import sys
sys.path.insert(0, {tests!r})
import emulated_device
emulated_device.start()
device = emulated_device.EmulatedDevice()
"""


def environment(**more):
    given = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PANTILE_EMULATE", "TRITON_"))
    }
    return {
        **given,
        "PYTHONPATH": str(BUILD / "python"),
        "TRITON_CUPTI_LIB_PATH": str(FOLDER),
        **more,
    }


def run(program, folder, emulated=False, check=True, **variables):
    """Run a program in `folder`; its output and, with `check=False`, its errors and status."""
    script = folder / "program.py"  # kernels are read from their file
    start = EMULATED.format(tests=str(Path(__file__).parents[1])) if emulated else ""
    script.write_text(start + PREAMBLE + program)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=300,
    )
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
    return done


__all__ = ["FOLDER", "environment", "needs_fake", "run"]
