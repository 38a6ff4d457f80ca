"""The launch hook: a launch is a frame with the kernel's metadata."""

import contextlib

from ...hooks import LaunchMetadata
from .. import measurement, places, session
from ..state import state
from .hook import Hook

COMPUTE_METADATA_SCOPE_NAME = "__proton_launch_metadata"


class LaunchHook(Hook):
    """Give launches the name and the sums that `launch_metadata` returns; there is one such hook.

    Attributes
    ----------
    flops_width : list of int
        Bits of operands that operations are counted by.
    metrics : list of str
        The keys of the metadata that become metrics.
    """

    priority = 100
    flops_width = [8, 16, 32, 64]
    metrics = [*(f"flops{width}" for width in flops_width), "bytes", "flops"]
    _instance = None

    def __new__(cls):
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def activate(self):
        """What `launch_metadata` launches is put below a state of its own."""
        LaunchMetadata.computing = lambda: state(COMPUTE_METADATA_SCOPE_NAME)

    def deactivate(self):
        """The opposite."""
        LaunchMetadata.computing = contextlib.nullcontext

    def enter(self, metadata):
        """Name what is launched until `exit`, and add its metrics."""
        if metadata is None:
            return
        values = metadata.get()
        place = places.set_op(values["name"])
        found = {name: values[name] for name in self.metrics if name in values}
        if not measurement.is_on():
            found["count"] = 1  # which else comes with the times
        session.add_metrics(place, found)

    def exit(self, metadata):
        """End the name."""
        places.set_op(None)
