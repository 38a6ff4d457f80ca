"""Have SGLang's Triton modules imported from its Python files alone.

Stand-ins take the place of its compiled extensions, its server and its communication, which modules
import and no Triton kernel needs, and of packages that the machine lacks. `sglang.kernels.jit`
builds kernels in CUDA C++.
"""

import importlib.util
from pathlib import Path

from stand_ins import bare_package, stand_in

found = importlib.util.find_spec("sglang")
if found is not None and found.origin:
    # Its `__init__` starts the front end of the server.
    bare_package("sglang", Path(found.origin).parent)

stand_in(
    "sgl_kernel",
    "sglang.kernels.jit",
    "sglang.srt.configs",
    "sglang.srt.distributed",
    "sglang.srt.layers.dp_attention",
    "sglang.srt.managers",
    "sglang.srt.model_executor",
    "sglang.srt.server_args",
    "sglang.srt.utils.hf_transformers",
    "sglang.srt.utils.hf_transformers_utils",
    where_missing="""IPython aiohttp anthropic av blobfile cachetools cbor2 cloudpickle
    compressed_tensors decord dill fastapi gguf hf_transfer interegular llguidance modelscope
    msgpack msgspec openai orjson outlines partial_json_parser prometheus_client psutil pybase64
    pydantic_settings python_multipart requests setproctitle soundfile starlette tiktoken torchao
    uvicorn uvloop xgrammar zmq""".split(),
)
