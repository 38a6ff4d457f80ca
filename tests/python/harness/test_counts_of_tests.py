"""What scripts/test counts of a report: reasons to skip, and tests that may not be skipped."""

import importlib.machinery
import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "scripts/test"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="scripts are not on this machine")


@pytest.fixture
def script():
    loader = importlib.machinery.SourceFileLoader("script_of_tests", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def report(folder, *cases):
    path = folder / "python.xml"
    path.write_text(f"<testsuite>{''.join(cases)}</testsuite>", encoding="utf-8")
    return path


def skipped(name, reason):
    return f'<testcase classname="tests" name="{name}"><skipped message="{reason}"/></testcase>'


def test_reasons_are_counted(script, tmp_path):
    """Passed, failed and skipped tests, and how often each reason was given."""
    fails = '<testcase classname="tests" name="wrong"><failure/></testcase>'
    path = report(
        tmp_path, '<testcase name="right"/>', fails, skipped("a", "needs a GPU"),
        skipped("b", "needs a GPU"), skipped("c", "needs nvdisasm"),
    )  # fmt: skip
    assert script.junit_counts(path) == (1, 1, 3, {"needs a GPU": 2, "needs nvdisasm": 1})
    assert script.FAILURES == ["python: tests wrong"]


@pytest.mark.parametrize(
    "reason",
    [
        "the emulated driver is not built",
        "needs pantilec",
        "needs `ptxas` on PATH",
        "no assembler here: there is none",
        "needs an assembler",
        "needs a C compiler",
        "could not import 'jax': No module named 'jax'",
    ],
)
def test_what_the_build_has_may_not_be_missing(script, tmp_path, reason):
    """A skip for lack of what was built or installed counts as a failure, and is named."""
    assert script.junit_counts(report(tmp_path, skipped("a", reason))) == (0, 1, 0, {})
    assert script.FAILURES == [f"python: a was skipped: {reason}"]
