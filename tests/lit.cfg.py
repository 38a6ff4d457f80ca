"""Tests of the stages: each file says in its RUN lines what to run, FileCheck compares.

A file with a suffix of `config.suffixes` and without a RUN line is an input of other tests and
stands in a folder called `Inputs`.
"""

import glob
import os
import shutil

import lit.formats

config.name = "pantile"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".py", ".test"]
config.excludes = [
    "Inputs",
    "unit",
    "python",
    "embed",
    "gpu",
    "replay",
    "each_pass",
    "tile_ir",
    "fuzz",
    "kernels",
    "coverage",
    "mutate",
    "lit.cfg.py",
]
config.test_source_root = os.path.join(config.pantile_source, "tests")
config.test_exec_root = os.path.join(config.pantile_build, "tests", "lit")


def find_ptxas():
    """Path of NVIDIA's assembler: the environment's, the toolkit's or the pip wheel's."""
    candidates = [os.environ.get("PANTILE_PTXAS_PATH"), shutil.which("ptxas")]
    candidates += ["/usr/local/cuda/bin/ptxas"]
    candidates += glob.glob(
        os.path.join(config.pantile_source, ".venv/lib/python3*/site-packages/nvidia/*/bin/ptxas")
    )
    return next((c for c in candidates if c and os.path.exists(c)), None)


os.makedirs(config.test_exec_root, exist_ok=True)
config.environment["PATH"] = os.pathsep.join(
    [config.pantile_tools, config.llvm_tools, os.environ["PATH"]]
)
config.environment["PANTILE_CACHE_DIR"] = os.path.join(config.test_exec_root, "cache")
# LLVM is not instrumented: it neither marks nor unmarks what its containers and allocators hold.
config.environment["ASAN_OPTIONS"] = (
    "detect_container_overflow=0:allow_user_poisoning=0:detect_leaks=0"
)
if ptxas := find_ptxas():
    config.environment["PANTILE_PTXAS_PATH"] = ptxas
    config.available_features.add("ptxas")
if getattr(config, "pantile_sanitize", "OFF") == "ON":
    config.available_features.add("sanitizers")
if os.path.exists("/dev/nvidia0"):
    config.available_features.add("gpu")
config.substitutions.append(("%tutorials", os.path.join(config.pantile_source, "tutorials")))
config.substitutions.append(("%inputs", os.path.join(config.test_source_root, "Inputs")))
