"""The executions of a session's kernels as a Chrome trace."""

from .tree import ROOT

_NANOSECONDS = 1000  # of the microseconds that the format counts


def chrome_trace(runs, devices, lost):
    """Return what a `.chrome_trace` file holds.

    Parameters
    ----------
    runs : list of (name, path, device, context, stream, graph, start, end)
        Executions; times in nanoseconds. The first starts at 0 of the trace.
    devices : dict
        As in a hatchet file; kept under `otherData`.
    lost : int
        Executions of which no times are known; kept under `otherData`.
    """
    runs = sorted(runs, key=lambda run: run[6])
    first = runs[0][6] if runs else 0
    return {
        "displayTimeUnit": "ns",
        "traceEvents": [_event(*run, first) for run in runs],
        "otherData": {"devices": devices, "lost": lost},
    }


def _event(name, path, device, context, stream, graph, start, end, first):
    arguments = {"call_stack": [ROOT, *path], "device": device, "context": context}
    if graph:
        arguments["graph"] = graph
    return {
        "name": name,
        "cat": "kernel",
        "ph": "X",
        "pid": f"device {device}",
        "tid": f"stream {stream}",
        "ts": (start - first) / _NANOSECONDS,
        "dur": (end - start) / _NANOSECONDS,
        "args": arguments,
    }
