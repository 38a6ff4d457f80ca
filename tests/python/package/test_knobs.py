"""Settings: the environment, overrides, scopes, hooks."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from pantile import knobs
from test_jit_function_objects import function_of

GROUPS = "build redis cache compilation autotuning runtime language nvidia amd proton".split()


@pytest.mark.parametrize("name", GROUPS)
def test_groups(name):
    """A group has its knobs, and a copy and a scope of them."""
    group = getattr(knobs, name)
    assert set(group.knobs) == set(group.knob_descriptors)
    copy = group.copy()
    assert type(copy) is type(group) and copy is not group
    with group.scope() as inside:
        assert inside is group
        assert group.reset() is group


@pytest.mark.parametrize(
    "group, knob, variable, text, value",
    [
        ("autotuning", "print", "TRITON_PRINT_AUTOTUNING", "1", True),
        ("autotuning", "cache", "TRITON_CACHE_AUTOTUNING", "on", True),
        ("runtime", "debug", "TRITON_DEBUG", "1", True),
        ("runtime", "interpret", "TRITON_INTERPRET", "0", False),
        ("runtime", "override_arch", "TRITON_OVERRIDE_ARCH", "sm_80", "sm_80"),
        ("compilation", "always_compile", "TRITON_ALWAYS_COMPILE", "true", True),
        ("compilation", "disable_line_info", "TRITON_DISABLE_LINE_INFO", "1", True),
        (
            "compilation",
            "allow_non_constexpr_globals",
            "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS",
            "y",
            True,
        ),
        ("language", "fp32_default", "TRITON_F32_DEFAULT", "ieee", "ieee"),
        ("language", "default_fp_fusion", "TRITON_DEFAULT_FP_FUSION", "0", False),
        ("redis", "port", "TRITON_REDIS_PORT", "17", 17),
        ("cache", "home_dir", "TRITON_HOME", "/somewhere", "/somewhere"),
        ("nvidia", "libcuda_path", "TRITON_LIBCUDA_PATH", "/x/libcuda.so", "/x/libcuda.so"),
        ("proton", "disable", "TRITON_PROTON_DISABLE", "1", True),
        ("build", "cc", "CC", "clang", "clang"),
    ],
)
def test_environment(monkeypatch, group, knob, variable, text, value):
    """A variable of the environment sets its knob."""
    settings = getattr(knobs, group)
    for name in settings.knob_descriptors[knob].names:
        monkeypatch.delenv(name, raising=False)
    before = getattr(settings, knob)
    monkeypatch.setenv(variable, text)
    assert getattr(settings, knob) == value and settings.knobs[knob] == value
    monkeypatch.delenv(variable)
    assert getattr(settings, knob) == before


def test_ours_comes_first(monkeypatch):
    monkeypatch.setenv("TRITON_F32_DEFAULT", "tf32")
    monkeypatch.setenv("PANTILE_F32_DEFAULT", "ieee")
    assert knobs.language.fp32_default == "ieee"


def test_overrides_and_scopes(monkeypatch):
    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "1")
    with knobs.autotuning.scope():
        knobs.autotuning.print = False
        assert knobs.autotuning.print is False
        os.environ["TRITON_CACHE_AUTOTUNING"] = "1"
        with knobs.autotuning.scope():
            knobs.autotuning.print = True
        assert knobs.autotuning.print is False and knobs.autotuning.cache is True
        del knobs.autotuning.print
        assert knobs.autotuning.print is True
        knobs.autotuning.print = False
        assert knobs.autotuning.reset().print is True
    assert knobs.autotuning.cache is False and knobs.autotuning.print is True
    copy = knobs.autotuning.copy()
    copy.print = False
    assert knobs.autotuning.print is True


def test_hook_chains():
    order = []
    forward, backward = knobs.HookChain(), knobs.HookChain(reversed=True)
    first, second = (lambda x: order.append((1, x))), (lambda x: order.append((2, x)))
    for chain in (forward, backward):
        assert not chain
        chain.add(first)
        chain.add(second)
        chain.add(first)
        chain("a")
        chain.remove(first)
        chain.remove(first)
        chain("b")
    assert order == [(1, "a"), (2, "a"), (2, "b"), (2, "a"), (1, "a"), (2, "b")]


def test_copies_have_hooks_of_their_own():
    copy = knobs.runtime.copy()
    copy.launch_enter_hook.add(print)
    assert not knobs.runtime.launch_enter_hook and copy.launch_enter_hook


def test_refresh():
    """`refresh_knobs` undoes assignments."""
    knobs.autotuning.print = True
    knobs.refresh_knobs()
    assert knobs.autotuning.print is False


def test_plain_globals_where_they_are_allowed(device):
    text = "def kernel(out):\n    tl.store(out, PLAIN)\n"
    with pytest.raises(triton.CompilationError, match="PLAIN"):
        triton.jit(function_of(text, PLAIN=11)).warmup(tl.int32, grid=(1,))
    out = device.to(np.zeros(1, np.int32))
    with knobs.compilation.scope():
        knobs.compilation.allow_non_constexpr_globals = True
        triton.jit(function_of(text, PLAIN=11))[(1,)](out)
    assert device.numpy(out)[0] == 11


def test_debug_turns_assertions_on():
    # With an array of the host: a failed assertion on a GPU ends all work of the process there.
    text = "def kernel(out, n):\n    tl.device_assert(n == 3, 'not three')\n"
    out = np.zeros(1, np.int32)
    triton.jit(function_of(text))[(1,)](out, 4)
    with knobs.runtime.scope():
        knobs.runtime.debug = True
        with pytest.raises(triton.TritonError, match="not three"):
            triton.jit(function_of(text))[(1,)](out, 4)


def test_the_cache_folder_reaches_the_library(tmp_path):
    program = """
import pantile, pantile.language as tl
from pantile import _pantile
pantile.knobs.export()
print(_pantile.cache_directory())
"""
    environment = {k: v for k, v in os.environ.items() if k != "PANTILE_CACHE_DIR"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().startswith(str(tmp_path))


def test_cache_managers(tmp_path):
    from pantile.runtime.cache import FileCacheManager, get_cache_manager, get_dump_manager

    with knobs.cache.scope():
        knobs.cache.dir, knobs.cache.dump_dir = str(tmp_path / "cache"), str(tmp_path / "dump")
        manager = get_cache_manager("ab" * 32)
        assert isinstance(manager, FileCacheManager) and manager.get_file("k.cubin") is None
        path = manager.put(b"\x00\x01", "k.cubin")
        assert manager.has_file("k.cubin") and open(path, "rb").read() == b"\x00\x01"
        text = manager.put("words", "k.ptx", binary=False)
        manager.put_group("k.json", {"k.cubin": path, "k.ptx": text, "gone": "/nowhere"})
        again = get_cache_manager("ab" * 32)
        assert again.get_group("k.json") == {"k.cubin": path, "k.ptx": text}
        assert again.get_group("other") is None and again.get_file("k.ptx") == text
        assert get_dump_manager("ab" * 32).cache_dir.startswith(str(tmp_path / "dump"))
        assert get_cache_manager("cd" * 32).get_file("k.ptx") is None


class _Store:
    """A remote store in memory."""

    files = {}

    def __init__(self, key):
        self.key = key

    def get(self, filenames):
        found = {name: self.files.get((self.key, name)) for name in filenames}
        return {name: data for name, data in found.items() if data is not None}

    def put(self, filename, data):
        self.files[self.key, filename] = data


def test_remote_cache_managers(tmp_path):
    from pantile.runtime.cache import RemoteCacheManager, get_cache_manager

    with knobs.cache.scope():
        knobs.cache.dir = str(tmp_path / "one")
        knobs.cache.manager_class = RemoteCacheManager
        knobs.cache.remote_manager_class = _Store
        manager = get_cache_manager("12" * 32)
        path = manager.put(b"code", "k.cubin")
        manager.put_group("k.json", {"k.cubin": path})
        knobs.cache.dir = str(tmp_path / "two")
        other = get_cache_manager("12" * 32)
        group = other.get_group("k.json")
        assert open(group["k.cubin"], "rb").read() == b"code" and "two" in group["k.cubin"]


def test_overrides_reach_the_library(monkeypatch):
    monkeypatch.delenv("PANTILE_NUM_THREADS", raising=False)
    monkeypatch.setenv("PANTILE_CHECK", "races")
    with knobs.runtime.scope():
        knobs.runtime.num_threads, knobs.runtime.check = 3, "bounds"
        assert (os.environ["PANTILE_NUM_THREADS"], os.environ["PANTILE_CHECK"]) == ("3", "bounds")
        with knobs.runtime.scope():
            knobs.runtime.num_threads = 5
        assert os.environ["PANTILE_NUM_THREADS"] == "3" and knobs.runtime.num_threads == 3
        knobs.runtime.copy().num_threads = 7
        assert os.environ["PANTILE_NUM_THREADS"] == "3"
        del knobs.runtime.check
        assert knobs.runtime.check == os.environ["PANTILE_CHECK"] == "races"
        assert knobs.runtime.reset().num_threads is None
        assert "PANTILE_NUM_THREADS" not in os.environ
    assert knobs.runtime.check == "races"


def test_tritons_names_reach_the_library(monkeypatch):
    for name in ("PANTILE_LIBCUDA_PATH", "TRITON_LIBCUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRITON_LIBCUDA_PATH", "/x/libcuda.so")
    knobs.export()
    assert os.environ["PANTILE_LIBCUDA_PATH"] == "/x/libcuda.so"
    monkeypatch.delenv("TRITON_LIBCUDA_PATH")
    assert knobs.nvidia.libcuda_path is None
    knobs.export()
    assert "PANTILE_LIBCUDA_PATH" not in os.environ


def test_a_read_out_of_bounds_is_an_error_on_request():
    text = "def kernel(out):\n    tl.store(out, tl.load(out + 5))\n"
    out = np.zeros(1, np.int32)
    with knobs.runtime.scope():
        knobs.runtime.check = "bounds"
        with pytest.raises(triton.TritonError, match="outside argument"):
            triton.jit(function_of(text))[(1,)](out)


def test_options_of_the_assembler(capsys):
    from pantile.backends.compiler import GPUTarget

    text = "def kernel(out):\n    tl.store(out, 7)\n"
    target = GPUTarget("cuda", 90, 32)
    source = triton.compiler.ASTSource(triton.jit(function_of(text)), {"out": "*i32"})
    with knobs.nvidia.scope(), knobs.compilation.scope():
        knobs.compilation.always_compile = knobs.nvidia.dump_nvptx = True
        triton.compile(source, target=target, options={"ptx_options": "--warn-on-spills"})
        assert ".entry kernel" in capsys.readouterr().err
        with pytest.raises(triton.TritonError, match="no-such-option"):
            triton.compile(source, target=target, options={"ptx_options": "--no-such-option"})
        knobs.nvidia.ptxas_options = "--another-one"
        with pytest.raises(triton.TritonError, match="another-one"):
            triton.compile(source, target=target)


def test_the_page_is_current():
    """`scripts/knobs_page.py` writes it; every variable that the library reads stands there."""
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, root / "scripts/knobs_page.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (root / "docs/knobs.md").read_text()
    read = set()
    for folder in ("compiler", "runtime", "python"):
        for path in (root / folder).rglob("*"):
            if path.suffix in (".cpp", ".h", ".py"):
                text = path.read_text()
                read |= set(
                    re.findall(r'(?:getenv|isSet|variable|environ\.get)\("(PANTILE_\w+)', text)
                )
                read |= set(re.findall(r'"(PANTILE_[A-Z_]+)"', text))
    own = {"PANTILE_MEMCHECK"}  # how a decorated test marks its other process
    assert sorted(name for name in read - own if f"`{name}`" not in page) == []
