"""Standing in for triton: in a process of its own, since installing it changes what `import` finds."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pantile
import pytest

SETUP = "import pantile, pantile.compat; pantile.compat.install()\n"


def run(text, *command, cwd=None, check=True):
    """Run a program in a new interpreter and return what it printed."""
    command = [sys.executable, *(command or ("-c", textwrap.dedent(text)))]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
    if check:
        assert done.returncode == 0, done.stderr
    return done.stdout if check else done


def test_both_names_are_the_same_objects():
    run(
        SETUP
        + """
import triton, triton.language as tl, pantile.language
from triton.language.extra import libdevice
from triton.language.extra.cuda.libdevice import tanh
import triton.runtime.jit, pantile.runtime.jit
import pantile.language.extra.libdevice as ours
assert triton is pantile and tl is pantile.language and libdevice is ours
assert tanh is ours.tanh
assert triton.runtime.jit.JITFunction is pantile.JITFunction
assert triton.runtime.jit is pantile.runtime.jit
assert pantile.__name__ == "pantile" and pantile.__spec__.name == "pantile"
assert pantile.runtime.jit.__spec__.name == "pantile.runtime.jit"
pantile.compat.install()
"""
    )


# What kernel libraries, PyTorch and users import, one statement a line.
IMPORTS = """
import triton, triton.language as tl, triton.language.core as core
from triton import Config, JITFunction, KernelInterface, autotune, cdiv, heuristics, jit, knobs, language
from triton import next_power_of_2, reinterpret, set_allocator, testing, tools, OutOfResources, TritonError
from triton import AsyncCompileMode, FutureKernel, CompilationError, InterpreterError, MockTensor, TensorWrapper
from triton import compile, constexpr_function, must_use_result, runtime
from triton.backends import backends
from triton.backends.compiler import AttrsDescriptor, BaseBackend, GPUTarget
from triton.compiler.compiler import AttrsDescriptor, CompiledKernel
from triton.compiler import AttrsDescriptor
from triton.backends.driver import DriverBase
from triton.backends.nvidia.compiler import CUDABackend, CUDAOptions
from triton.backends.nvidia.driver import CudaDriver, CudaUtils
from triton.compiler import ASTSource, CompiledKernel, make_backend
from triton.compiler.code_generator import ast_to_ttir
from triton.compiler.compiler import ASTSource, LazyDict, make_backend, triton_key
from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct
from triton.language import core, math, random, standard, target_info
from triton.language.core import PropagateNan, _aggregate, builtin, constexpr, dtype, extern, tensor
from triton.language.extra import cuda, libdevice
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait, globaltimer, libdevice, smid
from triton.language.extra.cuda.libdevice import rsqrt, tanh
from triton.language.extra.libdevice import erf, pow, rsqrt, tanh
from triton.language.math import exp2, rsqrt
from triton.language.semantic import TritonSemantic
from triton.language.standard import _log2, cdiv, zeros_like
from triton.language.target_info import current_target, is_cuda
from triton.runtime import Autotuner, Heuristics, driver
from triton.runtime.autotuner import Autotuner, Config, Heuristics, OutOfResources, PTXASError
from triton.runtime.build import compile_module_from_src, platform_key
from triton.runtime.cache import FileCacheManager, default_cache_dir, get_cache_manager, triton_key
from triton.runtime.driver import driver
from triton.runtime.errors import AutotunerError, InterpreterError, OutOfResources, PTXASError
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction, KernelInterface, MockTensor, TensorWrapper, constexpr_function
from triton.testing import Benchmark, Mark, assert_close, do_bench, do_bench_cudagraph, perf_report
from triton.tools.disasm import get_sass
from triton.tools.mxfp import MXFP4Tensor, MXScaleTensor
from triton.tools.ragged_tma import create_ragged_descriptor, load_ragged, store_ragged
from triton.tools.tensor_descriptor import TensorDescriptor
import triton.runtime.driver
import triton._C.libtriton
from triton._C.libtriton import ir, nvidia
import triton.knobs
"""


def test_everything_that_libraries_import():
    lines = [line for line in IMPORTS.splitlines() if line]
    program = SETUP + "\n".join(
        f"try:\n    {line}\nexcept Exception as e:\n    print({line!r}, repr(e))" for line in lines
    )
    assert run(program) == ""


def test_names_of_all():
    names = """AsyncCompileMode autotune cdiv CompilationError compile Config constexpr_function FutureKernel
    heuristics InterpreterError jit JITFunction KernelInterface language MockTensor must_use_result
    next_power_of_2 OutOfResources reinterpret runtime set_allocator TensorWrapper TritonError testing tools
    knobs aggregate""".split()
    import pantile

    missing = [name for name in names if not hasattr(pantile, name)]
    assert not missing and set(names) - {"aggregate"} <= set(pantile.__all__)


def test_versions():
    """The stand-in has a version of Triton's, as a module and as a distribution."""
    out = run(
        SETUP
        + """
import importlib.metadata, importlib.util, triton
assert triton.__version__ == f"3.6.0+pantile.{pantile.version}"
assert importlib.metadata.version("triton") == triton.__version__
assert importlib.util.find_spec("triton") is not None
print(tuple(int(v) for v in triton.__version__.split(".")[:2]))
"""
    )
    assert out == "(3, 6)\n"


def test_imports_of_serving_libraries():
    run(
        SETUP
        + """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
import triton.experimental.gluon.language.nvidia.blackwell.tma
from triton.language.core import _aggregate, CONSTEXPR_0, base_value, constexpr_type
from triton.language.extra.cuda.gdc import gdc_launch_dependents, gdc_wait
from triton.language.extra.cuda.utils import globaltimer, smid
from triton.errors import TritonError
from triton.tools import LinearLayout
from triton.knobs import base_knobs, env_bool
import pantile.experimental.gluon as ours
assert gluon is ours and gl is ours.language and issubclass(triton.CompilationError, TritonError)
"""
    )


def test_what_is_not_there_says_so():
    """An absent module of triton is an ImportError with the reason."""
    run(
        SETUP
        + """
import triton
import triton._C
for name, text in [("triton.ops", "since Triton 3"), ("triton.ops.matmul_perf_model", "since Triton 3"),
                   ("triton.nothing", "triton.nothing")]:
    try:
        __import__(name)
    except ImportError as error:
        assert text in str(error), error
    else:
        raise AssertionError(name)
try:
    triton._C.libtriton.passes
except AttributeError as error:
    assert "pantile.compiler" in str(error)
"""
    )


def test_another_triton_is_not_replaced(tmp_path):
    (tmp_path / "triton.py").write_text("__version__ = '2.0.0'\n")
    done = run(
        "import triton\n" + SETUP,
        "-c",
        "import sys; sys.path.insert(0, '.'); import triton\n" + SETUP,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode != 0
    assert "another triton is imported already" in done.stderr and "triton.py" in done.stderr


def test_another_triton_on_the_path_is_not_found(tmp_path):
    (tmp_path / "triton.py").write_text("raise SystemExit('the wrong one')\n")
    run("", "-c", SETUP + "import triton; assert triton is pantile", cwd=tmp_path)


def test_uninstall():
    """After `uninstall`, `import triton` no longer finds us."""
    run(
        SETUP
        + """
import sys, triton.language
pantile.compat.uninstall()
assert "triton" not in sys.modules and "triton.language" not in sys.modules
try:
    import triton
    assert "pantile" not in triton.__file__, triton
except ModuleNotFoundError:
    pass
"""
    )


def child_of(setup, program, *options, cwd=None, **environment):
    """What a child prints, of a process that ran `setup`."""
    parent = f"""
import os, subprocess, sys
{setup}
done = subprocess.run([sys.executable, *{list(options)!r}, "-c", {program!r}], capture_output=True, text=True)
print(done.stdout if done.returncode == 0 else done.stderr[-2000:], end="")
"""
    environment = {**os.environ, **environment}
    environment.pop("PANTILE_AS_TRITON", None)
    command = [sys.executable, "-c", parent]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


ROOT = str(Path(pantile.__file__).parents[1])
CHILD = """
import importlib.metadata, triton, triton.language as tl
from triton.language.extra import libdevice
from triton.runtime.jit import JITFunction
import pantile
assert triton is pantile and tl is pantile.language and JITFunction is pantile.JITFunction
print(triton.__version__, importlib.metadata.version("triton"))
"""
SAID = f"{pantile.__version__} {pantile.__version__}\n"


@pytest.fixture
def site(tmp_path):
    """A folder of an environment that has another triton and a sitecustomize of its own."""
    folder = tmp_path / "site"
    (folder / "triton").mkdir(parents=True)
    (folder / "triton" / "__init__.py").write_text("raise SystemExit('the other triton')\n")
    (folder / "triton-3.1.0.dist-info").mkdir()
    (folder / "triton-3.1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: triton\nVersion: 3.1.0\n"
    )
    (folder / "sitecustomize.py").write_text("import sys\nsys.customized = True\n")
    return folder


@pytest.mark.parametrize("options", [(), ("-S",)])
def test_children_find_us_before_another_triton(site, options):
    path = os.pathsep.join([ROOT, str(site)])
    said = child_of(SETUP, CHILD, *options, PYTHONPATH=path)
    assert said == SAID
    said = child_of(SETUP, "import sys; print(hasattr(sys, 'customized'))", PYTHONPATH=path)
    assert said == "True\n"


def test_children_that_are_given_the_path_of_the_process(site):
    """As torch's compile workers are: no variable of the process's `PYTHONPATH` reaches them."""
    setup = f"sys.path.append({str(site)!r})\n" + SETUP
    setup += "os.environ['PYTHONPATH'] = os.pathsep.join(sys.path)\n"
    assert child_of(setup, CHILD, PYTHONPATH=ROOT) == SAID


def test_children_where_we_are_on_no_path(site):
    """A program that put the package on its own path alone."""
    setup = f"sys.path.insert(0, {ROOT!r})\n" + SETUP
    assert child_of(setup, CHILD, cwd=site.parent, PYTHONPATH=str(site)) == SAID


def test_children_are_left_alone():
    setup = SETUP.replace("install()", "install(children=False)")
    program = "import os, importlib.util as u; print(getattr(u.find_spec('triton'), 'origin', None), dict(os.environ).get('PANTILE_AS_TRITON'))"
    before = child_of("", program, PYTHONPATH=ROOT)
    assert child_of(setup, program, PYTHONPATH=ROOT) == before
    undone = SETUP + "path = list(sys.path)\npantile.compat.uninstall()\n"
    undone += "assert len(sys.path) == len(path) - 1\n"
    assert child_of(undone, program, PYTHONPATH=ROOT) == before
    assert child_of("import os\nbefore = dict(os.environ)\n" + undone, "print(1)", PYTHONPATH=ROOT)


SPAWNED = """
import multiprocessing
import triton
import pantile

def told():
    return triton is pantile

def tell(queue):
    queue.put(told())

if __name__ == "__main__":
    context = multiprocessing.get_context("{method}")
    queue = context.Queue()
    process = context.Process(target=tell, args=(queue,))
    process.start()
    print(queue.get(timeout=60))
    process.join()
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_children_of_multiprocessing(tmp_path, method):
    (tmp_path / "program.py").write_text(SPAWNED.format(method=method))
    command = [sys.executable, "-m", "pantile.compat", str(tmp_path / "program.py")]
    environment = {**os.environ, "PYTHONPATH": ROOT}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.stdout == "True\n", done.stderr


# What Python does with a .pth file of site-packages when it starts.
START = f"""
import site, sys
site.addsitedir({str(Path(__file__).parents[3] / "python")!r})
"""


def started(program, **environment):
    environment = {**os.environ, "PYTHONPATH": ROOT, **environment}
    command = [sys.executable, "-c", START + textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_variable_that_python_reads_when_it_starts(site):
    program = "assert not any(n.startswith('pantile.') for n in sys.modules)\n" + CHILD
    path = os.pathsep.join([ROOT, str(site)])
    assert started(program, PANTILE_AS_TRITON="1", PYTHONPATH=path) == SAID
    program = """
    import importlib.metadata, importlib.util
    assert importlib.util.find_spec("json").name == "json"
    print(importlib.metadata.version("triton"))
    import triton.language.core
    from triton.runtime import driver
    """
    found = started(program, PANTILE_AS_TRITON="1", PYTHONPATH=path)
    assert found == f"{pantile.__version__}\n"


@pytest.mark.parametrize("value", ["", "0", "no", None])
def test_variable_that_is_not_set_costs_nothing(value):
    given = {} if value is None else {"PANTILE_AS_TRITON": value}
    said = started(
        """
        import timeit
        assert not [n for n in sys.modules if "pantile" in n]
        line = open(sys.path[-1] + "/pantile_as_triton.pth").read()
        print(min(timeit.repeat(lambda: exec(line), number=1, repeat=200)) * 1e6)
        """,
        **given,
    )
    assert float(said) < 200  # microseconds, most of them to compile the line


SCRIPT = """
import sys
import numpy as np
import triton
import triton.language as tl
from helper import scale

@triton.jit
def kernel(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, scale(tl.load(x + i)))

if __name__ == "__main__":
    x = np.random.default_rng(0).standard_normal(64).astype(np.float32)
    out = np.empty_like(x)
    kernel[(1,)](out, x, 64)
    assert (out == x * 3).all()
    print(sys.argv[1:], __name__)
"""


@pytest.mark.parametrize("module", [False, True])
def test_running_a_program(tmp_path, module):
    (tmp_path / "program.py").write_text(SCRIPT)
    (tmp_path / "helper.py").write_text(
        "import triton\n\n\n@triton.jit\ndef scale(x):\n    return x * 3\n"
    )
    command = ["-m", "program"] if module else [str(tmp_path / "program.py")]
    out = run("", "-m", "pantile.compat", *command, "--size", "7", cwd=tmp_path)
    assert out == "['--size', '7'] __main__\n"


def test_import_is_quick():
    out = run(
        """
        import sys, time
        start = time.process_time()
        import pantile
        took = time.process_time() - start
        heavy = [n for n in ("numpy", "torch", "matplotlib", "pandas", "pantile._pantile") if n in sys.modules]
        print(took * 1e3, heavy)
        """
    )
    took, heavy = out.split(maxsplit=1)
    # Of the processor alone: a test machine is seldom idle.
    assert heavy.strip() == "[]" and float(took) < 250
