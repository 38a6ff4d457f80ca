"""The programs of the CUDA toolkit: where they are, and their versions."""

import functools
import os
from collections import namedtuple

from .settings import Setting


class NvidiaTool(namedtuple("NvidiaTool", ["path", "version"])):
    """A program of the CUDA toolkit."""

    __slots__ = ()

    @staticmethod
    @functools.cache
    def from_path(path):
        """Return the tool at `path`, or None if it does not say its version."""
        import subprocess

        try:
            text = subprocess.run(
                [path, "--version"], capture_output=True, text=True, check=True
            ).stdout
        except (OSError, subprocess.CalledProcessError):
            return None
        version = text.rpartition("release ")[2].partition(",")[0]
        return NvidiaTool(path, version)


def tool_setting(name, *variables, **more):
    """Return a setting that holds the NvidiaTool of a name, None where there is none."""

    def find(_):
        import shutil

        found = shutil.which(name) or os.path.join("/usr/local/cuda/bin", name)
        found = found if os.path.exists(found) else _in_wheels(name)
        return NvidiaTool.from_path(found) if found else None

    return Setting(
        *variables,
        default=find,
        parse=NvidiaTool.from_path,
        shown="on PATH, in the toolkit, in NVIDIA's wheels",
        **more,
    )


def _in_wheels(name):
    import glob
    import sysconfig

    pattern = os.path.join(sysconfig.get_path("purelib"), "nvidia", "*", "bin", name)
    return next(iter(sorted(glob.glob(pattern))), None)
