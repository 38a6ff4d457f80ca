"""The fixtures of kernel tests, on the arrays of `device_arrays.py`; `tests/kernels` takes them from here."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from device_arrays import (  # noqa: E402, F401
    DTYPES,
    Device,
    Output,
    check_product,
    random,
    torch_with_gpu,
)


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    if request.param == "cuda" and torch_with_gpu() is None:
        pytest.skip("needs a GPU")
    return Device(request.param)


@pytest.fixture
def gpu():
    if torch_with_gpu() is None:
        pytest.skip("needs a GPU")
    return Device("cuda")


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: needs a GPU and torch")


def pytest_terminal_summary(terminalreporter):
    skipped = [
        report
        for report in terminalreporter.stats.get("skipped", [])
        if "needs a GPU" in str(report.longrepr)
    ]
    if skipped:
        terminalreporter.write_line(f"{len(skipped)} tests need a GPU and were skipped")
