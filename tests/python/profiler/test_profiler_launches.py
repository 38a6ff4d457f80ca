"""The profiler around launches of this package, on the emulated GPU."""

import json
import os
import subprocess
import sys

from fake_cupti import environment, needs_fake, run

pytestmark = needs_fake

KERNELS = """
def metadata(grid, kernel, args):
    assert kernel.num_warps == 2
    return {"name": f"scale<{args['n']}>", "flops16": 3 * args["n"], "bytes": 8 * args["n"]}

@pantile.jit(launch_metadata=metadata)
def scale_kernel(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)

@pantile.jit
def add_kernel(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)

values = np.arange(200, dtype=np.float32)
x = device.to(values)
fake.fakeCuptiSetDuration(1000)

def scale(n):
    scale_kernel[(2,)](x, n, BLOCK=128, num_warps=2)

def add(n):
    add_kernel[(2,)](x, n, BLOCK=128)
"""


def test_launches_are_measured(tmp_path):
    run(
        KERNELS
        + """
from pantile import knobs
proton.start("plain")
with proton.scope("s"):
    scale(200)
    add(200)
scale(100)
assert not knobs.runtime.launch_enter_hook
proton.finalize()
assert tree("plain") == {
    "s": ({}, {"scale_kernel": (kernel(1000), {}), "add_kernel": (kernel(1000), {})}),
    "scale_kernel": (kernel(1000), {}),
}
expected = values * 2 + 1
expected[:100] *= 2
np.testing.assert_array_equal(device.numpy(x), expected)
devices = json.loads(Path("plain.hatchet").read_text())[1]["CUDA"]
facts = pantile._pantile.device_info(0)
assert devices == {"0": {"arch": "90", "bus_width": facts["mem_bus_width"], "clock_rate": facts["sm_clock_rate"],
                         "memory_clock_rate": facts["mem_clock_rate"], "num_sms": facts["multiprocessor_count"]}}
""",
        tmp_path,
        emulated=True,
    )


def test_the_launch_hook_adds_metadata(tmp_path):
    run(
        KERNELS
        + """
from pantile import knobs
session = proton.start("hooked", hook="triton")
trace = proton.start("trace", data="trace")
with proton.scope("s"):
    scale(200)
    scale(200)
    scale(50)
    add(200)
    launch("torch", 77)
proton.deactivate(session)
assert not knobs.runtime.launch_enter_hook and not knobs.runtime.launch_exit_hook
scale(200)
proton.activate(session)
fake.fakeCuptiSetDuration(500)
scale(200)
proton.finalize()
assert not knobs.runtime.launch_enter_hook and not knobs.runtime.kernel_load_end_hook
scale(200)
assert tree("hooked") == {
    "s": ({}, {
        "scale<200>": (kernel(2000, 2, flops16=1200, bytes=3200), {}),
        "scale<50>": (kernel(1000, flops16=150, bytes=400), {}),
        "add_kernel": (kernel(1000), {}),
        "torch": (kernel(77), {}),
    }),
    "scale<200>": (kernel(500, flops16=600, bytes=1600), {}),
}, tree("hooked")
events = json.loads(Path("trace.chrome_trace").read_text())["traceEvents"]
assert [event["args"]["call_stack"] for event in events] == [
    ["ROOT", "s", "scale<200>"], ["ROOT", "s", "scale<200>"], ["ROOT", "s", "scale<50>"], ["ROOT", "s", "add_kernel"],
    ["ROOT", "s", "torch"], ["ROOT", "scale_kernel"], ["ROOT", "scale<200>"]]
""",
        tmp_path,
        emulated=True,
    )


def test_launches_by_metadata_hooks_are_separate(tmp_path):
    run(
        KERNELS
        + """
def costly(grid, kernel, args):
    launch("reduction", 5)
    fake.fakeCuptiSetDuration(1000)
    return {"name": "costly", "bytes": 6}

costly_kernel = pantile.jit(add_kernel.fn, launch_metadata=costly)
proton.start("costly", hook="launch")
with proton.scope("s"):
    costly_kernel[(2,)](x, 200, BLOCK=128)
proton.finalize()
assert tree("costly") == {"s": ({}, {
    "__proton_launch_metadata": ({}, {"reduction": (kernel(5), {})}),
    "costly": (kernel(1000, bytes=6), {}),
})}, tree("costly")
from pantile.profiler import viewer
profile, _ = viewer.parse(["time/us"], "costly.hatchet")
assert [frame.name for frame in profile.root.walk()] == ["ROOT", "s", "costly"]
""",
        tmp_path,
        emulated=True,
    )


def test_without_cupti_launches_and_metadata_are_counted(tmp_path):
    run(
        KERNELS
        + """
warnings.simplefilter("ignore")
fake.fakeCuptiFail(b"cuptiSubscribe", 39)
proton.start("counted", hook="triton")
with proton.scope("s"):
    for n in (200, 100, 200):
        scale(n)
    add(200)
proton.finalize()
assert tree("counted") == {"s": ({}, {
    "scale<200>": ({"flops16": 1200, "bytes": 3200, "count": 2}, {}),
    "scale<100>": ({"flops16": 300, "bytes": 800, "count": 1}, {}),
    "add_kernel": ({"count": 1}, {}),
})}, tree("counted")
""",
        tmp_path,
        emulated=True,
    )


def test_the_launch_hook_below_the_python_stack(tmp_path):
    run(
        KERNELS
        + """
proton.start("stack", context="python", hook="triton")
def caller():
    for _ in range(3):
        scale(200)
caller()
proton.finalize()
(_, (_, outer)), = tree("stack").items()
(name, (_, inner)), = outer.items()
assert name.endswith("@caller")
(name, (metrics, leaf)), = inner.items()
assert name.endswith("@scale") and metrics == {}
assert leaf == {"scale<200>": (kernel(3000, 3, flops16=1800, bytes=4800), {})}, leaf
""",
        tmp_path,
        emulated=True,
    )


def test_a_launch_that_fails_names_nothing_else(tmp_path):
    run(
        KERNELS
        + """
proton.start("failed", hook="triton")
with proton.scope("s"):
    try:
        scale_kernel[(1 << 40,)](x, 200, BLOCK=128, num_warps=2)
    except pantile.LaunchError:
        pass
    else:
        raise AssertionError
    launch("torch", 7)
    fake.fakeCuptiSetDuration(1000)
    scale(200)
    launch("torch", 8)
proton.finalize()
found = tree("failed")["s"][1]
assert found["torch"] == (kernel(15, 2), {})
assert found["scale<200>"] == (kernel(1000, flops16=600, bytes=1600), {}), found
""",
        tmp_path,
        emulated=True,
    )


def test_several_gpus_and_streams(tmp_path):
    run(
        KERNELS
        + """
other = emulated_device.EmulatedDevice(1)
y = other.to(values)
proton.start("gpus")
proton.start("trace", data="trace")
with proton.scope("s"):
    add(200)
    with emulated_device.context(1):
        add_kernel[(2,)](y, 200, BLOCK=128)
        add_kernel[(2,)](y, 100, BLOCK=128)
proton.finalize()
literal, devices = json.loads(Path("gpus.hatchet").read_text())
found = [child["metrics"] for child in literal["children"][0]["children"]]
assert found == [kernel(1000), kernel(2000, 2, device=1)], found
assert devices["CUDA"]["0"] == devices["CUDA"]["1"]
events = json.loads(Path("trace.chrome_trace").read_text())["traceEvents"]
assert [event["pid"] for event in events] == ["device 0", "device 1", "device 1"]
""",
        tmp_path,
        emulated=True,
    )


def test_a_program_runs_under_the_command_line(tmp_path):
    (tmp_path / "program.py").write_text(
        """
import ctypes, os, sys
import pantile.compat
pantile.compat.install()
import triton.profiler as proton
fake = ctypes.CDLL(os.environ["TRITON_CUPTI_LIB_PATH"] + "/libcupti.so")
assert proton.start("ignored") is None
fake.fakeCuptiSetDuration(ctypes.c_uint64(2500))
with proton.scope(sys.argv[1]):
    fake.fakeCuptiLaunch(b"kernel_of_program", 0, 7, 1)
assert __name__ == "__main__"
sys.exit(5)
"""
    )

    def python(*arguments, **more):
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path, env=environment(**more), capture_output=True, text=True,
        )  # fmt: skip

    done = python("-m", "pantile.profiler.proton", "-n", "seen", "program.py", "the scope")
    assert (done.returncode, done.stderr) == (5, "")
    assert not os.path.exists(tmp_path / "ignored.hatchet")
    shown = python("-m", "pantile.profiler.viewer", "-m", "time/us,count", "seen.hatchet")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == (
        "columns: time/us, count\n2.500 1.000 ROOT\n└─ 2.500 1.000 the scope\n"
        "   └─ 2.500 1.000 kernel_of_program\n"
    )
    stand_in = python(
        "-m", "pantile.compat", "-m", "triton.profiler.viewer", "-m", "avg_time/ns", "seen.hatchet"
    )
    assert (stand_in.returncode, stand_in.stderr) == (0, "")
    assert "2500.000 kernel_of_program" in stand_in.stdout
    (tmp_path / "test_it.py").write_text(
        "import runpy, sys, pytest\n"
        "def test_it():\n"
        "    sys.argv = ['program.py', 'from pytest']\n"
        "    with pytest.raises(SystemExit):\n"
        "        runpy.run_path('program.py', run_name='__main__')\n"
    )
    arguments = [
        "-d",
        "trace",
        "-n",
        "tested",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "test_it.py",
    ]
    done = python("-m", "pantile.profiler.proton", *arguments)
    assert done.returncode == 0 and "1 passed" in done.stdout, done
    (event,) = json.loads((tmp_path / "tested.chrome_trace").read_text())["traceEvents"]
    assert event["args"]["call_stack"] == ["ROOT", "from pytest", "kernel_of_program"]
    done = python("-m", "pantile.profiler.proton")
    assert done.returncode == 2 and "there is no script to run" in done.stderr
