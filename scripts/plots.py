#!/usr/bin/env python3
"""Draws the plots of the front page, of docs/performance.md and of the tutorials' pages.

Needs: matplotlib; JSON that tests/gpu/bench/matmul.py or tutorials.py wrote on a GPU.
Gives: docs/images/matmul.svg, docs/images/performance/*.svg and docs/images/tutorials/NN-*.svg; the
       medians, without rounds and notes, in docs/measurements, from which the plots can be drawn
       again; on standard output the tutorials' speeds relative to their peers.

Usage: scripts/plots.py [FILE.json ...]     (without files: those of docs/measurements)
"""

import json
import re
import statistics
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402, after the choice of the back end
import performance_plots  # noqa: E402

DOCS = Path(__file__).resolve().parent.parent / "docs"
LINES = {  # colour, style, label; the names are those of the benchmarks
    "cublas": ("#76b900", "-", "cuBLAS"),
    "triton": ("#888888", "-", "Triton 3.6"),
    "pantile": ("#1f5fbf", "-", "Pantile"),
    "ours": ("#1f5fbf", "-", "Pantile"),
    "same": ("#888888", "--", "the same source on Triton"),
    "tutorial": ("#888888", "-", "Triton's tutorial"),
    "rand4x": ("#1f5fbf", ":", "Pantile, tl.rand4x"),
    "torch": ("#76b900", "-", "torch"),
}
NUMBERS = {
    "vector add": "01",
    "softmax": "02",
    "product": "03",
    "dropout": "04",
    "layer norm": "05",
    "attention": "06",
    "gelu": "07",
}
STYLE = {
    "figure.figsize": (6.4, 3.8),
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#e4e4e4",
    "font.size": 10,
    "svg.fonttype": "none",
    "svg.hashsalt": "pantile",
}


def draw(path, title, unit, rows):
    """A plot of `rows`, pairs of a size and the rates by name; sizes may be numbers or strings."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots()
        sizes = [str(size) for size, _ in rows]
        places = range(len(rows))
        for name, (colour, style, label) in LINES.items():
            rates = [rates.get(name) for _, rates in rows]
            if any(rate is not None for rate in rates):
                values = [float("nan") if rate is None else rate for rate in rates]
                width = 2.2 if colour == "#1f5fbf" else 1.6
                axes.plot(places, values, style, color=colour, label=label, linewidth=width)
        step = -(-len(sizes) // 8)
        axes.set_xticks(places[::step], sizes[::step])
        axes.set_ylim(bottom=0)
        axes.set_ylabel(unit)
        axes.set_title(title, fontsize=11, loc="left")
        axes.legend(frameon=False)
        figure.tight_layout()
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
    print(path.relative_to(DOCS.parent))


def rounded(rates):
    """Four digits are more than a measurement has."""
    return {name: float(f"{rate:.4g}") for name, rate in rates.items()}


def group(rows):
    """Rows of tutorials.py by the name of their table."""
    tables = {}
    for row in rows:
        tables.setdefault((row["table"], row["unit"]), []).append((row["size"], row["rates"]))
    return tables


def draw_tutorials(rows):
    """A plot for each table."""
    for (table, unit), points in group(rows).items():
        number = next(value for name, value in NUMBERS.items() if table.startswith(name))
        stem = re.sub(r"[^a-z0-9]+", "-", table.lower()).strip("-")
        draw(DOCS / f"images/tutorials/{number}-{stem}.svg", table, unit, points)


def draw_matmul(rows):
    """The plot of the front page, and of tutorial 03."""
    points = [(row["size"], row["tflops"]) for row in rows]
    title = "fp16 GEMM, M = N = K, NVIDIA H200"
    draw(DOCS / "images/matmul.svg", title, "TFLOP/s", points)
    draw(DOCS / "images/tutorials/03-gemm.svg", title, "TFLOP/s", points)


def print_shares(rows):
    """A table in Markdown: ours relative to each peer, the smallest and the median of the points."""
    print("| workload | points | same text on Triton | Triton's tutorial | torch |")
    print("| --- | --- | --- | --- | --- |")
    for (table, _), points in group(rows).items():
        cells = []
        for peer in ("same", "tutorial", "torch"):
            shares = sorted(r["ours"] / r[peer] for _, r in points if "ours" in r and peer in r)
            if shares:
                cells.append(f"{statistics.median(shares):.2f} ({shares[0]:.2f})")
            else:
                cells.append("")
        print(f"| {table} | {len(points)} | {' | '.join(cells)} |")


def kept(rows):
    """What is worth keeping of a benchmark's rows."""
    if "tflops" in rows[0]:
        return [{"size": row["size"], "tflops": rounded(row["tflops"])} for row in rows]
    names = ("table", "size", "unit")
    return [{**{name: row[name] for name in names}, "rates": rounded(row["rates"])} for row in rows]


def merged(path, rows):
    """The rows of the file at `path`, with those of the same size and table replaced."""
    key = lambda row: (row.get("table", ""), row["size"])
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    new = {key(row) for row in rows}
    tables = {row.get("table") for row in rows}
    return [row for row in old if row.get("table") not in tables and key(row) not in new] + rows


def main():
    """Take in the files, draw what is kept."""
    folder = DOCS / "measurements"
    folder.mkdir(exist_ok=True)
    for name in sys.argv[1:]:
        rows = kept(json.loads(Path(name).read_text(encoding="utf-8")))
        path = folder / ("matmul.json" if "tflops" in rows[0] else "tutorials.json")
        lines = ",\n".join(" " + json.dumps(row) for row in merged(path, rows))
        path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    for name, drawer in (("matmul.json", draw_matmul), ("tutorials.json", draw_tutorials)):
        if (folder / name).exists():
            rows = json.loads((folder / name).read_text(encoding="utf-8"))
            drawer(rows)
            if name == "tutorials.json":
                print_shares(rows)
    performance_plots.draw_all(DOCS / "images/performance", STYLE)


if __name__ == "__main__":
    main()
