"""Registers per thread that plans predict, and those that ptxas takes, for the kernels of the benchmarks.

No GPU is needed, only an assembler. The kernels are matmul.py's and attention.py's with their
configurations; `rows` compiles them.

Usage: plan_registers.py [--json FILE] [--targets 90 80]
Gives: a line per kernel and the largest errors of each group; in the file the rows of all.
"""

import argparse
import itertools
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import attention_kernels
import kernels
from attention_kernels import BACKWARD, FORWARD
from pantile.compiler.compiler import ASTSource, GPUTarget, compile
from pantile.runtime.errors import OutOfResources
from plan import read_plan

GIVEN_UP = 8 << 10
POINTER = "*fp16:16"
GEMM = {
    **dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), POINTER),
    **dict.fromkeys(("M", "N", "K", "stride_am", "stride_bk", "stride_cm"), "i32:16"),
    **dict.fromkeys(("stride_ak", "stride_bn", "stride_cn"), "i32:1"),
}
ATTENTION = {
    **dict.fromkeys(("Q", "K", "V", "O", "dO", "dQ", "dK", "dV"), POINTER),
    **dict.fromkeys(("LSE", "Delta"), "*fp32:16"),
    **dict.fromkeys(("stride_head", "stride_row", "stride", "N"), "i32:16"),
    "scale": "fp32",
}


def compiled(function, types, constants, arch, options):
    """The kernel for sm_`arch`, or None where it does not fit; `types` as `pantilec` spells them."""
    signature, attrs, constants = {}, {}, dict(constants)
    for i, name in enumerate(function.arg_names):
        kind, _, divisor = types.get(name, "constexpr").partition(":")
        if divisor == "1":
            kind, constants[name] = "constexpr", 1
        elif divisor:
            attrs[i,] = [["tt.divisibility", int(divisor)]]
        signature[name] = kind
    source = ASTSource(function, signature, constants, attrs)
    options = {"launch_abi": "full", **options}
    try:
        return compile(source, target=GPUTarget("cuda", arch, 32), options=options)
    except OutOfResources:
        return None


def gemms():
    """(name, function, types, constants, options) of each configuration of the GEMM."""
    for config in [*kernels.tutorial_configs(), *kernels.larger_configs()]:
        constants = {**config.kwargs, "ACTIVATION": ""}
        options = {"num_stages": config.num_stages, "num_warps": config.num_warps}
        shape = "x".join(str(config.kwargs[f"BLOCK_SIZE_{axis}"]) for axis in "MNK")
        name = f"{shape} {config.num_stages} stages {config.num_warps} warps"
        yield name, kernels.matmul_kernel, GEMM, constants, options


def attention(configs, function, constants_of):
    """The same of attention, with and without a mask."""
    for head, causal in itertools.product(configs, (0, 1)):
        for m, n, stages, warps in configs[head]:
            constants = {"HEAD": head, "CAUSAL": causal, **constants_of(m, n)}
            options = {"num_stages": stages, "num_warps": warps}
            name = f"d={head} causal={causal} {m}x{n} {stages} stages {warps} warps"
            yield name, function, ATTENTION, constants, options


def forward_blocks(m, n):
    return {"BLOCK_M": m, "BLOCK_N": n}


def backward_blocks(m, n):
    return {"BLOCK_M1": m, "BLOCK_N1": n, "BLOCK_M2": n, "BLOCK_N2": m, "SLICES": 2}


GROUPS = {
    "product": gemms,  # as recorded tables name it
    "forward": lambda: attention(FORWARD, attention_kernels.pointer_kernel, forward_blocks),
    "backward": lambda: attention(BACKWARD, attention_kernels.backward_kernel, backward_blocks),
}


def rows(group, arch, every=1):
    """What plans predict and ptxas takes, of every `every`th kernel of the group that fits."""
    result = []
    for name, *parts in itertools.islice(GROUPS[group](), 0, None, every):
        function, types, constants, options = parts
        if kernel := compiled(function, types, constants, arch, options):
            plan = read_plan(kernel.plan)
            result.append(
                {"group": group, "arch": arch, "kernel": name, "predicted": plan.registers,
                 "assembled": plan.assembled, "spilled": plan.spilled, "ctas": plan.ctas}
            )  # fmt: skip
    return result


def errors(table):
    """The smallest and the largest of predicted over assembled, less 1.

    Kernels of which ptxas spills more than `GIVEN_UP` bytes are left out: it gives them 32 registers.
    """
    kept = [row for row in table if row["spilled"] <= GIVEN_UP]
    shares = [row["predicted"] / row["assembled"] - 1 for row in kept]
    return min(shares), max(shares)


def main():
    """Compile all, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json")
    parser.add_argument("--targets", type=int, nargs="+", default=[90, 80])
    arguments = parser.parse_args()
    everything = []
    for arch, group in itertools.product(arguments.targets, GROUPS):
        table = rows(group, arch)
        for row in table:
            print(
                f"sm_{arch} {group} {row['kernel']:<44} predicted {row['predicted']:>3}"
                f" assembled {row['assembled']:>3} spilled {row['spilled']:>4}"
            )
        least, most = errors(table)
        given_up = sum(row["spilled"] > GIVEN_UP for row in table)
        print(
            f"sm_{arch} {group}: {least:+.0%} to {most:+.0%} of {len(table)} kernels"
            f" without {given_up} that ptxas gave up",
            flush=True,
        )
        everything += table
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            file.write("[\n" + ",\n".join(json.dumps(row) for row in everything) + "\n]\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
