"""Have vLLM's Triton modules imported from its Python files alone.

Stand-ins take the place of its compiled extensions, its configuration and its communication, which
every module imports and no kernel needs, and of packages that the machine lacks.
"""

from stand_ins import stand_in

stand_in(
    "vllm._C",
    "vllm.config",
    "vllm.compilation",
    "vllm.connections",
    "vllm.distributed",
    "vllm.multimodal",
    "vllm.transformers_utils",
    where_missing="""aiohttp blake3 cachetools cbor2 cloudpickle compressed_tensors msgspec
    partial_json_parser psutil pybase64 requests uvloop zmq""".split(),
)
