"""The table of names and their tests.

Needs: scan, names.
Gives: collect() -> the tests; missing(tests); markdown(tests).
"""

import collections
import contextlib
import io

import pytest

from tests.fuzz.dtypes import LONG

from .names import BEYOND, HOST_ONLY, LANGUAGE, ROOT, libdevice_names
from .scan import Collector

FOLDERS = ["tests/python", "tests/kernels"]
ORDER = "i1 i8 i16 i32 i64 u8 u16 u32 u64 fp8e4nv fp8e5 fp16 bf16 fp32 fp64".split()


def collect():
    """All tests of the kernel suites, with what they reach."""
    collector = Collector()
    with contextlib.redirect_stdout(io.StringIO()) as output:
        folders = [str(ROOT / folder) for folder in FOLDERS]
        status = pytest.main(
            ["--collect-only", "-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT), *folders],
            plugins=[collector],
        )
    if status not in (0, 5):
        raise RuntimeError(f"the tests cannot be collected:\n{output.getvalue()[-3000:]}")
    return collector.tests


def users(tests, name):
    """The tests that exercise a name, also as a method, or as the type of their arrays."""
    spelled = {name} if "." in name else {name, f".{name}"}
    dtype = {long: short for short, long in LONG.items()}.get(name)
    return [t for t in tests if spelled & t.names or dtype in t.dtypes]


def wanted():
    return [*LANGUAGE, *BEYOND, *(f"libdevice.{name}" for name in libdevice_names())]


def missing(tests):
    """Names without a test, and names without one that runs on a GPU too."""
    none = [name for name in wanted() if not users(tests, name)]
    no_gpu = [
        name
        for name in wanted()
        if name not in none
        and name not in HOST_ONLY
        and not any("cuda" in t.devices for t in users(tests, name))
    ]
    return none, no_gpu


def _row(name, tests):
    found = users(tests, name)
    dtypes = set().union(*(t.dtypes for t in found)) if found else set()
    functions = collections.Counter(t.id.split("[")[0] for t in found)
    shown = [f"{function.removeprefix('tests/')}" for function, _ in functions.most_common(3)]
    more = f" and {len(functions) - 3} more" if len(functions) > 3 else ""
    devices = set().union(*(t.devices for t in found)) if found else set()
    both = (
        "host"
        if name in HOST_ONLY
        else {("cpu", "cuda"): "both", ("cpu",): "CPU", ("cuda",): "GPU"}.get(
            tuple(sorted(devices)), "-"
        )
    )
    listed = " ".join(d for d in ORDER if d in dtypes)
    return f"| `{name}` | {both} | {listed} | {', '.join(f'`{s}`' for s in shown)}{more} |"


def markdown(tests):
    """The page."""
    none, no_gpu = missing(tests)
    groups = {
        f"Language: {len(LANGUAGE)} names": LANGUAGE,
        "Beyond release 3.6": BEYOND,
        f"libdevice: {len(libdevice_names())} functions": [
            f"libdevice.{n}" for n in libdevice_names()
        ],
    }
    lines = [
        "# Which tests exercise which name",
        "",
        "Written by `python -m tests.coverage`; found in the sources of the tests. Element types are those",
        "that the tests' parameters name.",
        "",
        f"Without a test: {', '.join(none) or 'none'}. Only on the CPU: {', '.join(no_gpu) or 'none'}.",
    ]
    for title, names in groups.items():
        covered = sum(1 for name in names if name not in none)
        lines += ["", f"## {title}, {covered} covered", "", "| name | devices | types | tests |"]
        lines += ["|---|---|---|---|", *(_row(name, tests) for name in names)]
    return "\n".join(lines) + "\n"
