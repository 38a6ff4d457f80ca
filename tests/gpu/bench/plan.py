"""Predicted over measured: the cycles per iteration of a plan, and the registers that ptxas took.

Each kernel is launched with two lengths of its main loop. The difference of the times, in cycles of
the SM's clock, divided by the iterations that each SM runs more, is the time of an iteration; what
comes before and after the loop cancels. A grid of one wave is launched, as many CTAs per SM as the
plan predicts, so that each SM has the same work. The clock is read while the kernel runs.

Usage: plan.py [--json FILE] [--budget-ms 20]
Gives: a line per kernel: predicted and measured cycles, predicted over measured, what limits it by
       the plan, predicted and assembled registers. The results of the kernels are not checked here:
       matmul.py and attention.py do that with the same kernels.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
from dataclasses import dataclass

LOOP = re.compile(r"^loop.*?: about (\d+) cycles? per iteration, bound by (.*)$", re.MULTILINE)
CTA = re.compile(
    r"^CTA: .*?(?:about (\d+) registers per thread, )?(\d+) bytes of .*, (\d+) per SM$", re.M
)
ASSEMBLED = re.compile(
    r"^assembled: (\d+) registers per thread, (\d+) bytes spilled$", re.MULTILINE
)


# Predicted over measured cycles: what the kernels here keep to on an H200, with a margin.
BOUNDS = (0.4, 1.1)


@dataclass
class Plan:
    """The numbers of a printed plan; `cycles` and `limiter` of each loop, in order."""

    registers: int
    shared: int
    ctas: int
    cycles: list
    limiters: list
    assembled: int
    spilled: int


def read_plan(text):
    """The numbers of `kernel.plan`; ValueError where it is none of a kernel that was assembled."""
    cta, assembled = CTA.search(text), ASSEMBLED.search(text)
    if not cta or not assembled:
        raise ValueError(f"not the plan of an assembled kernel: {text!r}")
    loops = LOOP.findall(text)
    return Plan(
        int(cta[1] or 0), int(cta[2]), int(cta[3]), [int(cycles) for cycles, _ in loops],
        [limiter for _, limiter in loops], int(assembled[1]), int(assembled[2]),
    )  # fmt: skip


def cycles_per_iteration(times_ms, iterations, clock_mhz, ctas_per_sm):
    """Cycles of an SM per iteration of one CTA, of the times of a shorter and a longer run.

    `times_ms` and `iterations` (of one CTA) are pairs: the shorter run first.
    """
    spent = (times_ms[1] - times_ms[0]) * 1e3 * clock_mhz
    return spent / ((iterations[1] - iterations[0]) * ctas_per_sm)


class Clock:
    """The SM's clock in MHz, as nvidia-smi samples it while a block of code runs."""

    QUERY = ["nvidia-smi", "--query-gpu=clocks.sm", "--format=csv,noheader,nounits", "-lms", "10"]

    def __enter__(self):
        self._process = subprocess.Popen(self.QUERY, stdout=subprocess.PIPE, text=True)
        self._process.stdout.readline()  # from now on there are samples
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._text = self._process.communicate()[0]

    def mhz(self):
        """The median of what was seen."""
        return statistics.median(float(word) for word in self._text.split() if word.isdigit())


def matmul_case(config, lengths=(2048, 6144)):
    """The GEMM with a grid of one wave: rows and columns as the wave has them."""
    import kernels
    import torch

    sizes = config.kwargs
    m, n, k = (sizes[f"BLOCK_SIZE_{axis}"] for axis in "MNK")

    def launcher(length, programs):
        a = torch.randn(m, length, dtype=torch.float16, device="cuda")
        b = torch.randn(length, n * programs, dtype=torch.float16, device="cuda")
        c = torch.empty(m, n * programs, dtype=torch.float16, device="cuda")
        arguments = kernels.matmul_arguments(a, b, c)
        options = config.all_kwargs()
        return lambda: kernels.matmul_kernel[(programs,)](*arguments, ACTIVATION="", **options)

    name = f"matmul {m}x{n}x{k} {config.num_stages} stages {config.num_warps} warps"
    return name, launcher, lengths, tuple(length // k for length in lengths)


def forward_case(head, config, lengths=(4096, 12288)):
    """Attention without a mask: keys as long as `length`, queries as the wave has programs."""
    import attention_kernels
    import torch

    m, n, stages, warps = config

    def launcher(length, programs):
        q, o = (torch.randn(programs * m, head, dtype=torch.float16, device="cuda") for _ in "qo")
        k, v = (torch.randn(length, head, dtype=torch.float16, device="cuda") for _ in "kv")
        lse = torch.empty(programs * m, device="cuda")
        sizes = {"HEAD": head, "BLOCK_M": m, "BLOCK_N": n, "CAUSAL": 0}
        arguments = (q, k, v, o, lse, head**-0.5, 0, head, length)
        return lambda: attention_kernels.pointer_kernel[(programs, 1)](
            *arguments, **sizes, num_stages=stages, num_warps=warps
        )

    name = f"attention forward d={head} {m}x{n} {stages} stages {warps} warps"
    return name, launcher, lengths, tuple(length // n for length in lengths)


def cases():
    """(name, launcher(length, programs), the two lengths, the iterations of each) of each kernel."""
    import attention
    import kernels

    for config in [*kernels.tutorial_configs()[:4], *kernels.larger_configs()[:8]]:
        yield matmul_case(config)
    for head, configs in attention.FORWARD.items():
        for config in configs:
            yield forward_case(head, config)


def measure(case, sms, timer):
    """One row of the table."""
    name, launcher, lengths, iterations = case
    plan = read_plan(launcher(lengths[0], 1)().plan)
    programs = sms * plan.ctas
    launches = [launcher(length, programs) for length in lengths]
    with Clock() as clock:
        times = [timer.median(launch) for launch in launches]
    measured = cycles_per_iteration(times, iterations, clock.mhz(), plan.ctas)
    return {
        "kernel": name, "predicted": plan.cycles[0], "measured": round(measured, 1),
        "ratio": round(plan.cycles[0] / measured, 3), "limiter": plan.limiters[0],
        "ctas": plan.ctas, "clock_mhz": clock.mhz(), "registers": plan.registers,
        "assembled": plan.assembled, "spilled": plan.spilled,
    }  # fmt: skip


def print_table(rows, device):
    """A line per kernel, and the mean of predicted over measured."""
    print(f"=== table: cycles per iteration, predicted over measured, {device}")
    for row in rows:
        print(
            f"{row['kernel']:<46} {row['predicted']:>6} {row['measured']:>8} {row['ratio']:>6.2f}"
            f"  {row['limiter']}, registers {row['registers']} / {row['assembled']}"
        )
    print(f"geometric mean {statistics.geometric_mean(row['ratio'] for row in rows):.3f}")


def main():
    """Measure all kernels, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json")
    parser.add_argument("--budget-ms", type=float, default=20.0)
    arguments = parser.parse_args()
    import torch
    from matmul import Timer

    timer, rows, failed = Timer(arguments.budget_ms, least=5, most=50), [], False
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    for case in cases():
        try:
            rows.append(measure(case, sms, timer))
        except Exception as error:
            failed = True
            print(f"failed: {case[0]}: {type(error).__name__}: {error}"[:200], flush=True)
    print_table(rows, torch.cuda.get_device_name())
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    outside = [r for r in rows if not BOUNDS[0] <= r["ratio"] <= BOUNDS[1]]
    for row in outside:
        print(f"out of bounds: {row['kernel']}: {row['ratio']:.2f} of the measured cycles")
    return int(failed or bool(outside))


if __name__ == "__main__":
    sys.exit(main())
