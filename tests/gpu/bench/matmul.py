"""The product of two matrices: ours, Triton's and the library's (cuBLAS through torch).

Ours and Triton's run the same text and tune over the same configurations, the tutorial's ten and some
larger blocks, by the same timer; ours, six of them with other passes besides. Every result is
compared with float64 before it is timed. The three are timed in turn, round after round, each
measurement being the median of single launches with a cold L2; the table has the medians of the
rounds, in TFLOP/s.

With an activation, ours and Triton's are compared with the library's product without it; the
library's followed by a kernel for the activation stands beside. A run over all sizes takes about
45 s: fp16, bf16 and the activation are three.

Usage: matmul.py [--sizes 256 384 ...] [--rounds 5] [--activation leaky_relu] [--dtype bfloat16] [--ten]
                 [--json FILE]
"""

import argparse
import itertools
import json
import re
import statistics
import sys
import traceback

import checking
import kernels
import torch

SIZES = [*range(256, 4097, 128), 8192, 16384]


class Timer:
    """Times single launches between two events after clearing the L2."""

    def __init__(self, budget_ms):
        self.budget_ms = budget_ms
        self.flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")

    def once(self, function):
        """Milliseconds of one launch."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.flush.zero_()
        start.record()
        function()
        end.record()
        return start, end

    def median(self, function):
        """Median over as many launches as fit the budget, 10 at least."""
        pair = self.once(function)
        torch.cuda.synchronize()
        count = min(200, max(10, int(self.budget_ms / max(pair[0].elapsed_time(pair[1]), 0.01))))
        pairs = [self.once(function) for _ in range(count)]
        torch.cuda.synchronize()
        return statistics.median(s.elapsed_time(e) for s, e in pairs)


def tuned(package, timer, arguments):
    """The kernel of `package`, tuned over the tutorial's configurations and those asked for; `own`
    is Pantile with configurations that name passes besides, which Triton has no like of."""
    module = kernels.load("pantile" if package == "own" else package)
    configs = module.tutorial_configs() + ([] if arguments.ten else module.larger_configs())
    if package == "own":
        configs += module.own_configs()

    def bench(launch, quantiles):
        return [timer.median(launch)] * len(quantiles)

    tune = module.triton.autotune(configs=configs, key=["M", "N", "K"], do_bench=bench)
    return module, tune(module.matmul_kernel)


def launcher(package, a, b, c, activation):
    """A function without arguments that computes `c`, tuned and checked."""
    module, kernel = PACKAGES[package]

    def launch():
        arguments = module.matmul_arguments(a, b, c)
        kernel[module.grid(*c.shape)](*arguments, ACTIVATION=activation)

    c.fill_(float("nan"))
    launch()
    share = checking.check_product(a, b, c, activation)
    return launch, share, str(kernel.best_config)


def library(a, b, c, activation=""):
    """The library's product, with the activation, if any, as a second kernel in place."""
    if activation:
        return lambda: torch.nn.functional.leaky_relu_(torch.matmul(a, b, out=c), 0.01)
    return lambda: torch.matmul(a, b, out=c)


def prepare(size, activation, dtype):
    """Contestants by name, those that failed left out, and what is to be said of each."""
    a, b = (torch.randn(size, size, dtype=dtype, device="cuda") for _ in range(2))
    contestants = {"cublas": library(a, b, torch.empty_like(a))}
    if activation:
        contestants["two kernels"] = library(a, b, torch.empty_like(a), activation)
    notes = {}
    for package in PACKAGES:
        c, buffer = checking.guarded(size, size, dtype)
        try:
            contestants[package], share, config = launcher(package, a, b, c, activation)
            checking.check_guards(buffer)
            notes[package] = {"error_share": share, "config": config}
        except Exception as error:
            contestants.pop(package, None)
            notes[package] = {"failure": f"{type(error).__name__}: {error}"[:300]}
            traceback.print_exc()
    return contestants, notes


def measure(size, arguments, timer):
    """One row: TFLOP/s of each contestant."""
    contestants, notes = prepare(size, arguments.activation, getattr(torch, arguments.dtype))
    rounds = {name: [] for name in contestants}
    for number in range(arguments.rounds):
        order = list(contestants)
        for name in order if number % 2 == 0 else reversed(order):
            rounds[name].append(2e-9 * size**3 / timer.median(contestants[name]))
    medians = {name: statistics.median(values) for name, values in rounds.items()}
    return {"size": size, "tflops": medians, "rounds": rounds, "notes": notes}


def print_table(rows, title):
    """The medians, and ours as a share of each peer."""
    print(f"=== table: {title}, TFLOP/s, {torch.cuda.get_device_name()}")
    print(
        f"{'size':>6} {'cublas':>8} {'triton':>8} {'ours':>8} {'/cublas':>8} {'/triton':>8}"
        f" {'own':>8}  block"
    )
    for row in rows:
        nan = float("nan")
        cublas, triton, ours = (row["tflops"].get(n, nan) for n in ("cublas", "triton", "pantile"))
        note = row["notes"].get("pantile", {})
        text = note.get("failure") or in_short(note.get("config", ""))
        own = row["tflops"].get("own", nan)
        text += f"; own {in_short(row['notes'].get('own', {}).get('config', ''))}"
        if "two kernels" in row["tflops"]:
            text += f"; cuBLAS and a second kernel {row['tflops']['two kernels']:.1f}"
        print(
            f"{row['size']:6d} {cublas:8.1f} {triton:8.1f} {ours:8.1f} {ours / cublas:8.3f}"
            f" {ours / triton:8.3f} {own:8.1f}  {text[:150]}"
        )
    print_means(rows)


def in_short(config):
    """Block, stages and warps of a configuration, and the passes that it names."""
    settings = dict(part.partition(": ")[::2] for part in config.split(", "))
    names = [f"BLOCK_SIZE_{letter}" for letter in "MNK"]
    block = "x".join(settings.get(name, "?") for name in names)
    passes = re.findall(r"(?:dis|en)abled_passes: .*", config)
    numbers = [settings.get(name, "?") for name in ("num_stages", "num_warps")]
    return " ".join([block, *numbers, *passes])


def print_means(rows):
    """Geometric means of the ratios from 1024 up, and the sizes that are behind Triton."""
    for peer, name in itertools.product(("cublas", "triton"), ("pantile", "own")):
        ratios = {row["size"]: ratio(row["tflops"], peer, name) for row in rows}
        large = [value for size, value in ratios.items() if size >= 1024]
        behind = [size for size, value in ratios.items() if not value >= 0.99]
        if large:
            print(
                f"{name} from 1024 up / {peer}: {statistics.geometric_mean(large):.3f}; behind: {behind}"
            )


def ratio(tflops, peer, name):
    """Ours, with or without own configurations, as a share of `peer`."""
    return tflops.get(name, float("nan")) / tflops.get(peer, float("nan"))


def main():
    """Measure every size, print the table, write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget-ms", type=float, default=30.0)
    parser.add_argument("--tune-ms", type=float, default=10.0)
    parser.add_argument("--dtype", default="float16")
    parser.add_argument("--ten", action="store_true", help="the tutorial's ten configurations only")
    parser.add_argument("--activation", default="")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    timer, tuner = Timer(arguments.budget_ms), Timer(arguments.tune_ms)
    for name in ("triton", "pantile") if arguments.ten else ("triton", "pantile", "own"):
        try:
            PACKAGES[name] = tuned(name, tuner, arguments)
        except ImportError as missing:
            print(f"without {name}: {missing}")
    rows = []
    for size in arguments.sizes:
        rows.append(measure(size, arguments, timer))
        print(arguments.dtype, size, rows[-1]["tflops"], flush=True)
    print_table(rows, f"{arguments.dtype} product {arguments.activation}".strip())
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 1 if any("failure" in row["notes"].get("pantile", {}) for row in rows) else 0


PACKAGES = {}
if __name__ == "__main__":
    sys.exit(main())
