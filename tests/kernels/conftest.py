"""Fixtures of the corpus: those of `tests/python`, and every kernel compiled for GPUs as well.

`pytest tests/kernels --compile-for sm_90a,sm_80` compiles each kernel that a test launches for
these targets too, down to machine code, and ends with a table of registers and spills; a kernel
that does not compile, that spills more than SPILLS bytes per thread, or whose MMAs ptxas serialises,
if only before the compiler left overlap out, fails its test. `@pytest.mark.too_large_for("sm_80")` leaves a target out whose
threads do not have the registers for a block.
"""

import contextlib
import importlib.util
import io
import sys
from pathlib import Path

import pytest

_SHARED = Path(__file__).parent.parent / "python"
sys.path.insert(0, str(_SHARED))
sys.path.insert(0, str(Path(__file__).parent))

from device_arrays import (  # noqa: E402, F401
    DTYPES,
    Device,
    Output,
    check_gemm,
    random,
    torch_with_gpu,
)

_spec = importlib.util.spec_from_file_location("shared_fixtures", _SHARED / "conftest.py")
_fixtures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_fixtures)
device, gpu, gpus = _fixtures.device, _fixtures.gpu, _fixtures.gpus
same_order_whatever_ran_before = _fixtures.same_order_whatever_ran_before
look_at_compiled_kernels = _fixtures.look_at_compiled_kernels

SPILLS = 1024
# What is said where tensor cores wait for one another (C7510 to C7514).
_SLOW = ("Potential Performance Loss", "the assembler serialise")
_PROPERTY = "compiled for a GPU"


def pytest_addoption(parser):
    parser.addoption(
        "--compile-for", default="", metavar="TARGETS", help="compile kernels for these GPUs too"
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: needs a GPU and torch")
    config.addinivalue_line("markers", "may_lack_registers: its tiles leave none for overlap")
    config.addinivalue_line("markers", "too_large_for(target): not compiled for this target, too")


def _compile_for(function, call, target):
    from pantile import knobs
    from pantile.compiler import ASTSource
    from pantile.compiler.kernel import prepare
    from pantile.runtime.snapshot import Snapshot

    snapshot = Snapshot(function)
    specialization = call.specialization(snapshot.constant)
    source = ASTSource.of_specialization(function, specialization, call.values)
    program = snapshot.program(function.__name__)
    # Remarks have what ptxas serialised; kernels of the cache have none.
    with knobs.compilation.scope(), contextlib.redirect_stderr(io.StringIO()):
        knobs.compilation.remarks = target.startswith("sm_90")
        kernel = prepare(program, specialization, target, call.options, source)()
    assert kernel.asm["cubin"], f"no machine code of `{function.__name__}` for {target}"
    assert kernel.n_spills <= SPILLS, f"`{function.__name__}` spills {kernel.n_spills} bytes"
    said = [kernel.warnings, *(row[2] for row in kernel._kernel.remarks)]
    slow = [text for text in said if any(words in text for words in _SLOW)]
    assert not slow, f"`{function.__name__}` for {target}: {slow}"
    metadata = kernel.metadata
    found = (kernel.n_regs, kernel.n_spills, metadata.shared)
    return function.__name__, target, metadata.num_warps, *found, metadata.hash


@pytest.fixture(autouse=True)
def compiled_for_gpus(request, monkeypatch):
    """Has each kernel that is compiled for the CPU compiled for the targets of `--compile-for`."""
    left_out = {name for mark in request.node.iter_markers("too_large_for") for name in mark.args}
    named = request.config.getoption("--compile-for", "").split(",")
    targets = [name for name in named if name and name not in left_out]
    if not targets:
        return
    from pantile.runtime.jit import JITFunction

    compile_here = JITFunction._compile

    def compile_everywhere(function, call, *args, **kwargs):
        for target in targets:
            row = _compile_for(function, call, target)
            request.node.user_properties.append((_PROPERTY, row))
        return compile_here(function, call, *args, **kwargs)

    monkeypatch.setattr(JITFunction, "_compile", compile_everywhere)


def pytest_terminal_summary(terminalreporter):
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, [])]
    rows = {
        tuple(row)
        for r in reports
        for name, row in getattr(r, "user_properties", ())
        if name == _PROPERTY
    }
    if rows:
        terminalreporter.write_line(
            f"{'kernel':40} {'target':8} warps registers spills shared memory"
        )
    for name, target, warps, registers, spills, shared, _ in sorted(rows):
        terminalreporter.write_line(
            f"{name:40} {target:8} {warps:5} {registers:9} {spills:6} {shared:13}"
        )
