"""A CUDA driver that notes the calls of launches, for tests without a GPU.

It is a C file made from the list of functions that the runtime calls. Programs run in processes of their own, as a
process opens one driver; their arrays have addresses that nothing reads.
"""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

API = Path(__file__).parents[2] / "compiler" / "cuda" / "DriverApi.def"

NOTED = """
#include <string.h>
#include <unistd.h>
struct config { unsigned grid[3], block[3], shared; void *stream; int *attributes; unsigned count; };
int unloads, loads, capturing, relaxed, result, launches, attributes[8], attribute_count;
long long stream, address, slots[16];
int slot_count;
void take(int count) { slot_count = count; }
int load_result, context_calls, shared_limit = 232448;
__thread void *context = (void *)1;
int initialised;
int cuInit(unsigned f) { if (!initialised) initialised = getpid(); return initialised == getpid() ? 0 : 3; }
int cuDriverGetVersion(int *v) { return *v = 13000, 0; }
int cuGetErrorName(int r, const char **n) { return *n = "CUDA_ERROR_NOTED", 0; }
int cuGetErrorString(int r, const char **n) { return *n = "as told", 0; }
int cuDeviceGetCount(int *n) { return *n = 1, 0; }
int cuDeviceGet(int *d, int o) { return *d = o, 0; }
int cuDeviceGetName(char *n, int l, int d) { return strcpy(n, "noted"), 0; }
int cuDeviceGetAttribute(int *v, int a, int d) {
  return *v = a == 75 ? 9 : a == 76 ? 0 : a == 97 ? shared_limit : a == 16 ? 132 : 32, 0;
}
int cuCtxGetCurrent(void **c) { return *c = context, 0; }
int cuCtxSetCurrent(void *c) { return context = c, ++context_calls, 0; }
int cuCtxPushCurrent_v2(void *c) { return context = c, ++context_calls, 0; }
int cuCtxPopCurrent_v2(void **c) { return *c = context, context = (void *)9, ++context_calls, 0; }
void set_context(long long c) { context = (void *)c; }
long long get_context() { return (long long)context; }
int cuCtxGetDevice(int *d) { return *d = context == (void *)9, 0; }
int cuDevicePrimaryCtxRetain(void **c, int d) { return *c = (void *)1, 0; }
int cuDevicePrimaryCtxGetState(int d, unsigned *f, int *a) { return *a = 1, 0; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n) { return *n = 1, 0; }
int cuLibraryLoadData(void **l) { return *l = (void *)2, load_result ? load_result : (++loads, 0); }
int cuLibraryUnload(void *l) { return ++unloads, 0; }
int cuLibraryGetKernel(void **k) { return *k = (void *)3, 0; }
int cuKernelGetFunction(void **f) { return *f = (void *)4, 0; }
int cuStreamIsCapturing(void *s, int *status) { return *status = capturing, 0; }
int cuThreadExchangeStreamCaptureMode(int *mode) { int now = relaxed; relaxed = *mode; *mode = now; return 0; }
int cuLaunchKernelEx(const struct config *c, void *f, void **arguments, void **extra) {
  ++launches, stream = (long long)c->stream, address = *(long long *)arguments[0];
  attribute_count = c->count;
  for (int i = 0; i < slot_count; ++i) slots[i] = *(long long *)arguments[i];
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


def program_head():
    """The beginning of a program: a kernel, and an array of a GPU."""
    return PROGRAM


def build(folder, text):
    """Make a driver from C source, with functions that do nothing for what it lacks; return its path."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs a C compiler")
    symbols = re.findall(r'PANTILE_DRIVER(?:_NEWER)?\(\w+, "(\w+)"', API.read_text("utf-8"))
    rest = [f"int {s}() {{ return 0; }}\n" for s in symbols if f"int {s}(" not in text]
    (folder / "noted.c").write_text(text + "".join(rest), encoding="utf-8")
    library = folder / "libnoted.so"
    command = [compiler, "-shared", "-fPIC", "-w", str(folder / "noted.c"), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


def without_assembler(printed):
    """Skip a test whose program says that nothing can be assembled here."""
    if "no assembler" in printed:
        pytest.skip("no assembler here")


def run_program(driver, folder, text, **variables):
    """Run a program in `folder` with the driver at the path `driver`; return what it printed, both streams."""
    path = folder / "program.py"
    path.write_text(program_head() + textwrap.dedent(text), encoding="utf-8")
    variables = {**os.environ, "PANTILE_LIBCUDA_PATH": str(driver), **variables}
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, env=variables)
    assert done.returncode == 0, done.stdout + done.stderr
    without_assembler(done.stdout)
    return done.stdout + done.stderr
