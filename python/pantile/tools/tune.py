"""What the tuner measured, from the kernel cache: a table, and bars.

    python -m pantile tune report [--kernel NAME] [--plot FILE] [--csv FILE] [--all]

Times are medians in milliseconds, followed by the quantiles 0.2 and 0.8. `pantilec cache export --kind tuning`
and `import` carry them to another machine; `pantilec cache clear --kind tuning` has everything measured again.
"""

import argparse
import csv
import json
from collections import defaultdict

_TOP = 5


def measurements():
    """Return the stored measurements as dicts, those used last first.

    Each has `kernel`, `key` (a list of strings), `key_names`, `device`, `config` (a string), `times` (milliseconds at the
    quantiles 0.5, 0.2 and 0.8, or None), `error` (a string or None) and `measured` (a date).
    """
    from .. import _pantile, knobs

    knobs.export()
    found = []
    for _, _, payload in _pantile.cache_entries("tuning"):
        try:
            entry = json.loads(payload)
        except ValueError:
            continue
        if "config" not in entry and "milliseconds" in entry:
            entry = _of_library(entry)
        if {"kernel", "config", "times", "device"} <= set(entry):
            found.append(entry)
    return found


def _of_library(entry):
    """A measurement of the C++ library's tuner in the form of ours."""
    config = f"num_warps: {entry.get('num_warps')}, num_stages: {entry.get('num_stages')}"
    return {
        **entry,
        "config": config,
        "times": [entry["milliseconds"]] * 3,
        "device": entry.get("target", ""),
    }


def _groups(found):
    """{(kernel, key, device): measurements, the fastest first, then the failed}."""
    groups = defaultdict(list)
    for entry in found:
        groups[entry["kernel"], tuple(entry.get("key", ())), entry["device"]].append(entry)
    for entries in groups.values():
        entries.sort(key=lambda entry: entry["times"][0] if entry["times"] else float("inf"))
    return dict(sorted(groups.items()))


def _title(group, entries):
    kernel, key, device = group
    names = entries[0].get("key_names", [])
    told = [f"{name}={value}" for name, value in zip(names, key)] + list(key[len(names) :])
    return f"{kernel}({', '.join(told)}) on {device}"


def _lines(entries, everything):
    best = entries[0]["times"][0] if entries[0]["times"] else None
    shown = entries if everything else entries[:_TOP]
    for entry in shown:
        if entry["times"] is None:
            yield f"  {'-':>10}  {'':>16}  {'':>6}  {entry['config']}: {entry['error']}"
            continue
        median, low, high = entry["times"]
        spread = f"{low:.4f}-{high:.4f}"
        yield f"  {median:>10.4f}  {spread:>16}  {median / best:>5.2f}x  {entry['config']}"
    if len(entries) > len(shown):
        yield f"  and {len(entries) - len(shown)} slower or failed ones (--all shows them)"


def print_table(groups, everything):
    """Print each kernel's configurations, the fastest first."""
    for group, entries in groups.items():
        print(_title(group, entries))
        for line in _lines(entries, everything):
            print(line)


def write_csv(groups, path):
    """Write one row a measurement: kernel, key, device, configuration, three times in ms, error."""
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(
            ["kernel", "key", "device", "config", "median", "low", "high", "error", "measured"]
        )
        for (kernel, key, device), entries in groups.items():
            for entry in entries:
                times = entry["times"] or ["", "", ""]
                rest = [entry.get("error") or "", entry.get("measured", "")]
                rows.writerow([kernel, " ".join(key), device, entry["config"], *times, *rest])


def plot(groups, path):
    """Draw a bar for each configuration, a panel for each kernel and key; needs matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [max(1, sum(entry["times"] is not None for entry in e)) for e in groups.values()]
    height = 1.0 * len(rows) + 0.32 * sum(rows)
    figure, axes = pyplot.subplots(
        len(rows), 1, figsize=(11, height), squeeze=False, height_ratios=rows
    )
    for axis, (group, entries) in zip(axes[:, 0], groups.items()):
        measured = [entry for entry in entries if entry["times"]][::-1]
        medians = [entry["times"][0] for entry in measured]
        below = [max(0.0, entry["times"][0] - entry["times"][1]) for entry in measured]
        above = [max(0.0, entry["times"][2] - entry["times"][0]) for entry in measured]
        colours = ["tab:green" if m == min(medians) else "tab:blue" for m in medians]
        places = range(len(measured))
        axis.barh(places, medians, xerr=[below, above], color=colours, ecolor="0.3", capsize=2)
        axis.set_yticks(places, [entry["config"] for entry in measured], fontsize=7)
        axis.set_title(_title(group, entries), fontsize=9, loc="left")
        axis.set_xlabel("ms", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _parser():
    parser = argparse.ArgumentParser(
        prog="pantile tune", description="what the tuner measured, from the kernel cache"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    report = commands.add_parser("report", help="print and draw the measurements")
    report.add_argument("--kernel", help="only kernels with this in their names")
    report.add_argument("--plot", metavar="FILE", help="draw bars to a .png, .svg or .pdf file")
    report.add_argument("--csv", metavar="FILE", help="write one row a measurement")
    report.add_argument("--all", action="store_true", help="show all configurations")
    return parser


def main(arguments=None):
    """Run `tune report`; return 0, or 1 where nothing is stored."""
    options = _parser().parse_args(arguments)
    found = measurements()
    if options.kernel:
        found = [entry for entry in found if options.kernel in entry["kernel"]]
    if not found:
        print("nothing is stored that was measured")
        return 1
    groups = _groups(found)
    print_table(groups, options.all)
    if options.csv:
        write_csv(groups, options.csv)
    if options.plot:
        plot(groups, options.plot)
    return 0
