"""Kernels as files in the layout of Triton's cache: what programs that read, copy and restore them find."""

import base64
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pantile as triton
import pytest
from conftest import random
from pantile import knobs
from static_launcher import StaticLauncher
from test_launch_abi import BLOCKS, MATMUL, as_inductor, compiled, matmul, on_gpu, scale

FOLDERS = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
SCALE = "*fp32 *fp32 i32 fp32 i1"


@pytest.fixture
def folder(tmp_path):
    with knobs.cache.scope():
        knobs.cache.dir, knobs.cache.triton_dir = str(tmp_path / "own"), str(tmp_path / "triton")
        yield tmp_path / "triton"


def folder_of(folder, kernel):
    """Where programs that read Triton's cache look: base 32 of the hash."""
    return folder / base64.b32encode(bytes.fromhex(kernel.hash)).decode("ascii").rstrip("=")


def names_in(place):
    return sorted(path.name for path in place.iterdir())


def test_files_on_request(folder):
    compiled(scale, SCALE, {"BLOCK": 64})
    assert not folder.exists()
    knobs.cache.triton_layout = True
    kernel = compiled(scale, SCALE, {"BLOCK": 64})
    place = folder_of(folder, kernel)
    stages = ["cubin", "json", "llir", "ptx", "source", "ttgir", "ttir"]
    names = ["__grp__scale.json", "kernel.pantile", *(f"scale.{stage}" for stage in stages)]
    assert names_in(place) == sorted(names)
    assert (place / "scale.cubin").read_bytes() == kernel.asm["cubin"]
    for stage in ("llir", "ptx", "source", "ttgir", "ttir"):
        assert (place / f"scale.{stage}").read_text() == kernel.asm[stage], stage
    metadata = json.loads((place / "scale.json").read_text())
    assert metadata["hash"] == kernel.hash and metadata["name"] == "scale"
    assert (metadata["num_warps"], metadata["shared"]) == (4, kernel.metadata.shared)
    assert metadata["target"] == {"backend": "cuda", "arch": 90, "warp_size": 32}
    group = json.loads((place / "__grp__scale.json").read_text())["child_paths"]
    assert group == kernel.metadata_group
    assert set(group) == set(names) - {"__grp__scale.json"}
    assert all(Path(path) == place / name for name, path in group.items())
    assert [path.name for path in folder.iterdir()] == [place.name]  # nothing temporary


def test_triton_finds_its_group(folder):
    """As Triton's own cache manager reads it."""
    from pantile.runtime.cache import get_cache_manager

    knobs.cache.triton_layout = True
    kernel = compiled(scale, SCALE, {"BLOCK": 64})
    with knobs.cache.scope():
        knobs.cache.dir = str(folder)
        assert get_cache_manager(kernel.hash).get_group("scale.json") == kernel.metadata_group


def test_only_the_binary(folder):
    knobs.cache.triton_layout = True
    with knobs.compilation.scope():
        knobs.compilation.store_binary_only = True
        place = folder_of(folder, compiled(scale, SCALE, {"BLOCK": 64}))
    assert {"scale.cubin", "scale.json"} <= set(names_in(place))
    assert "scale.ttir" not in names_in(place)


def test_no_machine_code_that_only_our_launcher_starts(folder):
    knobs.cache.triton_layout = True
    full = compiled(matmul, MATMUL, BLOCKS, launch_abi="full")
    names = names_in(folder_of(folder, full))
    assert "matmul.cubin" not in names and {"matmul.json", "kernel.pantile"} <= set(names)
    assert json.loads((folder_of(folder, full) / "matmul.json").read_text())["launch_abi"] == "full"
    plain = compiled(matmul, MATMUL, BLOCKS, launch_abi="triton")
    assert folder_of(folder, plain) != folder_of(folder, full)
    assert (folder_of(folder, plain) / "matmul.cubin").read_bytes() == plain.asm["cubin"]
    rows = compiled(scale, SCALE, {"BLOCK": 64}, num_warps=1, launch_abi="full")
    assert rows.metadata.launch_abi == "full" and not rows.metadata.persistent  # it may be packed
    assert "scale.cubin" not in names_in(folder_of(folder, rows))


@pytest.mark.parametrize("kind", ["fp16", "bf16"])
def test_no_machine_code_with_scalars_that_launchers_pass_otherwise(folder, kind):
    knobs.cache.triton_layout = True
    kernel = compiled(scale, f"*fp32 *fp32 i32 {kind} i1", {"BLOCK": 64})
    assert kernel.metadata.launch_abi == "triton"
    assert "scale.cubin" not in names_in(folder_of(folder, kernel))


def test_inductor_gets_files_by_default(folder):
    """What restores a kernel; no machine code, which torch's static launcher would start."""
    kernel = as_inductor({"store_cubin": False}, scale, SCALE, {"BLOCK": 64})
    wanted = ["__grp__scale.json", "kernel.pantile", "scale.json"]
    assert names_in(folder_of(folder, kernel)) == wanted
    full = as_inductor({"store_cubin": False}, matmul, MATMUL, BLOCKS)
    names = ["__grp__matmul.json", "kernel.pantile", "matmul.json"]
    assert names_in(folder_of(folder, full)) == names
    shutil.rmtree(folder)
    knobs.cache.triton_layout = False
    as_inductor({"store_cubin": False}, scale, SCALE, {"BLOCK": 128})
    assert not folder.exists()


def starters(folder, *arguments, **options):
    """Who starts a kernel of Inductor's: "run" of the compiled kernel, or torch's static launcher."""
    kernel = as_inductor({"store_cubin": False}, *arguments, **options)
    found = f"{kernel.src.fn.__name__}.cubin" in names_in(folder_of(folder, kernel))
    return ("static" if found else "run"), kernel.metadata.launch_abi


@pytest.mark.parametrize("num_warps", [1, 4])
def test_who_starts_kernels_of_inductor(folder, num_warps):
    """`run` takes a third of the static launcher's time; files are there for it on request."""
    small = (scale, SCALE, {"BLOCK": 64})
    assert starters(folder, *small, num_warps=num_warps) == ("run", "triton")
    assert starters(folder, matmul, MATMUL, BLOCKS) == ("run", "full")
    with knobs.runtime.scope():
        knobs.runtime.launch_abi = "triton"
        assert starters(folder, *small, num_warps=num_warps) == ("static", "triton")
        assert starters(folder, matmul, MATMUL, BLOCKS) == ("static", "triton")
    knobs.cache.triton_layout = True
    small = (scale, SCALE, {"BLOCK": 128})
    assert starters(folder, *small, num_warps=num_warps) == ("static", "triton")
    assert starters(folder, matmul, MATMUL, BLOCKS) == ("run", "full")


@pytest.mark.parametrize("name", ["strict_static_triton_launcher", "strict_static_cuda_launcher"])
def test_the_static_launcher_starts_all_where_inductor_demands_it(folder, name, monkeypatch):
    """Which refuses a kernel otherwise; the name is the setting's of newer and of older versions."""
    for value, expected in ((True, "static"), (False, "run")):
        config = SimpleNamespace(**{name: value})
        monkeypatch.setitem(sys.modules, "torch._inductor.config", config)
        assert starters(folder, scale, SCALE, {"BLOCK": 32 << value})[0] == expected
        assert starters(folder, matmul, MATMUL, {**BLOCKS, "BK": 32 << value})[0] == expected


def test_kernels_of_one_warp_are_packed_by_our_launches_alone(folder):
    """Whose programs those put into CTAs of four."""
    kernel = as_inductor({"store_cubin": False}, scale, SCALE, {"BLOCK": 64}, num_warps=1)
    assert kernel.metadata.launch_abi == "triton"
    assert (
        compiled(scale, SCALE, {"BLOCK": 64}, num_warps=1, launch_abi="full").metadata.launch_abi
        == "full"
    )


def test_a_file_that_differs_is_replaced(folder):
    knobs.cache.triton_layout = True
    kernel = compiled(scale, SCALE, {"BLOCK": 64})
    place = folder_of(folder, kernel)
    (place / "scale.cubin").write_bytes(b"something else")
    (place / "scale.ptx").unlink()
    again = compiled(scale, SCALE, {"BLOCK": 64})
    assert again.hash == kernel.hash
    assert (place / "scale.cubin").read_bytes() == kernel.asm["cubin"]
    assert (place / "scale.ptx").read_text() == kernel.asm["ptx"]


def test_by_the_environment_alone(tmp_path):
    """In Triton's own folder, where nothing names another; that of our store stays what it is."""
    program = """
import sys
sys.path[:0] = sys.argv[1:]
from pantile import _pantile
from test_launch_abi import compiled, scale
kernel = compiled(scale, "*fp32 *fp32 i32 fp32 i1", {"BLOCK": 64})
print(kernel.from_cache, _pantile.cache_directory(), *kernel.metadata_group.values())
"""
    variables = {"PANTILE_TRITON_CACHE_LAYOUT": "1", "TRITON_HOME": str(tmp_path)}
    hidden = ("TRITON_CACHE_DIR", "PANTILE_TRITON_CACHE_DIR")
    environment = {name: text for name, text in os.environ.items() if name not in hidden}
    for store, hit in (("first", "False"), ("second", "True")):
        environment.update(variables, PANTILE_CACHE_DIR=str(tmp_path / store))
        command = [sys.executable, "-c", program, *FOLDERS]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said, own, *paths = done.stdout.split()
        assert (said, own) == (hit, str(tmp_path / store))
        assert len(paths) == 8 and all(Path(path).exists() for path in paths)
        assert {Path(path).parents[1] for path in paths} == {tmp_path / ".triton" / "cache"}


def test_a_folder_that_cannot_be_written(folder):
    folder.write_text("in the way")
    knobs.cache.triton_layout = True
    kernel = compiled(scale, SCALE, {"BLOCK": 64})
    assert kernel.asm["cubin"] and kernel.metadata_group == {}


def restored(folder, elsewhere, kernel):
    """What TritonBundler makes of a kernel's folder on another machine."""
    place, target = folder_of(folder, kernel), folder_of(elsewhere, kernel)
    target.mkdir(parents=True)
    for path in place.iterdir():
        content = path.read_bytes()
        if path.suffix == ".json":
            content = content.replace(str(place).encode(), str(target).encode())
        (target / path.name).write_bytes(content)
    return target


@pytest.mark.parametrize("damage", [None, "key", "bytes"])
def test_a_restored_folder_is_a_hit(folder, tmp_path, damage):
    """In a process whose own cache is empty, and only if it holds what its name says."""
    knobs.cache.triton_layout = True
    kernels = [
        compiled(scale, SCALE, {"BLOCK": 64}),
        compiled(matmul, MATMUL, BLOCKS, launch_abi="full"),
    ]
    elsewhere = tmp_path / "elsewhere"
    places = [restored(folder, elsewhere, kernel) for kernel in kernels]
    if damage == "key":
        shutil.copy(places[1] / "kernel.pantile", places[0] / "kernel.pantile")
    if damage == "bytes":
        entry = bytearray((places[0] / "kernel.pantile").read_bytes())
        entry[-100] ^= 1
        (places[0] / "kernel.pantile").write_bytes(entry)
    program = """
import sys
sys.path[:0] = sys.argv[1:]
from test_launch_abi import BLOCKS, MATMUL, compiled, matmul, scale
for kernel in (compiled(scale, "*fp32 *fp32 i32 fp32 i1", {"BLOCK": 64}),
               compiled(matmul, MATMUL, BLOCKS, launch_abi="full")):
    print(kernel.from_cache, kernel.hash)
"""
    # Of the parent a child has what it shows its library, too, which is another folder.
    assert os.environ["PANTILE_TRITON_CACHE_DIR"] == str(folder)
    own = {"PANTILE_CACHE_DIR": str(tmp_path / "empty"), "TRITON_CACHE_DIR": str(elsewhere)}
    environment = {**os.environ, **own}
    command = [sys.executable, "-c", program, *FOLDERS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert names_in(places[0]) == names_in(folder_of(folder, kernels[0]))
    hits = [damage is None, True]
    assert done.stdout.split() == [str(x) for h, k in zip(hits, kernels) for x in (h, k.hash)]


def test_the_file_is_what_launches(folder, device):
    """The static launcher's way: the file's bytes, the function's name, the metadata."""
    knobs.cache.triton_layout = True
    kernel = as_inductor(
        {"store_cubin": False}, scale, SCALE, {"BLOCK": 64}, on_gpu(device), aligned=False
    )
    file = folder_of(folder, kernel) / f"{kernel.src.fn.__name__}.cubin"
    x, out = random((500,), "fp32", 7), device.output((500,), "fp32")
    launcher = StaticLauncher(kernel, machine_code=file.read_bytes())
    launcher((triton.cdiv(500, 64), 1, 1), out.array, device.to(x), 500, -1.5, 0)
    np.testing.assert_array_equal(out.numpy(), x * np.float32(-1.5))
