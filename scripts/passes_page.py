#!/usr/bin/env python3
"""Writes docs/passes.md: every pass over the tile IR in the order of the pipeline, with an example.

Needs: compiler/passes/Passes.td, compiler/Pipeline.cpp, the `.mlir` of each pass's stem in tests;
       the examples need `pantile-opt`, of the folder `build` or as PANTILE_OPT says.
Gives: the page; with --check status 1 if it would change, or if a pass has no `.mlir` of its stem.
       With --no-examples the listings are taken from the page as it is, and nothing needs a build.
How:   an example is one function of the pass's `.mlir`, alone: the one below a line `// Example.`, or
       the first. pass_examples.py runs it.

Usage: scripts/passes_page.py [--check] [--no-examples]
"""

import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import pass_examples

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/passes.md"
TABLE = ROOT / "compiler/passes/Passes.td"
PIPELINE = ROOT / "compiler/Pipeline.cpp"
TESTS = ROOT / "tests"
OF_MLIR = {
    "createCanonicalizerPass": ("canonicalize", "Simplify operations."),
    "createCSEPass": ("cse", "Make equal values one."),
    "createRemoveDeadValuesPass": (
        "remove-dead-values",
        "Remove what nothing reads, such as the carried pointers of loads that have become copies.",
    ),
}
STAGES = {
    "addTilePasses": ("Tile IR", "Layout-free tile IR is simplified; the CPU runs it."),
    "addLayoutPasses": ("Layouts", ""),
    "addProgramPasses": ("Programs and the producer", ""),
    "addPipelinePasses": ("Asynchronous copies and MMAs", ""),
    "addMemoryPasses": ("Shared memory", ""),
}

OFFERED = "choice, off by default"
STATUS_OF_CALL = {"need": "needed", "add": "", "offer": "off by default"}
STATUS = {
    "": "",
    "needed": " Needed: it cannot be left out.",
    "off by default": " Off by default.",
}

INTRODUCTION = """# Passes

Written by `scripts/passes_page.py` from `compiler/passes/Passes.td`, in the order of `compiler/Pipeline.cpp`. Each example is a function of the
pass's own test in `tests`, before and after the pass alone; layouts of registers and swizzles are left out where they say nothing.

`pantilec --list-passes` lists the passes; `pantile.compiler.remarks.list_passes()` returns them. [Remarks and plans](remarks-and-plans.md) show what they
did to a kernel, and [the way of a kernel](architecture.md) shows where they stand.

A pass that later ones do not need can be left out by name: with the launch option `disabled_passes`, as
`kernel[grid](..., disabled_passes="nv-specialise-warps")`; with `pantilec --disable-pass`, once per pass; in C++ with `Options::disabledPasses`. What is *off by
default* runs only where it is switched on: with the launch option `enabled_passes`, `pantilec --enable-pass`, `Options::enabledPasses`. A *choice* is
no pass, but a part of one that has a name for this. A tuner measures the difference where a configuration names it:

```python
triton.Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64}, num_warps=8, disabled_passes="nv-make-persistent")
```
"""


@dataclass
class Pass:
    """A pass of Passes.td."""

    stem: str
    name: str
    summary: str
    description: str


@dataclass
class Step:
    """A line of the pipeline: a pass or a choice within one, and why it stands there."""

    name: str
    status: str
    reason: str = ""
    summary: str = ""
    choices: list = field(default_factory=list)


def declared(text):
    """The passes of Passes.td, by the name of their class."""
    pattern = r'def (\w+) : Pass<"([\w-]+)".*?> \{(.*?)\n\}'
    return {
        stem: Pass(stem, name, _string(body, "summary"), _string(body, "description"))
        for stem, name, body in re.findall(pattern, text, re.S)
    }


def _string(body, key):
    match = re.search(rf'let {key} = (?:"((?:[^"\\]|\\.)*)"|\[\{{(.*?)\}}\]);', body, re.S)
    if not match:
        return ""
    lines = (match[1] if match[1] is not None else match[2]).replace('\\"', '"').split("\n")
    return "\n".join(line.strip() for line in lines).strip()


def stages(text, passes):
    """(function, its comment, its steps) for each stage of Pipeline.cpp, in order."""
    simplification = _steps(_body(text, "addSimplification"), passes, [])
    result = []
    for name in STAGES:
        comment = re.search(rf"((?:^///.*\n)*)void {name}\(", text, re.M)[1]
        comment = " ".join(line[3:].strip() for line in comment.splitlines())
        steps = _steps(_body(text, name), passes, simplification)
        result.append((name, comment, steps))
    return result


def _body(text, function):
    return re.search(rf"^void {function}\(.*?\{{\n(.*?)^\}}", text, re.S | re.M)[1]


def _steps(body, passes, simplification):
    pattern = (
        r"passes\.(?P<kind>add|need|offer)\(\s*create(?P<create>\w+)\(|"
        r'passes\.(?P<choice>choice|offeredChoice)\(\s*"(?P<name>[\w-]+)",\s*'
        r'(?P<summary>(?:"[^"]*"\s*)+)\)|(?P<simplify>addSimplification)\(passes\)'
    )
    result = []
    for found in re.finditer(pattern, body):
        if found["simplify"]:
            result += simplification
        elif found["choice"]:
            status = "choice" if found["choice"] == "choice" else OFFERED
            summary = "".join(re.findall(r'"([^"]*)"', found["summary"]))
            result.append(Step(found["name"], status, summary=summary))
        else:
            of_mlir = OF_MLIR.get(f"create{found['create']}")
            known = of_mlir[0] if of_mlir else passes[found["create"]].name
            comment = re.match(r"[^;]*;[ \t]*((?://.*\n\s*)*)", body[found.end() :])[1]
            reason = " ".join(comment.replace("//", " ").split())
            result.append(Step(known, STATUS_OF_CALL[found["kind"]], reason))
    return result


def stem_of(name):
    """The stem of the pass's test: its argument without the dialect."""
    return name.split("-", 1)[1]


def test_of(name):
    """The `.mlir` of the pass's stem that runs it alone on named values, or None."""
    alone = rf"RUN: pantile-opt %s(?: -split-input-file| -verify-diagnostics)* --?{name}\b(?![^|\n]* --?(?:nv|tile|c\w+)-\w)"
    for stem in (stem_of(name), name):
        for path in sorted(TESTS.glob(f"*/{stem}.mlir")):
            text = path.read_text(encoding="utf-8")
            if re.search(alone, text) and not re.search(r"^\s*%\d+ = ", text, re.M):
                return path
    return None


def sentence(text):
    """`text` with a capital letter and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def listing(step, listings):
    """The lines that show what a pass does to its example."""
    path = test_of(step.name)
    return (
        ["", f"Example, from `{path.relative_to(ROOT)}`:", "", *listings(step.name, path)]
        if path
        else []
    )


def section(step, known, listings):
    """The part of the page on one pass or choice."""
    if known is None:
        summary = next((text for name, text in OF_MLIR.values() if name == step.name), "")
        return ["", f"### {step.name}", "", summary or sentence(step.summary)]
    lines = ["", f"### {step.name}", "", f"{sentence(known.summary)}{STATUS[step.status]}"]
    lines += ["", known.description] if known.description else []
    lines += ["", f"Why here: {step.reason}."] if step.reason else []
    return lines + listing(step, listings)


def choice_section(step):
    """The part of the page on a choice."""
    where, _, what = step.summary.partition(": ")
    return [
        "",
        f"### {step.name}",
        "",
        f"{sentence(step.status)} {sentence(where)[:-1]}: {what}.",
    ]


def page(listings):
    """The text of the page; `listings(name, path)` gives the example's lines."""
    passes = declared(TABLE.read_text(encoding="utf-8"))
    by_name = {known.name: known for known in passes.values()}
    lines, seen = [INTRODUCTION.rstrip()], set()
    for function, comment, steps in stages(PIPELINE.read_text(encoding="utf-8"), passes):
        title, introduction = STAGES[function]
        lines += ["", f"## {title}", "", comment or introduction]
        for step in steps:
            if step.name in seen:
                continue
            seen.add(step.name)
            if step.status.startswith("choice"):
                lines += choice_section(step)
            else:
                lines += section(step, by_name.get(step.name), listings)
    lines += [
        "",
        "## For work on the compiler",
        "",
        "These change nothing that is lowered, and run by name.",
    ]
    for name, known in by_name.items():
        if name not in seen:
            lines += section(Step(name, ""), known, listings)
    return "\n".join(lines) + "\n"


def shown(text):
    """Listings as the page has them, for where there is no build."""
    pattern = r"^### ([\w-]+)\n(?:(?!##).*\n)*?Example, from .*\n\n((?:(?!##).*\n)*)"
    found = dict(re.findall(pattern, text, re.M))
    return lambda name, path: found.get(name, "").rstrip("\n").split("\n")


def without_test(passes):
    """Names of the passes that no `.mlir` of their stem runs alone."""
    return [known.name for known in passes.values() if not test_of(known.name)]


def main():
    """Write the page, or say that it would change."""
    current = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    tool = Path(os.environ.get("PANTILE_OPT", ROOT / "build/compiler/tools/pantile-opt"))
    keep = "--no-examples" in sys.argv
    listings = shown(current) if keep else pass_examples.Examples(tool).lines
    text = page(listings)
    if text != current and "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
    lacking = without_test(declared(TABLE.read_text(encoding="utf-8")))
    for name in lacking:
        print(f"`{name}` has no readable `.mlir` of its stem in tests that runs it alone")
    print(f"{PAGE.relative_to(ROOT)} {'is current' if text == current else 'was stale'}")
    return 1 if (text != current or lacking) and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
