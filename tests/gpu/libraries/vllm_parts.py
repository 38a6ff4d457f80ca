"""Have vLLM's Triton modules imported from its Python files alone.

Stand-ins take the place of its compiled extensions, its configuration and its communication, which
every module imports and no kernel needs, and of packages that the machine lacks.
"""

import importlib
import sys

from stand_ins import stand_in

stand_in(
    "vllm._C",
    "vllm._C_stable_libtorch",
    "vllm._moe_C",
    "vllm._moe_C_stable_libtorch",
    "vllm.config",
    "vllm.compilation",
    "vllm.connections",
    "vllm.distributed",
    "vllm.multimodal",
    "vllm.transformers_utils",
    "vllm.vllm_flash_attn",
    where_missing="""aiohttp blake3 cachetools cbor2 cloudpickle compressed_tensors msgspec
    partial_json_parser psutil pybase64 requests uvloop zmq""".split(),
)

# Tests store keys and values as they are: no plugin has another type for them.
importlib.import_module("vllm.config.cache").get_kv_cache_dtype_handler = lambda dtype: None

# Of these kernels in CUDA there is none: modules ask when they are imported.
operations = importlib.import_module("vllm._custom_ops")
for kind in ("scaled_mm_supports_block_fp8", "scaled_mm_supports_fp8", "group_gemm_supported"):
    setattr(operations, f"cutlass_{kind}", lambda capability: False)

if "without_gpu" in sys.modules:
    platforms, cuda = (importlib.import_module(f"vllm.platforms{part}") for part in ("", ".cuda"))
    platforms.current_platform = cuda.NonNvmlCudaPlatform()
