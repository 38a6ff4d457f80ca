"""The part of the package that needs no kernel: helpers, types, constants, measuring, reports."""

import time

import ml_dtypes
import numpy as np
import pantile as triton
import pantile.language as tl
import pytest


@pytest.mark.parametrize(
    "x, y, result", [(0, 4, 0), (1, 4, 1), (4, 4, 1), (5, 4, 2), (4096, 128, 32)]
)
def test_cdiv(x, y, result):
    """`cdiv` rounds up."""
    assert triton.cdiv(x, y) == result


def test_next_power_of_2():
    assert [triton.next_power_of_2(n) for n in (0, 1, 2, 3, 5, 64, 65, 2**31 + 1)] == [
        0,
        1,
        2,
        4,
        8,
        64,
        128,
        2**32,
    ]


def test_version():
    """The version begins with that of Triton."""
    assert triton.__version__.startswith("3.6.0+pantile.")


def test_constexpr_arithmetic():
    n = tl.constexpr(12)
    assert isinstance(n + 1, tl.constexpr) and (n + 1).value == 13
    assert (
        (20 - n).value == 8 and (n // 5).value == 2 and (-n).value == -12 and (n << 1).value == 24
    )
    assert bool(n == 12) and not bool(n == 13) and int(n) == 12 and float(n) == 12.0
    assert list(range(20))[n] == 12
    assert tl.constexpr(n).value == 12


def test_dtypes():
    """Types have Triton's names, widths and kinds."""
    assert (
        str(tl.float16) == "fp16"
        and tl.float16.primitive_bitwidth == 16
        and tl.bfloat16.primitive_bitwidth == 16
    )
    assert tl.float8e4nv.is_fp8() and tl.float8e4nv.primitive_bitwidth == 8
    assert tl.int64.is_int_signed() and tl.uint8.is_int_unsigned() and not tl.float32.is_int()
    assert tl.dtype("fp32") == tl.float32 and hash(tl.dtype("fp32")) == hash(tl.float32)
    assert tl.pointer_type(tl.float32).is_ptr() and str(tl.pointer_type(tl.int8)) == "pointer<int8>"
    assert tl.int1.is_bool() and tl.get_int_dtype(32, False) == tl.uint32


def test_names_resolve():
    from pantile.language.extra import libdevice
    from pantile.language.extra.cuda import libdevice as cuda_libdevice

    assert tl.math.exp is tl.exp and tl.core.load is tl.load and tl.standard.sum is tl.sum
    assert libdevice.tanh is cuda_libdevice.tanh is tl.extra.libdevice.tanh
    for name in tl.__all__:
        assert getattr(tl, name) is not None


def test_assert_close():
    x = np.array([1.0, 2.0, np.nan])
    triton.testing.assert_close(x, x + 0.005)
    with pytest.raises(AssertionError, match="too far"):
        triton.testing.assert_close(x, x + 0.1, err_msg="too far")
    with pytest.raises(AssertionError, match="shapes differ"):
        triton.testing.assert_close(np.zeros(3), np.zeros(4))
    triton.testing.assert_close(np.ones(3, ml_dtypes.bfloat16), np.ones(3))


def test_allclose():
    """`allclose` has a tolerance for fp16, and refuses other types."""
    x = np.ones(4, np.float16)
    assert triton.testing.allclose(x, x + np.float16(0.005))
    assert not triton.testing.allclose(x, x + np.float16(0.5))
    with pytest.raises(RuntimeError, match="dtypes differ"):
        triton.testing.allclose(x, x.astype(np.float32))


def test_do_bench_measures():
    start = time.perf_counter()
    ms = triton.testing.do_bench(
        lambda: time.sleep(0.002), warmup=2, rep=40, on_host=True, return_mode="min"
    )
    assert 1.9 < ms < 1e3 * (time.perf_counter() - start)


def test_do_bench_summaries():
    calls = []
    times = triton.testing.do_bench(lambda: calls.append(1), warmup=1, rep=1, return_mode="all")
    assert isinstance(times, list) and all(t >= 0 for t in times)
    low, middle, high = triton.testing.do_bench(
        lambda: time.sleep(1e-4), warmup=1, rep=5, quantiles=[0.2, 0.5, 0.8]
    )
    assert 0 < low <= middle <= high
    assert isinstance(triton.testing.do_bench(lambda: None, 1, 1, quantiles=[0.5]), float)
    with pytest.raises(ValueError, match="return_mode"):
        triton.testing.do_bench(lambda: None, return_mode="average")


def report(**options):
    arguments = {
        "x_names": ["M", "N"],
        "x_vals": [2, 3],
        "line_arg": "provider",
        "line_vals": ["a", "b"],
        "line_names": ["Line A", "Line B"],
        "plot_name": "lines",
        "args": {"scale": 10},
        "ylabel": "GB/s",
        **options,
    }

    @triton.testing.perf_report(triton.testing.Benchmark(**arguments))
    def bench(M, N, provider, scale):
        value = float(M * N * scale)
        return value if provider == "a" else (value + 1, value, value + 2)

    return bench


def test_perf_report_prints_a_table(capsys):
    report().run(print_data=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "lines:"
    assert lines[1].split() == ["M", "N", "Line", "A", "(GB/s)", "Line", "B", "(GB/s)"]
    assert lines[3].split() == ["3", "3", "90", "91"]


def test_perf_report_saves(tmp_path):
    report(x_vals=[(1, 2), (3, 4)], x_log=True).run(save_path=str(tmp_path))
    assert (tmp_path / "lines.csv").read_text().splitlines()[2] == "3,4,120.0,121.0"
    assert (tmp_path / "lines.png").read_bytes()[:4] == b"\x89PNG"


def test_perf_report_compares_two_lines(tmp_path, capsys):
    report(x_vals=[(1, 3)]).run(
        print_data=True, save_path=str(tmp_path), diff_col=True, save_precision=2
    )
    assert (tmp_path / "lines.csv").read_text().splitlines() == [
        "M,N,Line A (GB/s),Line B (GB/s),Diff",
        "1,3,30.00,31.00,1.00",
    ]
    assert capsys.readouterr().out.splitlines()[2].split() == ["1", "3", "30", "31", "1"]


def test_perf_report_returns_a_frame():
    frame = report().run(return_df=True)
    assert list(frame["Line A (GB/s)"]) == [40.0, 90.0]


def test_perf_report_of_wrong_points():
    with pytest.raises(ValueError, match="does not give a value to each"):
        report(x_vals=[(1, 2, 3)]).run()


def test_driver_says_what_is_there():
    target = triton.runtime.driver.active.get_current_target()
    assert target.backend in ("cuda", "cpu")
    assert triton.runtime.driver.active.is_active() == (target.backend == "cuda")
    assert "LLVM" in triton.runtime.info()


def test_stubs():
    """The stubs have every name of the language, with its parameters."""
    import ast

    from pantile.language.stubs import stubs

    files = stubs()
    trees = {path: ast.parse(text) for path, text in files.items()}
    functions = {node.name: node for node in trees["__init__.pyi"].body if hasattr(node, "name")}
    assert set(tl.names.LANGUAGE) <= set(functions)
    assert [a.arg for a in functions["load"].args.args][:3] == ["pointer", "mask", "other"]
    assert ast.get_docstring(functions["load"]) == tl.load.__doc__
    methods = {node.name for node in functions["tensor"].body if hasattr(node, "name")}
    assert {"to", "sum", "reshape", "__add__"} <= methods
    tanh = {node.name for node in trees["extra/libdevice.pyi"].body if hasattr(node, "name")}
    assert "tanh" in tanh and "exp" in files["math.pyi"]


def test_dtypes_answer_as_tritons_do():
    assert [str(t) for t in (tl.int1, tl.int32, tl.uint8, tl.bfloat16)] == [
        "int1",
        "int32",
        "uint8",
        "bf16",
    ]
    assert tl.dtype("int32") == tl.dtype("i32") == tl.int32 and repr(tl.int32).endswith("int32")
    assert tl.int32.is_int32() and not tl.int32.is_uint32() and tl.uint64.is_uint64()
    assert tl.float8e4nv.is_fp8e4nv() and not tl.float8e5.is_fp8e4b15()
    assert tl.int1.is_int_unsigned() and not tl.int1.is_int_signed() and tl.void.is_void()
    assert tl.dtype.is_dtype("fp8e5") and not tl.dtype.is_dtype("fp9")
    assert (
        not tl.pointer_type(tl.int32).is_int() and tl.pointer_type(tl.int32, const=True).is_const()
    )
    block = tl.block_type(tl.float16, [4, 8])
    assert block.is_block() and block.numel == 32 and block.scalar == tl.float16
    assert block.nbytes == 64 and block.shape == (4, 8)
    with pytest.raises(AttributeError, match="is_complex128"):
        tl.int32.is_complex128()
