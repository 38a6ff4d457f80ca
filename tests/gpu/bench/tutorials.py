"""The tutorials relative to Triton's: our source on Pantile, our source on Triton, Triton's tutorials.

Each result is compared with float64 before it is timed. Then the contestants of a point run
interleaved, each measurement being the median of single launches with a cold L2; the table has
the medians of the rounds, and ours as a share of each peer: `/same` of our source on Triton, `/tutorial`
of Triton's tutorial.

Usage: tutorials.py [01 02 04 05 06 07] [--rounds 5] [--depths 64 128] [--lengths 1024 4096]
                    [--causal 0 1] [--quick] [--explore] [--json FILE]
`--quick` takes every third point. `--explore` times ours with other launch options, where there are
some to choose.
"""

import argparse
import importlib.util
import itertools
import json
import os
import sys
import tempfile
from pathlib import Path

import torch
import tutorial_peers as peers
from finals import final, in_turn
from matmul import Timer

TUTORIALS = Path(__file__).resolve().parents[3] / "tutorials"
FOLDER = Path(tempfile.mkdtemp())
CONFIGS = {
    64: [(64, 64, 3, 4), (128, 128, 3, 8), (128, 64, 3, 8)],
    128: [(128, 64, 3, 8), (128, 128, 2, 8), (128, 128, 3, 8), (64, 64, 3, 4)],
}
PAUSE = 0.03  # of a card that products have brought to its limit of power


def load(number, package):
    """The tutorial as a module, on `package`."""
    path = next(TUTORIALS.glob(f"{number}-*.py"))
    text = path.read_text(encoding="utf-8")
    if package == "triton":
        text = text.replace("import pantile as triton", "import triton")
        text = text.replace("pantile.language", "triton.language")
    copy = FOLDER / f"{package}_{number}.py"
    copy.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(copy.stem, copy)
    module = importlib.util.module_from_spec(spec)
    sys.modules[copy.stem] = module
    spec.loader.exec_module(module)
    return module


def both(number):
    """The tutorial on both compilers, by the names of the table."""
    return {"ours": load(number, "pantile"), "same": load(number, "triton")}


def compare(results, references, bound):
    """Raise unless each result is within `bound` of the largest of its float64 values."""
    for result, reference in zip(results, references):
        worst = (result.double() - reference).abs().max() / reference.abs().max()
        if not worst <= bound:
            raise AssertionError(f"off by {worst:.1e} of the largest")


class Point:
    """One row of a table: a size, its work in `unit`s, its contestants with their checks, and the
    seconds that the card rests before it measures one."""

    def __init__(self, table, size, work, unit="GB/s", pause=0.0):
        self.table, self.size, self.work, self.unit = table, size, work, unit
        self.pause = pause
        self.launches, self.failures = {}, {}

    def add(self, name, launch, check=None):
        """Enter a contestant; one that fails or is wrong is left out, and said to be."""
        try:
            result = launch()
            if check:
                check(result)
            self.launches[name] = launch
        except Exception as error:
            self.failures[name] = f"{name}: {type(error).__name__}: {error}"[:160]

    def measure(self, timer, rounds):
        """Medians of the rounds, and the row for the file."""
        times = in_turn(self.launches, timer, rounds, self.pause)
        return {
            "table": self.table,
            "size": self.size,
            "unit": self.unit,
            "rates": {name: self.work / times[name] for name in times},
            "failures": list(self.failures.values()),
        }


def vector_add(options):
    modules = both("01")
    for power in options.every(range(12, 28)):
        x, y = (torch.randn(1 << power, device="cuda") for _ in range(2))
        point = Point("vector add", f"2^{power}", 12e-6 * x.numel())
        exact = [x.double() + y.double()]
        for name, module in modules.items():
            point.add(name, lambda m=module: m.add(x, y), lambda r: compare([r], exact, 1e-7))
        point.add("tutorial", lambda: peers.add(x, y))
        point.add("torch", lambda: x + y)
        yield point


def softmax(options):
    modules = both("02")
    for n in options.every([128 * i for i in range(2, 100, 4)]):
        x = torch.randn(4096, n, device="cuda")
        point = Point("softmax, 4096 rows", n, 8e-6 * x.numel())
        exact = [torch.softmax(x.double(), 1)]
        check = lambda r, e=exact: compare([r], e, 1e-5)
        for name, module in modules.items():
            point.add(name, lambda m=module, x=x: m.softmax(x), check)
        point.add("tutorial", lambda x=x: peers.softmax(x), check)
        point.add("torch", lambda x=x: torch.softmax(x, 1))
        if options.explore:
            kernel, block = modules["ours"].softmax_kernel, 1 << (n - 1).bit_length()
            for rows, warps in itertools.product((1, 2, 4, 8), (1, 2, 4, 8, 16)):
                if 512 <= rows * block <= 16384 and 4 <= rows * block // (32 * warps) <= 64:
                    run = lambda x=x, n=n, r=rows, w=warps, b=block: kernel[(4096 // r,)](
                        torch.empty_like(x), x, n, n, 4096, n, ROWS=r, BLOCK_SIZE=b, num_warps=w
                    )
                    point.add(f"r{rows}w{warps}", run)
        yield point


def dropout(options):
    modules = both("04")
    for power in options.every(range(16, 28)):
        x = torch.randn(1 << power, device="cuda")
        point = Point("dropout", f"2^{power}", 8e-6 * x.numel())
        expected = peers.dropout(x, 0.5, 123)

        def check(result, expected=expected):
            # The same seed drops the same elements, whoever compiled.
            if not torch.equal(result, expected):
                raise AssertionError("the mask is not Triton's")

        for name, module in modules.items():
            point.add(name, lambda m=module, x=x: m.seeded_dropout(x, 0.5, 123), check)
        point.add("tutorial", lambda x=x: peers.dropout(x, 0.5, 123))
        point.add("rand4x", lambda x=x: modules["ours"].fast_dropout(x, 0.5, 123))
        point.add("rand4x on Triton", lambda x=x: modules["same"].fast_dropout(x, 0.5, 123))
        point.add("torch", lambda x=x: torch.nn.functional.dropout(x, 0.5))
        yield point


def norm_reference(x, w, b, dy, eps=1e-5):
    """y, dx, dw, db in float64."""
    x, w, b, dy = (part.double() for part in (x, w, b, dy))
    mean, rstd = x.mean(1, keepdim=True), (x.var(1, keepdim=True, unbiased=False) + eps).rsqrt()
    h, wdy = (x - mean) * rstd, w * dy
    along, level = (h * wdy).mean(1, keepdim=True), wdy.mean(1, keepdim=True)
    return h * w + b, (wdy - h * along - level) * rstd, (dy * h).sum(0), dy.sum(0)


def layer_norm(options):
    modules = both("05")
    for n in options.every([512 * i for i in range(2, 32)]):
        x, dy = (torch.randn(4096, n, dtype=torch.float16, device="cuda") for _ in range(2))
        w, b = (torch.randn(n, dtype=torch.float16, device="cuda") for _ in range(2))
        y, *gradients = norm_reference(x, w, b, dy)
        forward = Point("layer norm forward, 4096 rows", n, 4e-6 * x.numel())
        backward = Point("layer norm backward, 4096 rows", n, 6e-6 * x.numel())
        _, mean, rstd = peers.norm(x, w, b)
        right = lambda r, e=y: compare(r[:1], [e], 2e-3)
        right_gradients = lambda r, e=gradients: compare(r, e, 1e-2)
        saved = (dy, x, w, mean, rstd)
        for name, module in modules.items():
            forward.add(name, lambda m=module, a=(x, w, b): m.layer_norm_forward(*a), right)
            run = lambda m=module, a=saved: m.layer_norm_backward(*a)
            backward.add(name, run, right_gradients)
        forward.add("tutorial", lambda a=(x, w, b): peers.norm(*a), right)
        backward.add("tutorial", lambda a=saved: peers.norm_gradients(*a), right_gradients)
        torch_norm = torch.nn.functional.layer_norm
        forward.add("torch", lambda x=x, n=n, w=w, b=b: torch_norm(x, (n,), w, b))
        native = torch.ops.aten.native_layer_norm_backward
        shaped = (mean[:, None], rstd[:, None], w, b, [True, True, True])
        backward.add("torch", lambda x=x, dy=dy, n=n, s=shaped: native(dy, x, [n], *s))
        if options.explore:
            kernel = modules["ours"].forward_kernel
            for warps in (2, 4, 8, 16, 32):
                block = 1 << (n - 1).bit_length()
                run = lambda x=x, w=w, b=b, n=n, k=warps, s=block: kernel[(4096,)](
                    x, torch.empty_like(x), w, b, mean, rstd, n, n, 1e-5, BLOCK_SIZE=s, num_warps=k
                )
                forward.add(f"w{warps}", run)
            for per, warps in itertools.product((1, 2, 4), (4, 8, 16)):
                run = lambda a=saved, o=(per, warps): modules["ours"].layer_norm_backward(*a, *o)
                backward.add(f"p{per}w{warps}", run, right_gradients)
        yield from (forward, backward)


def gelu(options):
    modules = both("07")
    for power in options.every(range(16, 28)):
        x = torch.randn(1 << power, device="cuda")
        point = Point("gelu", f"2^{power}", 8e-6 * x.numel())
        exact = [torch.nn.functional.gelu(x.double())]
        check = lambda r, e=exact: compare([r], e, 1e-6)
        for name, module in modules.items():
            point.add(name, lambda m=module, x=x: m.gelu(x), check)
        point.add("torch", lambda x=x: torch.nn.functional.gelu(x))
        yield point


class Attention:
    """Arrays of one shape, and a few heads' results in float64."""

    def __init__(self, depth, length, causal):
        self.heads, self.causal, self.scale = 128, causal, depth**-0.5
        if length > 4096:
            self.heads = 32
        shape = (self.heads, length, depth)
        self.arrays = [torch.randn(shape, dtype=torch.float16, device="cuda") for _ in range(4)]
        self.work = 4e-9 * self.heads * length**2 * depth * (0.5 if causal else 1)
        self.checked = (0, self.heads - 1)
        self.exact = {head: self.reference(head) for head in self.checked}

    def reference(self, head):
        """o, dq, dk, dv of one head."""
        q, k, v, g = (x[head].double() for x in self.arrays)
        s = q @ k.T * self.scale
        if self.causal:
            s.masked_fill_(torch.ones_like(s, dtype=torch.bool).triu_(1), float("-inf"))
        p = torch.softmax(s, 1)
        o = p @ v
        ds = p * (g @ v.T - (g * o).sum(1, keepdim=True)) * self.scale
        return o, ds @ k, ds.T @ q, p.T @ g

    def check(self, results, first):
        """Compare results with the references from number `first` on."""
        for head, exact in self.exact.items():
            compare([r[head] for r in results], exact[first:], 1e-2)


def named(config):
    """A configuration of attention by the tutorial's names."""
    m, n, stages, warps = config
    return {"BLOCK_M": m, "BLOCK_N": n, "num_stages": stages, "num_warps": warps}


def fastest(timer, choices, make, label):
    """The choice whose launch is fastest, in a final of near equals; those that fail are left out."""
    times, launches = {}, {}
    for choice in choices:
        try:
            launches[choice] = make(choice)
            launches[choice]()
            times[choice] = timer.median(launches[choice])
        except Exception as error:
            print(f"  {label} {choice}: {type(error).__name__}: {error}"[:160])
    print(f"  {label}: " + ", ".join(f"{c} {t:.3f} ms" for c, t in times.items()), flush=True)
    if not times:
        return choices[0]
    return final(times, lambda choice, _: launches[choice], timer, finalists=3, count=4)[0]


def tune_attention(modules, a, depth):
    """The best configurations of each contestant: the forward and both backward ones."""
    causal, timer = a.causal, Timer(4.0, least=3)
    q, k, v, g = a.arrays
    rest, best = (causal, a.scale), {}
    make = lambda c: lambda: peers.attention(q, k, v, *rest, c)
    best["tutorial"] = fastest(timer, CONFIGS[depth], make, "tutorial")
    o, lse = peers.attention(q, k, v, *rest, best["tutorial"])
    keys = [(64, 64, 2, 4), (64, 64, 3, 4), (64, 128, 2, 8), (32, 128, 3, 4)]
    queries = [(64, 64, 2, 4), (64, 64, 3, 4), (128, 64, 2, 8), (128, 64, 3, 8)]
    for name, module in modules.items():
        make = lambda c, m=module: lambda: m.attention_forward(q, k, v, *rest, named(c))
        first = fastest(timer, CONFIGS[depth], make, f"{name} forward")
        saved = (g, q, k, v, o, lse, *rest)
        make = lambda c, m=module: lambda: m.attention_backward(*saved, keys=named(c))
        second = fastest(timer, keys, make, f"{name} keys")
        make = lambda c, m=module, s=second: (
            lambda: m.attention_backward(*saved, keys=named(s), queries=named(c))
        )
        best[name] = (first, second, fastest(timer, queries, make, f"{name} queries"))
    return best


def attention(options):
    modules = both("06")
    for depth, causal in itertools.product(options.depths, map(bool, options.causal)):
        for length in options.lengths:
            yield from attention_points(modules, depth, length, causal)


def attention_points(modules, depth, length, causal):
    """Forward and backward of one shape."""
    a = Attention(depth, length, causal)
    best = tune_attention(modules, a, depth)
    q, k, v, g = a.arrays
    rest = (causal, a.scale)
    label = f"d={depth}{' causal' if causal else ''}"
    forward = Point(f"attention forward, {label}", length, a.work, "TFLOP/s", PAUSE)
    backward = Point(f"attention backward, {label}", length, 2.5 * a.work, "TFLOP/s", PAUSE)
    right, right_gradients = lambda r: a.check(r[:1], 0), lambda r: a.check(r, 1)
    o, lse = peers.attention(q, k, v, *rest, best["tutorial"])
    saved = (g, q, k, v, o, lse, *rest)
    for name, module in modules.items():
        first, *pair = map(named, best[name])
        run = lambda m=module, c=first: m.attention_forward(q, k, v, *rest, c)
        forward.add(name, run, right)
        run = lambda m=module, c=pair: m.attention_backward(*saved, *c)
        backward.add(name, run, right_gradients)
    run = lambda: peers.attention(q, k, v, *rest, best["tutorial"])
    forward.add("tutorial", run, right)
    for stages in (5, 3, 2):
        if "tutorial" not in backward.launches:
            run = lambda s=stages: peers.attention_gradients(*saved, s)
            backward.add("tutorial", run, right_gradients)
    library = modules["ours"].library(q, k, v, g, *rest)
    forward.add("torch", library[0])
    backward.add("torch", library[1])
    return forward, backward


def print_row(row):
    """Rates, and the shares."""
    rates = row["rates"]
    cells = ", ".join(f"{name} {rate:.4g}" for name, rate in rates.items())
    shares = " ".join(
        f"/{peer} {rates['ours'] / rates[peer]:.2f}"
        for peer in ("same", "tutorial", "torch")
        if peer in rates and "ours" in rates
    )
    print(f"{row['table']} {row['size']}: {cells} {row['unit']}; {shares}", *row["failures"])
    sys.stdout.flush()


PARTS = {
    "01": vector_add,
    "02": softmax,
    "04": dropout,
    "05": layer_norm,
    "06": attention,
    "07": gelu,
}


def main():
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="part")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget-ms", type=float, default=6.0)
    parser.add_argument("--depths", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--lengths", type=int, nargs="+", default=[1024, 4096, 16384])
    parser.add_argument("--causal", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--explore", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    options.every = lambda points: list(points)[:: -3 if options.quick else -1][::-1]
    torch.manual_seed(0)
    timer, rows = Timer(options.budget_ms, least=5), []
    print(f"=== table: tutorials, {torch.cuda.get_device_name()}")
    for part in options.parts:
        for point in PARTS[part](options):
            rows.append(point.measure(timer, options.rounds))
            print_row(rows[-1])
            if options.json:
                Path(options.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0 if all("ours" in row["rates"] for row in rows) else 1


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "Agg")
    sys.exit(main())
