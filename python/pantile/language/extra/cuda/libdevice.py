"""Functions of NVIDIA's device library."""

from ..libdevice import *  # noqa: F403
