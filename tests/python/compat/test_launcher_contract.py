"""What torch's launchers read of a compiled kernel, name by name, and the keys of its caches."""

import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pantile as triton
import pantile.language as tl
import pytest
from conftest import random
from pantile.backends.compiler import GPUTarget
from pantile.compiler.compiler import ASTSource, make_backend
from pantile.runtime import cache

ROOT = str(Path(triton.__file__).parents[1])
LIBRARY = Path(triton.__file__).parents[2] / "libpantile.so"


@triton.jit
def axpy(out, x, y, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, a * tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


SIGNATURE = {
    "out": "*fp32",
    "x": "*fp32",
    "y": "*fp32",
    "a": "fp32",
    "n": "i32",
    "BLOCK": "constexpr",
}


def compiled(target, **options):
    attrs = {(i,): [["tt.divisibility", 16]] for i in range(3)}
    source = ASTSource(axpy, SIGNATURE, {"BLOCK": 128}, attrs)
    return triton.compile(source, target=target, options=options)


@pytest.fixture
def kernel(device):
    if device.name == "cpu":
        return compiled(GPUTarget("cpu", "cpu", 1))
    return compiled(triton.runtime.driver.active.get_current_target(), num_warps=4, num_stages=1)


def test_what_the_generated_launcher_reads(device, kernel):
    assert kernel._init_handles() is None
    # Of the object, these are looked for first; what it has not is read of the metadata.
    for name in ("shared", "num_warps", "num_ctas", "clusterDims", "cluster_dims"):
        assert not hasattr(kernel, name)
    metadata = kernel.metadata
    assert metadata.num_warps == 4 and metadata.shared == 0
    assert (metadata.num_ctas, *metadata.cluster_dims) == (1, 1, 1, 1)
    assert getattr(metadata, "threads_per_warp", 32) == 32 and metadata.name == "axpy"
    assert metadata.global_scratch_size == 0 and metadata.profile_scratch_size == 0
    assert metadata.tensordesc_meta == []
    assert metadata.launch_pdl is False and metadata.launch_cooperative_grid is False
    assert metadata._fields and metadata._asdict()["shared"] == 0
    assert kernel.packed_metadata == (4, 1, 0)
    if device.name == "cpu":
        assert kernel.function is None and kernel.module is None
    else:
        assert kernel.function != 0 and kernel.module != 0
        assert kernel.asm["cubin"] and ".entry axpy" in kernel.asm["ptx"]
        assert "define" in kernel.asm["llir"] and kernel.asm.get("ptx") == kernel.asm["ptx"]
    assert isinstance(kernel.n_regs, int) and kernel.n_spills == 0
    assert re.fullmatch("[0-9a-f]{64}", kernel.hash)
    assert re.fullmatch("[A-Z2-7]{52}", cache._base32(kernel.hash))
    assert triton.knobs.runtime.launch_enter_hook is not False
    assert not hasattr(cache, "_base64")


def test_what_is_read_of_the_source(kernel):
    source = kernel.src
    assert source.fn is axpy and source.signature == SIGNATURE and source.constants == {(5,): 128}
    assert source.fn.arg_names == list(SIGNATURE) and axpy.fn.__code__.co_filename == __file__
    assert [p.num for p in source.fn.params if p.is_constexpr] == [5]
    first = source.fn.params[0]
    assert (first.name, first.is_const, first.annotation) == ("out", False, "")
    assert not first.do_not_specialize and not first.do_not_specialize_on_alignment


def test_the_runner_with_metadata_and_hooks(device, kernel):
    x, y = random(300, seed=1), random(300, seed=2)
    out = device.output(300, "fp32")
    stream = triton.runtime.driver.active.get_current_stream(0)
    args = (out.array, device.to(x), device.to(y), 2.5, 300, 128)
    calls = []
    runner, bin = kernel.run, kernel
    told = bin.launch_metadata((3, 1, 1), stream, *args)
    assert told is None  # no hook is set
    packed = kernel.packed_metadata
    runner(3, 1, 1, stream, kernel.function, packed, "told", calls.append, calls.append, *args)
    np.testing.assert_allclose(out.numpy(), 2.5 * x.astype(np.float64) + y, rtol=1e-5, atol=1e-6)
    assert calls == ["told", "told"]


def test_spilled_registers_are_counted_as_tritons_are():
    """In registers of 32 bits: a configuration that spills more than 16 of them is passed over."""
    kernel = compiled(GPUTarget("cuda", 90, 32))
    spilling = type(kernel).__new__(type(kernel))
    spilling.__dict__.update(kernel.__dict__)

    class Code:
        class kernel:
            spills = 68

    spilling._code = Code
    assert kernel.n_spills == 0 and spilling.n_spills == 17


def test_attributes_of_older_versions_are_not_found():
    """Torch takes a triton that has them for one of 2024; code of that time still imports them."""
    import pantile.backends.compiler
    import pantile.compiler
    import pantile.compiler.compiler
    from pantile.backends.compiler import AttrsDescriptor
    from pantile.compiler.compiler import AttrsDescriptor as of_3_0

    modules = (pantile.backends.compiler, pantile.compiler.compiler, pantile.compiler)
    assert not [m for m in modules if hasattr(m, "AttrsDescriptor") or "AttrsDescriptor" in dir(m)]
    assert of_3_0 is AttrsDescriptor
    assert AttrsDescriptor((0, 2), (3,)).divisible_by_16 == (0, 2)
    written = {"arg_properties": {"tt.divisibility": (0, 1, 2), "tt.equal_to": ()}, "cls": "..."}
    old = ASTSource(axpy, SIGNATURE, {"BLOCK": 128}, AttrsDescriptor.from_dict(written))
    assert old.attrs == {(i,): [["tt.divisibility", 16]] for i in range(3)}


def keys(**environment):
    program = """
import pantile.compat; pantile.compat.install()
from triton.runtime.cache import triton_key
from triton.compiler.compiler import make_backend, triton_key as other
from triton.backends.compiler import GPUTarget
assert triton_key() == other()
print(repr([triton_key(), *(make_backend(GPUTarget(*t)).hash() for t in (("cuda", 90, 32), ("cuda", 80, 32),
      ("cpu", "cpu", 1)))]))
"""
    given = {k: v for k, v in os.environ.items() if k != "PANTILE_ASSEMBLER"}
    command = [sys.executable, "-c", program]
    environment = {**given, "PYTHONPATH": ROOT, **environment}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return eval(done.stdout)


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes)[1]


def test_keys_name_the_build_and_stay_the_same():
    first = keys()
    assert first == keys() and len(set(first)) == 4
    for key in first:
        assert build_id(LIBRARY)[:12] in key


def test_keys_change_with_the_compiler_and_the_assembler(tmp_path):
    first = keys()
    assembler = tmp_path / "ptxas"
    assembler.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 99.1, V99.1.7'\n")
    assembler.chmod(0o755)
    for variable in ("PANTILE_PTXAS_PATH", "TRITON_PTXAS_PATH"):
        other = keys(**{variable: str(assembler)})
        assert all(a != b and "V99.1.7" in b for a, b in zip(first, other))
    code, wanted = LIBRARY.read_bytes(), bytes.fromhex(build_id(LIBRARY))
    assert code.count(wanted) == 1
    (tmp_path / LIBRARY.name).write_bytes(code.replace(wanted, bytes(reversed(wanted))))
    other = keys(LD_LIBRARY_PATH=str(tmp_path))
    assert all(a != b and wanted[::-1].hex()[:12] in b for a, b in zip(first, other))


def test_options_and_targets_pickle():
    backend = make_backend(GPUTarget("cuda", 90, 32))
    options = backend.parse_options({"num_warps": 8})
    assert pickle.loads(pickle.dumps((options, backend.target))) == (options, backend.target)
    assert backend.parse_options({}).__dict__["num_stages"] == 3
