"""The reference pages: complete, up to date, and every example gives what its page says."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import DTYPES

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from tests.coverage.names import BEYOND, LANGUAGE  # noqa: E402


def load_file(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


reference = load_file(ROOT / "scripts/reference.py", "pantile_reference")
ENTRIES = [e for path in reference.entry_files() for e in reference.read_entries(path)[2]]
ENTRIES += [
    reference.type_example(n) for n in reference.TYPES if n not in reference.TYPES_WITHOUT_EXAMPLE
]


def check(device, entry, folder):
    path = folder / f"example_{entry.name}.py"
    head = "import pantile as triton\nimport pantile.language as tl\n\n\n"
    path.write_text(head + entry.kernel())
    module = load_file(path, f"example_{entry.name}")
    expected = np.asarray(eval(entry.expected, {"np": np}), DTYPES[entry.dtype])
    out = device.to(np.zeros(max(16, expected.size), DTYPES[entry.dtype]))
    module.example[(1,)](out)
    result = device.numpy(out)[: expected.size]
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(result, expected, rtol=2e-6, atol=2e-6)
    else:
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_example(device, entry, tmp_path):
    """The example of an entry prints and computes what its page says."""
    if entry.only == "gpu" and not device.on_gpu:
        pytest.skip("the example is for a GPU")
    check(device, entry, tmp_path)


def test_every_name_has_an_entry():
    described = {entry.name for entry in ENTRIES} | set(reference.TYPES)
    rows = {row.name for row in reference.builtin_rows() if row.space == "tl"}
    rows = {name for name in rows if not name.startswith("_")}  # of Triton's inside
    missing = (rows | set(LANGUAGE) | set(BEYOND)) - described
    assert not missing


def test_pages_are_up_to_date():
    """`scripts/reference.py` writes them."""
    stale = [
        p.name for p, text in reference.pages().items() if not p.exists() or p.read_text() != text
    ]
    assert not stale
