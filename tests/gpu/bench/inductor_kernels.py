"""Kernels that torch.compile generates: the same kernel source on Triton and on Pantile, interleaved, in one process.

The texts and their launches are those of tests/replay/inductor_kernels.txt, with the sizes that stand
in them; kernels of dynamic sizes are left out. Floats are normal random numbers, integers lie in
[0, 64), since many are indices. What both packages leave in all buffers is compared, every element,
before it is timed; a measurement is the median of single launches with a cold L2.

Usage: inductor_kernels.py [--only TEXT ...] [--rounds 5] [--budget-ms 4] [--json FILE]
       --only: kernels with one of these in their names.
Gives: microseconds of both, Triton's time over ours (above 1, ours is faster), and the geometric
       mean. Status 1 if a kernel of ours failed or differed.
"""

import argparse
import importlib.util
import json
import re
import sys
import tempfile
from pathlib import Path

import torch
from field import print_row, print_summary
from finals import in_turn
from matmul import Timer

TESTS = Path(__file__).resolve().parents[2]
TEXTS = TESTS / "replay" / "inductor_kernels.txt"
HELPERS = TESTS / "kernels" / "inductor_helpers.py"
IMPORTS = """import {package} as triton
import {package}.language as tl
from {package}.language import math as tl_math
from {package}.language.extra import libdevice
import inductor_helpers_{package} as triton_helpers
"""
TYPES = {
    "*fp16": torch.float16,
    "*bf16": torch.bfloat16,
    "*fp32": torch.float32,
    "*fp64": torch.float64,
    "*fp8e4nv": torch.float8_e4m3fn,
    "*i1": torch.bool,
    "*i8": torch.int8,
    "*u8": torch.uint8,
    "*i32": torch.int32,
    "*i64": torch.int64,
}
BUFFER_BYTES = 64 << 20
INDICES = 64
# By the bytes of an element: what two right results of one text may differ by.
BOUNDS = {1: 0.13, 2: 2e-2, 4: 1e-3, 8: 1e-9}


def module_of(package, folder):
    """The kernels, and the helpers that they call, as they belong to `package`."""
    helpers = HELPERS.read_text(encoding="utf-8").replace("import pantile", f"import {package}")
    (folder / f"inductor_helpers_{package}.py").write_text(helpers, encoding="utf-8")
    path = folder / f"inductor_{package}.py"
    text = TEXTS.read_text(encoding="utf-8")
    path.write_text(IMPORTS.format(package=package) + text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def launches():
    """The launches of static sizes, each with `sizes`: the extents that stand in the kernel's text."""
    found = []
    for part in TEXTS.read_text(encoding="utf-8").split("# launch: ")[1:]:
        first, text = part.split("\n", 1)
        launch = json.loads(first)
        sizes = re.findall(r"^ +([xyr0-9_]+numel) = (\d+)$", text, re.MULTILINE)
        launch["sizes"] = {name: int(size) for name, size in sizes}
        known = launch["sizes"].keys() | launch["constants"].keys()
        if all(type[0] == "*" or name in known for name, type in launch["signature"].items()):
            found.append(launch)
    return found


def drawn(type):
    """A buffer of random numbers."""
    dtype = TYPES[type]
    count = BUFFER_BYTES // dtype.itemsize
    if dtype.is_floating_point:
        return torch.randn(count, device="cuda").to(dtype)
    return torch.randint(0, 2 if dtype == torch.bool else INDICES, (count,), device="cuda").to(
        dtype
    )


def grid_of(launch):
    """Programs along x and y."""
    values = {**launch["sizes"], **launch["constants"]}
    return tuple(-(-values.get(f"{d}numel", 1) // values.get(f"{d.upper()}BLOCK", 1)) for d in "xy")


def runner(module, launch, buffers):
    """A launch of the kernel over `buffers`."""
    kernel, grid = getattr(module, launch["kernel"]), grid_of(launch)
    values = {**launch["sizes"], **launch["constants"], **buffers}
    arguments = [values[name] for name in launch["signature"]]
    return lambda: kernel[grid](*arguments, num_warps=launch["num_warps"])


def close(got, want):
    """Whether two buffers agree, every element; NaN agrees with NaN."""
    if not got.dtype.is_floating_point:
        return torch.equal(got, want)
    bound = BOUNDS[got.dtype.itemsize]
    return torch.allclose(got.double(), want.double(), rtol=bound, atol=bound, equal_nan=True)


def measure(launch, modules, options):
    """One row: microseconds by package, and what failed."""
    torch.manual_seed(1)
    signature = launch["signature"]
    start = {name: drawn(type) for name, type in signature.items() if type[0] == "*"}
    row = {"name": launch["kernel"], "sizes": launch["sizes"], "failures": {}}
    runs, results = {}, {}
    # Both use the same buffers: addresses alone move a kernel of 5 us by up to a tenth.
    buffers = {name: buffer.clone() for name, buffer in start.items()}
    for package, module in modules.items():
        try:
            for name, buffer in buffers.items():
                buffer.copy_(start[name])
            run = runner(module, launch, buffers)
            run()
            torch.cuda.synchronize()
            results[package] = {name: buffer.clone() for name, buffer in buffers.items()}
            runs[package] = run
        except Exception as error:
            row["failures"][package] = f"{type(error).__name__}: {error}"[:300]
    if len(results) == 2:
        ours, theirs = results["pantile"], results["triton"]
        differing = [name for name in start if not close(ours[name], theirs[name])]
        if differing:
            row["failures"]["pantile"] = f"differs from Triton in {', '.join(differing)}"
    times = in_turn(runs, Timer(options.budget_ms, least=5), options.rounds)
    row["us"] = {package: 1e3 * time for package, time in times.items()}
    if len(times) == 2:
        row["ratio"] = times["triton"] / times["pantile"]
    return row


def main():
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget-ms", type=float, default=4.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="inductor-"))
    sys.path.append(str(folder))
    modules = {package: module_of(package, folder) for package in ("triton", "pantile")}
    print(f"=== table: kernels of torch.compile, us, {torch.cuda.get_device_name()}")
    print(f"{'kernel':36} {'triton':>10} {'pantile':>10} {'ratio':>8}")
    rows = []
    for launch in launches():
        if any(text in launch["kernel"] for text in options.only):
            rows.append(measure(launch, modules, options))
            print_row(rows[-1])
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print_summary(rows)
    return 1 if any("pantile" in row["failures"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
