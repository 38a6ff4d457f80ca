"""Metrics that the viewer computes from those of the file."""

import math

from . import specs
from .frames import INCLUSIVE
from .hooks.launch import LaunchHook

_UNITS_OF_TIME = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}  # in nanoseconds
_TIMES = {"time": "time (ns)", "cpu_time": "cpu_time (ns)(exc)"}


def _rates():
    """{name: (metric, factor)} of metrics per second."""
    found = {"byte/s": ("bytes", 1), "gbyte/s": ("bytes", 1e9), "tbyte/s": ("bytes", 1e12)}
    for width in ("", *LaunchHook.flops_width):
        for prefix, factor in (("", 1), ("g", 1e9), ("t", 1e12)):
            found[f"{prefix}flop{width}/s"] = (f"flops{width}", factor)
    return found


RATES = _rates()


def _ratio(numerator, denominator):
    return numerator / denominator if denominator else math.nan


def column_of(profile, name):
    """Return the column of a metric, given with or without its unit and in any case.

    ValueError if the file has no such metric.
    """
    for known in [*profile.inclusive, *profile.exclusive]:
        if name.lower() in (known.lower(), known.split("(")[0].strip().lower()):
            return known + INCLUSIVE if known in profile.inclusive else known
    raise ValueError(f"there is no metric `{name}`; `--list` names those that there are")


def _set(profile, column, compute):
    for frame in profile.root.walk():
        value = compute(frame)
        if not math.isnan(value):
            frame.values[column] = value
    return column


def _derive_time(profile, metric):
    name, unit = metric.split("/")
    is_average = name.startswith("avg_")
    source = column_of(profile, _TIMES[name.removeprefix("avg_")])
    scale = _UNITS_OF_TIME[unit]
    suffix = INCLUSIVE if source.endswith(INCLUSIVE) else ""
    count = column_of(profile, "count") if is_average else None

    def compute(frame):
        time = frame.value(source) / scale
        return _ratio(time, frame.value(count)) if is_average else time

    return _set(profile, metric + suffix, compute)


def _derive_rate(profile, metric):
    name, factor = RATES[metric]
    source, time = column_of(profile, name), column_of(profile, "time (ns)")
    return _set(
        profile,
        metric + INCLUSIVE,
        lambda frame: _ratio(frame.value(source), frame.value(time) / 1e9) / factor,
    )


def _least_seconds(frame, device_type, facts):
    """The time that the frame's operations and bytes take at the GPU's peaks, whichever is more."""
    own, arch = frame.own, facts["arch"]
    operations = sum(
        own[f"flops{width}"]
        / specs.max_flops(device_type, arch, width, facts["num_sms"], facts["clock_rate"])
        for width in LaunchHook.flops_width
        if own.get(f"flops{width}")
    )
    peak = specs.max_bps(device_type, arch, facts["bus_width"], facts["memory_clock_rate"])
    return max(operations, own.get("bytes", 0) / peak)


def _derive_utilisation(profile):
    def compute(frame):
        kind, number = frame.own.get("device_type"), frame.own.get("device_id")
        facts = profile.devices.get(kind, {}).get(number)
        if not facts:
            return math.nan
        seconds = _least_seconds(frame, kind, facts)
        return _ratio(seconds, frame.own["time (ns)"] / 1e9) if seconds else math.nan

    return _set(profile, "util", compute)


def _derive_share(profile, metric):
    name, _, unit = metric.partition("/")
    if unit != "%":
        raise ValueError(f"`{metric}` has the unit `{unit}`, which is not known")
    source = column_of(profile, name)
    if source.endswith(INCLUSIVE):
        total = profile.root.value(source)
        suffix = INCLUSIVE
    else:
        total = sum(frame.own.get(source, 0) for frame in profile.root.walk())
        suffix = ""
    return _set(profile, metric + suffix, lambda frame: _ratio(frame.value(source), total) * 100)


def derive(profile, metric):
    """Compute a metric for all frames; return its column.

    Parameters
    ----------
    profile : ViewedProfile
    metric : str
        A metric of the file; `time/ms` and `avg_time/ms` in s, ms, us or ns, of `cpu_time` too;
        `tflop16/s` and `gbyte/s`; `util`; or `name/%`, the part of all frames together.

    ValueError for another one, and if the file lacks what it is computed from.
    """
    metric = metric.strip().lower()
    name, _, unit = metric.partition("/")
    if metric == "util":
        return _derive_utilisation(profile)
    if metric in RATES:
        return _derive_rate(profile, metric)
    if name.removeprefix("avg_") in _TIMES and unit in _UNITS_OF_TIME:
        return _derive_time(profile, metric)
    return _derive_share(profile, metric) if unit else column_of(profile, metric)
