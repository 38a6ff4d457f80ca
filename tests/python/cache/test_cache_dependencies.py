"""A kernel in the cache is taken only if what its compilation took from outside is the same: results of calls, files.

Each run is a process of its own on the emulated GPU; all use one cache.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from emulated_device import library_path

pytestmark = pytest.mark.skipif(library_path() is None, reason="needs the emulated driver")

PROGRAM = """
import json, os, sys
import emulated_device
emulated_device.start("sm_90a")
import numpy as np
import pantile as triton
import pantile.language as tl
from pantile.language.extra import libdevice

SETTING = int(os.environ.get("SETTING", "2"))
device = emulated_device.EmulatedDevice()

class Config:
    scale = SETTING

TABLE = {"scale": SETTING}

@triton.jit
def plus(x):
    return x + ADDED
@triton.jit
def times(x):
    return x * 10

ADDED = tl.constexpr(SETTING)

class Kind:
    ADDED = tl.constexpr(SETTING)

@triton.jit
def plus_of_class(x):
    return x + Kind.ADDED

def helper():
    return TABLE["scale"] + 1

@triton.constexpr_function
def of_dict():
    return TABLE["scale"]
@triton.constexpr_function
def of_class():
    return Config.scale
@triton.constexpr_function
def of_environment():
    return int(os.environ.get("SETTING", "2"))
@triton.constexpr_function
def of_helper():
    return helper()
@triton.constexpr_function
def of_file(path):
    with open(path) as file:
        return int(file.read())
@triton.constexpr_function
def function_of_setting():
    return plus if TABLE["scale"] % 2 else times
@triton.constexpr_function
def function_of_class():
    return plus_of_class
@triton.constexpr_function
def dtype_of_setting():
    return tl.int8 if TABLE["scale"] > 100 else tl.int32
@triton.constexpr_function
def pair(a, b=0):
    return (TABLE["scale"] + a, (b, "text"))
@triton.constexpr_function
def guarded():
    if TABLE["scale"] == 5:
        raise ValueError("five")
    return TABLE["scale"]

@triton.jit
def of_dict_kernel(y): tl.store(y, of_dict())
@triton.jit
def of_class_kernel(y): tl.store(y, of_class())
@triton.jit
def of_environment_kernel(y): tl.store(y, of_environment())
@triton.jit
def of_helper_kernel(y): tl.store(y, of_helper())
@triton.jit
def of_file_kernel(y): tl.store(y, of_file("number"))
@triton.jit
def function_kernel(y): tl.store(y, function_of_setting()(7))
@triton.jit
def class_function_kernel(y): tl.store(y, function_of_class()(7))
@triton.jit
def dtype_kernel(y): tl.store(y, tl.full((), 300, tl.int32).to(dtype_of_setting()).to(tl.int32))
@triton.jit
def pair_kernel(y): tl.store(y, pair(1)[0] * 1000 + pair(1, b=4)[1][0])
@triton.jit
def dependent_kernel(y):
    if of_dict() > 3:
        tl.store(y, of_class() * 2)
    else:
        tl.store(y, of_environment() * 3)
@triton.jit
def guarded_kernel(y): tl.store(y, guarded())

@triton.jit
def libdevice_kernel(y, x):
    tl.store(y, (libdevice.erfinv(tl.load(x)) * 1e6).to(tl.int32))

def run(kernel):
    y = device.to(np.full(1, -1, np.int32))
    x = [device.to(np.array([0.25], np.float32))] if kernel is libdevice_kernel else []
    try:
        compiled = kernel[(1,)](y, *x)
    except Exception as error:
        return [type(error).__name__ + str(error), False]
    return [int(y.host[0]), compiled.from_cache]

print(json.dumps({name: run(globals()[name]) for name in sys.argv[1:]}))
"""


class Programs:
    def __init__(self, folder):
        self.folder = folder
        (folder / "program.py").write_text(PROGRAM)

    def run(self, *kernels, **variables):
        import pantile

        paths = [Path(__file__).parents[1], Path(pantile.__file__).parent.parent]
        done = subprocess.run(
            [sys.executable, "program.py", *kernels],
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(map(str, paths)),
                "PANTILE_CACHE_DIR": str(self.folder / "cache"),
                "PANTILE_EMULATED_TARGET": "sm_90a",
                **variables,
            },
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def entries(self):
        return sum(1 for _ in (self.folder / "cache").glob("??/*") if len(_.name) == 64)


@pytest.fixture
def programs(tmp_path):
    return Programs(tmp_path)


# By the setting, what each kernel stores.
EXPECTED = {
    "of_dict_kernel": lambda n: n,
    "of_class_kernel": lambda n: n,
    "of_environment_kernel": lambda n: n,
    "of_helper_kernel": lambda n: n + 1,
    "of_file_kernel": lambda n: n,
    "function_kernel": lambda n: 7 + n if n % 2 else 70,
    "class_function_kernel": lambda n: 7 + n,
    "dtype_kernel": lambda n: 300 - 256 if n > 100 else 300,
    "pair_kernel": lambda n: (n + 1) * 1000 + 4,
    "dependent_kernel": lambda n: n * 2 if n > 3 else n * 3,
}


def test_results_of_calls_choose_the_entry(programs):
    seen = set()
    for setting in (2, 5, 200, 5, 2, 3):
        (programs.folder / "number").write_text(str(setting))
        told = programs.run(*EXPECTED, SETTING=str(setting))
        assert {name: value for name, (value, _) in told.items()} == {
            name: expected(setting) for name, expected in EXPECTED.items()
        }
        if setting in seen:
            assert all(cached for _, cached in told.values()), (setting, told)
        seen.add(setting)


def test_a_call_that_raises_now_is_an_error(programs):
    assert programs.run("guarded_kernel") == {"guarded_kernel": [2, False]}
    (told,) = programs.run("guarded_kernel", SETTING="5").values()
    assert "`guarded` raised ValueError: five" in told[0]
    assert programs.run("guarded_kernel") == {"guarded_kernel": [2, True]}


def test_the_checked_cache_agrees(programs):
    for setting in ("2", "5", "2", "5"):
        told = programs.run("of_dict_kernel", SETTING=setting, PANTILE_CACHE_CHECK="1")
        assert told["of_dict_kernel"][0] == int(setting)


def changed_libdevice(path, target):
    """A copy of libdevice in which `__nv_erfinvf` returns its argument."""
    for disassembler in ("llvm-dis-22", "llvm-dis", "/usr/lib/llvm-22/bin/llvm-dis"):
        try:
            subprocess.run([disassembler, str(path), "-o", f"{target}.ll"], check=True)
            break
        except FileNotFoundError:
            continue
    else:
        pytest.skip("needs llvm-dis")
    lines = Path(f"{target}.ll").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if "@__nv_erfinvf(" in line and "define" in line)
    end = lines.index("}", start)
    argument = lines[start].split("float ")[-1].split(")")[0].split()[-1]
    lines[start + 1 : end] = [f"  ret float {argument}"]
    Path(f"{target}.ll").write_text("\n".join(lines))
    assembler = disassembler.replace("llvm-dis", "llvm-as")
    subprocess.run([assembler, f"{target}.ll", "-o", str(target)], check=True)


def libdevice():
    roots = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    for root in [*filter(None, roots), "/usr/local/cuda", "/usr/local/cuda-13.0"]:
        path = Path(root) / "nvvm/libdevice/libdevice.10.bc"
        if path.exists():
            return path
    pytest.skip("needs libdevice")


def test_another_libdevice_is_another_kernel(programs):
    original, changed = libdevice(), programs.folder / "changed.bc"
    changed_libdevice(original, changed)
    copy = programs.folder / "copy.bc"
    copy.write_bytes(original.read_bytes())
    before, after = 225312, 250000  # a millionth of erfinv(0.25), and of 0.25
    for path, value, cached in [
        (original, before, False),
        (changed, after, False),
        (copy, before, True),  # the content counts, not the place
        (changed, after, True),
    ]:
        told = programs.run("libdevice_kernel", PANTILE_LIBDEVICE_PATH=str(path))
        assert told["libdevice_kernel"] == [value, cached], path
    copy.write_bytes(changed.read_bytes())
    told = programs.run("libdevice_kernel", PANTILE_LIBDEVICE_PATH=str(copy))
    assert told["libdevice_kernel"] == [after, True]
    told = programs.run("libdevice_kernel", PANTILE_LIBDEVICE_PATH="/nowhere/libdevice.10.bc")
    assert "/nowhere/libdevice.10.bc" in told["libdevice_kernel"][0]
