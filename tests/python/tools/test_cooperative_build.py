"""Cooperative launches by C: programs that wait for one another all run at once, or none is launched."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from command_line import pantilec
from conftest import random
from pantile import _pantile
from test_build_command import needs_cc

KERNELS = """
import pantile as triton
import pantile.language as tl

@triton.jit
def smooth(even, odd, arrived, n, rounds, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for i in range(rounds):
        source = even if i % 2 == 0 else odd
        target = odd if i % 2 == 0 else even
        left = tl.load(source + (at + n - 1) % n, at < n)
        right = tl.load(source + (at + 1) % n, at < n)
        tl.store(target + at, (left + tl.load(source + at, at < n) + right) / 3, at < n)
        tl.atomic_add(arrived + i, 1, sem="release", scope="gpu")
        tl.atomic_poll(arrived + i, tl.num_programs(0), sem="acquire", scope="gpu")

@triton.jit
def gemm(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(a_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        b = tl.load(b_ptr + rk[:, None] * N + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))

@triton.jit
def row_sum(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.store(out_ptr + tl.program_id(0), tl.sum(x, axis=0))
"""

# Reads n numbers, smooths them with `rounds` barriers of the grid, writes the status and the result.
MAIN_C = r"""
#include "smoothing.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int n = atoi(argv[1]), rounds = atoi(argv[2]), status = smoothing_load();
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  int (*allocate)(uint64_t *, size_t) = dlsym(driver, "cuMemAlloc_v2");
  int (*to)(uint64_t, const void *, size_t) = dlsym(driver, "cuMemcpyHtoD_v2");
  int (*from)(void *, uint64_t, size_t) = dlsym(driver, "cuMemcpyDtoH_v2");
  float *x = calloc(n, sizeof *x);
  int *zeros = calloc(rounds, sizeof *zeros);
  uint64_t even = 0, odd = 0, arrived = 0;
  if (status || fread(x, sizeof *x, n, stdin) != n)
    return 1;
  allocate(&even, n * sizeof *x), allocate(&odd, n * sizeof *x);
  allocate(&arrived, rounds * sizeof *zeros);
  to(even, x, n * sizeof *x), to(odd, x, n * sizeof *x);
  to(arrived, zeros, rounds * sizeof *zeros);
  status = smooth(0, even, odd, arrived, n, rounds);
  from(x, rounds % 2 ? odd : even, n * sizeof *x);
  fwrite(&status, sizeof status, 1, stdout);
  fwrite(x, sizeof *x, n, stdout);
  return 0;
}
"""

BLOCK = 16
SMOOTH = ("--kernel", "smooth", "--signature", "*fp32, *fp32, *i32, i32, i32", "-D", "BLOCK=16")
GEMM = ("--kernel", "gemm", "--signature", "*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, i32:16")
GEMM = (*GEMM, "-D", "BM=128", "-D", "BN=128", "-D", "BK=64")
GRID = ("--grid", "cdiv(n, BLOCK)")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "k.py").write_text(KERNELS)
    return tmp_path


@pytest.fixture
def smooth(device, folder, monkeypatch):
    """A function that runs the program on numbers; it returns the launch's status and the result."""
    if device.name == "cpu":
        pytest.skip("code in C is for GPUs")
    monkeypatch.setenv("PANTILE_EMULATED_SMS", "5")
    target = os.environ.get("PANTILE_EMULATED_TARGET", "sm_80")
    if device.name == "cuda":
        target = _pantile.device_info(0)["target"]
    words = (*SMOOTH, *GRID, "--cooperative", "--target", target)
    pantilec("build", "k.py", *words, "-o", "smoothing.o", cwd=folder)
    (folder / "main.c").write_text(MAIN_C)
    subprocess.run(["cc", "main.c", "smoothing.o", "-o", "main", "-ldl"], cwd=folder, check=True)
    environment = dict(os.environ)
    if device.name == "emulated":
        (folder / "driver").mkdir()
        emulator = Path(os.environ["PANTILE_LIBCUDA_PATH"]).absolute()
        (folder / "driver" / "libcuda.so.1").symlink_to(emulator)
        environment["LD_LIBRARY_PATH"] = str(folder / "driver")

    def run(x, rounds):
        command = [folder / "main", str(len(x)), str(rounds)]
        done = subprocess.run(
            command, input=x.tobytes(), env=environment, capture_output=True, check=True
        )
        return np.frombuffer(done.stdout[:4], np.int32)[0], np.frombuffer(done.stdout[4:], "f4")

    return run


@needs_cc
@pytest.mark.parametrize("rounds", [1, 2, 5])
@pytest.mark.parametrize("n", [7, 5 * BLOCK - 3, 5 * BLOCK])
def test_a_barrier_of_the_grid(smooth, n, rounds):
    """Programs that a C launcher starts see what all others wrote before the barrier."""
    x = random(n, seed=rounds)
    status, result = smooth(x, rounds)
    wide = x.astype(np.float64)
    for _ in range(rounds):
        wide = (np.roll(wide, 1) + wide + np.roll(wide, -1)) / 3
    assert status == 0
    np.testing.assert_allclose(result, wide, rtol=1e-5, atol=1e-6)


@needs_cc
def test_a_grid_that_cannot_be_resident(smooth, device):
    """The status is CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, and no program has run."""
    x = random(5 * BLOCK + 1 if device.name == "emulated" else 1 << 22, seed=1)
    status, result = smooth(x, 2)
    assert status == 720
    np.testing.assert_array_equal(result, x)


def images_of(folder, *words):
    """Of each image in C: whether it is persistent, whether cooperative, CTAs per program."""
    pantilec("build", "k.py", *words, "--target", "sm_90a", "-o", "x.h", cwd=folder)
    lines = [
        line for line in (folder / "x.c").read_text().splitlines() if "struct image image_" in line
    ]
    return [tuple(map(int, line.split(", ")[4:7])) for line in lines]


def test_programs_have_a_cta_each(folder):
    """What would be persistent, or spread over a cluster, is not; tensor maps stay."""
    rows = ("--kernel", "row_sum", "--signature", "*fp32:16, *fp32:16", "-D", "BLOCK=131072")
    assert images_of(folder, *GEMM)[0] == (1, 0, 1)
    assert images_of(folder, *GEMM, "--cooperative") == [(0, 1, 1), (0, 1, 1)]
    assert "&recipes_0" in (folder / "x.c").read_text()
    assert images_of(folder, *rows)[0] == (0, 0, 4)
    assert images_of(folder, *rows, "--cooperative") == [(0, 1, 1)]


def test_variants_that_differ_in_cooperation(folder):
    """Variants that differ in `--cooperative` are refused."""
    words = " ".join(f"'{word}'" for word in ("k.py", *SMOOTH, *GRID))
    (folder / "list.txt").write_text(f"{words} --cooperative\n{words}\n")
    message = pantilec("build", "--list", "list.txt", "-o", "x.h", cwd=folder, status=1)
    assert "variants of `smooth` differ in `--cooperative`" in message
    words = ("build", "k.py", *SMOOTH, "--cooperative", "-o", "x.pantile")
    message = pantilec(*words, cwd=folder, status=2)
    assert "launches of an artifact have `LaunchOptions::cooperative`" in message
