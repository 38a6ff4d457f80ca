"""Where the source of a function ends, and what an import leaves for later."""

import inspect
import subprocess
import sys
import textwrap

import pytest
from pantile.backends.compiler import GPUTarget
from pantile.backends.nvidia.compiler import CUDAOptions
from pantile.runtime.callables import source_of

# Functions whose ends are hard to see; a line that belongs to none follows each.
TEXTS = {
    "plain": "def f(x):\n    return x + 1\n",
    "one line": "def f(x): return x + 1\n",
    "closing bracket at the margin": "def f(\n    x,\n    y=(1,\n2),\n):\n    return x\n",
    "string at the margin": 'def f(x):\n    """Says\nsomething = 1\n    """\n    return x\n',
    "comment at the margin": "def f(x):\n    y = x\n# not the end\n    return y\n",
    "continued line": "def f(x):\n    y = x + \\\n1\n    return y\n",
    "blank lines inside": "def f(x):\n    y = x\n\n\n    return y\n",
    "inner function": "def f(x):\n    def g(y):\n        return y\n\n    return g(x)\n",
    "bracket alone": "def f(x):\n    return max(\nx, 1\n)\n",
}
AFTER = ["", "z = 1\n", "\n\n# about z\nz = 1\n", "@id\ndef g():\n    pass\n"]


def function_of(text, path):
    """The function `f` of a module or a class with this source."""
    path.write_text(text)
    space = {"__name__": "module_of_texts"}
    exec(compile(text, str(path), "exec"), space)
    return space["f"] if "f" in space else space["C"].f


@pytest.mark.parametrize("after", range(len(AFTER)))
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("place", ["module", "decorated", "class"])
def test_a_function_ends_where_python_ends_it(tmp_path, name, after, place):
    text = TEXTS[name]
    before = {"module": "", "decorated": "@id\n@(lambda g:\n  g)\n", "class": "class C:\n"}[place]
    before = before.replace("@id", "@(lambda g: g)")
    body = text if place != "class" else textwrap.indent(text, "    ")
    following = AFTER[after].replace("@id", "@(lambda g: g)")
    whole = "w = 0\n\n" + before + body + following
    fn = function_of(whole, tmp_path / f"text_{place}_{after}_{name.replace(' ', '_')}.py")
    found, first, indent = source_of(fn)
    assert indent == (4 if place == "class" else 0)
    assert first == whole[: whole.index("def f(")].count("\n") + 1
    shown = [line for line in found.splitlines() if line.strip()]
    lines = text.splitlines()
    assert [line.strip() for line in shown] == [line.strip() for line in lines if line.strip()]
    told = "".join(inspect.getsourcelines(fn)[0])
    assert told[told.index("def f(") :].split() == found.split()


def test_a_lambda_is_no_kernel(tmp_path):
    fn = function_of("f = lambda x: x\n\ndef g(x):\n    return x\n", tmp_path / "lambda.py")
    with pytest.raises(ValueError, match="that `def` defines"):
        source_of(fn)


def test_an_import_leaves_rare_modules_for_later():
    program = (
        "import sys, pantile, pantile.language as tl, pantile.compiler\n"
        "late = ['pantile.language.extra', 'difflib', 'hashlib', 'dataclasses', 'pantile._pantile']\n"
        "assert not [name for name in late if name in sys.modules], sorted(sys.modules)\n"
        "assert tl.extra.libdevice is tl.libdevice and tl.libdevice.tanh is not tl.math.tanh\n"
        "assert tl.math.tanh is tl.math.tanh and tl.math.exp is tl.exp\n"
        "assert not hasattr(tl.math, 'load') and not hasattr(tl, 'nonsense')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_targets_and_options_are_values():
    target = GPUTarget("cuda", 90, 32)
    assert target == GPUTarget(backend="cuda", arch=90, warp_size=32) != GPUTarget("cuda", 80, 32)
    assert hash(target) == hash(GPUTarget("cuda", 90, 32)) and len({target, target}) == 1
    assert repr(target) == "GPUTarget(backend='cuda', arch=90, warp_size=32)"
    with pytest.raises(AttributeError, match="cannot assign"):
        target.arch = 100
    with pytest.raises(TypeError, match="misses a value for `warp_size`"):
        GPUTarget("cuda", 90)
    with pytest.raises(TypeError, match="two values for `backend`"):
        GPUTarget("cuda", 90, 32, backend="cpu")
    with pytest.raises(TypeError, match="no value called `warps`"):
        CUDAOptions(warps=4)
    options = CUDAOptions(num_warps=8)
    assert (options.num_warps, options.num_stages, vars(options)["num_warps"]) == (8, 3, 8)
    assert options.hash() == CUDAOptions(8).hash() != CUDAOptions(4).hash()
