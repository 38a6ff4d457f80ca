"""The causes of compilation errors, as Triton chains them."""

import pickle

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from pantile.compiler.errors import CompilationError, CompileTimeAssertionFailure


@triton.jit
def odd_range(p):
    tl.store(p + tl.arange(17, 17), 1)


@triton.jit
def calls_odd_range(p):
    odd_range(p)


@triton.jit
def calls_it_twice(p):
    calls_odd_range(p)


@triton.jit
def wrong_axis(p):
    tl.store(p, tl.sum(tl.arange(0, 16), axis=2))


@triton.jit
def lacks_value(p):
    tl.store(p)


@triton.jit
def wrong_operator(p):
    tl.store(p, tl.load(p) & 1.5)


@triton.jit
def unknown_name(p):
    tl.store(p, missing)  # noqa: F821


@triton.jit
def asserts(p):
    tl.static_assert(False, "never")


@triton.jit
def calls_asserts(p):
    asserts(p)


@triton.jit
def too_many(p):
    odd_range(p, p)


def error_of(kernel):
    with pytest.raises(CompilationError) as caught:
        kernel[(1,)](np.ones(16, np.int32))
    return caught.value


def causes_of(error):
    causes = []
    while error.__cause__ is not None:
        error = error.__cause__
        causes.append(error)
    return causes


@pytest.mark.parametrize(
    ("kernel", "calls", "refuses"),
    [
        (odd_range, 0, True),
        (calls_odd_range, 1, True),
        (calls_it_twice, 2, True),
        (wrong_axis, 0, True),
        (lacks_value, 0, True),
        (too_many, 0, True),
        (wrong_operator, 0, False),
        (unknown_name, 0, False),
        (asserts, 0, False),
        (calls_asserts, 1, False),
    ],
)
def test_causes(kernel, calls, refuses):
    """An error in a called function is the cause of the caller's."""
    error = error_of(kernel)
    causes = causes_of(error)
    assert len(causes) == calls + refuses
    for cause in causes[:calls]:
        assert type(cause) is type(error) and cause.message == error.message
    if refuses:
        assert isinstance(causes[-1], ValueError) and isinstance(causes[-1], TypeError)
        assert isinstance(causes[-1], AssertionError) and str(causes[-1]) == error.message
    assert isinstance(error, CompileTimeAssertionFailure) == ("asserts" in kernel.__name__)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_the_message_is_that_of_the_cause():
    assert str(error_of(odd_range).__cause__).startswith("arange's end argument must be greater")
    assert "invalid axis 2" in str(error_of(wrong_axis).__cause__)
