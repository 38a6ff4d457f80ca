"""`perf_report`: tables, plots and files. matplotlib and pandas are imported when needed."""

import functools
import os
import sys


class Benchmark:
    """What `perf_report` measures: a plot of one value over `x_vals`, with a line for each of `line_vals`.

    Parameters
    ----------
    x_names, x_vals : list
        The arguments that vary along the plot, and their values; a scalar serves all names.
    line_arg : str
        The argument that chooses the line.
    line_vals, line_names : list
        Its values, and their labels.
    plot_name : str
        Title, and name of the files that are saved.
    args : dict
        Further arguments, by name.
    xlabel, ylabel : str, default ""
        Labels of the axes; of x the first of `x_names` without one.
    x_log, y_log : bool, default False
        Draw the axis on a logarithmic scale.
    styles : list of tuple of str, optional
        For each line a colour and a line style, as matplotlib takes them.
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
    """A benchmark function with its Benchmarks, which `perf_report` makes.

    Parameters
    ----------
    fn : callable
        Measures one point, as of `perf_report`.
    benchmarks : Benchmark or list of Benchmark
        What is measured and drawn.
    """

    def __init__(self, fn, benchmarks):
        self.fn, self.benchmarks = fn, benchmarks

    def run(
        self,
        show_plots=False,
        print_data=False,
        save_path="",
        return_df=False,
        *,
        diff_col=False,
        save_precision=None,
        **kwargs,
    ):
        """Measure all; print tables, return data frames.

        Parameters
        ----------
        show_plots : bool, default False
            Show the pictures.
        print_data : bool, default False
            Print the tables.
        save_path : str, default ""
            The folder of a `.png` and a `.csv` of each, and of `results.html` with all pictures; "":
            nothing is written.
        return_df : bool, default False
            Return a pandas.DataFrame, of several Benchmarks a list of them; None otherwise.
        diff_col : bool, default False
            Add a column `Diff` where there are two lines: the second less the first.
        save_precision : int, optional
            Decimals in the `.csv`; None: all.
        kwargs : by keyword
            Go to the function.

        Raises
        ------
        ValueError
            If a point does not give a value to each of `x_names`.
        """
        single = isinstance(self.benchmarks, Benchmark)
        frames, measured = [], []
        for bench in [self.benchmarks] if single else self.benchmarks:
            rows = [self._row(bench, x, kwargs) for x in bench.x_vals]
            table = _table(bench, rows, diff_col)
            if print_data:
                _print_table(bench, table)
            if save_path:
                _save_csv(bench, table, save_path, save_precision)
                measured.append((bench, table))
            if show_plots or save_path:
                _plot(bench, rows, show_plots, save_path)
            if return_df:
                frames.append(_frame(table))
        if save_path:
            _save_page(measured, save_path)
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


def _table(bench, rows, with_difference):
    """The titles of the columns, and a list of cells for each row."""
    unit = f" ({bench.ylabel})" if bench.ylabel else ""
    head = [*bench.x_names, *(name + unit for name in bench.line_names)]
    cells = [[*values, *(line[0] for line in lines)] for values, lines in rows]
    if with_difference and len(bench.line_names) == 2:
        head.append("Diff")
        cells = [[*row, row[-1] - row[-2]] for row in cells]
    return head, cells


def _shown(row):
    return [f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row]


def _print_table(bench, table):
    head, rows = table
    cells = [head, *map(_shown, rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(head))]
    print(f"{bench.plot_name}:")
    for line in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths)))


def _frame(table):
    import pandas

    return pandas.DataFrame(table[1], columns=table[0])


def _save_csv(bench, table, folder, precision):
    import csv

    def written(cell):
        return cell if precision is None or not isinstance(cell, float) else f"{cell:.{precision}f}"

    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{bench.plot_name}.csv"), "w", newline="") as file:
        csv.writer(file).writerows([table[0], *([*map(written, row)] for row in table[1])])


def _html_of(table):
    """The rows as HTML, for readers without pictures."""
    from html import escape

    def line(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    body = [line(_shown(row), "td") for row in table[1]]
    return "\n".join(["<table>", line(table[0], "th"), *body, "</table>"])


def _save_page(measured, folder):
    """Write `results.html`: every plot, with its numbers folded away below."""
    from html import escape
    from urllib.parse import quote

    parts = []
    for bench, table in measured:
        picture = f"{bench.plot_name}.png"
        if os.path.exists(os.path.join(folder, picture)):
            parts.append(f'<img src="{quote(picture)}" alt="{escape(bench.plot_name)}"/>')
        title, numbers = escape(bench.plot_name), _html_of(table)
        parts.append(f"<details><summary>{title}</summary>\n{numbers}\n</details>")
    head = '<!doctype html>\n<html><head><meta charset="utf-8"><title>Results</title></head><body>'
    with open(os.path.join(folder, "results.html"), "w", encoding="utf-8") as file:
        file.write("\n".join([head, *parts, "</body></html>", ""]))


def _plot(bench, rows, show, folder):
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

    It may return (value, low, high), which are drawn as a band. `run` of the result measures all
    points, prints the tables and saves the plots.

    Parameters
    ----------
    benchmarks : Benchmark or list of Benchmark
        What to measure: a plot each.
    """
    return functools.partial(Mark, benchmarks=benchmarks)
