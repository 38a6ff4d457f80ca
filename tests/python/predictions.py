"""What the compiler expects of launches on a GPU that is not here."""

import sys
from pathlib import Path

import pantile as triton
from pantile import _pantile
from pantile.compiler.options import make_options
from pantile.runtime.snapshot import Snapshot

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/gpu/bench"))

import kernels  # noqa: E402

H200 = 132  # SMs


def predict(
    kernel, arguments, config, grid, *, target="sm_90a", sms=H200, of_tiles=False, **given
):  # fmt: skip
    """The prediction for a launch; `arguments` by name, dtypes for arrays; `given`: more options."""
    named = {name: triton.MockTensor.wrap_dtype(value) for name, value in arguments.items()}
    call = kernel.dispatcher.prepare(**named, **config.all_kwargs(), **given)
    snapshot = Snapshot(kernel)
    specialization = call.specialization(snapshot.constant)
    options = make_options(target, call.options)
    extents = grid(call.named()) if callable(grid) else grid
    told = (snapshot.program(), specialization, options, call, extents, sms)
    if not of_tiles:
        return _pantile.predict(*told)
    return _pantile.predict_tiles(*told, [(config.num_warps, config.num_stages)])[0]


def gemm_arguments(m, n, k):
    """Those of the benchmarks' fp16 GEMM, without those of its configurations."""
    import pantile.language as tl

    strides = {"am": k, "ak": 1, "bk": n, "bn": 1, "cm": n, "cn": 1}
    return {
        **dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), tl.float16),
        **{"M": m, "N": n, "K": k, "ACTIVATION": ""},
        **{f"stride_{name}": value for name, value in strides.items()},
    }


def predict_gemm(shape, config, **options):
    """The prediction for the GEMM of `shape`, M, N and K."""
    return predict(
        kernels.matmul_kernel,
        gemm_arguments(*shape),
        config,
        kernels.grid(*shape[:2]),
        **options,
    )
