"""Attention whose rounded weights are used twice, relative to the plain one, in Pantile and in Triton.

An MMA reads the rounded weights from registers while the next ones are computed, so a second use of
them asks for registers of its own; an assembler that cannot follow it serialises every MMA.

Usage: rounded.py [--rounds 7] [--budget-ms 10] [--json FILE]
Gives: for each shape TFLOP/s of both kernels in both packages, medians of interleaved rounds, and
       rounded over plain. Every result is compared with float64 first, on its first head.
"""

import argparse
import importlib
import importlib.util
import json
import math
from pathlib import Path

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
tl = importlib.import_module(PACKAGE + ".language")

# heads, length, depth, BM, BN, warps, stages
SHAPES = [
    (64, 4096, 64, 64, 64, 4, 3),
    (64, 4096, 64, 128, 64, 4, 3),
    (64, 4096, 64, 128, 128, 8, 2),
    (64, 4096, 128, 128, 64, 8, 3),
    (64, 4096, 128, 128, 128, 8, 2),
]


@triton.jit
def attention(q, k, v, out, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, ROUNDED: tl.constexpr):  # fmt: skip
    """Without a mask; sums of the weights as they are, or as they were rounded."""
    head = tl.program_id(1) * n * D
    rows, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    queries = tl.load(q + head + rows[:, None] * D + d[None, :])
    acc = tl.zeros((BM, D), tl.float32)
    largest = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    for start in range(0, n, BN):
        cols = start + tl.arange(0, BN)
        keys = tl.load(k + head + cols[:, None] * D + d[None, :])
        scores = tl.dot(queries, tl.trans(keys)) * scale
        now = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp2(scores - now[:, None])
        shrink = tl.exp2(largest - now)
        rounded = weights.to(tl.float16)
        if ROUNDED:
            total = total * shrink + tl.sum(rounded.to(tl.float32), 1)
        else:
            total = total * shrink + tl.sum(weights, 1)
        values = tl.load(v + head + cols[:, None] * D + d[None, :])
        acc = tl.dot(rounded, values, acc * shrink[:, None])
        largest = now
    tl.store(out + head + rows[:, None] * D + d[None, :], acc / total[:, None])


def load(package):
    """This file once more, with its kernel belonging to `package`."""
    spec = importlib.util.spec_from_file_location(f"rounded_of_{package}", __file__)
    module = importlib.util.module_from_spec(spec)
    module.PACKAGE = package
    spec.loader.exec_module(module)
    return module


def launches_of(torch, shape):
    """By package and kernel what launches it, after a comparison with float64."""
    heads, n, depth, BM, BN, warps, stages = shape
    q, k, v = (torch.randn(heads, n, depth, dtype=torch.float16, device="cuda") for _ in range(3))
    scale = 1.4426950408889634 / math.sqrt(depth)
    scores = q[0].double() @ k[0].double().T / math.sqrt(depth)
    exact = torch.softmax(scores, 1) @ v[0].double()
    launches = {}
    for package in ("pantile", "triton"):
        module = load(package)
        for kernel in ("plain", "rounded"):
            out = torch.full((heads, n, depth), float("nan"), device="cuda")

            def launch(module=module, out=out, is_rounded=kernel == "rounded"):
                module.attention[(n // BM, heads)](
                    q, k, v, out, n, scale, BM=BM, BN=BN, D=depth, ROUNDED=is_rounded,
                    num_warps=warps, num_stages=stages,
                )  # fmt: skip

            launch()
            error = (out[0].double() - exact).norm() / exact.norm()
            assert error < 2e-3 and not out.isnan().any(), (package, kernel, float(error))
            launches[package, kernel] = launch
    return launches


def main():
    """All shapes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--budget-ms", type=float, default=10)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    import torch
    from finals import in_turn
    from matmul import Timer

    rows = []
    for shape in SHAPES:
        times = in_turn(launches_of(torch, shape), Timer(arguments.budget_ms), arguments.rounds)
        operations = 4 * shape[0] * shape[1] ** 2 * shape[2]
        speeds = {" ".join(key): operations / ms * 1e-9 for key, ms in times.items()}
        ratio = speeds["pantile rounded"] / speeds["pantile plain"]
        rows.append({"shape": shape, "TFLOP/s": speeds, "rounded over plain": ratio})
        listed = "  ".join(f"{name} {speed:.0f}" for name, speed in speeds.items())
        print(f"{shape}: {listed}  rounded over plain {ratio:.3f}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
