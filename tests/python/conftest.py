"""The fixtures of kernel tests, on the arrays of `device_arrays.py`; `tests/kernels` takes them from here."""

import os
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
# Tests take kernels from one another by the module's name, also from those of another folder.
sys.path[:0] = [
    str(FOLDER),
    *(str(path) for path in sorted(FOLDER.glob("[a-z]*")) if path.is_dir()),
]

import compiled_kernels  # noqa: E402
from device_arrays import (  # noqa: E402, F401
    DTYPES,
    Device,
    Output,
    check_gemm,
    random,
    torch_with_gpu,
)

EMULATES = bool(os.environ.get("PANTILE_EMULATE"))
if EMULATES:
    import emulated_device

    emulated_device.start()
if EMULATES or compiled_kernels.FOLDER:
    compiled_kernels.start()


@pytest.fixture(
    params=["emulated"] if EMULATES else ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
)
def device(request):
    if request.param == "emulated":
        yield emulated_device.EmulatedDevice()
        return
    if request.param == "cuda" and torch_with_gpu() is None:
        pytest.skip("needs a GPU")
    made = Device(request.param)
    yield made
    made.give_back_memory()


@pytest.fixture(params=[pytest.param("gpus", marks=() if EMULATES else pytest.mark.gpu)])
def gpus():
    """All GPUs, at least two; the first is current."""
    if EMULATES:
        return [emulated_device.EmulatedDevice(index) for index in range(2)]
    torch = torch_with_gpu()
    if torch is None or torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    return [Device("cuda", index) for index in range(torch.cuda.device_count())]


@pytest.fixture(autouse=EMULATES)
def same_order_whatever_ran_before():
    """Which tests a worker ran before does not change what an emulated GPU draws."""
    if EMULATES:
        emulated_device.restart()


@pytest.fixture(autouse=True)
def look_at_compiled_kernels(request):
    """What `compiled_kernels.py` says of a test's kernels counts as the test's failure."""
    yield
    compiled_kernels.look(request.node.get_closest_marker("may_lack_registers") is not None)


@pytest.fixture
def gpu():
    if torch_with_gpu() is None:
        pytest.skip("needs a GPU")
    return Device("cuda")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A CUDA error that stays loses the context: the worker ends, so that no other test fails for it."""
    report = yield
    if (
        report.failed
        and "CUDA error" in str(call.excinfo.value)
        and "workerinput" in vars(item.config)
    ):
        print(f"{item.nodeid}: {call.excinfo.value}", file=sys.__stderr__, flush=True)
        os._exit(1)
    return report


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: needs a GPU and torch")
    config.addinivalue_line("markers", "may_lack_registers: its tiles leave none for overlap")


def pytest_collection_modifyitems(config, items):
    """An emulated GPU is for what runs on a device: all else was tested without it."""
    if EMULATES:
        left = [
            item
            for item in items
            if not {"device", "gpus"} & set(getattr(item, "fixturenames", ()))
        ]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in set(left)]


def pytest_terminal_summary(terminalreporter):
    skipped = [
        report
        for report in terminalreporter.stats.get("skipped", [])
        if "needs a GPU" in str(report.longrepr)
    ]
    if skipped:
        terminalreporter.write_line(f"{len(skipped)} tests need a GPU and were skipped")
