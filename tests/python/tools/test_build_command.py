"""`pantilec build`: artifacts, and kernels for C, run by a stand-in of the driver and by the real one."""

import os
import shutil
import subprocess

import pytest
from command_line import pantilec

KERNELS = """
import pantile as triton
import pantile.language as tl

@triton.jit
def scale(x_ptr, out_ptr, n, stride, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets * stride, mask=mask)
    tl.store(out_ptr + offsets, x * factor, mask=mask)

@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, sa, sb, sc,
            BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(a_ptr + rm[:, None] * sa + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        b = tl.load(b_ptr + rk[:, None] * sb + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rm[:, None] * sc + rn[None, :], total, mask=(rm[:, None] < M) & (rn[None, :] < N))

@triton.jit
def wrapping(a_ptr, b_ptr, c_ptr, M, K, BM: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BM)
    total = tl.zeros((BM, BM), dtype=tl.float32)
    for k in range(0, K, BM):
        rk = k + tl.arange(0, BM)
        a = tl.load(a_ptr + (rm % M)[:, None] * K + rk[None, :])
        total = tl.dot(a, tl.load(b_ptr + rk[:, None] * BM + rn[None, :]), total)
    tl.store(c_ptr + rm[:, None] * BM + rn[None, :], total)

@triton.jit
def halves(a_ptr, b_ptr, c_ptr, M, K, BM: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BM)
    total = tl.zeros((BM, BM), dtype=tl.float32)
    for k in range(0, K // 2, BM):
        rk = k + tl.arange(0, BM)
        a = tl.load(a_ptr + rm[:, None] * (K // 2) + rk[None, :], mask=rk[None, :] < K // 2, other=0.0)
        total = tl.dot(a, tl.load(b_ptr + rk[:, None] * BM + rn[None, :]), total)
    tl.store(c_ptr + rm[:, None] * BM + rn[None, :], total)

@triton.jit
def scores(a_ptr, b_ptr, c_ptr, M, K, factor, BM: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BM)
    top, total = tl.full((BM,), float("-inf"), tl.float32), tl.zeros((BM,), tl.float32)
    for k in range(0, K, BM):
        a = tl.load(a_ptr + rm[:, None] * BM + rn[None, :])
        s = tl.dot(a, tl.load(b_ptr + (k + rn)[:, None] * BM + rn[None, :])) * factor
        top = tl.maximum(top, tl.max(s, 1))
        total += tl.sum(tl.exp2(s - top[:, None]), 1)
    tl.store(c_ptr + rm, total)

@triton.jit
def row_sum(x_ptr, out_ptr, rows, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.store(out_ptr + tl.program_id(0), tl.sum(x, axis=0))
"""

LIST = """
# two variants of one function, each for two processors; the narrower one first in no case
k.py --kernel scale --signature "*fp32, *fp32, i32, i32, fp32" -D BLOCK=128 --grid "cdiv(n, BLOCK)" --target sm_80 --target sm_90a
k.py --kernel scale --signature "*fp32:16, *fp32:16, i32:16, i32:1, fp32" -D BLOCK=256 --grid "cdiv(n, BLOCK)" --target sm_80 --target sm_90a
k.py --kernel matmul --signature "*fp16:16, *fp16:16, *fp32:16, i32, i32, i32, i32:16, i32:16, i32:16" -D BM=64 -D BN=64 -D BK=64 --target sm_90a --grid "cdiv(M, BM), cdiv(N, BN)" --name product_f16
k.py --kernel matmul --signature "*fp16:16, *fp16:16, *fp32:16, i32, i32, i32, i32:16, i32:16, i32" -D BM=128 -D BN=128 -D BK=64 --target sm_90a --grid "cdiv(M, BM), cdiv(N, BN)" --name product_large
k.py --kernel wrapping --signature "*fp16:16, *fp16:16, *fp32:16, i32, i32:16" -D BM=64 --target sm_90a --grid "cdiv(M, BM)"
k.py --kernel halves --signature "*fp16:16, *fp16:16, *fp32:16, i32, i32" -D BM=64 --target sm_90a --grid "cdiv(M, BM)"
k.py --kernel scores --signature "*fp16:16, *fp16:16, *fp32:16, i32, i32:16, fp32" -D BM=128 --num-warps 8 --target sm_90a --grid "cdiv(M, BM)"
"""

# Stands in for libcuda.so.1 and writes down its calls. CAPABILITY is the processor's.
DRIVER_C = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int context;
static const char *asked = "";
int cuInit(unsigned flags) { return flags; }
int cuCtxGetCurrent(void **c) { return *c = context ? &context : NULL, 0; }
int cuCtxSetCurrent(void *c) { return context = c != NULL, 0; }
int cuCtxGetDevice(int *device) { return *device = 3, context ? 0 : 201; }
int cuDevicePrimaryCtxRetain(void **c, int device) { return *c = &context, device; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  int capability = atoi(getenv("CAPABILITY"));
  *value = attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : 132;
  return device == 3 ? 0 : 101;
}
int cuLibraryLoadData(void **library, const void *code, int *a, void **b, unsigned c, int *d, void **e, unsigned f) {
  printf("load %s\n", memcmp(code, "\177ELF", 4) ? "rubbish" : "code");
  return *library = (void *)code, 0;
}
int cuLibraryUnload(void *library) { return printf("unload\n"), 0; }
int cuLibraryGetKernel(void **kernel, void *library, const char *name) {
  printf("kernel %s\n", name);
  return *kernel = (void *)name, 0;
}
int cuKernelGetFunction(void **function, void *kernel) { return *function = kernel, 0; }
int cuKernelSetAttribute(int attribute, int value, void *kernel, int device) {
  return printf("attribute %d at least 48K: %d\n", attribute, value > 49152), 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *f, int threads, size_t bytes) { return *n = 1, 0; }
int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *base, const uint64_t *extents,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int a,
                           int swizzle, int promotion, int b) {
  printf("map type %d rank %u base %llx extents", type, rank, (unsigned long long)(uintptr_t)base);
  for (uint32_t i = 0; i < rank; ++i)
    printf(" %llu", (unsigned long long)extents[i]);
  printf(" stride %llu%s%s\n", (unsigned long long)strides[0], promotion == 2 ? " to 128" : "",
         (uintptr_t)map % 64 ? " not aligned" : "");
  return 0;
}
int cuLaunchKernel(void *f, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **args, void **extra) {
  printf("launch %s %u %u %u, %u threads: %llx %llx %d\n", (char *)f, x, y, z, bx,
         *(unsigned long long *)args[0], *(unsigned long long *)args[1],
         strcmp(f, "scale") ? 0 : *(int *)args[2]);
  return 0;
}
int cuGetErrorString(int status, const char **text) { return *text = status ? "refused" : "fine", 0; }
"""

MAIN_C = r"""
#include "kernels.h"
#include <stdio.h>
int main(void) {
  printf("-> %d\n", scale(0, 0x1000, 0x2000, 512, 1, 1.5f));
  printf("-> %d\n", scale(0, 0x1000, 0x2000, 513, 1, 1.5f));
  printf("-> %d\n", scale(0, 0x1008, 0x2000, 512, 2, 1.5f));
  printf("-> %d\n", scale(0, 0x1000, 0x2000, 512, 1, 1.5f));
  printf("-> %d\n", scale(0, 0x1000, 0x2000, 0, 1, 1.5f));
  printf("-> %d\n", scale(0, 0x1000, 0x2000, -512, 1, 1.5f));
  printf("-> %d\n", product_f16(0, 0x1000, 0x2000, 0x3000, 100, 200, 300, 304, 208, 208));
  printf("-> %d\n", product_f16(0, 0x1000, 0x2000, 0x3000, 100, 200, 0, 304, 208, 208));
  printf("-> %d\n", product_f16(0, 0x1008, 0x2000, 0x3000, 100, 200, 300, 304, 208, 208));
  printf("-> %d\n", wrapping(0, 0x1000, 0x2000, 0x3000, 192, 320));
  printf("-> %d\n", wrapping(0, 0x1000, 0x2000, 0x3000, 200, 320));
  printf("-> %d\n", halves(0, 0x1000, 0x2000, 0x3000, 128, 209));
  printf("-> %d\n", halves(0, 0x1000, 0x2000, 0x3000, 128, 202));
  printf("-> %d\n", scores(0, 0x1000, 0x2000, 0x3000, 128, 512, 0.125f));
  printf("-> %d\n", scores(0, 0x1000, 0x2000, 0x3000, 128, 512, -0.125f));
  printf("-> %d\n", product_large(0, 0x1000, 0x2000, 0x3000, 100, 200, 300, 304, 208, 204));
  printf("-> %d\n", product_large(0, 0x1000, 0x2000, 0x3000, 100, 201, 300, 304, 208, 204));
  printf("%s\n", kernels_error_string(1));
  kernels_unload();
  return 0;
}
"""

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


def run(*command, cwd, **environment):
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("build")
    (folder / "k.py").write_text(KERNELS)
    (folder / "list.txt").write_text(LIST)
    return folder


@pytest.fixture(scope="module")
def program(folder):
    """The object linked with a program, and a stand-in of the driver next to it."""
    pantilec("build", "--list", folder / "list.txt", "-o", "kernels.o", cwd=folder)
    (folder / "main.c").write_text(MAIN_C)
    (folder / "driver.c").write_text(DRIVER_C)
    run("cc", "-Wall", "-Werror", "main.c", "kernels.o", "-o", "program", "-ldl", cwd=folder)
    (folder / "stub").mkdir()
    run("cc", "-shared", "-fPIC", "driver.c", "-o", "stub/libcuda.so.1", cwd=folder)
    return folder


def launches(program, capability):
    printed = run(
        "./program", cwd=program, LD_LIBRARY_PATH=str(program / "stub"), CAPABILITY=str(capability)
    )
    calls, current = [], []
    for line in printed.splitlines():
        current.append(line)
        if line.startswith("->"):
            calls.append(current)
            current = []
    return calls, current


@needs_cc
def test_variants_and_tensor_maps(program):
    calls, rest = launches(program, 90)
    assert calls[0] == [
        "load code",
        "kernel scale",
        "launch scale 2 1 1, 128 threads: 1000 2000 512",
        "-> 0",
    ]
    assert calls[1] == [
        "load code",
        "kernel scale",
        "launch scale 5 1 1, 128 threads: 1000 2000 513",
        "-> 0",
    ], "513 is no multiple of 16: the other variant"
    assert calls[2] == ["launch scale 4 1 1, 128 threads: 1008 2000 512", "-> 0"]
    assert calls[3] == ["launch scale 2 1 1, 128 threads: 1000 2000 512", "-> 0"], "loaded once"
    assert calls[4] == ["-> 0"], "an empty grid"
    assert calls[5] == ["-> 1"], "a negative one"
    maps = [line for line in calls[6] if line.startswith("map ")]
    assert maps[:2] == [
        "map type 6 rank 2 base 1000 extents 300 100 stride 608",
        "map type 6 rank 2 base 2000 extents 200 300 stride 416",
    ]
    (launch,) = [line for line in calls[6] if line.startswith("launch ")]
    assert launch.startswith("launch matmul ") and ": 1000 2000 0" in launch
    assert calls[6][-1] == "-> 0" and "not aligned" not in "".join(calls[6])
    plain = [line for line in calls[7] if line.startswith("launch ")]
    assert not [line for line in calls[7] if line.startswith("map ")], "K = 0 has no map"
    assert plain == ["launch matmul 2 4 1, 128 threads: 1000 2000 0"]
    assert calls[8] == ["-> 1"], "no variant for an address that 16 does not divide"
    maps = [line for line in calls[9] if line.startswith("map ")]
    assert maps[0] == "map type 6 rank 2 base 1000 extents 2147483647 192 stride 640"
    assert not [line for line in calls[10] if line.startswith("map ")], "64 does not divide 200"
    assert calls[10][-2:] == ["launch wrapping 4 1 1, 128 threads: 1000 2000 0", "-> 0"]
    maps = [line for line in calls[11] if line.startswith("map ")]
    assert maps[0] == "map type 6 rank 2 base 1000 extents 104 2147483647 stride 208 to 128", (
        "209 // 2"
    )
    assert not [line for line in calls[12] if line.startswith("map ")], "rows 202 bytes apart"
    assert calls[12][-2:] == ["launch halves 2 1 1, 128 threads: 1000 2000 0", "-> 0"]
    assert [line for line in calls[13] if line.startswith("map ")] and calls[13][-1] == "-> 0"
    assert not [line for line in calls[14] if line.startswith("map ")], "a negative scale"
    assert calls[14][-2:] == ["launch scores 1 1 1, 256 threads: 1000 2000 0", "-> 0"]
    maps = [line for line in calls[15] if line.startswith("map ")]
    assert (
        len(maps) == 3 and "map type 7 rank 2 base 3000 extents 200 100 stride 816 to 128" in maps
    )
    maps = [line for line in calls[16] if line.startswith("map ")]
    assert len(maps) == 2 and not any("base 3000" in line for line in maps), "rows of 201 floats"
    assert calls[16][2:] == calls[15][-2:] and calls[15][-1] == "-> 0", "the same kernel"
    assert rest[0] == "refused" and rest.count("unload") == 11


@needs_cc
def test_other_processors(program):
    calls, _ = launches(program, 86)
    assert calls[0][-2:] == ["launch scale 2 1 1, 128 threads: 1000 2000 512", "-> 0"]
    assert calls[6] == ["-> 209"], "the matmul is for sm_90a alone"
    calls, _ = launches(program, 100)
    assert {call[-1] for call in calls} == {"-> 209"}


@needs_cc
def test_without_a_driver(program):
    (program / "nothing").mkdir(exist_ok=True)
    (program / "nothing" / "libcuda.so.1").write_text("no library")
    printed = run("./program", cwd=program, LD_LIBRARY_PATH=str(program / "nothing"))
    assert printed.count("-> 100") == 17 and "no CUDA driver" in printed


SPREAD = """
k.py --kernel row_sum --signature "*fp32:16, *fp32:16, i32" -D BLOCK=131072 --target sm_90a --grid rows
"""

SPREAD_MAIN_C = r"""
#include "spread.h"
#include <stdio.h>
int main(void) {
  printf("-> %d\n", row_sum(0, 0x1000, 0x2000, 7));
  printf("-> %d\n", row_sum(0, 0x1000, 0x2000, 1 << 30));
  return 0;
}
"""


@needs_cc
def test_thread_block_clusters(program):
    (program / "spread.txt").write_text(SPREAD)
    (program / "spread_main.c").write_text(SPREAD_MAIN_C)
    pantilec("build", "--list", program / "spread.txt", "-o", "spread.o", cwd=program)
    run("cc", "-Wall", "-Werror", "spread_main.c", "spread.o", "-o", "spread", "-ldl", cwd=program)
    printed = run("./spread", cwd=program, LD_LIBRARY_PATH=str(program / "stub"), CAPABILITY="90")
    lines = [line for line in printed.splitlines() if line.startswith(("launch ", "->"))]
    assert lines[0].startswith("launch row_sum 28 1 1, "), "four blocks a program"
    assert lines[1:] == ["-> 0", "-> 1"], "2^31 blocks are too many"


def test_the_launch_abi_without_hidden_parameters(folder):
    matmul = ("--kernel", "matmul", "-D", "BM=64", "-D", "BN=64", "-D", "BK=64")
    signature = "*fp16:16, *fp16:16, *fp32:16, i32, i32, i32, i32:16, i32:16, i32:16"
    command = ("build", "k.py", *matmul, "--signature", signature, "--target", "sm_90a")
    sources = {}
    for abi in ("full", "triton"):
        pantilec(*command, "--launch-abi", abi, "-o", f"{abi}.h", cwd=folder)
        sources[abi] = (folder / f"{abi}.c").read_text()
    assert "&recipes_0" in sources["full"] and "&maps[0]" in sources["full"]
    assert "&recipes_" not in sources["triton"] and "&maps[" not in sources["triton"]
    assert "static struct image image_1" in sources["full"], "for what maps cannot describe"
    assert "static struct image image_1" not in sources["triton"]
    start = (
        "void *params[] = {&a_ptr, &b_ptr, &c_ptr, &M, &N, &K, &sa, &sb, &sc, &scratch, &scratch};"
    )
    assert start in sources["triton"]


BATCH = """
import pantile as triton
import pantile.language as tl

@triton.jit
def batched(a, b, c, m, depth, stride_z, stride_h, stride_g, stride_m, H, G, B: tl.constexpr):
    pid, within = tl.program_id(0), tl.arange(0, B)
    rows = tl.program_id(1) * B + within
    a += pid // (H * G) * stride_z + pid // G % H * stride_h + pid % G * stride_g
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, depth, B):
        x = tl.load(a + (rows % m)[:, None] * stride_m + (k + within)[None, :])
        acc = tl.dot(x, tl.load(b + (k + within)[:, None] * B + within[None, :]), acc)
    tl.store(c + pid * m * B + rows[:, None] * B + within[None, :], acc)
"""


@needs_cc
def test_five_tests_of_a_map(folder):
    """Four strides and a modulus, each of which the launch must find to be a multiple."""
    (folder / "batch.py").write_text(BATCH)
    signature = ", ".join(["*fp16:16"] * 2 + ["*fp32:16"] + ["i32"] * 8)
    command = ("build", "batch.py", "--signature", signature, "-D", "B=64", "--target", "sm_90a")
    pantilec(*command, "-o", "batch.h", cwd=folder)
    source = (folder / "batch.c").read_text()
    assert "{8, 8, 8, 8, 64}" in source or "{64, 8, 8, 8, 8}" in source
    run("cc", "-Wall", "-Werror", "-c", "batch.c", "-o", "batch_test.o", cwd=folder)


def test_artifact_of_several_targets(folder):
    text = pantilec(
        *("build", "k.py", "--kernel", "scale", "--signature", "*fp32:16, *fp32, i32, i32, fp32"),
        *("-D", "BLOCK=64", "--target", "cpu", "--target", "sm_80", "--target", "sm_90a"),
        *("-o", "scale.pantile"),
        cwd=folder,
    )
    assert text == "scale.pantile: 3 kernels\n"
    assert (folder / "scale.pantile").read_bytes().startswith(b"PANTILE ARTIFACT\n")


@pytest.mark.parametrize(
    "words, status, message",
    [
        (["--list", "missing"], 2, "cannot read `missing`"),
        (["k.py", "--list", "list.txt"], 2, "give either a file with a kernel or `--list`"),
        (["k.py", "--kernel", "scale", "-D", "BLOCK"], 2, "expected `-D NAME=value`"),
        (["k.py", "--kernel", "scale", "-D", "BLOCK=64"], 1, "no type for parameter `x_ptr`"),
        (
            ["k.py", "--kernel", "scale", "-D", "BLOCK=64", "--target", "cpu"]
            + ["--signature", "*fp32, *fp32, i32, i32, fp32"],
            2,
            "code in C is for GPUs",
        ),
    ],
)
def test_wrong_words_of_a_build(folder, words, status, message):
    """Wrong words of a build are refused with their reason."""
    assert message in pantilec("build", *words, "-o", "x.h", cwd=folder, status=status)
