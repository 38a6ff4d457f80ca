"""Compiling without a launch."""

from .. import knobs
from ..backends.target import GPUTarget
from .kernel import compile_source, publish_files
from .source import ASTSource


def compile(src, target=None, options=None, _env_vars=None):
    """Compile an ASTSource for `target`, or for the device at hand, and return the CompiledKernel.

    By default the machine code takes the kernel's arguments and nothing else, so that any launcher
    can start it (`launch_abi="triton"`); a kernel that is compiled by its launch may take maps of its
    tensors too, which our launcher makes (`"full"`). For Inductor, which launches by `run`, the
    full one is compiled unless the machine code is stored for a launcher in C++; torch's static
    launcher, which takes longer than `run`, finds no machine code then.

    Parameters
    ----------
    src : ASTSource or path
        The kernel, or a file of tile IR, "*.ttir" or "*.mlir", as `kernel.asm["ttir"]` or
        `pantilec --emit=tile` gives it.
    target : GPUTarget, optional
        What to compile for.
    options : dict or options object, optional
        Keywords of a launch, such as `num_warps`.

    Raises
    ------
    CompilationError
        Where the kernel has a mistake.
    TypeError
        For a target that is no GPUTarget.
    RuntimeError
        For a file of another stage, or of Triton's dialects.
    """
    from ..runtime.device import active_device
    from .launch_abi import abi_of_compile, caller, inductor_meta

    target = target or active_device().get_current_target()
    if not isinstance(target, GPUTarget):
        raise TypeError(f"the target is a GPUTarget, not a {type(target).__name__}")
    given = dict((options if isinstance(options, (dict, type(None))) else vars(options)) or {})
    if not isinstance(src, ASTSource):
        from .compile_file import compile_file

        abi = abi_of_compile(given.get("launch_abi"), {}, None)
        return compile_file(src, target, {**given, "launch_abi": abi})
    meta = inductor_meta(caller(1))
    given["launch_abi"] = abi_of_compile(given.get("launch_abi"), src.signature, meta)
    compiled = compile_source(src, target, given)
    if meta is not None and knobs.cache.triton_layout is None:
        publish_files(compiled, texts=False, machine_code=given["launch_abi"] == "triton")
    return compiled
