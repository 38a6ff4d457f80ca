"""What libraries key their own caches of kernels by."""

import os

_VARIABLES = (
    "DISABLE_PTXAS_OPT",
    "PTXAS_OPTIONS",
    "TRITON_F32_DEFAULT",
    "TRITON_DEFAULT_FP_FUSION",
)


def get_cache_invalidating_env_vars():
    """Return the environment variables that kernels depend on and that are set, with their values."""
    return {name: os.environ[name] for name in _VARIABLES if name in os.environ}


def triton_key():
    """Return a text that changes with the compiler; see `runtime.cache`."""
    from ..runtime import cache

    return cache.triton_key()


def get_cache_key(src, backend, backend_options, env_vars):
    """Return a text that differs wherever a kernel of these parts may differ.

    Parameters
    ----------
    src : ASTSource or IRSource
        What is compiled.
    backend : BaseBackend
        For what: of `make_backend`.
    backend_options : CUDAOptions
        What its `parse_options` gave.
    env_vars : dict of str to str
        What `get_cache_invalidating_env_vars` gave.
    """
    parts = (triton_key(), src.hash(), backend.hash(), backend_options.hash())
    return "-".join([*parts, str(sorted(env_vars.items()))])


def max_shared_mem(device):
    """Return the bytes of shared memory that a CTA of a GPU may have.

    Parameters
    ----------
    device : int
        The number of the GPU.
    """
    from ..runtime.device import active_device

    return active_device().utils.get_device_properties(device)["max_shared_mem"]
