"""Programs of JAX with kernels that another process compiled: caches on disk, exported functions."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax")

PROGRAM = """
import sys, numpy as np, jax, jax.numpy as jnp
sys.path.insert(0, {tests!r})
from jax_kernels import add, softmax
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_compilation_cache_dir", {cache!r})
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
x = np.random.default_rng({seed}).standard_normal((6, 99)).astype(np.float32)
run = jax.jit(lambda x: softmax(jax.vmap(add)(x, x)[0])[0])
print(run.lower(x).as_text())
e = np.exp(2 * x.astype(np.float64)); e /= e.sum(1, keepdims=True)
np.testing.assert_allclose(run(x), e, atol=1e-6)
"""


def run(program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_program_is_found_in_the_cache_of_jax(tmp_path):
    """The second process lowers to the same module, to the byte, and compiles nothing."""
    cache = tmp_path / "jax"
    texts, files = [], []
    for seed in (1, 2):
        values = {"tests": str(Path(__file__).parent), "cache": str(cache), "seed": seed}
        # Kernels of their own: nothing is shared but the cache of JAX.
        texts.append(run(PROGRAM.format(**values), PANTILE_CACHE_DIR=str(tmp_path / str(seed))))
        files.append({path.name for path in cache.rglob("*-cache")})
    assert texts[0] == texts[1]
    assert any("jit__lambda" in name for name in files[0]), files
    assert files[0] == files[1]


EXPORT = """
import sys, numpy as np, jax
from jax import export
sys.path.insert(0, {tests!r})
from jax_kernels import matmul
checks = [export.DisabledSafetyCheck.custom_call("pantile_call")]
a, b = (jax.ShapeDtypeStruct(s, np.float32) for s in ((70, 50), (50, 45)))
function = jax.jit(lambda a, b: matmul(a, b)[0])
made = export.export(function, platforms=["cpu"], disabled_checks=checks)(a, b)
open({path!r}, "wb").write(made.serialize())
"""

IMPORT = """
import numpy as np, jax
from jax import export
import pantile.jax
pantile.jax.register()
rng = np.random.default_rng(5)
a = rng.standard_normal((70, 50)).astype(np.float32)
b = rng.standard_normal((50, 45)).astype(np.float32)
with jax.default_device(jax.devices("cpu")[0]):
    result = jax.jit(export.deserialize(open({path!r}, "rb").read()).call)(a, b)
np.testing.assert_allclose(result, a.astype(np.float64) @ b, atol=1e-4)
"""


def test_an_exported_function(tmp_path):
    """Where it runs, neither the kernel's source nor a compilation is needed."""
    pytest.importorskip("flatbuffers")
    path = str(tmp_path / "exported")
    run(EXPORT.format(tests=str(Path(__file__).parent), path=path))
    run(IMPORT.format(path=path))


def test_nothing_of_the_process_is_in_a_program(tmp_path):
    """Neither an address nor the place of the kernel cache: the attributes are of the kernel alone."""
    values = {"tests": str(Path(__file__).parent), "cache": str(tmp_path), "seed": 3}
    text = run(PROGRAM.format(**values), PANTILE_CACHE_DIR=str(tmp_path / "store"))
    hexadecimal = text.split('artifact = dense<"0x')[1].split('"')[0]
    artifact = bytes.fromhex(hexadecimal)
    assert artifact.startswith(b"PANTILE ARTIFACT")
    assert str(tmp_path).encode() not in artifact
    assert np.frombuffer(artifact, np.uint8).size > 1000
