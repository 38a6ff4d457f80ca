"""All checks and measurements that need several GPUs, in less than nine minutes.

Usage: several_gpus.py [--out FOLDER] [--ranks N] [--only STEP ...] [--minutes 8] [--list]
How:   a step is a program of its own, most of them under torchrun with a rank per GPU. One that
       fails or exceeds its time does not stop the others; a step that would begin after the minutes
       is named. With fewer GPUs than ranks, ranks share a GPU and nothing is timed; without a GPU
       the ranks of what can run on the CPU run there, at small sizes. So every program is tried
       where there are no GPUs.
Gives: a log and, where the step has figures, a JSON file per step in the folder; the table of all
steps last.
"""

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BENCH = Path("tests/gpu/bench")
TESTS = [
    "tests/python/several_gpus",
    "tests/python/tuning/test_ranks.py",
    "tests/python/tuning/test_tuning_of_the_tutorial.py",
    "tests/python/jax_calls/test_jax.py",
    "tests/python/jax_calls/test_jax_gradients.py",
    "tests/python/launch/test_cooperative_grids.py",
    "tests/kernels/test_symmetric_memory.py",
    "tests/kernels/test_several_gpus_tutorial.py",
    "tests/kernels/test_moe_dispatch.py",
]


@dataclass
class Step:
    """A program, and the seconds that it may take."""

    name: str
    command: list
    seconds: int
    needs_gpus: int = 0


def gpu_count():
    try:
        import torch
    except ImportError:
        return 0
    return torch.cuda.device_count()


def under_torchrun(ranks, *command):
    return ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}", *command]


def steps(ranks, gpus, out):
    """All of them, the ones that show whether it works at all first."""
    as_triton = ["-m", "pantile.compat"]
    figures = lambda name: ["--json", str(out / f"{name}.json")]
    on_rank = lambda *command: under_torchrun(ranks if gpus else 1, *command)
    tests = ["-m", "pytest", "-v", "-ra", "-p", "no:cacheprovider", "-n", "12", "--durations=12"]
    return [
        Step("tutorial", on_rank("tutorials/09-several-gpus.py"), 30, needs_gpus=ranks),
        Step("exchanges", on_rank(BENCH / "exchanges.py", *figures("exchanges")), 110),
        Step("dispatch", on_rank(BENCH / "moe_dispatch.py", *figures("dispatch")), 35),
        Step(
            "models",
            under_torchrun(ranks, *as_triton, BENCH / "parallel_models.py", *figures("models")),
            75,
        ),
        Step("nvshmem", on_rank(*as_triton, BENCH / "nvshmem_job.py"), 28, needs_gpus=ranks),
        Step("tests", [*tests, "-m", "gpu", *TESTS], 150, needs_gpus=1),
    ]


def environment():
    """NVLink's multicast stays off: a fault of it concerns all programs of a host."""
    off = {"NCCL_NVLS_ENABLE": "0", "NVSHMEM_DISABLE_NVLS": "1"}
    off["TORCH_SYMM_MEM_DISABLE_MULTICAST"] = "1"
    paths = [str(ROOT / BENCH), os.environ.get("PYTHONPATH", "")]
    off["PYTHONFAULTHANDLER"] = "1"  # a rank that crashes prints its stack
    return {**os.environ, **off, "OMP_NUM_THREADS": "2", "PYTHONPATH": os.pathsep.join(paths)}


def run(step, seconds, out):
    """Run a step; return how it ended."""
    log = out / f"{step.name}.log"
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [sys.executable, *map(str, step.command)],
            cwd=ROOT, env=environment(), stdout=file, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            code = process.wait(seconds)
            return "right" if code == 0 else f"exit status {code}"
        except subprocess.TimeoutExpired:
            process.terminate()  # torchrun ends its ranks
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
            return f"ended after {seconds:.0f} s"


def last_lines(log, ended):
    """The table that a log ends with, or its last lines, and the stack of a crash before them."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    starts = lambda text: [i for i, line in enumerate(lines) if text in line]
    if table := starts("=== table"):
        return lines[table[-1] + 1 :]
    stack = [line for i in starts("Fatal Python error")[:1] for line in lines[i : i + 25]]
    return stack + lines[-(3 if ended == "right" else 25) :]


def main():
    """Run the steps; end with 1 if one was not right."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build-gpu/several-gpus")
    parser.add_argument("--ranks", type=int)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    gpus, start = gpu_count(), time.monotonic()
    ranks = options.ranks or max(gpus, 2)
    options.out.mkdir(parents=True, exist_ok=True)
    wanted = [
        step
        for step in steps(ranks, gpus, options.out.resolve())
        if not options.only or step.name in options.only
    ]
    if options.list:
        print("\n".join(f"{step.name:<10} {step.seconds:>4} s" for step in wanted))
        return 0
    ends = {}
    for step in wanted:
        left = options.minutes * 60 - (time.monotonic() - start)
        if gpus < step.needs_gpus:
            needed = "a GPU" if step.needs_gpus == 1 else f"{step.needs_gpus} GPUs"
            ends[step.name] = f"not run: needs {needed}", 0.0
        elif left < 20:
            ends[step.name] = "not run: no time was left", 0.0
        else:
            begun = time.monotonic()
            ended = run(step, min(step.seconds, left), options.out)
            ends[step.name] = ended, time.monotonic() - begun
            lines = last_lines(options.out / f"{step.name}.log", ended)
            print(f"##### {step.name}: {ended}", *lines, sep="\n", flush=True)
    print(f"=== table: {ranks} ranks on {gpus} GPUs")
    for name, (ended, seconds) in ends.items():
        print(f"{name:<10} {seconds:6.1f} s  {ended}")
    return int(any(not ended.startswith(("right", "not run: needs")) for ended, _ in ends.values()))


if __name__ == "__main__":
    sys.exit(main())
