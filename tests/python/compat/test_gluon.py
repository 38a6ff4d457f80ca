"""`triton.experimental.gluon`: it imports, and says at a launch that it is not compiled."""

import importlib

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from pantile.experimental import gluon
from pantile.experimental.gluon import language as gl


@gluon.jit
def copy(out, x, N: gl.constexpr, layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])):
    i = gl.arange(0, N, layout=layout)
    gl.store(out + i, gl.load(x + i))


@gluon.jit(do_not_specialize=["x"])
def helper(x):
    return x + 1


@pytest.mark.parametrize(
    "use",
    [
        lambda: copy[(1,)](np.zeros(4), np.zeros(4), 4),
        lambda: copy.warmup(tl.float32, tl.float32, 4, grid=(1,)),
        lambda: copy.run(np.zeros(4), np.zeros(4), 4, grid=(1,), warmup=False),
        lambda: copy.create_binder(),
        lambda: gluon.GluonASTSource(copy, {}),
        lambda: gl.allocate_shared_memory(gl.float32, [4], None),
    ],
)
def test_uses_say_what_it_is(use):
    with pytest.raises(triton.UnsupportedLanguageConstruct, match="is Gluon, a language"):
        use()


def test_functions_can_be_handed_around():
    assert isinstance(copy, triton.JITFunction) and copy.is_gluon()
    assert copy.arg_names == ["out", "x", "N", "layout"] and "gl.load" in copy.src
    assert helper.do_not_specialize == ["x"]


def test_names_are_those_of_the_language():
    assert gl.float32 is tl.float32 and gl.constexpr is tl.constexpr and gl.load is tl.load
    first, second = (gl.BlockedLayout([1, 2], order=[1, 0]) for _ in range(2))
    assert first == second != gl.BlockedLayout([1, 2]) and len({first, second}) == 1
    assert repr(first) == "BlockedLayout([1, 2], order=[1, 0])"
    assert not hasattr(gl, "no_such_name")


@pytest.mark.parametrize(
    "name",
    """language.nvidia.hopper.tma language.nvidia.blackwell.mbarrier nvidia.hopper amd.gfx1250
    language.amd.cdna4.async_copy language._layouts _runtime language.extra""".split(),
)
def test_modules_import(name):
    module = importlib.import_module(f"pantile.experimental.gluon.{name}")
    assert module.__name__ == f"pantile.experimental.gluon.{name}"
    found = gluon
    for part in name.split("."):
        found = getattr(found, part)
    assert found is module


def test_descriptors_and_types():
    from pantile.experimental.gluon.language.nvidia.hopper import tma, warpgroup_mma
    from pantile.experimental.gluon.nvidia.hopper import TensorDescriptor

    assert isinstance(tma.tensor_descriptor, type) and TensorDescriptor(1) == TensorDescriptor(1)
    with pytest.raises(triton.UnsupportedLanguageConstruct, match="warpgroup_mma"):
        warpgroup_mma()
