"""`do_bench`: how long a call takes.

Times are taken by CUDA events, each run with a cold L2, through torch or without it through the
driver; on a machine without a GPU by the clock.
"""

import sys
import time

_CACHE_BYTES = 256 * 1024 * 1024
_NOT_GIVEN = object()


def _torch_with_gpu():
    """Return torch if it is loaded and has a GPU: callers without its tensors need not have it."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and torch.cuda.is_available() else None


class _EventTimer:
    """Times by CUDA events, each run with a cold L2."""

    def __init__(self, torch):
        self.torch = torch
        self.flush = torch.empty(_CACHE_BYTES // 4, dtype=torch.int32, device="cuda")

    def synchronize(self):
        self.torch.cuda.synchronize()

    def clear_cache(self):
        self.flush.zero_()

    def times(self, run, count, prepare):
        """Milliseconds of each of `count` runs."""
        events = [
            [self.torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)
        ]
        for start, end in events:
            prepare()
            self.clear_cache()
            start.record()
            run()
            end.record()
        self.synchronize()
        return [start.elapsed_time(end) for start, end in events]


class _DriverTimer:
    """Times by CUDA events, each run with a cold L2, without torch."""

    def __init__(self, device=None):
        from ..backends.nvidia.libcuda import Libcuda
        from ..runtime.device import active_device

        self.cuda, self.active = Libcuda.of_process(), active_device()
        self.device = self.active.get_current_device() if device is None else device
        with self.cuda.using(self.device):
            self.flush = self.cuda.allocate(_CACHE_BYTES)

    def __del__(self):
        if hasattr(self, "flush"):
            with self.cuda.using(self.device):
                self.cuda.free(self.flush)

    def synchronize(self):
        from .. import _pantile

        _pantile.synchronize(self.device)

    def times(self, run, count, prepare):
        """Milliseconds of each of `count` runs."""
        with self.cuda.using(self.device):
            return self._times(run, count, prepare)

    def _times(self, run, count, prepare):
        stream = self.active.get_current_stream(self.device)
        events = [(self.cuda.event(), self.cuda.event()) for _ in range(count)]
        for start, end in events:
            prepare()
            self.cuda.clear(self.flush, _CACHE_BYTES, stream)
            self.cuda.record(start, stream)
            run()
            self.cuda.record(end, stream)
        result = [self.cuda.elapsed(start, end) for start, end in events]
        for pair in events:
            for event in pair:
                self.cuda.destroy(event)
        return result


class _ClockTimer:
    """Times by the clock, around work that has ended."""

    def synchronize(self):
        from ..runtime.device import active_device

        active_device().synchronize()

    def times(self, run, count, prepare):
        result = []
        for _ in range(count):
            prepare()
            self.synchronize()
            start = time.perf_counter()
            run()
            self.synchronize()
            result.append((time.perf_counter() - start) * 1e3)
        return result


def quantile_of(ordered, q):
    """The `q`-quantile of sorted values, linear between neighbours."""
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def timer_of(on_host, device=None):
    """The best timer for where the work runs: on GPU `device`, which is torch's current one if torch is loaded."""
    if on_host:
        return _ClockTimer()
    torch = _torch_with_gpu()
    if torch is not None:
        return _EventTimer(torch)
    from ..runtime.device import active_device

    return _DriverTimer(device) if active_device().is_active() else _ClockTimer()


_SUMMARIES = {
    "min": min,
    "max": max,
    "mean": lambda times: sum(times) / len(times),
    "median": lambda times: quantile_of(sorted(times), 0.5),
    "all": list,
}


def _summarize(times, quantiles, return_mode):
    if quantiles is None:
        return _SUMMARIES[return_mode](times)
    ordered = sorted(times)
    values = [quantile_of(ordered, q) for q in quantiles]
    return values[0] if len(values) == 1 else values


def do_bench(
    fn,
    warmup=25,
    rep=100,
    grad_to_none=None,
    quantiles=None,
    return_mode="mean",
    *,
    on_host=False,
    device=None,
    percentiles=_NOT_GIVEN,
    fast_flush=True,
    record_clocks=False,
):
    """Measure `fn()` and return milliseconds.

    Parameters
    ----------
    fn : callable
        What is measured, without parameters.
    warmup : int, default 25
        Milliseconds to spend on warming up.
    rep : int, default 100
        Milliseconds to spend on measuring; at least one run.
    grad_to_none : sequence of tensors, optional
        Their gradients are dropped before each run.
    quantiles : sequence of float, optional
        Return these quantiles instead of `return_mode`.
    return_mode : {"mean", "median", "min", "max", "all"}, default "mean"
        What of the times is returned; "all" is their list.
    on_host : bool, default False
        Measure by the clock, also where torch drives a GPU: events would not see work of the CPU.
    device : int, optional
        The GPU that `fn` works on, where torch is not loaded; the current one if left out.
    percentiles : sequence of float, optional
        Older name of `quantiles`.
    fast_flush, record_clocks : bool, optional
        Of older versions, without effect.

    Raises
    ------
    ValueError
        For another `return_mode`.
    """
    if percentiles is not _NOT_GIVEN:
        quantiles = quantiles if quantiles is not None else percentiles
    if return_mode not in _SUMMARIES:
        raise ValueError(f"return_mode must be one of {', '.join(_SUMMARIES)}, not {return_mode!r}")
    timer = timer_of(on_host, device)

    def prepare():
        for tensor in grad_to_none or ():
            tensor.grad = None

    fn()
    timer.synchronize()
    start = time.perf_counter()
    fn()
    timer.synchronize()
    once = (time.perf_counter() - start) * 1e3
    # A run that is long by itself needs no better estimate.
    estimate = once if once > 10 else sum(timer.times(fn, 5, prepare)) / 5
    estimate = max(estimate, 1e-4)
    for _ in range(min(max(1, int(warmup / estimate)), 10000) if once <= warmup else 0):
        fn()
    times = timer.times(fn, min(max(1, int(rep / estimate)), 10000), prepare)
    return _summarize(times, quantiles, return_mode)


def _measure_by_torch(torch, fn, grad_to_none, rep):
    """Milliseconds of one call in each of ten replays of a graph of many."""
    with torch.cuda.stream(torch.cuda.Stream()):
        fn()
        torch.cuda.synchronize()
        estimate = max(do_bench(fn, warmup=1, rep=5, grad_to_none=grad_to_none), 1e-4)
        repeats = max(1, int(rep / estimate))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(repeats):
                for tensor in grad_to_none or ():
                    tensor.grad = None
                fn()
        torch.cuda.synchronize()
        times = _EventTimer(torch).times(graph.replay, 10, lambda: None)
        return [time / repeats for time in times]


def _measure_by_driver(fn, rep, device):
    """The same without torch, in a stream of its own."""
    timer = _DriverTimer(device)
    with timer.cuda.using(timer.device):
        return _measure_graph(timer, fn, rep)


def _measure_graph(timer, fn, rep):
    from .. import _pantile

    stream = timer.cuda.stream()
    _pantile.choose_stream(stream)
    graph = None
    try:
        fn()
        timer.synchronize()
        estimate = max(sum(timer.times(fn, 5, lambda: None)) / 5, 1e-4)
        repeats = max(1, int(rep / estimate))
        graph = timer.cuda.capture(stream, lambda: [fn() for _ in range(repeats)])
        times = timer.times(lambda: timer.cuda.launch_graph(graph, stream), 10, lambda: None)
        return [time / repeats for time in times]
    finally:
        _pantile.choose_stream(None)
        if graph is not None:
            timer.cuda.destroy_graph(graph)
        timer.cuda.destroy_stream(stream)


def do_bench_cudagraph(
    fn, rep=20, grad_to_none=None, quantiles=None, return_mode="mean", *, device=None
):
    """Measure `fn()` in a CUDA graph, without launch overhead, and return milliseconds.

    Works with torch's tensors where torch is loaded, and without it with arrays of other kinds.

    Parameters
    ----------
    fn : callable
        What is measured, without parameters.
    rep : int, default 20
        Milliseconds that one replay of the graph takes; there are ten.
    grad_to_none : sequence of tensors, optional
        Their gradients are dropped before each run; torch's alone.
    quantiles : sequence of float, optional
        Return these quantiles instead of `return_mode`.
    return_mode : {"mean", "median", "min", "max", "all"}, default "mean"
        What of the times of one run is returned.
    device : int, optional
        The GPU that `fn` works on, where torch is not loaded; None: the current one.

    Raises
    ------
    RuntimeError
        There is no GPU.
    ValueError
        For another `return_mode`.
    """
    if return_mode not in _SUMMARIES:
        raise ValueError(f"return_mode must be one of {', '.join(_SUMMARIES)}, not {return_mode!r}")
    torch = _torch_with_gpu()
    if torch is not None:
        return _summarize(_measure_by_torch(torch, fn, grad_to_none, rep), quantiles, return_mode)
    from ..runtime.device import active_device

    if not active_device().is_active():
        raise RuntimeError("`do_bench_cudagraph` needs a GPU; `do_bench` measures on the CPU too")
    return _summarize(_measure_by_driver(fn, rep, device), quantiles, return_mode)


def in_use(name):
    """Return the function `name` of `pantile.testing`, which a program may have replaced by its own."""
    return getattr(sys.modules.get("pantile.testing"), name, None) or globals()[name]
