"""Settings that kernels are compiled under: another value is another kernel, also after the first launch."""

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest

DEBUG = ("PANTILE_DEVICE_ASSERTS", "TRITON_DEBUG")


def fresh():
    @triton.jit
    def kernel(out, n):
        tl.device_assert(n > 3, "too small")
        tl.store(out, n)

    return kernel


@triton.jit
def other(out, n):
    tl.store(out, n + 1)


@pytest.fixture(autouse=True)
def settings(monkeypatch):
    for name in DEBUG:
        monkeypatch.delenv(name, raising=False)
    with triton.knobs.runtime.scope():
        yield
    monkeypatch.undo()
    triton.knobs.update_compile_settings()


def fails(kernel):
    """Whether the assertion is in the kernel that a launch runs."""
    out = np.zeros(1, np.int32)
    try:
        kernel[(1,)](out, 2)
    except triton.runtime.InterpreterError as error:
        assert "too small" in str(error)
        return True
    assert out[0] == 2
    return False


def test_an_attribute_counts_at_the_next_launch():
    kernel = fresh()
    for _ in range(3):
        assert not fails(kernel)
    triton.knobs.runtime.debug = True
    for _ in range(2):
        assert fails(kernel)
    del triton.knobs.runtime.debug
    before = triton.runtime.stats()["compiles"]
    for _ in range(2):
        assert not fails(kernel)
    assert triton.runtime.stats()["compiles"] == before
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.debug = True
        assert fails(kernel)
    assert not fails(kernel)
    assert len(kernel.device_caches[0][0]) == 2


def test_a_variable_counts_from_the_next_compilation_on(monkeypatch):
    kernel = fresh()
    assert not fails(kernel)
    monkeypatch.setenv("TRITON_DEBUG", "1")
    other[(1,)](np.zeros(1, np.int32), np.int64(1 << 40).item())
    assert fails(kernel)
    monkeypatch.delenv("TRITON_DEBUG")
    another = fresh()
    assert not fails(another) and not fails(kernel)


def test_a_variable_counts_for_a_first_launch(monkeypatch):
    first, second = fresh(), fresh()
    assert not fails(first)
    monkeypatch.setenv("TRITON_DEBUG", "1")
    assert fails(second) and fails(second)
    monkeypatch.delenv("TRITON_DEBUG")
    triton.knobs.update_compile_settings()
    assert not fails(second)


def test_another_copy_of_the_settings_counts_nothing():
    kernel = fresh()
    copy = triton.knobs.runtime.copy()
    copy.debug = True
    assert not fails(kernel)
