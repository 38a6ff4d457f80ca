"""Kernels as C files: compiled by a C compiler against a driver of our own, which writes down its calls."""

import shutil
import subprocess
import sys

import pytest

KERNELS = """
import triton
import triton.language as tl


@triton.jit
def helper(x):
    return x * 2


@triton.jit
def scale(out, x, n, stride, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, helper(tl.load(x + i * stride, mask=i < n)) * factor, mask=i < n)
"""

# The part of the driver's interface that launchers use. Launches print what they get.
CUDA_H = """
#pragma once
#include <stddef.h>
typedef int CUresult;
typedef unsigned long long CUdeviceptr;
typedef struct module *CUmodule;
typedef struct function *CUfunction;
typedef struct stream *CUstream;
enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1 };
enum { CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 };
CUresult cuModuleLoadData(CUmodule *, const void *);
CUresult cuModuleUnload(CUmodule);
CUresult cuModuleGetFunction(CUfunction *, CUmodule, const char *);
CUresult cuFuncSetAttribute(CUfunction, int, int);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, CUstream, void **, void **);
"""

DRIVER_C = r"""
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
CUresult cuModuleLoadData(CUmodule *module, const void *code) {
  *module = (CUmodule)code;
  printf("load %d\n", memcmp(code, "\177ELF", 4) == 0);
  return 0;
}
CUresult cuModuleUnload(CUmodule module) { printf("unload\n"); return 0; }
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  *function = (CUfunction)module;
  printf("find %s\n", name);
  return 0;
}
CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) { return 0; }
CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, CUstream stream, void **args,
                        void **extra) {
  printf("launch %u %u %u, %u %u %u: %llx %llx %d", x, y, z, bx, by, bz, *(CUdeviceptr *)args[0],
         *(CUdeviceptr *)args[1], *(int32_t *)args[2]);
  /* stride, unless it is compiled in, and factor; then the two pointers to scratch memory. */
  int last = *(int32_t *)args[3] == 2 ? 4 : 3;
  printf(" %g %llx %llx", *(float *)args[last], *(CUdeviceptr *)args[last + 1],
         *(CUdeviceptr *)args[last + 2]);
  return 0;
}
"""

MAIN_C = r"""
#include "scale.h"
#include <stdio.h>
int main(void) {
  printf("algorithms %d\n", scale_get_num_algos());
  printf(" -> %d\n", scale_default(NULL, 0x1000, 0x2000, 320, 1, 1.5f));
  printf(" -> %d\n", scale_default(NULL, 0x1000, 0x2000, 321, 2, 1.5f));
  printf(" -> %d\n", scale(NULL, 0x1000, 0x2000, 0, 2, 1.5f, 1));
  printf(" -> %d\n", scale(NULL, 0x1008, 0x2000, 321, 2, 1.5f, 0));
  printf(" -> %d\n", scale(NULL, 0x1000, 0x2000, 321, 2, 1.5f, 5));
  unload_scale();
  return 0;
}
"""


def run(*command, cwd, check=True):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert not check or done.returncode == 0, done.stderr + done.stdout
    return done


def compiled(folder, signature, grid="(n + 127) / 128, 1, 1", *options, check=True):
    (folder / "kernels.py").write_text(
        "import pantile.compat\npantile.compat.install()\n" + KERNELS
    )
    command = [sys.executable, "-m", "pantile.tools.compile", "kernels.py", "-n", "scale"]
    target = ["-t", "cuda:90:32", "-s", signature, "-g", grid]
    return run(*command, *target, *options, cwd=folder, check=check)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_compile_and_link(tmp_path):
    variants = [
        ("*fp32:16, *fp32:16, i32:16, i32:1, fp32, 128", ()),
        ("*fp32:16, *fp32:16, i32, i32, fp32, 128", ()),
        ("*fp32:16, *fp32:16, i32, i32, fp32, 256", ("-w", "8")),
    ]
    headers = []
    for signature, options in variants:
        written = compiled(tmp_path, signature, "(n + 127) / 128, 1, 1", *options)
        header, source = written.stdout.split()
        headers.append(header)
        assert (tmp_path / source).exists()
    assert len(set(headers)) == 3
    run(sys.executable, "-m", "pantile.tools.link", *headers, "-o", "scale", cwd=tmp_path)
    for name, text in [("cuda.h", CUDA_H), ("driver.c", DRIVER_C), ("main.c", MAIN_C)]:
        (tmp_path / name).write_text(text)
    sources = sorted(path.name for path in tmp_path.glob("*.c"))
    run("cc", "-std=c11", "-Wall", "-Werror", "-I.", *sources, "-o", "program", cwd=tmp_path)
    lines = run("./program", cwd=tmp_path).stdout.splitlines()
    assert lines == [
        "algorithms 2",
        "load 1",
        "find scale",
        "launch 3 1 1, 128 1 1: 1000 2000 320 1.5 0 0 -> 0",
        "load 1",
        "find scale",
        "launch 3 1 1, 128 1 1: 1000 2000 321 1.5 0 0 -> 0",
        "load 1",
        "find scale",
        " -> 0",  # an empty grid
        " -> 1",  # no variant for an address that 16 does not divide
        " -> 1",  # no such algorithm
        "unload",
        "unload",
        "unload",
    ]


@pytest.mark.parametrize(
    "signature, grid, message",
    [
        ("*fp32, i32", "1, 1, 1", "2 types, `scale` 6 parameters"),
        ("*fp32, *fp32, i32:8, i32, fp32, 128", "1, 1, 1", "a promise is :16 or :1"),
        ("*fp32, *fp32, int, i32, fp32, 128", "1, 1, 1", "`int` is no type that C has"),
        ("*fp32, *fp32, i32, i32, fp32, 128", "1, 1", "2 extents instead of 3"),
    ],
)
def test_wrong_signatures_and_grids(tmp_path, signature, grid, message):
    """A wrong signature or grid is refused with its reason."""
    done = compiled(tmp_path, signature, grid, check=False)
    assert done.returncode != 0 and message in done.stderr


def test_a_kernel_has_to_be_named(tmp_path):
    done = compiled(tmp_path, "i32", "1, 1, 1", "-n", "", check=False)
    assert "has 2 jit functions: name one with -n" in done.stderr
    done = compiled(tmp_path, "i32", "1, 1, 1", "-n", "missing", check=False)
    assert "has no jit function `missing`" in done.stderr
