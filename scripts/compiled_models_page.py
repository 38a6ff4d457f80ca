#!/usr/bin/env python3
"""Writes docs/compiled-models.md, torch.compile under Triton and under Pantile, and draws its plot.

Needs: JSON that tests/gpu/bench/compiled_models.py wrote on a GPU; matplotlib for the plot.
Gives: docs/measurements/compiled-models.json, what is worth keeping of it; the page and
       docs/images/compiled-models.svg, both from what is kept.

Usage: scripts/compiled_models_page.py [FILE.json ...] (without a file: from what is kept)
       scripts/compiled_models_page.py --check         (status 1 if the page would change)
       Files are those of one benchmark that took several calls: of a case, the last one counts.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/gpu/bench"), str(ROOT / "scripts")]

from compiled import report  # noqa: E402, the same ratios and means as the benchmark prints

DOCS = ROOT / "docs"
KEPT = "measurements/compiled-models.json"
PAGE = "compiled-models.md"
PLOT = "images/compiled-models.svg"
NUMBERS = (
    "compile_s triton_s first_result_s cold_compile_s cold_first_result_s run_ms back_to_back_ms"
    " device_ms error"
).split()
COLUMNS = (
    "case | error, Triton | Pantile | compile s, Triton | Pantile | ratio |"
    " of it kernels, Triton | Pantile | run ms, Triton | Pantile | ratio | device, ratio"
)

INTRODUCTION = """# torch.compile

Written by `scripts/compiled_models_page.py` from `docs/measurements/compiled-models.json`.

Models and programs compiled by `torch.compile` with the real Triton, and with Pantile in its place
(`python -m pantile.compat`), from `tests/gpu/bench/compiled_models.py`. {setting}

Every measurement is a process of its own with empty caches. {batch} cases compile at once, both
sides of each, on {cpus} cores with {threads} compile threads per process, so both sides have the
same contention, and the seconds are longer than those of {alone}.
Then nothing else runs, and the two sides of a case are timed alternately in {rounds} rounds: the
median call of each round, from the call on the host to its result on the GPU, and the median of
the rounds{processes}. Ratios are Triton's time over Pantile's: above 1, Pantile is faster.

The error is the largest difference from eager execution over the tensor's largest element, of all
results and gradients. A case is right where Pantile's is at most twice Triton's, or 1e-5.
Convolutions run with TF32 when they are timed, and without it when they are compared.
"""

REST = """What is not spent waiting for the compiler of kernels, or timing what it made, is torch's
own Python (Dynamo, AOTAutograd, Inductor), with `cpp_wrapper` and AOTInductor the C++ compiler
too: {:.0f} % of the seconds under Triton, {:.0f} % under Pantile. In the geometric
mean of the cases {:.2f} of Triton's whole: as much would be left if kernels compiled in no time."""

WARM = """A second process finds the caches of the first one: seconds from its start to its first
result, the imports of torch and of the model's library included. All of a batch run at once."""

ALONE = "The whole machine for one process, with {} compile threads; each side once, one after the other."


# ===-- what is kept -------------------------------------------------------------------------===


def rounded(number):
    """Four digits are more than a measurement has."""
    return float(f"{number:.4g}")


def kept_side(side):
    """One side of a row, without its rounds, phases, counters and texts."""
    result = {name: rounded(side[name]) for name in NUMBERS if side.get(name) is not None}
    if "failure" in side:
        result["failure"] = report.reason_of(side["failure"])
    return result


def kept_row(row):
    """A row, with the warnings of Pantile's side that Triton's does not give."""
    result = {side: kept_side(row[side]) for side in ("triton", "pantile") if side in row}
    result["verdict"] = report.verdict(row)
    if new := report.new_warnings(row):
        result["new_warnings"] = new
    return result


def kept(found):
    """What is worth keeping of a run."""
    head = {name: value for name, value in found.items() if name not in ("rows", "alone")}
    parts = {part: found.get(part, {}) for part in ("rows", "alone")}
    return head | {p: {n: kept_row(r) for n, r in rows.items()} for p, rows in parts.items()}


def joined(files):
    """The runs of one benchmark as one; what is said of all is that of the last."""
    result = {"rows": {}, "alone": {}}
    for found in files:
        parts = {part: result[part] | found.get(part, {}) for part in ("rows", "alone")}
        result = found | parts
    return result


# ===-- the page -----------------------------------------------------------------------------===


def cell(number, digits=3):
    """A number of a table; nothing where there is none."""
    return "" if number is None else f"{number:.{digits}g}"


def line_of(name, row):
    """The line of a case."""
    theirs, ours = row.get("triton", {}), row.get("pantile", {})
    cells = [name, cell(theirs.get("error"), 2), cell(ours.get("error"), 2)]
    for key in ("compile_s", "triton_s", "run_ms"):
        cells += [cell(theirs.get(key)), cell(ours.get(key))]
        cells += [] if key == "triton_s" else [cell(report.ratio(row, key))]
    return f"| {' | '.join([*cells, cell(report.ratio(row, 'device_ms'))])} |"


def group_of(name):
    """The heading that a case stands under."""
    if name.startswith("warm "):
        return "Warm second process"
    special = ("aot ", "cpp_wrapper ", "max-autotune", "flex_attention", "user kernel", "pointwise")
    if name.startswith((*special, "dynamic ", "cudagraphs ")):
        return "Programs and modes"
    return "Models, a training step" if name.endswith(" training") else "Models, forward"


def grouped(rows):
    """Rows by heading, in the order of the page."""
    order = ("Models, forward", "Models, a training step", "Programs and modes")
    groups = {heading: {} for heading in order}
    for name, row in rows.items():
        groups.setdefault(group_of(name), {})[name] = row
    return {heading: dict(sorted(group.items())) for heading, group in groups.items() if group}


def table(rows):
    """A table of cases."""
    head = f"| {COLUMNS} |"
    rule = "| --- " * (COLUMNS.count("|") + 1) + "|"
    return "\n".join([head, rule, *(line_of(name, row) for name, row in rows.items())])


def warm_table(rows):
    """The second processes: seconds from the process's start to the first result."""
    lines = ["| case | second process s, Triton | Pantile | ratio | first process, ratio |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for name, row in rows.items():
        times = [row.get(side, {}).get("first_result_s") for side in ("triton", "pantile")]
        ratios = [report.ratio(row, key) for key in ("first_result_s", "cold_first_result_s")]
        lines.append(f"| {' | '.join([name, *map(cell, [*times, *ratios])])} |")
    return "\n".join(lines)


def mean_line(what, rows, key):
    """A line of the table of means; nothing without a ratio."""
    ratios = {name: r for name, row in rows.items() if (r := report.ratio(row, key))}
    if not ratios:
        return []
    mean = report.geometric_mean(ratios.values())
    low, high = min(ratios, key=ratios.get), max(ratios, key=ratios.get)
    ends = [f"{ratios[n]:.2f} ({n})" for n in (low, high)]
    return [f"| {what} | {mean:.3f} | {1 / mean:.3f} | {' | '.join(ends)} | {len(ratios)} |"]


def outside(rows):
    """What of each side's compilation is not in the compiler of kernels, in %."""
    for side in ("triton", "pantile"):
        times = [r[side] for r in rows.values() if "compile_s" in r.get(side, {})]
        whole = sum(t["compile_s"] for t in times)
        yield 100 * (1 - sum(t["triton_s"] for t in times) / whole) if whole else 0.0


def floor(rows):
    """The mean share of Triton's cold compilation that is not in the compiler of kernels."""
    sides = [r["triton"] for r in rows.values() if "compile_s" in r.get("triton", {})]
    shares = [1 - side["triton_s"] / side["compile_s"] for side in sides]
    return report.geometric_mean([share for share in shares if share > 0])


def means(found):
    """The table of means."""
    cold = {n: r for n, r in found["rows"].items() if not n.startswith("warm ")}
    warm = {n: r for n, r in found["rows"].items() if n not in cold}
    lines = ["| what | mean ratio | Pantile's share of Triton's time | lowest | highest | cases |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    lines += mean_line("cold compilation", cold, "compile_s")
    lines += mean_line("cold compilation, one process at a time", found["alone"], "compile_s")
    lines += mean_line("of it in the compiler of kernels", cold, "triton_s")
    lines += mean_line("warm second process to its first result", warm, "first_result_s")
    lines += mean_line("run time of a call", cold, "run_ms")
    lines += mean_line("calls one after the other", cold, "back_to_back_ms")
    lines += mean_line("device time alone", cold, "device_ms")
    return "\n".join(lines)


def verdicts(rows):
    """Sentences on what was right and what was not, by name."""
    failed = {n: r["verdict"] for n, r in rows.items() if r["verdict"]}
    lines = [f"{len(rows) - len(failed)} of {len(rows)} cases are right."]
    for text in dict.fromkeys(failed.values()):
        names = ", ".join(f"`{name}`" for name in failed if failed[name] == text)
        lines.append(f"- {names}: {text.replace('|', '/')}")
    theirs = [n for n, r in rows.items() if "failure" in r.get("triton", {}) and n not in failed]
    if theirs:
        lines.append(f"\nOnly Triton fails: {', '.join(theirs)}.")
    slow = {n: q for n, r in rows.items() if (q := report.ratio(r, "run_ms")) and q < report.SLOW}
    named = ", ".join(f"{n} ({q:.2f})" for n, q in sorted(slow.items(), key=lambda p: p[1]))
    lines.append(f"\nRun time below {report.SLOW} of Triton's speed: {named or 'none'}.")
    return "\n".join(lines)


def warnings(rows):
    """The warnings of Pantile's side alone."""
    found = [(n, w) for n, r in rows.items() for w in r.get("new_warnings", [])]
    if not found:
        return "Pantile's side gives no warning that Triton's does not give."
    lines = [f"- {name}: `{text.replace('`', chr(39))}`" for name, text in found]
    return "\n".join(["Warnings that Triton's side does not give:", "", *lines])


def page(found):
    """The text of the page."""
    names = ("device", "torch", "triton", "transformers", "torchvision", "commit", "date")
    setting = "; ".join(f"{name} {found.get(name)}" for name in names if found.get(name)) + "."
    alone = "[a process alone](#one-process-at-a-time)" if found["alone"] else "a process alone"
    count = found["how"].get("processes", 1)
    others = f", then the fastest of {count} processes of each side" if count > 1 else ""
    how = found["how"] | {
        "processes": others,
        "cpus": found["cpus"],
        "setting": setting,
        "alone": alone,
    }
    parts = [INTRODUCTION.format(**how), means(found), verdicts(found["rows"])]
    parts += found.get("notes", [])  # written by hand: what was found out since
    parts.append(REST.format(*outside(found["rows"]), floor(found["rows"])))
    parts.append(f"```{{image}} {PLOT}\n:alt: ratios by case\n:class: plot\n```")
    for heading, rows in grouped(found["rows"]).items():
        made = [WARM, warm_table(rows)] if heading.startswith("Warm") else [table(rows)]
        parts += [f"## {heading}", *made]
    if found["alone"]:
        threads = found["how"]["alone_threads"]
        parts += ["## One process at a time", ALONE.format(threads), table(found["alone"])]
    parts += ["## Warnings", warnings(found["rows"])]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


# ===-- the plot -----------------------------------------------------------------------------===


def draw(found, path):
    """Both ratios of every case, by group."""
    import plots  # the style of the other plots
    from matplotlib import pyplot

    groups = {h: rows for h, rows in grouped(found["rows"]).items() if not h.startswith("Warm")}
    names = [name for rows in groups.values() for name in rows]
    with pyplot.rc_context(plots.STYLE):
        figure, both = pyplot.subplots(1, 2, sharey=True, figsize=(7.2, 0.17 * len(names) + 1.2))
        for axes, key, title in zip(
            both, ("compile_s", "run_ms"), ("cold compilation", "run time")
        ):
            ratios = [report.ratio(found["rows"][name], key) for name in names]
            places = [i for i, r in enumerate(ratios) if r]
            axes.axvline(1, color="#888888", linewidth=1)
            axes.plot([ratios[i] for i in places], places, "o", color="#1f5fbf", markersize=4)
            axes.set_title(f"{title}, Triton ÷ Pantile", fontsize=10, loc="left")
            axes.set_yticks(range(len(names)), names, fontsize=7)
            axes.set_ylim(len(names) - 0.5, -0.5)
        figure.tight_layout()
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)


def text_of(found):
    """The kept measurements, a line a case."""
    parts = {part: found.pop(part) for part in ("rows", "alone")}
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items()]
    for part, rows in parts.items():
        inner = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
        lines.append(f'"{part}": {{\n{inner}\n }}' if inner else f'"{part}": {{}}')
    return "{\n " + ",\n ".join(lines) + "\n}\n"


def main(arguments, docs=DOCS):
    """Take in the file, write the page and draw the plot; or compare the page with what is kept."""
    path = docs / KEPT
    if arguments and arguments != ["--check"]:
        path.parent.mkdir(parents=True, exist_ok=True)
        files = [json.loads(Path(name).read_text(encoding="utf-8")) for name in arguments]
        path.write_text(text_of(kept(joined(files))), encoding="utf-8")
    text = page(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None
    old = (docs / PAGE).read_text(encoding="utf-8") if (docs / PAGE).exists() else None
    if arguments != ["--check"] and text:
        (docs / PAGE).write_text(text, encoding="utf-8")
        draw(json.loads(path.read_text(encoding="utf-8")), docs / PLOT)
    print(f"docs/{PAGE} {'is current' if text == old else 'was stale'}")
    return 1 if text != old and arguments == ["--check"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
