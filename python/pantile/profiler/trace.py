"""The executions of a session's kernels as a Chrome trace."""

from typing import NamedTuple

from .tree import ROOT

_NANOSECONDS = 1000  # of the microseconds that the format counts


class Run(NamedTuple):
    """One execution of a kernel: `start` and `end` in nanoseconds, `graph` 0 outside of graphs."""

    name: str
    path: tuple
    device: int
    context: int
    stream: int
    graph: int
    start: int
    end: int


def chrome_trace(runs, devices, lost):
    """Return what a `.chrome_trace` file holds.

    Parameters
    ----------
    runs : list of Run
        The first starts at 0 of the trace.
    devices : dict
        As in a hatchet file; kept under `otherData`.
    lost : int
        Executions of which no times are known; kept under `otherData`.
    """
    runs = sorted(runs, key=lambda run: run.start)
    first = runs[0].start if runs else 0
    return {
        "displayTimeUnit": "ns",
        "traceEvents": [_event(run, first) for run in runs],
        "otherData": {"devices": devices, "lost": lost},
    }


def _event(run, first):
    arguments = {"call_stack": [ROOT, *run.path], "device": run.device, "context": run.context}
    if run.graph:
        arguments["graph"] = run.graph
    return {
        "name": run.name,
        "cat": "kernel",
        "ph": "X",
        "pid": f"device {run.device}",
        "tid": f"stream {run.stream}",
        "ts": (run.start - first) / _NANOSECONDS,
        "dur": (run.end - run.start) / _NANOSECONDS,
        "args": arguments,
    }
