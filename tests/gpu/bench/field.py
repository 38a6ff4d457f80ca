"""The kernels of the field: the same source on Triton and on Pantile, interleaved, in one process.

Each case of field/ is drawn once, at the sizes of models. Each package's result is compared with
float64, every element, before it is timed. Then both run interleaved, in an order drawn for each round;
a measurement is the median of single launches with a cold L2.

Usage: field.py [--only TEXT ...] [--rounds 5] [--budget-ms 8] [--small] [--json FILE]
       --only: cases with one of these in their names. --small: at the sizes of the tests.
Gives: microseconds of both, Triton's time over ours (above 1, ours is faster), and the geometric
       mean. Status 1 if ours failed anywhere.
"""

import argparse
import json
import statistics
import sys
import traceback
from pathlib import Path

import field_case
import kernels
import torch
from finals import in_turn
from matmul import Timer

FAMILIES = sorted((Path(__file__).parent / "field").glob("*.py"))
TYPES = {
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp8e4nv": "float8_e4m3fn",
    "i8": "int8",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
}


class TorchArrays:
    """What `field_case.Arrays` is for NumPy: inputs are drawn on the GPU, references run there."""

    f = torch

    def __init__(self, seed=0):
        torch.manual_seed(seed)

    def normal(self, shape, dtype="fp32", scale=1.0):
        drawn = torch.randn(shape, dtype=torch.float32, device="cuda")
        return self.cast(drawn.mul_(scale), dtype)

    def integers(self, shape, low, high, dtype="i32"):
        shape = shape if isinstance(shape, tuple) else (shape,)
        return self.cast(torch.randint(low, high, shape, device="cuda"), dtype)

    def array(self, values, dtype):
        return self.cast(torch.tensor(values, device="cuda"), dtype)

    def permutation(self, n, dtype="i32"):
        return self.cast(torch.randperm(n, device="cuda"), dtype)

    def cast(self, x, dtype):
        return x.to(getattr(torch, TYPES[dtype]))

    def wide(self, x):
        return x.double()

    def narrow(self, x):
        return x.float()

    def index(self, x):
        return x.long()

    def top(self, x, k):
        values, indices = torch.topk(x, k, -1)
        return values, indices

    def add_rows(self, rows, index, values):
        out = torch.zeros(rows, *values.shape[1:], dtype=values.dtype, device=values.device)
        return out.index_add_(0, index.long(), values)

    def empty(self, shape, dtype):
        return torch.empty(shape, dtype=getattr(torch, TYPES[dtype]), device="cuda")


class Problem:
    """A case at one size: its arrays, its float64 results, and launches that were checked."""

    def __init__(self, case, sizes):
        self.name, self.sizes, self.xp = case.name, sizes, TorchArrays(seed=1)
        # What references make themselves, such as `arange`, is to lie on the GPU, too.
        with torch.device("cuda"):
            self.inputs = case.inputs(self.xp, **sizes)
            self.expected = case.expected(self.xp, field_case.namespace(self.inputs), **sizes)
        self.saved = {name: self.inputs[name].clone() for name in case.updated}
        shapes = case.outputs(**sizes)
        self.outputs = {name: self.xp.empty(*shape) for name, shape in shapes.items()}

    def launch_of(self, case):
        """The launch of this case by one package, after its results were compared."""
        arrays = field_case.namespace(self.inputs, self.outputs)
        for name, array in self.outputs.items():
            poison(array, name in case.zeroed)
        for name, array in self.saved.items():
            self.inputs[name].copy_(array)
        case.launch(arrays, **self.sizes)
        torch.cuda.synchronize()
        types = {name: short for short, name in TYPES.items()}
        results = {**self.outputs, **{name: self.inputs[name] for name in case.updated}}
        assert results.keys() == self.expected.keys()
        for name, got in results.items():
            dtype = types[str(got.dtype).removeprefix("torch.")]
            field_case.close(self.xp, case, name, got, self.expected[name], dtype)
        return lambda: case.launch(arrays, **self.sizes)


def poison(array, zero):
    """Zeros, or bytes that are NaN in every type of floats."""
    if zero:
        array.zero_()
    else:
        array.view(torch.uint8).fill_(0xFF)


def cases(package):
    """All cases with the kernels of a package, by name."""
    return {case.name: case for path in FAMILIES for case in kernels.load(package, path).CASES}


def measure(name, packages, options):
    """One row: microseconds by package, and what failed."""
    torch.cuda.empty_cache()
    case = packages["pantile"][name]
    problem = Problem(case, case.small if options.small else case.full)
    launches, failures = {}, {}
    for package, its_cases in packages.items():
        try:
            launches[package] = problem.launch_of(its_cases[name])
        except Exception as error:
            failures[package] = f"{type(error).__name__}: {error}"[:300]
            traceback.print_exc()
    times = in_turn(launches, Timer(options.budget_ms, least=5), options.rounds)
    row = {"name": name, "sizes": problem.sizes, "failures": failures}
    row["us"] = {package: 1e3 * time for package, time in times.items()}
    if len(times) == 2:
        row["ratio"] = times["triton"] / times["pantile"]
    return row


def print_row(row):
    """A line of the table."""
    nan = float("nan")
    times = [f"{row['us'].get(package, nan):10.2f}" for package in ("triton", "pantile")]
    print(f"{row['name']:36}", *times, f"{row.get('ratio', nan):8.3f}", row["failures"] or "")
    sys.stdout.flush()


def print_summary(rows):
    """The mean of the ratios, and which are behind."""
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    if ratios:
        print(f"geometric mean {statistics.geometric_mean(ratios):.3f} of {len(ratios)}")
        behind = [row["name"] for row in rows if row.get("ratio", 1.0) < 0.98]
        print(f"below 0.98: {', '.join(behind) or 'none'}")


def main():
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="TEXT")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget-ms", type=float, default=8.0)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    packages = {}
    for package in ("triton", "pantile"):
        try:
            packages[package] = cases(package)
        except ImportError as missing:
            print(f"without {package}: {missing}")
    print(f"=== table: kernels of the field, us, {torch.cuda.get_device_name()}")
    print(f"{'kernel':36} {'triton':>10} {'pantile':>10} {'ratio':>8}")
    rows = []
    for name in packages["pantile"]:
        if options.only and not any(text in name for text in options.only):
            continue
        rows.append(measure(name, packages, options))
        print_row(rows[-1])
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print_summary(rows)
    return 1 if any("pantile" in row["failures"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
