"""The tree of a session: frames by name, with sums of metrics; its file in hatchet's format."""

ROOT = "ROOT"


class Frame:
    """A scope, an operation or a kernel below another frame.

    Attributes
    ----------
    name : str
    metrics : dict
        Sums of this frame alone; of kernels also `device_id` and `device_type`.
    children : dict
        By name and, for kernels, device.
    """

    def __init__(self, name):
        self.name, self.metrics, self.children = name, {}, {}

    def child(self, name, device=None):
        """Return the frame of this name below this one, a new one if there is none."""
        key = name, device
        found = self.children.get(key)
        if found is None:
            found = self.children[key] = Frame(name)
        return found

    def below(self, path):
        """Return the frame at the end of a path of names."""
        frame = self
        for name in path:
            frame = frame.child(name)
        return frame

    def add(self, metrics):
        """Add numbers, or scalars of an array library, to the sums."""
        for name, value in metrics.items():
            number = value if isinstance(value, (int, float)) else value.item()
            self.metrics[name] = self.metrics.get(name, 0) + number

    def add_executions(self, count, nanoseconds, device):
        """Add executions of a kernel."""
        self.add({"count": count, "time (ns)": nanoseconds})
        self.metrics.update(device_id=str(device), device_type="CUDA")

    def literal(self):
        """Return this frame and those below as hatchet's literal."""
        return {
            "children": [child.literal() for child in self.children.values()],
            "frame": {"name": self.name, "type": "function"},
            "metrics": dict(self.metrics),
        }

    def names_of_sums(self):
        """Return the metrics that are numbers to be summed over frames, of all frames."""
        found = {
            name
            for name, value in self.metrics.items()
            if not isinstance(value, str) and not name.endswith("(exc)")
        }
        return found.union(*(child.names_of_sums() for child in self.children.values()))


def hatchet_literal(root, devices):
    """Return what a `.hatchet` file holds: the root's literal, and the devices by type and number.

    The root has a zero for each metric that is summed over frames.
    """
    literal = root.literal()
    zeros = dict.fromkeys(sorted({"count", "time (ns)"} | root.names_of_sums()), 0)
    literal["metrics"] = {**zeros, **literal["metrics"]}
    return [literal, devices]
