#!/usr/bin/env python3
"""Writes docs/libraries.md: tests of libraries that are written in Triton, from docs/measurements/libraries.json.

Needs: nothing but the source tree.
Gives: the page; with --check status 1 if it would change.
"""

import json
import re
import sys

from generated_page import ROOT, finish

KEPT = ROOT / "docs/measurements/libraries.json"
PACK = ROOT / "tests/gpu/libraries/pack"
# Suite: the wheel that has it, where its name differs.
WHEELS = {
    "FlagGems": "flag-gems",
    "Liger-Kernel": "liger-kernel",
    "SGLang": "sglang",
    "triton_kernels": "vllm",
    "vLLM": "vllm",
}

PAGE = """# Libraries written in Triton

Written by `scripts/libraries_page.py` from `docs/measurements/libraries.json`.

Libraries from PyPI, unmodified, with the real Triton 3.6 and with Pantile in its place (`python -m pantile.compat`), torch 2.11 on one
{device} a suite, {date}. Tests are the library's own (Liger-Kernel), those of torch for the operators it replaces (FlagGems), or
calls of its kernels against references in torch (the others, in `tests/gpu/libraries`; triton_kernels is the copy in vLLM). `both`: tests that pass with Triton and with Pantile.

| library | version | tests | pass with Triton | with Pantile | both | of Triton's |
|---|---|---|---|---|---|---|
{rows}

What passes with Triton and not with Pantile, and what did not run:

{notes}

To reproduce: `tests/gpu/libraries/pack` here, then on a GPU machine `tests/gpu/run libraries`.
"""


def versions():
    """Versions of the wheels by their names, from the script that packs them."""
    return dict(re.findall(r"([\w-]+)==([\d.]+)", PACK.read_text()))


def row(r, known):
    """The line of a suite in the table."""
    name = r["suite"]
    version = known.get(WHEELS.get(name, name), "")
    share = 100 * r["both"] / r["triton"]
    cells = (
        name,
        version,
        r["tests"] - r["skipped"],
        r["triton"],
        r["pantile"],
        r["both"],
        f"{share:.1f} %",
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def main():
    """Write or compare the page."""
    kept = json.loads(KEPT.read_text())
    known = versions()
    text = PAGE.format(
        device=kept["device"],
        date=kept["date"],
        rows="\n".join(row(r, known) for r in kept["rows"]),
        notes="\n".join(f"- {r['suite']}: {r['note']}." for r in kept["rows"] if "note" in r),
    )
    return finish(ROOT / "docs/libraries.md", text)


if __name__ == "__main__":
    sys.exit(main())
