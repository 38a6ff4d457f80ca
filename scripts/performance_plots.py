"""The plots of docs/performance.md, from the tables of `peers`.

Gives: `draw_all(folder, style)`, which writes gemm.svg, attention.svg, bandwidth.svg,
       launch-and-compile.svg and steps.svg.
"""

import textwrap

import matplotlib.pyplot as plt
import peers

OURS, OWN, TRITON, LIBRARY = "#1f5fbf", "#7fa8e0", "#888888", "#76b900"


def save(figure, path):
    """Write a figure without anything that changes from run to run."""
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def draw_gemm(table):
    """Speed relative to cuBLAS over sizes."""
    figure, axes = plt.subplots()
    sizes = [row["name"] for row in table["rows"]]
    axes.axhline(1, color=LIBRARY, label="cuBLAS")
    series = [("triton", TRITON, "-", "Triton 3.6"), ("pantile", OURS, "-", "Pantile")]
    series.append(("own", OURS, ":", "Pantile, own configurations"))
    for column, colour, style, label in series:
        ratios = list(peers.speeds(table, column, "cublas").values())
        axes.plot(range(len(sizes)), ratios, style, color=colour, label=label, linewidth=2)
    axes.set_xticks(range(0, len(sizes), 4), sizes[::4])
    axes.set_ylim(0.6, 1.2)
    axes.set_ylabel("speed relative to cuBLAS")
    axes.set_title("fp16 GEMM, M = N = K, tuned", fontsize=11, loc="left")
    axes.legend(frameon=False, ncols=2)
    return figure


def draw_bars(axes, table, series, title):
    """A group of bars per row, one for each column of `series`."""
    rows, width = table["rows"], 0.8 / len(series)
    for number, (column, colour, label) in enumerate(series):
        places = [at + (number - (len(series) - 1) / 2) * width for at in range(len(rows))]
        heights = [row["rates"].get(column, float("nan")) for row in rows]
        axes.bar(places, heights, width, color=colour, label=label)
    names = [textwrap.fill(row["name"], 11, break_on_hyphens=False) for row in rows]
    axes.set_xticks(range(len(rows)), names, fontsize=7)
    axes.set_ylabel(table["unit"])
    axes.set_title(title, fontsize=11, loc="left")
    axes.grid(False, axis="x")
    axes.set_axisbelow(True)
    axes.legend(frameon=False, ncols=len(series), loc="upper left", fontsize=9)
    axes.set_ylim(0, axes.get_ylim()[1] * 1.15)


def draw_attention(forward, backward):
    """Forward and backward, one above the other."""
    figure, (first, second) = plt.subplots(2, figsize=(7.6, 6.4))
    both = [("pantile", OURS, "Pantile"), ("triton", TRITON, "Triton 3.6, the same source")]
    draw_bars(first, forward, both, "attention forward, fp16")
    library = ("torch", LIBRARY, "torch's fused attention")
    draw_bars(second, backward, [*both, library], "attention backward, fp16")
    return figure


def draw_bandwidth(table):
    """A line per workload: bytes per second relative to a copy on the device."""
    figure, axes = plt.subplots(figsize=(6.4, 7.6))
    names = [row["name"] for row in table["rows"]]
    places = {name: len(names) - at for at, name in enumerate(names)}
    series = [("torch", LIBRARY, "s", "torch"), ("triton", TRITON, "o", "Triton 3.6")]
    series.append(("pantile", OURS, "o", "Pantile"))
    for column, colour, marker, label in series:
        ratios = peers.speeds(table, column, "copy")
        heights = [places[name] for name in ratios]
        axes.plot(list(ratios.values()), heights, marker, color=colour, label=label, markersize=5)
    axes.axvline(1, color="#444444", linewidth=1)
    axes.set_yticks(list(places.values()), names, fontsize=8)
    axes.set_xlim(left=0)
    axes.set_xlabel("bytes per second relative to a copy on the device")
    axes.set_title("bandwidth-bound kernels", fontsize=11, loc="left")
    axes.legend(loc="upper left")
    return figure


def draw_launch_and_compile(launch, compilation):
    """Times, next to each other."""
    figure, (first, second) = plt.subplots(1, 2, figsize=(7.6, 3.8), width_ratios=[5, 3])
    both = [("pantile", OURS, "Pantile"), ("triton", TRITON, "Triton 3.6")]
    driver = ("driver", LIBRARY, "driver call")
    draw_bars(first, launch, [driver, *both], "host time of a warm launch")
    draw_bars(second, compilation, both, "cold compile, fp16 GEMM")
    return figure


def draw_steps(table):
    """What each technique adds to those before it, in the mean over tiles."""
    figure, axes = plt.subplots()
    colours = dict(zip((2048, 4096, 8192), (OWN, OURS, "#123a75"), strict=True))
    for size, shares in peers.means_by_step(table):
        axes.plot(shares.keys(), shares.values(), "o-", color=colours[size], label=f"{size}")
    axes.axhline(1, color=LIBRARY, label="cuBLAS")
    axes.set_ylim(0.6, 1.1)
    axes.set_ylabel("speed relative to cuBLAS")
    axes.set_title("one fp16 GEMM, mean over six tiles, M = N = K", fontsize=11, loc="left")
    axes.tick_params(axis="x", labelsize=8)
    axes.legend(frameon=False, ncols=4, loc="lower right")
    return figure


def draw_all(folder, style):
    """Write the five plots."""
    found = peers.tables()
    sizes = found["gemm fp16, small"]["rows"] + found["gemm fp16"]["rows"]
    with plt.rc_context(style):
        save(draw_gemm({"unit": "TFLOP/s", "rows": sizes}), folder / "gemm.svg")
        forward, backward = found["attention forward"], found["attention backward"]
        save(draw_attention(forward, backward), folder / "attention.svg")
        save(draw_bandwidth(found["streaming"]), folder / "bandwidth.svg")
        times = draw_launch_and_compile(found["launch"], found["cold compile"])
        save(times, folder / "launch-and-compile.svg")
        save(draw_steps(found["gemm fp16, step by step"]), folder / "steps.svg")
