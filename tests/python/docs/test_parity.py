"""The page that compares our names with Triton's, and the names of modules that only tests import."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random
from pantile import _filecheck, knobs
from pantile.compiler import IRSource
from pantile.runtime.interpreter import (
    GridExecutor,
    InterpretedFunction,
    InterpreterBuilder,
    TensorHandle,
)

ROOT = Path(__file__).resolve().parents[3]


def test_page():
    """`scripts/parity.py` writes it; every difference has a reason, and every reason a difference."""
    command = [sys.executable, ROOT / "scripts/parity.py", "--check"]
    environment = {"PYTHONPATH": str(Path(triton.__file__).parents[1]), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


@triton.jit
def double(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@pytest.mark.parametrize(
    "form", [lambda: double, lambda: double.fn, lambda: InterpretedFunction(double.fn)]
)
def test_grid_executor(form):
    x, out, told = random(100, "fp32", seed=81), np.zeros(100, np.float32), []
    run = GridExecutor(form(), double.arg_names, lambda meta: (triton.cdiv(meta["n"], 32),))
    run.pre_run_hooks.append(lambda *args, **kwargs: told.append(args[2]))
    run(out, x, 100, BLOCK=32)
    np.testing.assert_array_equal(out, x * 2)
    assert told == [100]


def test_interpreter_classes():
    class Watching(InterpretedFunction):
        launches = 0

        def run(self, *args, **kwargs):
            self.launches += 1
            return super().run(*args, **kwargs)

    watched, out, x = Watching(double.fn), np.zeros(8, np.float32), random(8, "fp32", seed=82)
    watched[(1,)](out, x, 8, BLOCK=8)
    assert watched.launches == 1
    np.testing.assert_array_equal(out, x * 2)
    with pytest.warns(RuntimeWarning, match="create_load"):

        class Builder(InterpreterBuilder):
            def create_load(self, *_):
                raise NotImplementedError

    builder = Builder()
    builder.set_grid_dim(3, 2, 1)
    builder.set_grid_idx(2, 1, 0)
    assert builder.grid_idx == (2, 1, 0)
    with pytest.raises(ValueError, match="outside of the grid"):
        builder.set_grid_idx(3, 0, 0)
    handle = TensorHandle(np.arange(3), tl.pointer_type(tl.int8))
    assert not handle and handle.get_element_ty() == tl.int8
    assert np.array_equal(handle.clone().data, handle.data)


@triton.jit
def patterned(out):
    # CHECK: func.func @patterned
    # CHECK: arith.constant 17 : i32
    # CHECK: tile.store
    tl.store(out, 17)


def test_filecheck():
    """Patterns of FileCheck are compared with the IR of a kernel."""
    text = _filecheck.run_parser(patterned, (tl.int32,))
    assert "tile.store" in text.str_nodebug()
    try:
        _filecheck.filecheck_path()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    _filecheck.run_filecheck("patterned", text, patterned.raw_src and "".join(patterned.raw_src))
    with pytest.raises(_filecheck.MatchError, match="patterned"):
        _filecheck.run_filecheck("patterned", text, "# CHECK: no such thing")


def test_stages_as_text(tmp_path):
    text = _filecheck.run_parser(patterned, (tl.int32,))
    (tmp_path / "kernel.ttir").write_text(text)
    source = IRSource(str(tmp_path / "kernel.ttir"))
    assert (source.ext, source.name, source.signature) == (
        "ttir",
        "patterned",
        {0: "*i32"},
    )
    assert source.src == text and source.hash() == IRSource(tmp_path / "kernel.ttir").hash()
    (tmp_path / "kernel.ptx").write_text(
        ".visible .entry add_kernel(\n\t.param .u64 .ptr .global add_0,\n\t.param .u32 add_1\n)\n{}"
    )
    source = IRSource(tmp_path / "kernel.ptx")
    assert source.name == "add_kernel" and source.signature == {0: "u64", 1: "u32"}
    (tmp_path / "empty.ptx").write_text("// nothing")
    with pytest.raises(ValueError, match="holds no kernel"):
        IRSource(tmp_path / "empty.ptx")


def test_old_hooks(monkeypatch):
    told = []
    fresh = triton.jit(double.fn)
    monkeypatch.setattr(triton.JITFunction, "compiled_hook", lambda **known: told.append(known))
    x, out = random(8, "fp32", seed=83), np.zeros(8, np.float32)
    fresh[(1,)](out, x, 8, BLOCK=8)
    assert len(told) == 1 and told[0]["fn"].jit_function is fresh
    monkeypatch.setattr(triton.JITFunction, "cache_hook", lambda **known: True)
    other, out = triton.jit(double.fn), np.zeros(8, np.float32)
    assert other.warmup(tl.float32, tl.float32, 8, BLOCK=8, grid=(1,)) is None
    assert len(told) == 1


class my_knobs(knobs.base_knobs):
    fast = knobs.env_bool("PARITY_TEST_FAST")
    count = knobs.env_int("PARITY_TEST_COUNT", 3)
    name = knobs.env_str("PARITY_TEST_NAME", "none")
    kind = knobs.env_class("PARITY_TEST_KIND", "HookChain")
    computed = knobs.env_str_callable_default("PARITY_TEST_COMPUTED", lambda: "made")
    maybe = knobs.env_opt_bool("PARITY_TEST_MAYBE")


def test_groups_of_others(monkeypatch):
    group = my_knobs()
    assert (group.fast, group.count, group.name, group.kind) == (False, 3, "none", None)
    assert group.computed == "made" and group.maybe is None
    monkeypatch.setenv("PARITY_TEST_COUNT", "7")
    monkeypatch.setenv("PARITY_TEST_MAYBE", "no")
    monkeypatch.setenv("PARITY_TEST_KIND", "pantile.knobs:HookChain")
    assert group.count == 7 and group.maybe is False and group.kind is knobs.HookChain
    with group.scope():
        group.fast = True
        import os

        assert os.environ["PARITY_TEST_FAST"] == "1" and group.copy().fast
    assert "PARITY_TEST_FAST" not in os.environ and not group.fast
    monkeypatch.setenv("PARITY_TEST_COUNT", "many")
    with pytest.raises(RuntimeError, match="expected int"):
        group.count  # noqa: B018
    assert set(group.knob_descriptors) >= {"fast", "count", "name", "kind"}
    assert my_knobs.fast.key == "PARITY_TEST_FAST" and knobs.toenv(True) == ("1",)


def test_overrides_reach_children(monkeypatch):
    import os

    monkeypatch.delenv("TRITON_DUMP_DIR", raising=False)
    with knobs.cache.scope():
        knobs.cache.dump_dir = "/somewhere"
        assert os.environ["TRITON_DUMP_DIR"] == "/somewhere"
        knobs.cache.dump_dir = knobs.env
        assert "TRITON_DUMP_DIR" not in os.environ
        monkeypatch.setattr(knobs, "propagate_env", False)
        knobs.cache.dump_dir = "/elsewhere"
        assert "TRITON_DUMP_DIR" not in os.environ and knobs.cache.dump_dir == "/elsewhere"


def test_names_of_types():
    from collections import namedtuple

    from pantile import _internal_testing, _utils

    for name in ("uint8", "int16", "float32", "float64", "bool"):
        kind = np.dtype(name)
        bits = 1 if name == "bool" else 8 * kind.itemsize
        assert _utils.get_primitive_bitwidth(_utils.canonicalize_dtype(kind)) == bits
        assert _internal_testing.str_to_triton_dtype(name).primitive_bitwidth == bits
    names = {"torch.float8_e5m2": "fp8e5", "torch.bfloat16": "bf16", "bool": "u1", "i1": "u1"}
    for name, short in {**names, "half": "fp16", "uint64": "u64", "int": "i32"}.items():
        assert _utils.canonicalize_dtype(name) == short
    assert _utils.canonicalize_dtype(tl.float8e4b15) == "fp8e4b15"
    assert _utils.canonicalize_ptr_dtype(np.dtype("int8"), True) == "*ki8"
    assert _utils.validate_block_shape([4, 16, 1]) == 64 and _utils.is_power_of_two(64)
    assert _utils.is_namedtuple(namedtuple("Pair", "a b")) and not _utils.is_namedtuple(tuple)
    types = tl.str_to_ty(("i32", ("*fp32", "constexpr")), 3)
    paths = _utils.find_paths_if(types, lambda path, kind: isinstance(kind, tl.dtype))
    assert paths == [(0,), (1, 0)] and _utils.get_iterable_path(types, (0,)) == tl.int32
    with pytest.raises(ValueError, match="must be positive"):
        _utils.validate_block_shape([4, 0])
    with pytest.raises(ValueError, match="exceeds triton maximum"):
        _utils.validate_block_shape([2048, 1024])


def test_random_arrays_of_tests():
    from pantile import _internal_testing as internal

    for name in internal.dtypes:
        first, second = (internal.numpy_random((40, 50), name) for _ in range(2))
        assert first.dtype == name and first.shape == (40, 50)
        assert np.array_equal(first, second) and np.all(first != 0)
    few = internal.numpy_random(1000, "int32", low=-3, high=4)
    assert set(few) == {-3, -2, -1, 1, 2, 3}
    exact = internal.numpy_random(100, "bfloat16")
    assert exact.dtype == np.float32 and not np.any(exact.view(np.uint32) & 0xFFFF)
    assert internal.torch_dtype_name(tl.uint8) == "uint8" and not internal.is_hip()


@triton.jit
def dependent_kernel(out, x, N: tl.constexpr):
    tl.extra.cuda.gdc_wait()
    i = tl.arange(0, N)
    value = tl.load(x + i)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(out + i, value + 1)


def test_programmatic_dependent_launch(device):
    x, out = random(64, "i32", seed=84), device.to(np.zeros(64, np.int32))
    if (getattr(device, "arch", None) or 90) < 90:
        with pytest.raises(triton.UnsupportedLanguageConstruct, match="`gdc_wait`"):
            dependent_kernel[(1,)](out, device.to(x), 64)
        return
    kernel = dependent_kernel[(1,)](out, device.to(x), 64, launch_pdl=True)
    np.testing.assert_array_equal(device.numpy(out), x + 1)
    if kernel.target.backend == "cuda":
        text = kernel.asm["ptx"]
        waits, starts = (text.index(f"griddepcontrol.{w};") for w in ("wait", "launch_dependents"))
        assert waits < text.index("ld.global") < starts
