"""What a kernel was compiled from changes within a process: the next launch says so, in place or by assignment.

Each case is a module of its own, so that every change is made to fresh objects.
"""

import itertools
import linecache
import os
import types

import numpy as np
import pytest

_numbers = itertools.count()

HEADER = """
import os
import pantile as triton
import pantile.language as tl

@triton.jit
def add(x):
    return x + 1

@triton.jit
def mul(x):
    return x * 10
"""


def module_of(text):
    """A module made of HEADER and `text`, with its source where `inspect` finds it."""
    name = f"changed_globals_{next(_numbers)}"
    module = types.ModuleType(name)
    module.__file__ = f"<{name}>"
    source = HEADER + text
    linecache.cache[module.__file__] = (len(source), None, source.splitlines(True), module.__file__)
    exec(compile(source, module.__file__, "exec"), vars(module))
    return module


def run(device, kernel):
    out = device.output(1, "i32")
    kernel[(1,)](out.array)
    return int(out.numpy()[0])


KERNEL = "\n@triton.jit\ndef kernel(out):\n    tl.store(out, {})\n"


def of_call(text):
    """`text` with a constexpr function `value`, and the kernel that stores what it returns."""
    return text + KERNEL.format("value()")


FUNCTION = "@triton.constexpr_function\ndef value():\n    return {}\n"

CASES = {
    "list": ("SIZES: tl.constexpr = [3, 4]" + KERNEL.format("SIZES[0]"), 3, "SIZES[0] = 99"),
    "list rebound": (
        "SIZES: tl.constexpr = [3, 4]" + KERNEL.format("SIZES[0]"),
        3,
        "SIZES = [99, 4]",
    ),
    "nested list": (
        "SIZES: tl.constexpr = ((1, [3]),)" + KERNEL.format("SIZES[0][1][0]"),
        3,
        "SIZES[0][1][0] = 99",
    ),
    "constexpr of a list": (
        "SIZES = tl.constexpr([3, 4])" + KERNEL.format("SIZES[0]"),
        3,
        "SIZES.value[0] = 99",
    ),
    "list of functions": ("FNS = [add, mul]" + KERNEL.format("FNS[0](5)"), 6, "FNS[0] = mul"),
    "tuple of functions": (
        "FNS = (add, mul)" + KERNEL.format("FNS[0](5)"),
        6,
        "FNS = (mul, add)",
    ),
    "jit function": (KERNEL.format("add(5)"), 6, "add = mul"),
    "sign of zero": (
        "ZERO: tl.constexpr = 0.0" + KERNEL.format("1.0 / tl.full((), ZERO, tl.float32) > 0"),
        1,
        "ZERO = -0.0",
    ),
    "dtype": (
        "DTYPE: tl.constexpr = tl.int32"
        + KERNEL.format("tl.full((), 300, tl.int32).to(DTYPE).to(tl.int32)"),
        300,
        "DTYPE = tl.int8",
    ),
    "class attribute": (
        "class Config:\n    N = tl.constexpr(3)\n" + KERNEL.format("Config.N"),
        3,
        "Config.N = tl.constexpr(99)",
    ),
    "inherited class attribute": (
        "class Base:\n    N = tl.constexpr(3)\nclass Config(Base):\n    pass\n"
        + KERNEL.format("Config.N"),
        3,
        "Config.N = tl.constexpr(99)",
    ),
    "class rebound": (
        "class Config:\n    N = tl.constexpr(3)\nclass Other:\n    N = tl.constexpr(99)\n"
        + KERNEL.format("Config.N"),
        3,
        "Config = Other",
    ),
    "constant of an aggregate": (
        "@tl.core._aggregate\nclass Pair:\n    a: tl.tensor\n    N = 3\n"
        "    @triton.constexpr_function\n    def __init__(self, a):\n        self.a = a\n"
        + KERNEL.format("Pair(tl.full((), 1, tl.int32)).N"),
        3,
        "Pair.N = 99",
    ),
    "captured": (
        "def make():\n    N = tl.constexpr(3)\n    def change():\n        nonlocal N\n"
        "        N = tl.constexpr(99)\n    @triton.jit\n    def kernel(out):\n"
        "        tl.store(out, N)\n    return kernel, change\nkernel, change = make()\n",
        3,
        "change()",
    ),
    "dict of a call": (
        of_call("TABLE = {'scale': 3}\n" + FUNCTION.format("TABLE['scale']")),
        3,
        "TABLE['scale'] = 99",
    ),
    "dict of a call rebound": (
        of_call("TABLE = {'scale': 3}\n" + FUNCTION.format("TABLE['scale']")),
        3,
        "TABLE = {'scale': 99}",
    ),
    "list in a dict of a call": (
        of_call("TABLE = {'scale': [[3]]}\n" + FUNCTION.format("TABLE['scale'][0][0]")),
        3,
        "TABLE['scale'][0][0] = 99",
    ),
    "set of a call": (
        of_call("KNOWN = {1, 2}\n" + FUNCTION.format("len(KNOWN)")),
        2,
        "KNOWN.add(99)",
    ),
    "class attribute of a call": (
        of_call("class Config:\n    scale = 3\n" + FUNCTION.format("Config.scale")),
        3,
        "Config.scale = 99",
    ),
    "object of a call": (
        of_call(
            "class Config:\n    def __init__(self):\n        self.scale = 3\n    def get(self):\n"
            "        return self.scale\nCONFIG = Config()\n" + FUNCTION.format("CONFIG.get()")
        ),
        3,
        "CONFIG.scale = 99",
    ),
    "object of the standard library": (
        of_call(
            "import argparse\nCONFIG = argparse.Namespace(scale=[3])\n"
            + FUNCTION.format("CONFIG.scale[0]")
        ),
        3,
        "CONFIG.scale[0] = 99",
    ),
    "helper of a call": (
        of_call(
            "TABLE = {'scale': 3}\ndef helper():\n    return TABLE['scale']\n"
            + FUNCTION.format("helper()")
        ),
        3,
        "TABLE['scale'] = 99",
    ),
    "helper of a call rebound": (
        of_call("def helper():\n    return 3\n" + FUNCTION.format("helper()")),
        3,
        "helper = lambda: 99",
    ),
    "captured by a call": (
        "def make():\n    n = 3\n    def change():\n        nonlocal n\n        n = 99\n"
        "    @triton.constexpr_function\n    def value():\n        return n\n"
        "    return value, change\nvalue, change = make()\n" + KERNEL.format("value()"),
        3,
        "change()",
    ),
    "environment": (
        of_call(FUNCTION.format("int(os.environ.get('PANTILE_TEST_VALUE', '3'))")),
        3,
        "os.environ['PANTILE_TEST_VALUE'] = '99'",
    ),
    "environment by getenv": (
        of_call(
            "from os import getenv\n" + FUNCTION.format("int(getenv('PANTILE_TEST_VALUE', '3'))")
        ),
        3,
        "os.environ['PANTILE_TEST_VALUE'] = '99'",
    ),
    "more than can be watched": (
        of_call("TABLE = [3] * 10000\n" + FUNCTION.format("TABLE[9999]")),
        3,
        "TABLE[9999] = 99",
    ),
    "call of a call": (
        of_call(
            "TABLE = {'scale': 3}\n@triton.constexpr_function\ndef inner():\n"
            "    return TABLE['scale']\n" + FUNCTION.format("inner()")
        ),
        3,
        "TABLE['scale'] = 99",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_change_is_noticed(device, case, monkeypatch):
    text, before, change = CASES[case]
    monkeypatch.delenv("PANTILE_TEST_VALUE", raising=False)
    module = module_of(text)
    for _ in range(3):  # the third launch goes the short way
        assert run(device, module.kernel) == before
    try:
        exec(change, vars(module))
        for _ in range(2):
            with pytest.raises(RuntimeError, match="was first compiled it"):
                run(device, module.kernel)
    finally:
        os.environ.pop("PANTILE_TEST_VALUE", None)


@pytest.mark.parametrize(
    ("text", "change"),
    [
        (
            of_call("TABLE = {'scale': 3}\n" + FUNCTION.format("TABLE['scale']")),
            "TABLE['other'] = 1",
        ),
        (
            of_call("TABLE = {'scale': 3}\n" + FUNCTION.format("TABLE['scale']")),
            "TABLE = {'scale': 3}",
        ),
        (
            of_call(FUNCTION.format("3 + 0 * len(os.environ)")),
            "os.environ['PANTILE_TEST_VALUE'] = '1'",
        ),
        ("SIZES: tl.constexpr = [3]" + KERNEL.format("SIZES[0]"), "SIZES = [3]"),
        ("SIZES: tl.constexpr = [3]" + KERNEL.format("SIZES[0]"), "SIZES[:] = [1 + 2]"),
    ],
)
def test_a_change_without_effect_is_none(device, text, change, monkeypatch):
    monkeypatch.delenv("PANTILE_TEST_VALUE", raising=False)
    module = module_of(text)
    assert run(device, module.kernel) == 3
    try:
        exec(change, vars(module))
        for _ in range(2):
            assert run(device, module.kernel) == 3
        before = module.triton.runtime.stats()
        for _ in range(3):
            assert run(device, module.kernel) == 3
        after = module.triton.runtime.stats()
        assert after["misses"] == before["misses"] and after["hits"] == before["hits"] + 3
    finally:
        os.environ.pop("PANTILE_TEST_VALUE", None)


def test_a_change_after_a_change_without_effect(device):
    module = module_of(of_call("TABLE = {'scale': [3]}\n" + FUNCTION.format("TABLE['scale'][0]")))
    assert run(device, module.kernel) == 3
    module.TABLE["scale"] = [3]
    assert run(device, module.kernel) == 3
    module.TABLE["scale"][0] = 4
    with pytest.raises(RuntimeError, match="returns 4, but when kernel kernel was first compiled"):
        run(device, module.kernel)
    module.TABLE["scale"][0] = 3
    assert run(device, module.kernel) == 3


def test_a_call_of_another_specialization_counts_too(device):
    text = "TABLE = {1: 3, 2: 5}\n@triton.constexpr_function\ndef value(i):\n    return TABLE[i]\n"
    text += "\n@triton.jit\ndef kernel(out, I: tl.constexpr):\n    tl.store(out, value(I))\n"
    module = module_of(text)
    out = device.output(1, "i32")
    for index, expected in [(1, 3), (2, 5), (1, 3)]:
        module.kernel[(1,)](out.array, index)
        assert out.numpy()[0] == expected
    module.TABLE[2] = 6
    with pytest.raises(RuntimeError, match="returns 6"):
        module.kernel[(1,)](out.array, 1)


def test_one_compilation_sees_one_value(device):
    """A function that never returns the same twice gives one value to a kernel and all its stages."""
    text = of_call("COUNT = []\n" + FUNCTION.format("COUNT.append(0) or len(COUNT)"))
    text = text.replace("tl.store(out, value())", "tl.store(out, value() * 100 + value())")
    module = module_of(text)
    out = device.output(1, "i32")
    module.kernel[(1,)](out.array)
    assert out.numpy()[0] == 101 and len(module.COUNT) == 1


def test_arguments_of_calls_are_distinguished(device):
    text = "@triton.constexpr_function\ndef value(x):\n    return {bool: 1, int: 2, float: 3}[type(x)]\n"
    text += KERNEL.format("value(True) * 100 + value(1) * 10 + value(1.0)")
    assert run(device, module_of(text).kernel) == 123


def test_launches_with_watched_data_stay_short(device):
    cases = [
        "list of functions",
        "class attribute",
        "captured",
        "object of a call",
        "set of a call",
    ]
    for text, before, _ in (CASES[case] for case in cases):
        module = module_of(text)
        assert run(device, module.kernel) == before
        count = module.triton.runtime.stats()["misses"]
        for _ in range(3):
            assert run(device, module.kernel) == before
        assert module.triton.runtime.stats()["misses"] == count


@pytest.mark.parametrize("rows", [1, 40])
def test_modules_of_one_source_have_their_own_numbers(device, rows):
    """On a GPU the second and third find entries of the cache, made of other numbers."""
    rng = np.random.default_rng(rows)
    for _ in range(3):
        numbers = rng.integers(1, 1 << 24, rows).tolist()
        text = of_call(
            "TABLE = dict.fromkeys(range(64), 0)\n" + FUNCTION.format("sum(TABLE.values())")
        )
        module = module_of(text)
        module.TABLE.update(enumerate(numbers))
        assert run(device, module.kernel) == sum(numbers)
