"""Checking and measuring kernels: `assert_close`, `do_bench`, `perf_report`.

Times are taken by CUDA events where torch drives a GPU; without torch by the clock around a synchronised launch; on
a machine without a GPU by the clock alone. matplotlib and pandas are imported when a report needs them.
"""

import functools
import sys
import time
from contextlib import contextmanager

_CACHE_BYTES = 256 * 1024 * 1024


def _torch_with_gpu():
    """Return torch if it is loaded and has a GPU, else None: a caller without torch tensors need not have torch."""
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


class _ClockTimer:
    """Times by the clock, around work that has ended."""

    def synchronize(self):
        from .runtime.driver import driver

        driver.active.synchronize()

    def clear_cache(self):
        """Leave the caches as they are: there is no buffer here to flush them with."""

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


def _quantile(ordered, q):
    """The `q`-quantile of sorted values, linear between neighbours."""
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


_SUMMARIES = {
    "min": min,
    "max": max,
    "mean": lambda times: sum(times) / len(times),
    "median": lambda times: _quantile(sorted(times), 0.5),
    "all": list,
}


def _summarize(times, quantiles, return_mode):
    if quantiles is None:
        return _SUMMARIES[return_mode](times)
    ordered = sorted(times)
    values = [_quantile(ordered, q) for q in quantiles]
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
):
    """Measure `fn()` and return milliseconds.

    Parameters
    ----------
    warmup, rep : int
        Milliseconds to spend on warming up and on measuring; at least one run of each.
    grad_to_none : sequence of tensors, optional
        Their gradients are dropped before each run.
    quantiles : sequence of float, optional
        Return these quantiles instead of `return_mode`.
    return_mode : {"mean", "median", "min", "max", "all"}
    on_host : bool
        Measure by the clock, also where torch drives a GPU: events would not see work of the CPU.
    """
    if return_mode not in _SUMMARIES:
        raise ValueError(f"return_mode must be one of {', '.join(_SUMMARIES)}, not {return_mode!r}")
    torch = None if on_host else _torch_with_gpu()
    timer = _EventTimer(torch) if torch else _ClockTimer()

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


def do_bench_cudagraph(fn, rep=20, grad_to_none=None, quantiles=None, return_mode="mean"):
    """Measure `fn()` inside a CUDA graph, free of launch overhead, and return milliseconds; needs torch."""
    import torch

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
        times = [
            time / repeats for time in _EventTimer(torch).times(graph.replay, 10, lambda: None)
        ]
    return _summarize(times, quantiles, return_mode)


def _to_numpy(values):
    import numpy as np

    if hasattr(values, "detach"):  # torch; NumPy has no bfloat16 and no fp8 of its own
        values = values.detach()
        if values.is_floating_point():
            values = values.double()
        return values.cpu().numpy()
    return np.asarray(values)


def _compared(x, y):
    import numpy as np

    x, y = _to_numpy(x), _to_numpy(y)
    if x.size > 1 or y.size > 1:
        assert x.shape == y.shape, f"shapes differ: {x.shape} and {y.shape}"
    return x.astype(np.float64), y.astype(np.float64)


def assert_close(x, y, atol=None, rtol=None, err_msg=""):
    """Raise AssertionError unless |x - y| <= atol + rtol * |y| everywhere; NaN equals NaN."""
    import numpy as np

    x, y = _compared(x, y)
    np.testing.assert_allclose(
        x,
        y,
        atol=1e-2 if atol is None else atol,
        rtol=0.0 if rtol is None else rtol,
        equal_nan=True,
        err_msg=err_msg,
    )


def allclose(x, y, atol=1e-2, rtol=0.0):
    """Return whether |x - y| <= atol + rtol * |y| everywhere; dtypes must agree."""
    import numpy as np

    if str(x.dtype) != str(y.dtype):
        raise RuntimeError(f"dtypes differ: {x.dtype} and {y.dtype}")
    return bool(np.allclose(*_compared(x, y), atol=atol, rtol=rtol))


class Benchmark:
    """What `perf_report` measures: a plot of one value over `x_vals`, with a line for each of `line_vals`.

    Parameters
    ----------
    x_names, x_vals : the arguments that vary along the plot, and their values (a scalar serves all names)
    line_arg, line_vals, line_names, styles : the argument that chooses the line, its values, labels and styles
    plot_name : title, and name of the files that are saved
    args : further arguments, by name
    """

    def __init__(
        self,
        x_names,
        x_vals,
        line_arg,
        line_vals,
        line_names,
        plot_name,
        args,
        xlabel="",
        ylabel="",
        x_log=False,
        y_log=False,
        styles=None,
    ):
        self.x_names, self.x_vals, self.x_log, self.xlabel = (
            list(x_names),
            list(x_vals),
            x_log,
            xlabel,
        )
        self.line_arg, self.line_vals, self.line_names, self.styles = (
            line_arg,
            line_vals,
            line_names,
            styles,
        )
        self.y_log, self.ylabel = y_log, ylabel
        self.plot_name, self.args = plot_name, args


class Mark:
    """A benchmark function with its Benchmarks; `run` measures, prints and saves."""

    def __init__(self, fn, benchmarks):
        self.fn, self.benchmarks = fn, benchmarks

    def run(self, show_plots=False, print_data=False, save_path="", return_df=False, **kwargs):
        """Measure all; print tables, save `<plot_name>.png` and `.csv` under `save_path`, return data frames."""
        single = isinstance(self.benchmarks, Benchmark)
        frames = []
        for bench in [self.benchmarks] if single else self.benchmarks:
            rows = [self._row(bench, x, kwargs) for x in bench.x_vals]
            if print_data:
                _print_table(bench, rows)
            if save_path:
                _save_csv(bench, rows, save_path)
            if show_plots or save_path:
                _plot(bench, rows, show_plots, save_path)
            if return_df:
                frames.append(_frame(bench, rows))
        if return_df:
            return frames[0] if single else frames
        return None

    def _row(self, bench, x, kwargs):
        """The values of x, then (value, low, high) of each line."""
        values = list(x) if isinstance(x, (list, tuple)) else [x] * len(bench.x_names)
        if len(values) != len(bench.x_names):
            raise ValueError(f"{x} does not give a value to each of {bench.x_names}")
        named = dict(zip(bench.x_names, values))
        lines = []
        for line in bench.line_vals:
            result = self.fn(**named, **{bench.line_arg: line}, **bench.args, **kwargs)
            lines.append(
                tuple(result) if isinstance(result, (tuple, list)) else (result, None, None)
            )
        return values, lines


def _header(bench):
    unit = f" ({bench.ylabel})" if bench.ylabel else ""
    return [*bench.x_names, *(name + unit for name in bench.line_names)]


def _cells(row):
    values, lines = row
    return [*values, *(line[0] for line in lines)]


def _print_table(bench, rows):
    cells = [_header(bench)]
    cells += [
        [f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in _cells(row)]
        for row in rows
    ]
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    print(f"{bench.plot_name}:")
    for line in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths)))


def _frame(bench, rows):
    import pandas

    return pandas.DataFrame([_cells(row) for row in rows], columns=_header(bench))


def _save_csv(bench, rows, folder):
    import csv
    import os

    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{bench.plot_name}.csv"), "w", newline="") as file:
        csv.writer(file).writerows([_header(bench), *map(_cells, rows)])


def _plot(bench, rows, show, folder):
    import os

    try:
        import matplotlib

        if not show:
            matplotlib.use("Agg", force=False)
        import matplotlib.pyplot as plt
    except ImportError:
        print("pantile: matplotlib is not installed: no plot is drawn", file=sys.stderr)
        return
    figure, axes = plt.subplots()
    xs = [values[0] for values, _ in rows]
    for i, name in enumerate(bench.line_names):
        colour, style = bench.styles[i] if bench.styles else (None, None)
        axes.plot(xs, [lines[i][0] for _, lines in rows], label=name, color=colour, linestyle=style)
        low, high = [lines[i][1] for _, lines in rows], [lines[i][2] for _, lines in rows]
        if None not in low and None not in high:
            axes.fill_between(xs, low, high, alpha=0.15, color=colour)
    axes.set_xlabel(bench.xlabel or bench.x_names[0])
    axes.set_ylabel(bench.ylabel)
    axes.set_title(bench.plot_name)
    axes.set_xscale("log" if bench.x_log else "linear")
    axes.set_yscale("log" if bench.y_log else "linear")
    axes.legend()
    if folder:
        os.makedirs(folder, exist_ok=True)
        figure.savefig(os.path.join(folder, f"{bench.plot_name}.png"))
    if show:
        plt.show()
    plt.close(figure)


def perf_report(benchmarks):
    """Mark a function as a benchmark: called with the arguments of one point, it returns its value.

    It may return (value, low, high), which are drawn as a band.
    """
    return functools.partial(Mark, benchmarks=benchmarks)


def _properties(device):
    from .runtime.driver import driver

    active = driver.active
    return active.utils.get_device_properties(
        active.get_current_device() if device is None else device
    )


def get_dram_gbps(device=None):
    """Return the peak bandwidth of the device's memory in GB/s."""
    facts = _properties(device)
    return facts["mem_clock_rate"] * facts["mem_bus_width"] * 2 / 1e6 / 8


@contextmanager
def cuda_memcheck(**_):
    """Run the block as it is; compute-sanitizer is started around a whole process."""
    yield
