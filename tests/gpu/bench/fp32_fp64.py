"""Products of fp32 by tf32, or of fp64, in all orders of operands: ours, Triton's and cuBLAS's through torch.

Ours and Triton's run the same source (kernels.py) over the same configurations. Each is sampled once,
its fastest is compared with float64, every element, and then all three run interleaved, in an order
drawn for each round; a measurement is the median of single launches with a cold L2. "nn" is A and B
by rows, "t" a matrix by columns. Before that, products of positive fp32 operands tell whether operands are
rounded to the nearest, or cut off: then each is too small by 2^-11 for each operand.

Usage: fp32_fp64.py [--dtype tf32] [--sizes 2048 4096 8192] [--orders nn nt tn] [--rounds 3]
                    [--budget-ms 8] [--minutes 0.9] [--json FILE]
Gives: TFLOP/s of the three, ours relative to the others, and the configurations. No further row is
       begun after `--minutes`. Status 1 if a result of ours was wrong or missing.
"""

import argparse
import itertools
import json
import sys
import time
import traceback

import checking
import kernels
import torch
from finals import in_turn
from matmul import Timer

# Tiles, stages, warps.
CONFIGS = {
    "tf32": [
        (128, 256, 32, 3, 8),
        (256, 128, 32, 3, 8),
        (256, 128, 32, 4, 8),
        (128, 128, 32, 4, 4),
        (128, 128, 64, 3, 8),
    ],
    "fp64": [
        (64, 64, 16, 4, 4),
        (64, 64, 32, 3, 4),
        (128, 64, 16, 4, 4),
        (64, 128, 16, 4, 4),
        (128, 128, 16, 3, 8),
        (128, 128, 16, 4, 8),
    ],
}
# How far an element may be off, by the size of its terms.
ALLOWED = {"tf32": 2.0**-9, "fp64": 1e-15}
MOST_BIAS = 2.0**-13


def laid(matrix, order):
    """`matrix` by rows (n) or by columns (t)."""
    return matrix if order == "n" else matrix.t().contiguous().t()


def launch_with(module, a, b, c, settings):
    """A function that launches the kernel of `module` once."""
    config = module.config(*settings)
    return lambda: module.matmul_kernel[module.grid(*c.shape)](
        *module.matmul_arguments(a, b, c), ACTIVATION="", **config.all_kwargs()
    )


def fastest(module, a, b, c, timer, configs):
    """The fastest configuration and its launch."""
    times = {}
    for settings in configs:
        try:
            times[settings] = timer.median(launch_with(module, a, b, c, settings))
        except Exception as error:
            print(f"  {module.PACKAGE} {settings}: {str(error)[:120]}", flush=True)
    best = min(times, key=times.get)
    return best, launch_with(module, a, b, c, best)


def check(a, b, c, allowed):
    """Raise unless each element is within `allowed` of the size of its terms; return the worst error."""
    reference = a.double() @ b.double()
    size = a.double().abs() @ b.double().abs()
    worst = ((c - reference).abs() / size).nan_to_num(nan=float("inf")).max().item()
    if worst > allowed:
        raise AssertionError(f"an element is off by {worst:.1e} of the size of its terms")
    return worst


def measure(module_of, size, orders, options):
    """One row."""
    torch.manual_seed(size)
    dtype = torch.float64 if options.dtype == "fp64" else torch.float32
    a, b = (laid(torch.randn(size, size, dtype=dtype, device="cuda"), order) for order in orders)
    c, buffer = checking.guarded(size, size, dtype)
    quick, timer = Timer(1.5, least=3, most=30), Timer(options.budget_ms, least=5)
    launches = {"cublas": lambda: torch.matmul(a, b, out=c)}
    row = {
        "dtype": options.dtype,
        "size": size,
        "orders": orders,
        "configs": {},
        "errors": {},
        "failures": {},
    }
    for package, module in module_of.items():
        try:
            best, launch = fastest(module, a, b, c, quick, CONFIGS[options.dtype])
            c.fill_(float("nan"))
            launch()
            row["errors"][package] = check(a, b, c, ALLOWED[options.dtype])
            checking.check_guards(buffer)
            launches[package], row["configs"][package] = launch, best
        except Exception as error:
            row["failures"][package] = f"{type(error).__name__}: {error}"[:300]
            traceback.print_exc()
    times = in_turn(launches, timer, options.rounds, pause=0.01)
    row["tflops"] = {name: 2e-9 * size**3 / ms for name, ms in times.items()}
    return row


def bias(module, orders, settings):
    """The mean relative error of products of positive operands."""
    a, b = (laid(1 + torch.rand(512, 512, device="cuda"), order) for order in orders)
    c = torch.empty(512, 512, device="cuda")
    launch_with(module, a, b, c, settings)()
    return (c / (a.double() @ b.double()) - 1).mean().item()


def show(row):
    """The row as a string."""
    nan = float("nan")
    cublas, triton, ours = (row["tflops"].get(n, nan) for n in ("cublas", "triton", "pantile"))
    print(
        f"{row['dtype']} {row['orders']} {row['size']:5d}  cublas {cublas:6.1f}  triton {triton:6.1f}  ours"
        f" {ours:6.1f}  /cublas {ours / cublas:.3f}  /triton {ours / triton:.3f}"
        f"  {row['configs'].get('pantile')}  error {row['errors'].get('pantile', nan):.1e}",
        flush=True,
    )


def main():
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtype", choices=CONFIGS, default="tf32")
    parser.add_argument("--sizes", type=int, nargs="+", default=[2048, 4096, 8192])
    parser.add_argument("--orders", nargs="+", default=["nn", "nt", "tn"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget-ms", type=float, default=8.0)
    parser.add_argument("--minutes", type=float, default=0.9)
    parser.add_argument("--json")
    options = parser.parse_args()
    begin = time.monotonic()
    torch.backends.cuda.matmul.allow_tf32 = True
    modules = {}
    for name in ("triton", "pantile"):
        try:
            modules[name] = kernels.load(name)
        except ImportError as missing:
            print(f"without {name}: {missing}")
    print(f"=== table: {options.dtype} products, TFLOP/s, {torch.cuda.get_device_name()}")
    failed = False
    for orders in options.orders if options.dtype == "tf32" else ():
        mean = bias(modules["pantile"], orders, CONFIGS["tf32"][0])
        failed |= abs(mean) > MOST_BIAS
        print(f"tf32 {orders}: mean relative error of positive products {mean:+.1e}", flush=True)
    rows = []
    for size, orders in itertools.product(options.sizes, options.orders):
        if time.monotonic() - begin > 60 * options.minutes:
            print(f"no time for {orders} {size}")
            continue
        rows.append(measure(modules, size, orders, options))
        show(rows[-1])
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 1 if failed or any("pantile" in row["failures"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
