"""Each variant of a kernel is assembled once, however many processes launch it at the same time.

An assembler that notes its runs counts those that no Python sees: of variants that a launch needs.
"""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from noted_driver import NOTED, build, program_head

PROGRAM = """
import time
from pathlib import Path
from types import SimpleNamespace as Space

class Matrix:
    dtype, device = "torch.float16", Space(type="cuda", index=0)

    def data_ptr(self):
        return 0x7F0000000000

    def element_size(self):
        return 2

@triton.jit
def matmul(a, b, c, N, sa, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, N, BK):
        ks = k + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * sa + ks[None, :])
        y = tl.load(b + ks[:, None] * N + columns[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16))

compiled = []
triton.knobs.compilation.listener = lambda **facts: compiled.append(facts["cache_hit"])
Path(sys.argv[1], f"ready{os.getpid()}").write_text("")
while not Path(sys.argv[1], "go").exists():
    time.sleep(0.001)
for stride in (4096, -4096):  # a tensor map has no negative strides
    matmul[(32, 32)](Matrix(), Matrix(), Matrix(), 4096, stride, BM=128, BN=128, BK=64)
assert note("launches").value == 2 and len(compiled) == 1
"""

ASSEMBLER = """#!/bin/sh
case " $* " in *" --version "*) ;; *) echo $$ >> {log} ;; esac
exec {ptxas} "$@"
"""


class Processes:
    def __init__(self, folder):
        ptxas = shutil.which("ptxas")
        if ptxas is None:
            pytest.skip("needs `ptxas` on PATH")
        self.folder, self.log = folder, folder / "runs"
        self.log.write_text("")
        wrapper = folder / "ptxas"
        wrapper.write_text(ASSEMBLER.format(log=self.log, ptxas=ptxas))
        wrapper.chmod(0o755)
        (folder / "program.py").write_text(program_head() + PROGRAM)
        self.variables = {
            **os.environ,
            "PANTILE_LIBCUDA_PATH": str(build(folder, NOTED)),
            "PANTILE_PTXAS_PATH": str(wrapper),
            "PANTILE_ASSEMBLER": "ptxas",
            "PANTILE_CACHE_DIR": str(folder / "cache"),
        }
        self.running = []

    def start(self, count):
        """Start processes, which go on together once all are ready, with kernels of their head compiled."""
        (self.folder / "go").unlink(missing_ok=True)
        self.running = [
            subprocess.Popen(
                [sys.executable, self.folder / "program.py", self.folder],
                env=self.variables,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(count)
        ]
        names = [self.folder / f"ready{process.pid}" for process in self.running]
        while not all(name.exists() for name in names):
            assert all(process.poll() is None for process in self.running)
            time.sleep(0.01)
        before = self.runs()
        (self.folder / "go").write_text("")
        return before

    def runs(self):
        return len(self.log.read_text().split())

    def finish(self):
        for process in self.running:
            out, err = process.communicate(timeout=120)
            assert process.returncode == 0, out + err


@pytest.fixture
def processes(tmp_path):
    made = Processes(tmp_path)
    yield made
    for process in made.running:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_variants_with_and_without_tensor_maps(processes):
    before = processes.start(8)
    processes.finish()
    assert before == 1, "the kernel of the programs' head"
    assert processes.runs() == before + 2


def test_processes_that_are_killed(processes):
    """Their work is done again, by one other each time."""
    before = processes.start(8)
    for victim in processes.running[:2]:
        time.sleep(0.1)
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
    processes.running = processes.running[2:]
    processes.finish()
    assert before + 2 <= processes.runs() <= before + 4
