#!/usr/bin/env python3
"""Writes the listings of docs/how-a-tile-becomes-instructions.md: what pantilec prints of a GEMM.

Needs: a built pantilec, by PANTILEC or in build/.
Gives: the page with current listings; with --check status 1 if one would change.
How:   a comment such as `<!-- stage layout` says what the listing below it shows: each
       `show: A .. B` is the lines from the next one that matches A to the next that matches B,
       `match: A` those that match, `lines: N` at most so many.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/how-a-tile-becomes-instructions.md"
MATMUL = ROOT / "tutorials/03-matrix-multiplication.py"
WIDTH = 240  # columns of a listing
COMMAND = [
    "--kernel", "matmul_kernel", "--signature",
    "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1",
    "-D", "BLOCK_SIZE_M=128", "-D", "BLOCK_SIZE_N=256", "-D", "BLOCK_SIZE_K=64",
    "-D", "GROUP_SIZE_M=8", "-D", 'ACTIVATION=""', "--num-warps", "8", "--num-stages", "3",
    "--target", "sm_90a", "--emit",
]  # fmt: skip


class Stages:
    """The listings of the stages of the GEMM, each made once."""

    def __init__(self, pantilec):
        self.pantilec, self.texts = pantilec, {}

    def text(self, stage):
        if stage == "source":
            return MATMUL.read_text(encoding="utf-8")
        if stage not in self.texts:
            command = [self.pantilec, MATMUL, *COMMAND, stage, "--no-cache", "-o", "-"]
            self.texts[stage] = subprocess.run(
                command, check=True, capture_output=True, text=True
            ).stdout
        return self.texts[stage]


def shorten(line):
    """A line of at most WIDTH columns."""
    return line if len(line) <= WIDTH else line[: WIDTH - 2] + " …"


def undent(lines):
    """Without the indentation common to all lines."""
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[margin:] for line in lines]


def excerpt(text, options):
    """The lines of a listing that `options` ask for; raises LookupError if there is no such line."""
    lines, result, at = text.split("\n"), [], 0
    limit = int(next((value for key, value in options if key == "lines"), 1000))
    for key, value in options:
        if key == "match":
            result += [shorten(line.strip()) for line in lines if re.search(value, line)][:limit]
        if key != "show":
            continue
        first, last = value.split(" .. ")
        numbered = range(at, len(lines))
        begin = next((i for i in numbered if re.search(first, lines[i])), None)
        if begin is None:
            raise LookupError(f"no line matches `{first}`")
        end = next((i for i in range(begin + 1, len(lines)) if re.search(last, lines[i])), begin)
        part = undent(lines[begin : end + 1] if first != last else lines[begin : begin + 1])
        result += (["..."] if result else []) + [shorten(line) for line in part]
        at = end + 1
    if not result:
        raise LookupError("the listing is empty")
    return result


def fill(text, stages):
    """Replace the listing below each comment that names a stage."""

    def listing(match):
        options = [line.split(": ", 1) for line in match[2].strip().split("\n")]
        language = {"source": "python", "llvm": "llvm"}.get(match[1], "text")
        body = "\n".join(excerpt(stages.text(match[1]), options))
        return f"<!-- stage {match[1]}\n{match[2]}-->\n```{language}\n{body}\n```\n"

    quoted = [f"'{word}'" if re.search(r'[ *"]', word) else word for word in COMMAND]
    command = f"pantilec tutorials/{MATMUL.name} {' '.join(quoted)} STAGE"
    block = r"(?:```.*?^```\n)?"
    text = re.sub(
        rf"<!-- stage-command -->\n{block}",
        lambda _: f"<!-- stage-command -->\n```text\n{command}\n```\n",
        text,
        flags=re.S | re.M,
    )
    return re.sub(rf"<!-- stage (\w+)\n(.*?)-->\n{block}", listing, text, flags=re.S | re.M)


def main():
    """Write the listings, or say that they would change."""
    pantilec = os.environ.get("PANTILEC") or ROOT / "build/compiler/tools/pantilec"
    before = PAGE.read_text(encoding="utf-8")
    text = fill(before, Stages(pantilec))
    if text != before and "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} {'is current' if text == before else 'was stale'}")
    return 1 if text != before and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
