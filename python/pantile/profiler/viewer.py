"""`python -m pantile.profiler.viewer -m time/ms file.hatchet`: print a profile as a tree."""

import argparse
import re
import sys

from . import frames
from .derive import derive
from .frames import INCLUSIVE, ViewedFrame

__all__ = ["main", "parse", "print_tree", "read", "show_metrics"]

_FORMATS = ("full", "file_function_line", "function_line", "file_function")
_PYTHON_FRAME = re.compile(r"(?P<file>.+):(?P<line>\d+)@(?P<function>[^@]+)")
_LONGEST_NAME = 100


def _keep(frame, wants):
    """The frames that `wants` chooses, with those above; None if there is none."""
    kept = [child for child in (_keep(child, wants) for child in frame.children) if child]
    if not kept and not wants(frame):
        return None
    return ViewedFrame(frame.name, frame.own, kept, frame.values)


def _passing_through(frame, pattern):
    """All paths of which a frame matches."""
    if pattern.match(frame.name):
        return frame
    kept = [child for child in (_passing_through(c, pattern) for c in frame.children) if child]
    return ViewedFrame(frame.name, frame.own, kept, frame.values) if kept else None


def _without(frame, pattern):
    """What is left without frames that match, and what is below them."""
    if pattern.match(frame.name):
        return None
    kept = [child for child in (_without(child, pattern) for child in frame.children) if child]
    return ViewedFrame(frame.name, frame.own, kept, frame.values)


def _filter(profile, include, exclude, threshold, column):
    """Leave frames out; numbers stay those of the whole profile."""
    root = profile.root
    if include:
        root = _passing_through(root, re.compile(include))
    if exclude and root:
        root = _without(root, re.compile(exclude))
    if threshold is not None and root:
        root = _keep(root, lambda frame: frame.value(column) >= threshold)
    if root is None:
        raise ValueError("no frame is left")
    profile.root = root


def read(filename):
    """Return (profile, inclusive metrics, exclusive metrics, devices) of a file.

    Parameters
    ----------
    filename : str

    ValueError if it is no hatchet file, or has no metrics.
    """
    profile = frames.read(filename)
    return profile, profile.inclusive, profile.exclusive, profile.devices


def parse(metrics, filename, include=None, exclude=None, threshold=None):
    """Return the profile of a file with metrics derived, and their columns.

    Parameters
    ----------
    metrics : list of str
        As `-m`; see `derive`.
    filename : str
    include : str, optional
        Only paths through a frame whose name matches this regular expression from its start.
    exclude : str, optional
        No frames that match, nor those below.
    threshold : float, optional
        Only frames whose first metric is at least this, and those above.

    ValueError for a metric that cannot be computed, and if no frame is left.
    """
    if include and exclude:
        raise ValueError("`include` and `exclude` cannot both be given")
    profile = frames.read(filename)
    columns = [derive(profile, metric) for metric in metrics]
    _filter(profile, include, exclude, threshold, columns[0])
    return profile, columns


def _shown_name(name, format):
    """The name of a Python frame, "path:line@function", in a shorter form; others as they are."""
    found = _PYTHON_FRAME.fullmatch(name)
    if not found or format in (None, "full"):
        return name
    file, line, function = found["file"].rsplit("/", 1)[-1], found["line"], found["function"]
    if format == "file_function_line":
        return f"{file}:{line}@{function}"
    return f"{line}@{function}" if format == "function_line" else f"{file}@{function}"


def _label(frame, columns, format):
    numbers = " ".join(f"{frame.value(column):.3f}" for column in columns)
    return numbers, _shown_name(frame.name, format)


def _plain_lines(frame, columns, depth, format, prefix=""):
    """The lines of a frame and of `depth` levels below, the former without its branch."""
    yield " ".join(_label(frame, columns, format))
    children = frame.children if depth > 0 else []
    for number, child in enumerate(children):
        is_last = number == len(children) - 1
        lines = _plain_lines(child, columns, depth - 1, format, prefix)
        yield ("└─ " if is_last else "├─ ") + next(lines)
        for line in lines:
            yield ("   " if is_last else "│  ") + line


def _rich_tree(frame, columns, depth, format, whole):
    from rich.text import Text
    from rich.tree import Tree

    numbers, name = _label(frame, columns, format)
    share = frame.value(columns[0]) / whole if whole else 0
    style = "bold red" if share >= 0.5 else "yellow" if share >= 0.1 else "green"
    tree = Tree(Text.assemble((numbers, style), " ", name))
    for child in frame.children if depth > 0 else []:
        tree.children.append(_rich_tree(child, columns, depth - 1, format, whole))
    return tree


def _has_rich():
    try:
        import rich  # noqa: F401
    except ImportError:
        return False
    return sys.stdout.isatty()


def print_tree(profile, metrics, depth=100, format=None, print_sorted=False):
    """Print what `parse` returned; in colours on a terminal, if `rich` is installed.

    Parameters
    ----------
    profile : ViewedProfile
    metrics : list of str
        Columns.
    depth : int, optional
        Levels below the root.
    format : str, optional
        How Python frames are named: "full", "file_function_line", "function_line" or
        "file_function".
    print_sorted : bool, optional
        Print the frames below the root by the first metric too, the largest first.
    """
    root = profile.root
    if _has_rich():
        import rich

        rich.print(_rich_tree(root, metrics, depth, format, root.value(metrics[0])))
    else:
        print("\n".join(_plain_lines(root, metrics, depth, format)))
    if print_sorted:
        _print_sorted(root, metrics[0], format)
    if any(frame.own.get("bytes", 0) < 0 for frame in root.walk()):
        print("warning: negative bytes: the program's own numbers overflow")


def _print_sorted(root, column, format):
    print(f"frames by {column}")
    known = [frame for frame in root.walk()[1:] if column in frame.values]
    for frame in sorted(known, key=lambda frame: frame.value(column), reverse=True):
        name = _shown_name(frame.name, format)
        shown = name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "..."
        print(f"{shown:105} {frame.value(column):.4g}")


def show_metrics(filename):
    """Print the metrics that a file has."""
    profile = frames.read(filename)
    for kind in ("inclusive", "exclusive"):
        print(f"{kind} metrics:")
        for name in getattr(profile, kind):
            print(f"- {name.split('(')[0].strip().lower()}")


def _identity(frame):
    return frame.name, frame.own.get("device_id")


def _subtract(frame, other, columns):
    """Take the values of another profile's frame at the same path from this one's."""
    below = {} if other is None else {_identity(child): child for child in other.children}
    for column in columns:
        before = 0 if other is None else other.values.get(column, 0)
        if column in frame.values or before:
            frame.values[column] = frame.values.get(column, 0) - before
    for child in frame.children:
        _subtract(child, below.pop(_identity(child), None), columns)
    for gone in below.values():
        left = ViewedFrame(gone.name, gone.own)
        frame.children.append(left)
        _subtract(left, gone, columns)


def _parser():
    parser = argparse.ArgumentParser(prog="proton-viewer", description="print a profile as a tree")
    parser.add_argument("file", help="a .hatchet file")
    parser.add_argument("-l", "--list", action="store_true", help="print the file's metrics")
    parser.add_argument(
        "-m",
        "--metrics",
        help="with commas: metrics of the file; time/s, /ms, /us, /ns and avg_time/... of kernels, "
        "cpu_time/... of scopes; flop/s, flop8/s to flop64/s and byte/s, with g or t before them; "
        "util: the larger part of the peaks of operations and bytes; NAME/%%: the share",
    )
    parser.add_argument("-i", "--include", help="only paths through frames that match, a regex")
    parser.add_argument("-e", "--exclude", help="no frames that match, nor those below")
    parser.add_argument("-t", "--threshold", type=float, help="least value of the first metric")
    parser.add_argument("-d", "--depth", type=int, default=100, help="levels below the root")
    parser.add_argument("-f", "--format", choices=_FORMATS, default="full", help="of Python frames")
    parser.add_argument("--print-sorted", action="store_true", help="print a sorted list too")
    parser.add_argument(
        "-diff", "--diff-profile", help="a file whose values are subtracted from FILE's"
    )
    return parser


def _view(options):
    if options.list or not options.metrics:
        return show_metrics(options.file)
    metrics = options.metrics.split(",")
    filters = options.include, options.exclude, options.threshold
    profile, columns = parse(metrics, options.file, *filters)
    if options.diff_profile:
        before, _ = parse(metrics, options.diff_profile, *filters)
        _subtract(profile.root, before.root, columns)
    print("columns: " + ", ".join(column.removesuffix(INCLUSIVE) for column in columns))
    return print_tree(profile, columns, options.depth, options.format, options.print_sorted)


def main():
    """Print what the command line requests; 1 if that cannot be."""
    try:
        _view(_parser().parse_args())
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
