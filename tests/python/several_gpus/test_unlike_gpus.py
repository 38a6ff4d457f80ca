"""Unlike GPUs in one process: kernels, launches and choices are each kind's own."""

import re
import textwrap

import pytest
from noted_driver import NOTED, build, run_program

# Number 1 has name and target of number 0 but fewer SMs; 3 is like 0.
GPUS = """
#include <stdlib.h>
static const struct gpu { const char *name; int major, multiprocessors; } gpus[] = {
  {"noted", 9, 132}, {"noted", 9, 114}, {"other", 8, 108}, {"noted", 9, 132}};
static const struct gpu *gpu(int d) {
  const char *first = getenv("NOTED_FIRST");
  return &gpus[(d + (first ? atoi(first) : 0)) % 4];
}
unsigned grids[3];
long long contexts[8];
int cuDeviceGetCount(int *n) { return *n = 4, 0; }
int cuDeviceGetName(char *n, int l, int d) { return strcpy(n, gpu(d)->name), 0; }
int cuDeviceGetAttribute(int *v, int a, int d) {
  return *v = a == 75 ? gpu(d)->major : a == 76 ? 0 : a == 97 ? 166912
            : a == 16 ? gpu(d)->multiprocessors : 32, 0;
}
int cuDevicePrimaryCtxRetain(void **c, int d) { return *c = (void *)(1L + d), 0; }
int cuCtxGetDevice(int *d) { return *d = (long)context - 1, 0; }
int cuCtxPushCurrent_v2(void *c) { return pushed[depth++] = context, context = c, 0; }
int cuCtxPopCurrent_v2(void **c) { return *c = context, context = pushed[--depth], 0; }
int cuLaunchKernelEx(const struct config *c, void *f, void **arguments, void **extra) {
  memcpy(grids, c->grid, sizeof grids);
  return ++launches, contexts[0] = (long long)context, 0;
}
"""

HEAD = """
from types import SimpleNamespace as Space

class Tensor:
    def __init__(self, device, dtype="float32"):
        self.device, self.dtype = Space(type="cuda", index=device), f"torch.{dtype}"

    def data_ptr(self):
        return 0x7F0000000000 + self.device.index * 0x100000000

    def element_size(self):
        return 4 if self.dtype == "torch.float32" else 2
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    text = NOTED
    for name in re.findall(r"^int (\w+)\(", GPUS, re.M):
        text = re.sub(rf"^int {name}\(.*?\}}\n", "", text, flags=re.M | re.S)
    text = text.replace("int initialised;", "void *pushed[8]; int depth;\nint initialised;")
    return build(tmp_path_factory.mktemp("driver"), text + GPUS)


def run(driver, tmp_path, text, **variables):
    variables["PANTILE_CACHE_DIR"] = str(tmp_path / "cache")
    return run_program(driver, tmp_path, HEAD + textwrap.dedent(text), **variables)


def test_kernels_of_each_target(driver, tmp_path):
    """GPUs of one target use the same kernel; a launch by the fast path never takes another target's."""
    said = run(
        driver,
        tmp_path,
        """
        compiled = []
        triton.knobs.compilation.listener = lambda **facts: compiled.append(facts["cache_hit"])
        made = {}
        for turn in range(3):
            for device in (0, 2, 1, 3, 2):
                made[turn, device] = kernel[(3,)](Tensor(device), 5)
                assert ctypes.c_longlong.in_dll(driver, "contexts").value == device + 1
        assert len(compiled) == 2, compiled
        for turn in range(3):
            targets = [made[turn, device].metadata.target.arch for device in range(4)]
            assert targets == [90, 90, 80, 90], targets
        assert len({id(one) for one in made.values()}) == 2
        print("done")
        """,
    )
    assert "done" in said


def test_persistent_launches_fill_each_gpu(driver, tmp_path):
    said = run(
        driver,
        tmp_path,
        """
        @triton.jit
        def matmul(a, b, c, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
            rows = tl.program_id(0) * BM + tl.arange(0, BM)
            columns = tl.program_id(1) * BN + tl.arange(0, BN)
            total = tl.zeros((BM, BN), dtype=tl.float32)
            for k in range(0, N, BK):
                ks = k + tl.arange(0, BK)
                x = tl.load(a + rows[:, None] * N + ks[None, :])
                y = tl.load(b + ks[:, None] * N + columns[None, :])
                total = tl.dot(x, y, total)
            tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16))

        grids = []
        for device in (0, 1, 3, 1, 0):
            tensors = [Tensor(device, "float16") for _ in range(3)]
            made = matmul[(32, 32)](*tensors, 4096, BM=128, BN=128, BK=64, num_stages=3)
            assert made.metadata.persistent
            grids.append(list((ctypes.c_uint * 3).in_dll(driver, "grids")))
        assert grids == [[count, 1, 1] for count in (132, 114, 132, 114, 132)], grids
        print("done")
        """,
    )
    assert "done" in said


def test_choices_of_each_kind(driver, tmp_path):
    """In memory and on disk: a process that sees another GPU first finds the same times."""
    program = """
        measured = []

        def bench(call, quantiles):
            call()
            measured.append(ctypes.c_longlong.in_dll(driver, "contexts").value - 1)
            return [float(10 - len(measured))] * 3

        configs = [triton.Config({}, num_warps=warps) for warps in (1, 2)]
        tuned = triton.autotune(configs, key=["n"], do_bench=bench, cache_results=True)(kernel)
        for device in ORDER:
            tuned[(1,)](Tensor(device), 64)
            assert ctypes.c_longlong.in_dll(driver, "contexts").value == device + 1
        assert len(tuned.cache) == KINDS, tuned.cache
        print("measured on", measured)
        """
    first = program.replace("ORDER", "(0, 1, 2, 3) * 2").replace("KINDS", "3")
    assert "measured on [0, 0, 1, 1, 2, 2]" in run(driver, tmp_path, first)
    second = program.replace("ORDER", "(2, 1, 3)").replace("KINDS", "3")
    assert "measured on []" in run(driver, tmp_path, second)
    for number in range(4):
        others = program.replace("ORDER", "(0, 1, 2, 3)").replace("KINDS", "3")
        assert "measured on []" in run(driver, tmp_path, others, NOTED_FIRST=str(number))
