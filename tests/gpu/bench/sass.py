"""What the machine code of the GEMM has: tensor-core instructions, spills, registers.

Compiles configurations of the tutorial's kernel with pantilec and reads the disassembly.
Usage: sass.py PANTILEC [--target sm_90a]
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

KERNELS = Path(__file__).parents[3] / "tutorials/03-matrix-multiplication.py"
SIGNATURE = ", ".join(["*fp16:16"] * 3 + ["i32:16"] * 3 + ["i32:16", "i32:1"] * 3)
# tile, stages, warps, the instruction that must show
CONFIGS = [
    ((128, 256, 64), 3, 8, "HGMMA"),
    ((128, 128, 32), 4, 4, "HGMMA"),
    ((64, 32, 32), 5, 2, "HMMA"),
]


def machine_code(arguments, block, stages, warps, folder):
    """Compile one configuration; return the cubin's path."""
    cubin = folder / "kernel.cubin"
    names = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K")
    command = [arguments.pantilec, str(KERNELS), "--kernel", "matmul_kernel"]
    command += ["--signature", SIGNATURE]
    for name, value in zip(names, block, strict=True):
        command += ["-D", f"{name}={value}"]
    command += ["-D", "GROUP_SIZE_M=8", "-D", "ACTIVATION="]
    command += ["--num-stages", str(stages), "--num-warps", str(warps), "--no-cache"]
    command += ["--target", arguments.target, "--emit", "cubin", "-o", str(cubin)]
    subprocess.run(command, check=True)
    return cubin


def count(disassembly, pattern):
    """Lines of the disassembly that hold an instruction."""
    return len(re.findall(rf"\b{pattern}\b", disassembly))


def main():
    """Print the counts; fail if an instruction is missing or a register was spilled."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pantilec")
    parser.add_argument("--target", default="sm_90a")
    arguments = parser.parse_args()
    failed = False
    print("=== table: machine code of the product")
    print(f"{'block':14} stages warps {'instruction':12} {'count':>6} {'LDL':>4} {'STL':>4}")
    for block, stages, warps, instruction in CONFIGS:
        with tempfile.TemporaryDirectory() as folder:
            cubin = machine_code(arguments, block, stages, warps, Path(folder))
            command = ["cuobjdump", "-sass", str(cubin)]
            sass = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found, loads, stores = (count(sass, p) for p in (instruction, "LDL", "STL"))
        failed |= found == 0 or loads + stores > 0
        name = "x".join(map(str, block))
        print(f"{name:14} {stages:6} {warps:5} {instruction:12} {found:6} {loads:4} {stores:4}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
