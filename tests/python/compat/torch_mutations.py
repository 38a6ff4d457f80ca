"""torch's own analysis of what a kernel writes, on the kernels of `mutation_cases.py`.

Run as `python -m pantile.compat torch_mutations.py`. Ends with 1 where torch finds other arguments
than those listed by hand, or gives up; with 77 where torch has no such analysis.
"""

import logging
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import torch
from mutation_cases import CASES, Case, add, triton

DTYPES = {
    "fp16": torch.float16,
    "fp32": torch.float32,
    "i32": torch.int32,
    "i64": torch.int64,
}


class Complaints(logging.Handler):
    """What torch warns of: that it gave up."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.messages = []

    def emit(self, record):
        failure = record.exc_info[1] if record.exc_info else ""
        self.messages.append(f"{record.getMessage()}: {failure}")


def arguments_of(case):
    """A call's arguments, and the metadata of its descriptors for torch."""
    arguments, descriptors = {}, {}
    for name, value in case.values.items():
        described = re.fullmatch(r"tensordesc<(\w+)\[(.*)\]>", str(value))
        if described:
            block = [int(size) for size in described[2].split(",")]
            descriptors[name] = ("stable", (block,))
            arguments[name] = torch.empty(block, dtype=DTYPES[described[1]])
        elif isinstance(value, str) and value.startswith("*"):
            arguments[name] = torch.empty(2, dtype=DTYPES[value[1:]])
        else:
            arguments[name] = {"i32": 2, "fp32": 2.0}.get(value, value)
    return arguments, descriptors


def cases():
    """Those without tuples, which torch takes for constants; a tuned one, and one with options."""
    yield from (c for c in CASES if not any(isinstance(v, tuple) for v in c.values.values()))
    values = {name: value for name, value in CASES[0].values.items() if name != "N"}
    tuned = triton.autotune(configs=[triton.Config({"N": 32}), triton.Config({"N": 64})], key=[])
    yield Case("tuned", tuned(add), values, {"out"})
    yield Case("options", add, {**values, "N": 32, "num_warps": 8, "num_stages": 2}, {"out"})


def main():
    from torch._higher_order_ops import triton_kernel_wrap

    if not hasattr(triton_kernel_wrap, "identify_mutated_tensors"):
        return 77
    complaints, count, failed = Complaints(), 0, 0
    triton_kernel_wrap.log.addHandler(complaints)
    for case in cases():
        complaints.messages.clear()
        found = triton_kernel_wrap.identify_mutated_tensors(case.function, *arguments_of(case))
        if set(found) != case.written or len(found) != len(set(found)) or complaints.messages:
            print(f"{case.name}: {found}, expected {sorted(case.written)}", *complaints.messages)
            failed += 1
        count += 1
    print(f"{count} kernels, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
