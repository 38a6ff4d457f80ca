"""The launch hook: a launch is a frame with the kernel's metadata."""

import contextlib
import threading

from ...hooks import LaunchMetadata
from .. import measurement, places, session
from ..state import state
from .hook import Hook

_pending = threading.local()  # the place and metrics of the launch in progress

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
        """Name what is launched until `exit`.

        Parameters
        ----------
        metadata : LazyDict
            The argument of launch hooks; None: nothing is named.
        """
        _pending.launch = None
        if metadata is None:
            return
        values = metadata.get()
        place = places.set_op(values["name"], until=metadata)
        found = {name: values[name] for name in self.metrics if name in values}
        if not measurement.is_on():
            found["count"] = 1  # which else comes with the times
        _pending.launch = place, found

    def exit(self, metadata):
        """End the name, and add the metrics: they are not those of a launch that failed.

        Parameters
        ----------
        metadata : LazyDict
            The argument of launch hooks.
        """
        launch, _pending.launch = getattr(_pending, "launch", None), None
        if launch is not None:
            places.set_op(None)
            session.add_metrics(*launch)
