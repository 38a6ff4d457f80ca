#!/usr/bin/env python3
"""Draws the pictures of docs/architecture.md: the way of a kernel, and the middle end.

Needs: compiler/Pipeline.cpp and compiler/passes/Passes.td for the second picture.
Gives: docs/images/way-of-a-kernel.svg and docs/images/middle-end.svg; with --check status 1 if one
       would change.
How:   boxes and arrows on a grid of lines of text, written as SVG.

Usage: scripts/diagrams.py [--check]
"""

import sys
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import passes_page

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs/images"
LINE, PAD = 17, 10
FILL = {"work": "#eef3f8", "state": "#fdf6e3", "end": "#eaf5ea"}
WAY = (
    ("work", "frontend/, stdlib/", "lexer, parser, emission of tile IR, then simplification"),
    ("state", "tile", "layout-free tile IR"),
    ("work", "passes: layouts", "an instruction for each dot, a layout for each tile"),
    ("state", "layout", "tiles with layouts"),
    (
        "work",
        "passes: asynchronous copies and MMAs",
        "shared buffers, asynchronous copies, warp roles",
    ),
    ("state", "pipeline", "tile and nv IR, software-pipelined"),
    ("work", "passes: shared memory", "places in shared memory, barriers"),
    ("state", "mma", "what is lowered; `plan` says what was decided"),
    ("work", "lower/", "one family of operations per file"),
    ("state", "llvm", "LLVM IR for NVPTX"),
    ("work", "target/", "LLVM's NVPTX back end, then ptxas"),
    ("state", "ptx, cubin", "assembly and machine code"),
)


def text(x, y, words, style=""):
    """A line of text."""
    return f'<text x="{x}" y="{y}"{style}>{escape(words)}</text>'


def box(place, size, kind):
    """A rounded box."""
    (x, y), (width, height) = place, size
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" '
        f'fill="{FILL[kind]}" stroke="#8a97a5"/>'
    )


def labelled(place, width, kind, lines):
    """A box with lines of text, the first one bold; and its height."""
    x, y = place
    height = len(lines) * LINE + PAD
    parts = [box(place, (width, height), kind)]
    for i, line in enumerate(lines):
        style = ' font-weight="bold"' if i == 0 else ""
        parts.append(text(x + PAD, y + LINE * (i + 1), line, style))
    return parts, height


def arrow(start, end):
    """A straight arrow."""
    (x, y), (to_x, to_y) = start, end
    return (
        f'<path d="M{x} {y} L{to_x} {to_y}" stroke="#55606b" fill="none" marker-end="url(#tip)"/>'
    )


def picture(width, height, title, parts):
    """The text of an SVG file."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">'
    )
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#55606b"/></marker></defs>'
    )
    ground = f'<rect width="{width}" height="{height}" fill="white"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", tip, ground, *parts, "</svg>", ""])


def way_of_a_kernel():
    """From source to numbers, on both devices."""
    width, x, y, gap = 420, 20, 20, 16
    parts, height = labelled(
        (x, y), width, "end", ["kernel", "a function of a Python file, or text"]
    )
    right = x + width + 60
    for kind, name, what in WAY:
        parts.append(arrow((x + width // 2, y + height), (x + width // 2, y + height + gap)))
        y += height + gap
        more, height = labelled((x, y), width, kind, [name, what])
        parts += more
        if name == "tile":
            parts += cpu((x + width, y + height // 2), right)
        if name == "ptx, cubin":
            parts += gpu((x + width, y + height // 2), right)
    return picture(right + 320, y + height + 20, "The way of a kernel", parts)


def cpu(start, x):
    """What the CPU does with tile IR."""
    lines = ["interp/", "whole tiles, every access checked:", "the CPU device, the oracle of tests"]
    parts, _ = labelled((x, start[1] - 30), 300, "work", lines)
    return [arrow(start, (x, start[1])), *parts]


def gpu(start, x):
    """What the GPU does with machine code."""
    lines = ["kernel cache, runtime/", "tensor maps, grid and arguments;", "the launch on the GPU"]
    parts, _ = labelled((x, start[1] - 30), 300, "end", lines)
    return [arrow(start, (x, start[1])), *parts]


def middle_end():
    """The passes of the pipeline in order, by the state that they lead to."""
    passes = passes_page.declared(passes_page.TABLE.read_text(encoding="utf-8"))
    stages = passes_page.stages(passes_page.PIPELINE.read_text(encoding="utf-8"), passes)
    states = ("tile", "layout", None, "pipeline", "mma")  # what `--emit` names
    width, gap, top = 250, 40, 20
    parts, x, most = [], 20, 0
    for (function, _, steps), state in zip(stages, states, strict=True):
        title = passes_page.STAGES[function][0]
        names = [step for step in steps if not step.status.startswith("choice")]
        lines = [title, *(label(step) for step in names)]
        more, height = labelled((x, top), width, "work", lines)
        parts += more
        most = max(most, height)
        y = top + height // 2
        if state:
            ends, state_height = labelled((x, top + height + 24), width, "state", [state])
            middle = x + width // 2
            parts += [arrow((middle, top + height), (middle, top + height + 24)), *ends]
            y = top + height + 24 + state_height // 2
        if state != states[-1]:
            parts.append(handed_on((x + width, y), gap, top))
        x += width + gap
    return picture(x - gap + 20, top + most + 80, "The middle end", parts)


def label(step):
    """A pass as the picture has it."""
    marks = {"needed": " *", "off by default": " +"}
    return step.name + marks.get(step.status, "")


def handed_on(start, gap, top):
    """An arrow from a state to the next column."""
    x, y = start
    middle = x + gap // 2
    return (
        f'<path d="M{x} {y} L{middle} {y} L{middle} {top + 14} L{x + gap} {top + 14}" '
        'stroke="#55606b" fill="none" marker-end="url(#tip)"/>'
    )


def main():
    """Write the pictures, or say which would change."""
    pictures = {"way-of-a-kernel.svg": way_of_a_kernel(), "middle-end.svg": middle_end()}
    stale = False
    for name, drawn in pictures.items():
        path = IMAGES / name
        if path.exists() and path.read_text(encoding="utf-8") == drawn:
            continue
        stale = True
        print(f"{path.relative_to(ROOT)} was stale")
        if "--check" not in sys.argv:
            path.write_text(drawn, encoding="utf-8")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
