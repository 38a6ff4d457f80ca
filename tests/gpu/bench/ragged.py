"""GEMMs with data-dependent rows, ends or matrices, and modulo-wrapped indices whose rows are all used.

From one source: Pantile as it is, Pantile without a producer warp (`nv-specialise-warps`), and
Triton. Consecutive groups of rows, a matrix for each tile of rows, attention over
sequences of any length, and a GEMM whose rows wrap around and are all stored.

Usage: ragged.py [--of grouped experts varlen wrapped] [--rounds 5] [--budget-ms 15]
Gives: for each kernel and tile TFLOP/s of the three, medians of interleaved rounds.
       Every result is compared with float64 first.
"""

import argparse
import importlib
import statistics

PACKAGE = globals().get("PACKAGE", "pantile")
triton = importlib.import_module(PACKAGE)
tl = importlib.import_module(PACKAGE + ".language")


@triton.jit
def grouped(a, b, c, starts, N, K, sam, sbg, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """Group g has the rows from starts[g] to starts[g + 1], and a matrix of its own."""
    g = tl.program_id(2)
    start = tl.load(starts + g)
    end = tl.load(starts + g + 1)
    first = start + tl.program_id(1) * BM
    if first >= end:
        return
    rows = first + tl.arange(0, BM)
    cols = tl.program_id(0) * BN + tl.arange(0, BN)
    deep = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * sam + (k + deep)[None, :], mask=(rows[:, None] < end) & (k + deep[None, :] < K), other=0.0)  # fmt: skip
        y = tl.load(b + g * sbg + (k + deep)[:, None] * sbk + cols[None, :], mask=(k + deep[:, None] < K) & (cols[None, :] < N), other=0.0)  # fmt: skip
        acc = tl.dot(x, y, acc)
    mask = (rows[:, None] < end) & (cols[None, :] < N)
    tl.store(c + rows[:, None] * scm + cols[None, :], acc.to(tl.float16), mask=mask)


@triton.jit
def experts(a, b, c, table, M, N, K, sam, sbe, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """Each block of rows asks for its matrix."""
    expert = tl.load(table + tl.program_id(1))
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    cols = tl.program_id(0) * BN + tl.arange(0, BN)
    deep = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * sam + (k + deep)[None, :], mask=(rows[:, None] < M) & (k + deep[None, :] < K), other=0.0)  # fmt: skip
        y = tl.load(b + expert * sbe + (k + deep)[:, None] * sbk + cols[None, :], mask=(k + deep[:, None] < K) & (cols[None, :] < N), other=0.0)  # fmt: skip
        acc = tl.dot(x, y, acc)
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c + rows[:, None] * scm + cols[None, :], acc.to(tl.float16), mask=mask)


@triton.jit
def varlen(q, k, v, out, starts, scale, H: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):  # fmt: skip
    """Attention within sequences that stand one after the other, as (tokens, H, D)."""
    start = tl.load(starts + tl.program_id(2))
    length = tl.load(starts + tl.program_id(2) + 1) - start
    head = tl.program_id(1)
    first = tl.program_id(0) * BM
    if first >= length:
        return
    rows, d = first + tl.arange(0, BM), tl.arange(0, D)
    at_rows = (start + rows)[:, None] * (H * D) + head * D + d[None, :]
    queries = tl.load(q + at_rows, mask=rows[:, None] < length, other=0.0)
    largest = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for n in range(0, length, BN):
        cols = n + tl.arange(0, BN)
        keys = tl.load(k + (start + cols)[None, :] * (H * D) + head * D + d[:, None], mask=cols[None, :] < length, other=0.0)  # fmt: skip
        scores = tl.dot(queries, keys) * (scale * 1.4426950408889634)
        scores = tl.where(cols[None, :] < length, scores, float("-inf"))
        now = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp2(scores - now[:, None])
        shrink = tl.exp2(largest - now)
        values = tl.load(v + (start + cols)[:, None] * (H * D) + head * D + d[None, :], mask=cols[:, None] < length, other=0.0)  # fmt: skip
        acc = tl.dot(weights.to(tl.float16), values, acc * shrink[:, None])
        total = total * shrink + tl.sum(weights, 1)
        largest = now
    result = (acc / total[:, None]).to(tl.float16)
    tl.store(out + at_rows, result, mask=rows[:, None] < length)


@triton.jit
def wrapped(a, b, c, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    """C = A B without a mask on C: M is a multiple of the block."""
    rows = (tl.program_id(1) * BM + tl.arange(0, BM)) % M
    cols = (tl.program_id(0) * BN + tl.arange(0, BN)) % N
    deep = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * sam + (k + deep)[None, :])
        y = tl.load(b + (k + deep)[:, None] * sbk + cols[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * scm + cols[None, :], acc.to(tl.float16))


BLOCKS = [(128, 256, 64, 3, 8), (128, 128, 64, 4, 4)]
ATTENTION_BLOCKS = [(128, 64, 0, 3, 4), (128, 128, 0, 2, 8)]


def halves(torch, *shape):
    return torch.randn(*shape, dtype=torch.float16, device="cuda")


def starts_of(torch, count, least, most, seed):
    """Lengths between two bounds, added up."""
    lengths = torch.randint(least, most, (count,), generator=torch.Generator().manual_seed(seed))
    return torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)]).to(torch.int32)


def prepare_grouped(torch):
    """8 groups of 500 to 4000 rows."""
    starts = starts_of(torch, 8, 500, 4000, 1)
    M, N, K = int(starts[-1]), 4096, 4096
    a, b, c = halves(torch, M, K), halves(torch, 8, K, N), halves(torch, M, N)
    ends = starts.tolist()
    tallest = int(starts.diff().max())
    table = starts.cuda()

    def launch(module, block, options):
        BM, BN, BK, stages, warps = block
        grid = (triton.cdiv(N, BN), triton.cdiv(tallest, BM), 8)
        module.grouped[grid](a, b, c, table, N, K, K, K * N, N, N, BM=BM, BN=BN, BK=BK, num_stages=stages, num_warps=warps, **options)  # fmt: skip

    def pairs():
        return [
            (c[s:e], a[s:e].double() @ b[g].double())
            for g, (s, e) in enumerate(zip(ends, ends[1:]))
        ]

    return BLOCKS, launch, pairs, c, 2 * M * N * K


def prepare_experts(torch):
    """16384 rows, 32 matrices."""
    M, N, K = 16384, 4096, 2048
    a, b, c = halves(torch, M, K), halves(torch, 32, K, N), halves(torch, M, N)
    table = torch.randint(0, 32, (M // 128,), dtype=torch.int32, device="cuda")

    def launch(module, block, options):
        BM, BN, BK, stages, warps = block
        grid = (triton.cdiv(N, BN), triton.cdiv(M, BM))
        module.experts[grid](a, b, c, table, M, N, K, K, K * N, N, N, BM=BM, BN=BN, BK=BK, num_stages=stages, num_warps=warps, **options)  # fmt: skip

    def pairs():
        return [
            (c[i : i + 128], a[i : i + 128].double() @ b[table[i // 128]].double())
            for i in range(0, M, 128)
        ]

    return BLOCKS, launch, pairs, c, 2 * M * N * K


def prepare_varlen(torch):
    """16 sequences of 200 to 4000 tokens, 16 heads of 128."""
    starts = starts_of(torch, 16, 200, 4000, 2)
    H, D = 16, 128
    q, k, v, out = (halves(torch, int(starts[-1]), H, D) for _ in range(4))
    ends, table = starts.tolist(), starts.cuda()
    longest = int(starts.diff().max())

    def launch(module, block, options):
        BM, BN, _, stages, warps = block
        grid = (triton.cdiv(longest, BM), H, 16)
        module.varlen[grid](q, k, v, out, table, D**-0.5, H=H, D=D, BM=BM, BN=BN, num_stages=stages, num_warps=warps, **options)  # fmt: skip

    def pairs():
        for s, e in zip(ends, ends[1:]):
            x, y, z = (tensor[s:e].double().transpose(0, 1) for tensor in (q, k, v))
            scores = (x @ y.transpose(1, 2) * D**-0.5).softmax(-1)
            yield out[s:e], (scores @ z).transpose(0, 1)

    flops = 4 * H * D * int((starts.diff().long() ** 2).sum())
    return ATTENTION_BLOCKS, launch, pairs, out, flops


def prepare_wrapped(torch):
    """4096 in all directions."""
    size = 4096
    a, b, c = (halves(torch, size, size) for _ in range(3))

    def launch(module, block, options):
        BM, BN, BK, stages, warps = block
        grid = (size // BN, size // BM)
        module.wrapped[grid](a, b, c, size, size, size, size, size, size, BM=BM, BN=BN, BK=BK, num_stages=stages, num_warps=warps, **options)  # fmt: skip

    return BLOCKS, launch, lambda: [(c, a.double() @ b.double())], c, 2 * size**3


PREPARE = {
    "grouped": prepare_grouped,
    "experts": prepare_experts,
    "varlen": prepare_varlen,
    "wrapped": prepare_wrapped,
}


def check(pairs, rtol=2e-3, atol=2e-2):
    """Raise unless all elements are near their float64 values."""
    for have, want in pairs:
        share = ((have.double() - want).abs() / (atol + rtol * want.abs())).nan_to_num(float("inf"))
        if share.max() > 1:
            raise AssertionError(f"an element is off by {share.max().item():.2f} times the bound")


def measure(name, modules, arguments):
    """A line for each tile."""
    import torch
    from matmul import Timer

    timer = Timer(arguments.budget_ms, least=5)
    blocks, launch, pairs, out, flops = PREPARE[name](torch)
    for block in blocks:
        contestants = {
            "ours": (modules["pantile"], {}),
            "without": (modules["pantile"], {"disabled_passes": "nv-specialise-warps"}),
            "triton": (modules["triton"], {}),
        }
        for module, options in contestants.values():
            out.fill_(float("nan"))
            launch(module, block, options)
            check(pairs())
        times = {contestant: [] for contestant in contestants}
        for number in range(arguments.rounds):
            order = list(contestants)
            for contestant in order if number % 2 == 0 else reversed(order):
                module, options = contestants[contestant]
                times[contestant].append(timer.median(lambda: launch(module, block, options)))
        speed = {c: 1e-9 * flops / statistics.median(values) for c, values in times.items()}
        print(
            f"{name:8} {'x'.join(map(str, block[:3])):12} {block[3]} stages {block[4]} warps: "
            + ", ".join(f"{c} {value:.1f}" for c, value in speed.items())
            + f" TFLOP/s; {speed['ours'] / speed['without']:.2f} times without,"
            f" {speed['ours'] / speed['triton']:.2f} times Triton",
            flush=True,
        )


def main():
    """Measure what was asked for."""
    import kernels

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--of", nargs="*", default=list(PREPARE), choices=list(PREPARE))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget-ms", type=float, default=15)
    arguments = parser.parse_args()
    modules = {package: kernels.load(package, __file__) for package in ("pantile", "triton")}
    for name in arguments.of:
        measure(name, modules, arguments)


if __name__ == "__main__":
    main()
