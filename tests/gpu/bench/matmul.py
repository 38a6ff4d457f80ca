"""GEMM: ours, Triton's and the library's (cuBLAS through torch).

Ours and Triton's run the same source and tune over the same configurations, the tutorial's ten and some
larger blocks, by the same timer: all once, then the fastest interleaved, five of
them or at small sizes, where luck decides the first, eight. `own` is
ours with further configurations that name passes, next to the fastest few of the common ones, and
`any` (`--any-extent`) ours with those and with tiles that are no powers of two.
Every result is compared with float64 before it is timed. The contestants are timed interleaved,
each measurement being the median of single launches with a cold L2; the table has the
medians of the rounds, in TFLOP/s. All work on the same arrays. At small sizes there are a dozen
rounds, each on arrays elsewhere in memory: where they lie costs a kernel of 6 us up to half a
microsecond, and each kernel another place.

With an activation, ours and Triton's are compared with the library's GEMM without it; the
library's followed by a kernel for the activation is another column. A run over all sizes takes about
100 s; one that tunes over another run's fastest few only, but at small sizes over all
(`--finalists`), half of that.

Usage: matmul.py [--sizes 256 384 ...] [--rounds 5] [--activation leaky_relu] [--dtype bfloat16] [--ten]
                 [--json FILE] [--markdown FILE] [--finalists JSON ...] [--any-extent] [--without NAME ...]
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
from finals import final

SIZES = [*range(256, 4097, 128), 8192, 16384]
SMALL, PLACES = (
    1024,
    12,
)  # up to which size arrays have other addresses in each round, and how often
SMALL_FINALISTS = 8


class Timer:
    """Times single launches between two events after clearing the L2: as many as fit the budget, but
    `least` at least and `most` at most."""

    def __init__(self, budget_ms, least=10, most=200):
        self.budget_ms, self.least, self.most = budget_ms, least, most
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
        """Median of the launches."""
        pair = self.once(function)
        torch.cuda.synchronize()
        fitting = int(self.budget_ms / max(pair[0].elapsed_time(pair[1]), 0.01))
        count = min(self.most, max(self.least, fitting))
        pairs = [self.once(function) for _ in range(count)]
        torch.cuda.synchronize()
        return statistics.median(s.elapsed_time(e) for s, e in pairs)


class Place:
    """The operands and the result somewhere in memory, after a gap of its own."""

    def __init__(self, a, b):
        self.gap = torch.empty(
            int(torch.randint(1, 256, ())) << 12, dtype=torch.int8, device="cuda"
        )
        self.operands = a.clone(), b.clone()
        self.c, self.buffer = checking.guarded(a.shape[0], b.shape[1], a.dtype)


class Tuning:
    """Finds the fastest configurations of a package, as its own tuner would, but with a final."""

    def __init__(self, arguments):
        self.ten = arguments.ten
        self.first = Timer(arguments.tune_ms, least=3, most=60)
        self.final = Timer(arguments.tune_ms, least=3, most=40)
        self.known = {}
        for path in arguments.finalists:
            with open(path, encoding="utf-8") as file:
                self.known |= {row["size"]: row["notes"] for row in json.load(file)}

    def configs(self, package, size, common):
        """What is measured for `size`; `common`: the fastest that Pantile shares with Triton."""
        module = PACKAGES[package]
        configs = module.tutorial_configs() + ([] if self.ten else module.larger_configs())
        if package == "any":
            configs = [c for c in configs if str(c) in common] + module.own_configs()
            configs += module.any_extent_configs(size)
        if package == "own":
            configs = [c for c in configs if str(c) in common] + module.own_configs()
        if size <= SMALL:
            return configs
        known = self.known.get(size, {}).get(package, {}).get("finalists")
        return [c for c in configs if not known or str(c) in known] or configs

    def run(self, package, places, common, launch_with):
        """The finalists, the fastest first; `launch_with(config, place)` gives a function that launches."""
        module = PACKAGES[package]
        configs = self.configs(package, places[0].c.shape[0], common)
        times = self.measure_all(module, configs, places[0], launch_with)

        def launch_of(config, number):
            return launch_with(config, places[number % len(places)])

        if len(places) == 1:
            return final(times, launch_of, self.final)
        return final(times, launch_of, self.final, SMALL_FINALISTS, len(places))

    def measure_all(self, module, configs, place, launch_with):
        """Milliseconds of each configuration that runs, by the package's own tuner."""
        if len(configs) == 1:
            return {configs[0]: 0.0}

        def bench(launch, quantiles):
            return [self.first.median(launch)] * len(quantiles)

        tune = module.triton.autotune(configs=configs, key=["M", "N", "K"], do_bench=bench)
        kernel = tune(module.matmul_kernel)
        launch_with(None, place, kernel)()
        return {config: times[0] for config, times in kernel.configs_timings.items()}


def launchers(package, tuning, places, activation, common):
    """For each place a function without arguments, tuned and checked, and what is to be said."""
    module = PACKAGES[package]
    grid = module.grid(*places[0].c.shape)

    def launch_with(config, place, kernel=module.matmul_kernel):
        arguments = module.matmul_arguments(*place.operands, place.c)
        settings = config.all_kwargs() if config else {}
        return lambda: kernel[grid](*arguments, ACTIVATION=activation, **settings)

    finalists = tuning.run(package, places, common, launch_with)
    launches = [launch_with(finalists[0], place) for place in places]
    shares = []
    for place, launch in zip(places, launches):
        place.c.fill_(float("nan"))
        launch()
        shares.append(checking.check_product(*place.operands, place.c, activation))
        checking.check_guards(place.buffer)
    names = [str(config) for config in finalists]
    return launches, {"error_share": max(shares), "config": names[0], "finalists": names}


def library(a, b, c, activation=""):
    """The library's GEMM, with the activation, if any, as a second kernel in place."""
    if activation:
        return lambda: torch.nn.functional.leaky_relu_(torch.matmul(a, b, out=c), 0.01)
    return lambda: torch.matmul(a, b, out=c)


def prepare(size, activation, dtype, tuning):
    """Launches in each place by contestant, those that failed left out, and what is to be said."""
    a, b = (torch.randn(size, size, dtype=dtype, device="cuda") for _ in range(2))
    places = [Place(a, b) for _ in range(PLACES if size <= SMALL else 1)]
    contestants = {"cublas": [library(*place.operands, place.c) for place in places]}
    if activation:
        contestants["two kernels"] = [
            library(*place.operands, place.c, activation) for place in places
        ]
    notes = {}
    for package in PACKAGES:
        try:
            common = notes.get("pantile", {}).get("finalists", ())
            contestants[package], notes[package] = launchers(
                package, tuning, places, activation, common
            )
        except Exception as error:
            contestants.pop(package, None)
            notes[package] = {"failure": f"{type(error).__name__}: {error}"[:300]}
            traceback.print_exc()
    return contestants, notes


def measure(size, arguments, timer, tuning):
    """One row: TFLOP/s of each contestant."""
    dtype = getattr(torch, arguments.dtype)
    contestants, notes = prepare(size, arguments.activation, dtype, tuning)
    rounds = {name: [] for name in contestants}
    count = max(arguments.rounds, *(len(launches) for launches in contestants.values()))
    for number in range(count):
        order = list(contestants)
        for name in order if number % 2 == 0 else reversed(order):
            launches = contestants[name]
            rounds[name].append(2e-9 * size**3 / timer.median(launches[number % len(launches)]))
    medians = {name: statistics.median(values) for name, values in rounds.items()}
    return {"size": size, "tflops": medians, "rounds": rounds, "notes": notes}


def print_table(rows, title):
    """The medians, and ours relative to each peer."""
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
        if "any" in row["tflops"]:
            any_extent = row["tflops"]["any"]
            text += f"; any {any_extent:.1f} ({any_extent / cublas:.3f}) {in_short(row['notes']['any']['config'])}"
        if "two kernels" in row["tflops"]:
            text += f"; cuBLAS and a second kernel {row['tflops']['two kernels']:.1f}"
        print(
            f"{row['size']:6d} {cublas:8.1f} {triton:8.1f} {ours:8.1f} {ours / cublas:8.3f}"
            f" {ours / triton:8.3f} {own:8.1f}  {text[:180]}"
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


def write_markdown(rows, path):
    """The table in Markdown."""
    with open(path, "w", encoding="utf-8") as file:
        for row in rows:
            cublas, triton, ours, own = (
                row["tflops"].get(name, float("nan"))
                for name in ("cublas", "triton", "pantile", "own")
            )
            block, stages, warps, *_ = in_short(row["notes"]["pantile"].get("config", "")).split()
            chosen = row["notes"].get("own", {}).get("config", "")
            passes = " ".join(re.findall(r"abled_passes: (\S+?)(?:, |$)", chosen))
            file.write(
                f"| {row['size']} | {cublas:.1f} | {triton:.1f} | {ours:.1f} | {ours / cublas:.2f} |"
                f" {ours / triton:.2f} | {block.replace('x', '×')}, {stages}, {warps} | {own:.1f}"
                f"{' (`' + passes + '`)' if passes else ''} |\n"
            )


def print_means(rows):
    """Geometric means of the ratios from 1024 up, and the sizes that are slower than Triton."""
    for peer, name in itertools.product(("cublas", "triton"), ("pantile", "own", "any")):
        if not any(name in row["tflops"] and peer in row["tflops"] for row in rows):
            continue
        ratios = {row["size"]: ratio(row["tflops"], peer, name) for row in rows}
        large = [value for size, value in ratios.items() if size >= 1024]
        behind = [size for size, value in ratios.items() if not value >= 0.99]
        if large:
            print(
                f"{name} from 1024 up / {peer}: {statistics.geometric_mean(large):.3f}; behind: {behind}"
            )


def ratio(tflops, peer, name):
    """Ours, with or without own configurations, relative to `peer`."""
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
    parser.add_argument("--any-extent", action="store_true", help="tiles that are no powers of two")
    parser.add_argument("--without", nargs="*", default=[], help="contestants to leave out")
    parser.add_argument("--activation", default="")
    parser.add_argument("--json")
    parser.add_argument("--markdown")
    parser.add_argument("--finalists", nargs="*", default=[], help="results to tune over")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    timer, tuning = Timer(arguments.budget_ms), Tuning(arguments)
    names = ["triton", "pantile"] + ["own"] * (not arguments.ten) + ["any"] * arguments.any_extent
    for name in [name for name in names if name not in arguments.without]:
        try:
            PACKAGES[name] = kernels.load(name if name == "triton" else "pantile")
        except ImportError as missing:
            print(f"without {name}: {missing}")
    rows = []
    for size in arguments.sizes:
        rows.append(measure(size, arguments, timer, tuning))
        print(arguments.dtype, size, rows[-1]["tflops"], flush=True)
    print_table(rows, f"{arguments.dtype} product {arguments.activation}".strip())
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    if arguments.markdown:
        write_markdown(rows, arguments.markdown)
    return 1 if any("failure" in row["notes"].get("pantile", {}) for row in rows) else 0


PACKAGES = {}
if __name__ == "__main__":
    sys.exit(main())
