"""Errors of kernels, as Python sees them: class, one-line message, rendered source, range."""

import pickle

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest


@triton.jit
def undefined_kernel(out_ptr):
    tl.store(out_ptr, missing_name)  # noqa: F821


@triton.jit
def shapes_kernel(out_ptr):
    a = tl.zeros((16, 32), tl.float16)
    b = tl.zeros((16, 16), tl.float16)
    tl.store(out_ptr, tl.sum(tl.sum(tl.dot(a, b), 0), 0))


@triton.jit
def arange_kernel(out_ptr):
    tl.store(out_ptr + tl.arange(100, 0), 1)


@triton.jit
def unsupported_kernel(out_ptr):
    try:
        tl.store(out_ptr, 1)
    except ValueError:
        pass


@triton.jit
def assertion_kernel(out_ptr, N: tl.constexpr):
    tl.static_assert(N > 10, "N is too small")
    tl.store(out_ptr, N)


@triton.jit
def unknown_keyword_kernel(out_ptr):
    tl.store(out_ptr, tl.load(out_ptr, masks=None))


@triton.jit
def carried_kernel(out_ptr, n):
    x = 0
    for _ in range(n):
        x = tl.zeros((16,), tl.float32)
    tl.store(out_ptr, x)


@triton.jit
def numpy_type_kernel(out_ptr):
    tl.store(out_ptr, tl.load(out_ptr).to(np.float16))


BLOCK = 16


@triton.jit
def plain_global_kernel(out_ptr):
    tl.store(out_ptr + tl.arange(0, BLOCK), 1.0)


def compile_error(kernel, *args):
    with pytest.raises(triton.CompilationError) as caught:
        kernel[(1,)](np.zeros(128, np.float32), *args)
    return caught.value


def test_undefined_name():
    error = compile_error(undefined_kernel)
    assert "missing_name" in error.message
    assert "\n" not in error.message
    file, line, column, _, end_column = error.range
    assert file == __file__
    assert line == undefined_kernel.first_line + 1
    source = "    tl.store(out_ptr, missing_name)"
    assert source[column - 1 : end_column - 1] == "missing_name"
    assert "^" in error.rendered and "missing_name)" in error.rendered
    assert str(error) == error.rendered


@pytest.mark.parametrize(
    "kernel, args, words",
    [
        (shapes_kernel, (), ["16x32", "16x16", "expected 32 rows"]),
        (arange_kernel, (), ["greater than the start"]),
        (unknown_keyword_kernel, (), ["masks"]),
        (carried_kernel, (5,), ["x"]),
        (numpy_type_kernel, (), ["`np` is the module `numpy`", "`tl` has the functions"]),
        (plain_global_kernel, (), ["plain value 16", "`BLOCK = tl.constexpr(16)` makes it one"]),
    ],
)
def test_messages(kernel, args, words):
    """The rendered error has the words of the mistake."""
    error = compile_error(kernel, *args)
    for word in words:
        assert word in error.rendered


def test_unsupported_construct():
    error = compile_error(unsupported_kernel)
    assert isinstance(error, triton.UnsupportedLanguageConstruct)
    assert "try" in error.message


def test_static_assert():
    error = compile_error(assertion_kernel, 5)
    assert isinstance(error, triton.CompileTimeAssertionFailure)
    assert "N is too small" in error.message
    out = np.zeros(128, np.float32)
    assertion_kernel[(1,)](out, 11)
    assert out[0] == 11


def test_an_error_does_not_stick():
    out = np.zeros(128, np.float32)
    for _ in range(2):
        compile_error(assertion_kernel, 7)
    assertion_kernel[(1,)](out, 12)
    assert out[0] == 12


def test_errors_can_be_pickled():
    """A compile error keeps its message, its text and its range."""
    error = compile_error(undefined_kernel)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (copy.message, copy.rendered, copy.range) == (error.message, error.rendered, error.range)


@triton.jit(debug=True)
def device_assert_kernel(out_ptr, n):
    tl.device_assert(n > 3, "n must be above 3")
    tl.store(out_ptr, n)


def test_device_assert_on_the_cpu():
    out = np.zeros(1, np.int32)
    device_assert_kernel[(1,)](out, 4)
    with pytest.raises(triton.InterpreterError, match="n must be above 3"):
        device_assert_kernel[(1,)](out, 2)


@triton.jit
def division_kernel(out_ptr, n):
    tl.store(out_ptr, 5 // n)


def test_division_by_zero_on_the_cpu():
    with pytest.raises(triton.InterpreterError, match="zero"):
        division_kernel[(1,)](np.zeros(1, np.int32), 0)


def test_names_mean_nothing_on_the_host():
    with pytest.raises(RuntimeError, match="`tl.load` means something only inside a kernel"):
        tl.load(None)


def test_source_must_be_in_a_file():
    scope = {"triton": triton}
    with pytest.raises(ValueError, match="defined in a Python file"):
        exec("@triton.jit\ndef kernel(x_ptr):\n    pass\n", scope)


@pytest.mark.gpu
def test_out_of_shared_memory(gpu):
    from test_matmul import run_bare

    a = np.zeros((256, 128), np.float16)
    with pytest.raises(triton.OutOfResources, match="shared memory, Required: .* Hardware limit"):
        run_bare(gpu, a, a.T.copy(), (256, 256, 128, 5, 8))
