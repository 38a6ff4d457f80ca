"""Triton's import path of its builder of C launchers; there is nothing to build here."""

import sysconfig

__all__ = ["compile_module_from_src", "platform_key"]


def platform_key():
    """Return a text that differs between platforms."""
    import platform

    return ",".join([platform.machine(), platform.system(), *platform.architecture()])


def compile_module_from_src(
    src, name, library_dirs=None, include_dirs=None, libraries=None, ccflags=None, **_
):
    """Raise RuntimeError: there is nothing to build."""
    raise RuntimeError(
        f"cannot build `{name}`: launches need no C compiler here, and none is called "
        f"(this Python: {sysconfig.get_config_var('EXT_SUFFIX')})"
    )


_build = compile_module_from_src
