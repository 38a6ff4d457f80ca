"""Kernels under NVIDIA's compute-sanitizer: five that must be clean, two that must be caught.

Without an argument, runs each case below it with memcheck or racecheck and prints a table; with
`--case NAME`, runs that case in this process. torch allocates without caching, so that every
buffer has its exact size.
"""

import argparse
import os
import subprocess
import sys

TIMEOUT_S = 280


def gemm(m, n, k, config, **options):
    """The bare GEMM at a size that its tiles divide."""
    import checking
    import kernels
    import torch

    torch.manual_seed(0)
    a = torch.randn(m, k, dtype=torch.float16).cuda()
    b = torch.randn(k, n, dtype=torch.float16).cuda()
    c = torch.full((m, n), float("nan"), dtype=torch.float16).cuda()
    bm, bn, bk, stages, warps = config
    kernels.matmul_kernel[kernels.grid(m, n)](
        *kernels.matmul_arguments(a, b, c),
        BLOCK_SIZE_M=bm, BLOCK_SIZE_N=bn, BLOCK_SIZE_K=bk, GROUP_SIZE_M=8, ACTIVATION="leaky_relu",
        num_stages=stages, num_warps=warps, **options,
    )  # fmt: skip
    torch.cuda.synchronize()
    checking.check_product(a.cpu(), b.cpu(), c.cpu(), "leaky_relu")


def masked(m, n, k):
    """The masked GEMM at an odd size, in buffers that end where the matrices do."""
    import checking
    import kernels
    import torch

    torch.manual_seed(0)
    a = torch.randn(m, k, dtype=torch.float16).cuda()
    b = torch.randn(k, n, dtype=torch.float16).cuda()
    c = torch.full((m, n), float("nan"), dtype=torch.float16).cuda()
    grid = (kernels.triton.cdiv(m, 64), kernels.triton.cdiv(n, 64))
    kernels.masked_matmul_kernel[grid](a, b, c, m, n, k, k, n, n, 64, 64, 32)
    torch.cuda.synchronize()
    checking.check_product(a.cpu(), b.cpu(), c.cpu())


def overrun():
    """Planted: a store beyond the buffer."""
    import kernels
    import torch

    x = torch.zeros(1000, device="cuda")
    kernels.overrun_kernel[(1,)](x, 1000, BLOCK=1024)
    torch.cuda.synchronize()


def missing_barriers():
    """Planted: the barriers between uses of one scratch buffer are left out."""
    import kernels
    import torch

    x, y = torch.rand(64, 1024).cuda(), torch.empty(1024).cuda()
    kernels.sums_kernel[(1,)](
        x, y, 64, BLOCK=1024, num_warps=8, disabled_passes="nv-insert-barriers"
    )
    torch.cuda.synchronize()


def with_barriers():
    """The same kernel as it is."""
    import kernels
    import torch

    x, y = torch.rand(64, 1024).cuda(), torch.empty(1024).cuda()
    kernels.sums_kernel[(1,)](x, y, 64, BLOCK=1024, num_warps=8)
    torch.cuda.synchronize()


CASES = {
    "wgmma 128x256x64": lambda: gemm(256, 512, 256, (128, 256, 64, 3, 8)),
    # 144 programs on 132 SMs that hold one CTA each
    "persistent 128x128x64": lambda: gemm(1536, 1536, 64, (128, 128, 64, 3, 8)),
    "mma.sync 64x32x32": lambda: gemm(128, 64, 128, (64, 32, 32, 5, 2)),
    "masked 131x77x53": lambda: masked(131, 77, 53),
    "copy engine's results": lambda: gemm(
        1536, 1536, 64, (128, 128, 64, 3, 8), enabled_passes="nv-tma-stores"
    ),
    "programs cut between blocks": lambda: gemm(
        256, 384, 4096, (128, 128, 64, 3, 8), enabled_passes="nv-stream-k"
    ),
    "sums with barriers": with_barriers,
    "planted overrun": overrun,
    "planted missing barriers": missing_barriers,
}
# (case, tool, whether the tool must report something)
RUNS = [
    *[(case, tool, False) for case in list(CASES)[:6] for tool in ("memcheck", "racecheck")],
    ("sums with barriers", "racecheck", False),
    ("planted overrun", "memcheck", True),
    ("planted missing barriers", "racecheck", True),
]


def run_case(case, tool):
    """Run one case below the sanitizer; return what it found and the end of its output."""
    command = ["compute-sanitizer", f"--tool={tool}", "--error-exitcode=97", "--print-limit=5"]
    command += [sys.executable, __file__, "--case", case]
    environment = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        return "timed out", ""
    output = done.stdout + done.stderr
    if done.returncode == 97:
        return "reported", output
    return ("clean" if done.returncode == 0 else f"exit status {done.returncode}"), output


def main():
    """Run all, or one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", choices=CASES)
    arguments = parser.parse_args()
    if arguments.case:
        CASES[arguments.case]()
        return 0
    rows = []
    for case, tool, must_report in RUNS:
        found, output = run_case(case, tool)
        right = found == ("reported" if must_report else "clean")
        rows.append((case, tool, found, "ok" if right else "WRONG"))
        print(f"--- {case}, {tool}: {found}\n{output[-3000:]}", flush=True)
    print("=== table: compute-sanitizer")
    for case, tool, found, verdict in rows:
        print(f"{case:26} {tool:10} {found:16} {verdict}")
    return int(any(row[-1] == "WRONG" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
