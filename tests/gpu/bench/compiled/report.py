"""What a run of compiled_models.py found, as a string."""

import math
import re
from pathlib import PurePath

ALLOWED = 1e-5  # difference from eager execution, of the largest element
SLOW = 0.97  # ratio of run times below which a case is named


def _sides(row):
    return row.get("triton", {}), row.get("pantile", {})


def _package(side, default):
    """The name of the package that stood as triton in the side's process."""
    return PurePath(side["triton"]).parent.name if "triton" in side else default


def reason_of(failure):
    """The line of a failure that says why: the innermost error of a worker's traceback, if it has one."""
    lines = [line.strip() for line in failure.strip().splitlines()] or ["failed"]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b.*: ", line)]
    return (errors or lines)[-1 if errors else 0][:200]


def verdict(row, packages=("triton", "pantile")):
    """What is wrong with the row; "" if nothing. `packages` should have stood as triton."""
    theirs, ours = _sides(row)
    if not ours:
        return ""
    for side, package in zip((theirs, ours), packages):
        if (name := _package(side, package)) != package:
            return f"the package that was measured is `{name}`"
    if "failure" in ours:
        return ("both fail: " if "failure" in theirs else "") + reason_of(ours["failure"])
    allowed = max(ALLOWED, 2 * theirs.get("error", 0.0))
    if not ours["error"] <= allowed:
        told = theirs.get("error", math.nan)
        return f"differs by {ours['error']:.2g} of the largest element, Triton by {told:.2g}"
    return ""


def ratio(row, key):
    """Triton's time over Pantile's, or None."""
    a, b = (side.get(key) for side in _sides(row))
    return a / b if a and b else None


def new_warnings(row):
    """Warnings that Triton's side does not give."""
    theirs, ours = _sides(row)
    return [w for w in ours.get("warnings", []) if w not in theirs.get("warnings", [])]


def other_counters(row):
    """Torch's counters that differ, as pairs of a name and both counts."""
    theirs, ours = (side.get("counters", {}) for side in _sides(row))
    names = sorted({*theirs, *ours}) if theirs and ours else []
    return [(n, theirs.get(n, 0), ours.get(n, 0)) for n in names if theirs.get(n) != ours.get(n)]


def line_of(name, row):
    cells = [f"{name:31}"]
    for key in ("compile_s", "triton_s", "run_ms", "device_ms"):
        a, b = (side.get(key) or math.nan for side in _sides(row))
        cells.append(f"{a:8.2f} {b:8.2f} {ratio(row, key) or math.nan:6.2f}")
    new = len(new_warnings(row))
    failed = f"  FAILED {row['verdict'][:160]}" if row.get("verdict") else ""
    theirs = _sides(row)[0].get("failure")
    failed += f"  (Triton: {theirs[:80]})" if theirs else ""
    return "  ".join(cells) + (f"  {new} warnings" if new else "") + failed


def geometric_mean(ratios):
    ratios = [r for r in ratios if r]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def means(rows, is_warm=lambda name: name.startswith("warm ")):
    """Lines with the geometric means; warm starts count by themselves."""
    for key in ("compile_s", "first_result_s", "run_ms", "back_to_back_ms", "device_ms"):
        for what, warm in (("", False), (" of warm starts", True)):
            found = [ratio(r, key) for n, r in rows.items() if is_warm(n) == warm]
            count = sum(bool(r) for r in found)
            if count:
                yield f"geometric mean of {key}{what}: {geometric_mean(found):.3f} ({count} cases)"


def summary(rows, names):
    """All lines: the table, means, failures and what only Pantile's side said."""
    yield "=== case; Triton, Pantile, ratio: compilation s, of it in the compiler of kernels s,"
    yield "    run ms, device ms"
    for name in names:
        yield line_of(name, rows[name]) if name in rows else f"{name:31}  not begun"
    yield from means(rows)
    slow = [n for n, row in rows.items() if (ratio(row, "run_ms") or 1) < SLOW]
    yield f"run time below {SLOW}: {', '.join(slow) or 'none'}"
    failed = [n for n, row in rows.items() if row["verdict"]]
    yield f"{len(rows) - len(failed)} of {len(rows)} right; failed: {', '.join(failed) or 'none'}"
    for name, row in rows.items():
        yield from details(name, row)


def details(name, row):
    for warning in new_warnings(row):
        yield f"warning of {name}: {warning}"
    for counter, theirs, ours in other_counters(row):
        yield f"counter of {name}: {counter}: {theirs}, {ours}"
    for side, found in row.items():
        if isinstance(found, dict) and "failure" in found:
            text = found["trace"] or found["stderr"]
            text = text[:4000] if text.startswith("SIG") else text[-2500:]
            yield f"--- {name}, {side}: {found['failure']}\n{text}"
