"""Measurements of docs/measurements relative to those of peers, as ratios of speed.

Gives: `tables`, the tables of the record with peers; `speeds`, ratios of speed of two columns of a
       table, whatever its unit; `workloads`, the rows of the summary in docs/performance.md.
How:   Every table has rows with `rates` (numbers by name, in the table's unit) or with `relative to`
       (ratios that were recorded as such). A unit of time turns a ratio around.
"""

import itertools
import json
import math
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "docs/measurements"
TIMES = ("ns", "us", "ms", "s")
OTHER_TYPES = ("bf16", "fp8", "int8", "attention forward", "attention backward")
ANY_EXTENT = "gemm fp16, tiles of any extent"
# Groups of the rows of the tensor-core workloads, by how their names begin; the first that fits.
TENSOR_CORES = {
    "attention d=192": "attention d=192/128",
    "attention d=": "attention, long",
    "attention bf16": "attention, long",
    "attention fp8": "attention fp8",
    "attention varlen": "attention varlen",
    "paged decode": "decode",
    "MLA decode": "decode",
    "fp8 GEMM": "block scales",
    "MoE GEMM": "MoE",
    "int4 weights": "4-bit weights",
    "mxfp4 weights": "4-bit weights",
    "bf16 GEMM": "long GEMM",
    "small": "small",
    "": "scans",
}


def read(name):
    """The JSON of a measurement."""
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def tables():
    """The tables with peers by name; those of matmul.json and tutorials.json in the same form."""
    found = {}
    for day in (22, 23, 30):
        found |= read(f"peers-2026-11-{day}.json")["tables"]
    again = {row["name"]: row for row in found.pop("streaming, measured again")["rows"]}
    streaming = found["streaming"]
    streaming["rows"] = [again.get(row["name"], row) for row in streaming["rows"]]
    rows = [{"name": str(row["size"]), "rates": row["tflops"]} for row in read("matmul.json")]
    small = [row for row in rows if int(row["name"]) < 1024]
    found["gemm fp16"] = {"unit": "TFLOP/s", "rows": [row for row in rows if row not in small]}
    found["gemm fp16, small"] = {"unit": "TFLOP/s", "rows": small}
    streams = [row for row in read("tutorials.json") if not row["table"].startswith("attention")]
    found["tutorials"] = {
        "unit": "GB/s",
        "rows": [
            {"name": f"{row['table']} {row['size']}", "rates": row["rates"]} for row in streams
        ],
    }
    for group in OTHER_TYPES:
        part = [row for row in found["other types"]["rows"] if row["name"].startswith(group)]
        found[f"other types: {group}"] = {"unit": "TFLOP/s", "rows": part}
    return found | tensor_cores()


def tensor_cores():
    """The tensor-core workloads by group; each row of the record has a unit of its own."""
    found = {}
    newer = {
        row["name"]: row
        for name in (
            "tensor-cores-2026-11-28.json",
            "tensor-cores-2026-11-29.json",
            "tensor-cores-2026-11-29-afternoon.json",
            "tensor-cores-2026-11-29-evening.json",
            "tensor-cores-2026-11-29-night.json",
            "tensor-cores-2026-11-29-late.json",
            "tensor-cores-2026-11-30.json",
            "tensor-cores-2026-11-30-morning.json",
            "tensor-cores-2026-11-30-noon.json",
            "tensor-cores-2026-11-30-evening.json",
            "tensor-cores-2026-12-01.json",
        )
        for row in read(name)["rows"]
    }
    for table in read("tensor-cores-2026-11-24.json")["tables"].values():
        for row in (newer.pop(row["name"], row) for row in table["rows"]):
            name = next(g for start, g in TENSOR_CORES.items() if row["name"].startswith(start))
            group = found.setdefault(name, {"unit": row["unit"], "rows": []})
            if row["unit"] != group["unit"]:
                raise ValueError(f"{row['name']} has another unit than its group")
            group["rows"].append(row)
    found["decode"]["rows"] += newer.values()  # MLA of 16 heads, which the first record lacks
    return found


def speeds(table, ours, peer):
    """How many times as fast `ours` is as `peer`, by the rows that have both."""
    result = {}
    if len({row["name"] for row in table["rows"]}) < len(table["rows"]):
        raise ValueError("a name stands for two rows")
    for row in table["rows"]:
        rates = row.get("rates", {})
        if peer in row.get("relative to", {}):
            result[row["name"]] = row["relative to"][peer]
        elif ours in rates and peer in rates:
            ratio = rates[ours] / rates[peer]
            result[row["name"]] = 1 / ratio if table["unit"] in TIMES else ratio
    return result


def mean(ratios):
    """The geometric mean."""
    return math.exp(math.fsum(math.log(ratio) for ratio in ratios) / len(ratios))


FLASH = "FlashAttention-2"
NO_SCALES = "cuBLAS without scales"
GROUPED = "torch._grouped_mm, rows sorted before"

# Title, table, the column that is ours, the library's name and column, Triton's column.
WORKLOADS = [
    ("GEMM fp16, 1024 to 16384", "gemm fp16", "pantile", "cuBLAS", "cublas", "triton"),
    ("the same, own configurations", "gemm fp16", "own", "cuBLAS", "cublas", "triton"),
    ("the same, tiles of any extent", ANY_EXTENT, "pantile", "cuBLAS", "cublas", None),
    ("GEMM fp16, 256 to 896", "gemm fp16, small", "pantile", "cuBLAS", "cublas", "triton"),
    (
        "GEMM fp16, 1000 to 4095",
        "gemm fp16, other strides",
        "pantile",
        "cuBLAS",
        "cublas",
        "triton",
    ),
    ("GEMM bf16, nn, nt, tn", "other types: bf16", "pantile", "cuBLAS", "library", "triton"),
    ("GEMM fp8, nt", "other types: fp8", "pantile", "cuBLAS", "library", None),
    ("GEMM int8, nt", "other types: int8", "pantile", "`torch._int_mm`", "library", "triton"),
    ("GEMM tf32, nn, nt, tn", "gemm tf32", "pantile", "cuBLAS", "library", "triton"),
    ("GEMM fp64, nn, nt", "gemm fp64", "pantile", "cuBLAS", "library", None),
    ("GEMM bf16, M = 1 to 256", "skinny gemm bf16", "pantile", "cuBLAS", "library", "triton"),
    ("GEMM and attention, ragged rows", "ragged", "pantile", None, None, "triton"),
    ("attention forward", "attention forward", "pantile", None, None, "triton"),
    ("the same, d=64", "attention forward, tutorial 06", "pantile", "torch", "torch", "triton"),
    ("the same, d=128", "other types: attention forward", "pantile", "cuDNN", "library", "triton"),
    ("attention backward", "attention backward, sums", "pantile", "cuDNN", "cuDNN", "triton"),
    ("the same, d=256", "attention backward, d=256", "pantile", "cuDNN", "cuDNN", "triton"),
    ("the same, seven dots", "attention backward", "pantile", "cuDNN", "cuDNN", "triton"),
    ("bandwidth-bound", "streaming", "pantile", "torch", "torch", "triton"),
    ("the same, against a copy", "streaming", "pantile", "copy", "copy", None),
    ("tutorials 01, 02, 04, 05, 07", "tutorials", "ours", "torch", "torch", "same"),
    ("warm launch", "launch", "pantile", "driver call", "driver", "triton"),
    ("cold compile", "cold compile", "pantile", None, None, "triton"),
    ("cold tuning", "tuning from cold", "pantile", None, None, "triton"),
    ("attention d=64 to 256", "attention, long", "pantile", "cuDNN", "cuDNN", "triton"),
    ("attention d=192/128", "attention d=192/128", "pantile", "cuDNN", "cuDNN", "triton"),
    ("attention fp8", "attention fp8", "pantile", "cuDNN bf16", "cuDNN bf16", "triton"),
    ("attention, ragged rows", "attention varlen", "pantile", FLASH, FLASH, "triton"),
    ("decode: paged, MLA", "decode", "pantile", None, None, "triton"),
    ("linear attention, scans", "scans", "pantile", None, None, "triton"),
    ("GEMM fp8, block scales", "block scales", "pantile", NO_SCALES, NO_SCALES, "triton"),
    ("GEMM of experts (MoE)", "MoE", "pantile", "`torch._grouped_mm`", GROUPED, "triton"),
    ("weights of 4 bits", "4-bit weights", "pantile", "cuBLAS bf16", "cuBLAS bf16", "triton"),
    ("GEMM bf16, M = 64 and 256", "long GEMM", "pantile", "cuBLAS", "cuBLAS", "triton"),
    ("kernels of microseconds", "small", "pantile", None, None, "triton"),
]


def span(table, ours):
    """The least and the greatest rate of ours, with the unit; empty where only ratios were kept."""
    rates = [row["rates"][ours] for row in table["rows"] if ours in row.get("rates", {})]
    if not rates:
        return ""
    ends = (f"{rate:.0f}" if rate >= 10 else f"{rate:.3g}" for rate in (min(rates), max(rates)))
    return f"{' to '.join(dict.fromkeys(ends))} {table['unit']}"


def cell(ratios):
    """Mean and worst of ratios by name, as a cell of the summary."""
    return f"{mean(ratios.values()):.2f} ({min(ratios.values()):.2f})" if ratios else "-"


def summary():
    """The summary in Markdown, line by line."""
    found = tables()
    yield "| workload | points | Pantile | against the library | against Triton |"
    yield "| --- | --- | --- | --- | --- |"
    for title, name, ours, library, column, triton in WORKLOADS:
        table = found[name]
        value = cell(speeds(table, ours, column))
        cells = [f"{value} {library}" if library else value, cell(speeds(table, ours, triton))]
        yield f"| {title} | {len(table['rows'])} | {span(table, ours)} | {' | '.join(cells)} |"


def means_by_step(table):
    """Of a table of steps: for each size, the mean over tiles at each step."""
    by_size = itertools.groupby(sorted(table["rows"], key=lambda r: r["size"]), lambda r: r["size"])
    for size, rows in by_size:
        shares = [row["relative to cuBLAS"] for row in rows]
        yield size, {step: mean([share[step] for share in shares]) for step in shares[0]}
