"""What launches ask of the CUDA driver, seen by a driver that notes it: no GPU is needed.

The driver is a C file made from the list of functions that the runtime calls. Programs run in
processes of their own, as a process opens one driver; their arrays have addresses that nobody reads.
"""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

API = Path(__file__).parents[2] / "runtime" / "DriverApi.def"

NOTED = """
#include <string.h>
struct config { unsigned grid[3], block[3], shared; void *stream; int *attributes; unsigned count; };
int unloads, loads, capturing, relaxed, result, launches, attributes[8], attribute_count;
long long stream, address;
int cuInit(unsigned f) { return 0; }
int cuDriverGetVersion(int *v) { return *v = 13000, 0; }
int cuGetErrorName(int r, const char **n) { return *n = "CUDA_ERROR_NOTED", 0; }
int cuGetErrorString(int r, const char **n) { return *n = "as told", 0; }
int cuDeviceGetCount(int *n) { return *n = 1, 0; }
int cuDeviceGet(int *d, int o) { return *d = o, 0; }
int cuDeviceGetName(char *n, int l, int d) { return strcpy(n, "noted"), 0; }
int cuDeviceGetAttribute(int *v, int a, int d) {
  return *v = a == 75 ? 9 : a == 76 ? 0 : a == 97 ? 232448 : a == 16 ? 132 : 32, 0;
}
int cuCtxGetCurrent(void **c) { return *c = (void *)1, 0; }
int cuCtxGetDevice(int *d) { return *d = 0, 0; }
int cuDevicePrimaryCtxRetain(void **c, int d) { return *c = (void *)1, 0; }
int cuDevicePrimaryCtxGetState(int d, unsigned *f, int *a) { return *a = 1, 0; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n) { return *n = 1, 0; }
int cuLibraryLoadData(void **l) { return *l = (void *)2, ++loads, 0; }
int cuLibraryUnload(void *l) { return ++unloads, 0; }
int cuLibraryGetKernel(void **k) { return *k = (void *)3, 0; }
int cuKernelGetFunction(void **f) { return *f = (void *)4, 0; }
int cuStreamIsCapturing(void *s, int *status) { return *status = capturing, 0; }
int cuThreadExchangeStreamCaptureMode(int *mode) { int now = relaxed; relaxed = *mode; *mode = now; return 0; }
int cuLaunchKernelEx(const struct config *c, void *f, void **arguments, void **extra) {
  ++launches, stream = (long long)c->stream, address = *(long long *)arguments[0];
  attribute_count = c->count;
  for (unsigned i = 0; i < c->count; ++i) attributes[i] = c->attributes[18 * i];
  return result;
}
"""

PROGRAM = """
import ctypes, gc, os, sys
import numpy as np
import pantile as triton
import pantile.language as tl

driver = ctypes.CDLL(os.environ["PANTILE_LIBCUDA_PATH"])

def note(name):
    return ctypes.c_int.in_dll(driver, name)

class Array:
    def __init__(self, address=0x7F0000000000):
        self.address = address

    @property
    def __cuda_array_interface__(self):
        return {"data": (self.address, False), "typestr": "<f4", "shape": (16,), "version": 3}

    dtype = np.dtype("float32")

@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, n)

try:
    triton.compile(triton.compiler.ASTSource(kernel, {"x_ptr": "*fp32", "n": "i32"}),
                   triton.backends.compiler.GPUTarget("cuda", 90, 32)).asm["cubin"]
except triton.PTXASError:
    print("no assembler")
    sys.exit(0)
x = Array()
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("driver")
    symbols = re.findall(r'PANTILE_DRIVER(?:_NEWER)?\(\w+, "(\w+)"', API.read_text("utf-8"))
    rest = [f"int {s}() {{ return 0; }}\n" for s in symbols if f"int {s}(" not in NOTED]
    (folder / "noted.c").write_text(NOTED + "".join(rest), encoding="utf-8")
    library = folder / "libnoted.so"
    command = [compiler, "-shared", "-fPIC", "-w", str(folder / "noted.c"), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


def run(driver, tmp_path, text):
    """Run a program with that driver; return what it printed."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM + textwrap.dedent(text), encoding="utf-8")
    variables = {**os.environ, "PANTILE_LIBCUDA_PATH": str(driver)}
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, env=variables)
    assert done.returncode == 0, done.stdout + done.stderr
    if "no assembler" in done.stdout:
        pytest.skip("no assembler here")
    return done.stdout + done.stderr


def test_a_launch_is_one_call(driver, tmp_path):
    said = run(
        driver,
        tmp_path,
        """
        for i in range(20):
            kernel[(3,)](Array(0x7F0000000000 + 256 * i), 5)
            assert ctypes.c_longlong.in_dll(driver, "address").value == 0x7F0000000000 + 256 * i
        assert note("launches").value == 20 and note("loads").value == 1
        stats = triton.runtime.stats()
        assert (stats["hits"], stats["misses"]) == (19, 1), stats
        kernel[(3,)](x, 5, launch_cooperative_grid=True, launch_pdl=True)
        assert note("attribute_count").value == 2
        assert list((ctypes.c_int * 2).in_dll(driver, "attributes")) == [2, 6]
        kernel[(0,)](x, 5)
        assert note("launches").value == 21
        print("done")
        """,
    )
    assert "done" in said


def test_streams_of_cupy(driver, tmp_path):
    said = run(
        driver,
        tmp_path,
        """
        from types import ModuleType, SimpleNamespace as Space
        cupy = sys.modules["cupy"] = ModuleType("cupy")
        current = Space(ptr=0x77)
        cupy.cuda = Space(get_current_stream=lambda: current, runtime=Space(getDevice=lambda: 0))
        for stream in (0x77, 0x99, 0):
            current.ptr = stream
            kernel[(1,)](x, 5)
            assert ctypes.c_longlong.in_dll(driver, "stream").value == stream
        print("done")
        """,
    )
    assert "done" in said


def test_code_goes_with_its_kernel_unless_captured(driver, tmp_path):
    said = run(
        driver,
        tmp_path,
        """
        from types import ModuleType, SimpleNamespace as Space
        cupy = sys.modules["cupy"] = ModuleType("cupy")
        device = Space(getDevice=lambda: 0)
        cupy.cuda = Space(get_current_stream=lambda: Space(ptr=0x77), runtime=device)
        for capturing in (0, 1):
            note("capturing").value = capturing
            before = note("unloads").value, note("loads").value
            dropped = triton.jit(kernel.fn)
            dropped[(1,)](x, 7)
            del dropped
            gc.collect()
            assert note("loads").value == before[1] + 1
            assert note("unloads").value == before[0] + (1 - capturing), capturing
            assert note("relaxed").value == 0
        configs = [triton.Config({}, num_warps=warps) for warps in (1, 2)]
        tuned = triton.autotune(configs=configs, key=["n"])(kernel)
        try:
            tuned[(1,)](x, 5)
        except triton.AutotunerError as error:
            assert "before the capture, to warm up" in str(error)
            print("done")
        """,
    )
    assert "done" in said


def test_a_lost_context_is_told_with_the_last_kernels(driver, tmp_path):
    said = run(
        driver,
        tmp_path,
        """
        @triton.jit
        def stray_kernel(x_ptr):
            tl.store(x_ptr, 1.0)

        kernel[(1,)](x, 5)
        stray_kernel[(1,)](x)
        note("result").value = 700
        for _ in range(2):
            try:
                kernel[(1,)](x, 5)
            except triton.DriverError as error:
                assert "launching kernel `kernel` over a grid of 1x1x1" in str(error)
                assert "the context is lost" in str(error)
                assert "launched last: `kernel`, `stray_kernel`" in str(error)
                print("caught")
        y = np.zeros(1, np.float32)
        kernel[(1,)](y, 6)
        print("alive", y[0])
        """,
    )
    assert said.count("caught") == 2 and "alive 6.0" in said


def test_a_forked_process_is_told(driver, tmp_path):
    said = run(
        driver,
        tmp_path,
        """
        kernel[(1,)](x, 5)
        if os.fork() == 0:
            try:
                kernel[(1,)](x, 5)
            except triton.DriverError as error:
                print("caught", error, flush=True)
            y = np.zeros(1, np.float32)
            kernel[(1,)](y, 6)
            print("child", y[0], flush=True)
            os._exit(0)
        os.wait()
        kernel[(1,)](x, 5)
        print("parent")
        """,
    )
    assert "forked" in said and "child 6.0" in said and "parent" in said
