"""`AttrsDescriptor` of Triton 3.2 and older, for generated code of that time alone.

Triton 3.6 has none, and libraries find its version by it: `hasattr(triton.compiler.compiler,
"AttrsDescriptor")` has torch write signatures and attributes as those versions read them. So the
modules have no such attribute, while `from triton.compiler.compiler import AttrsDescriptor`, which
code of 2024 begins with, finds it: where a module lacks a name, `from` looks for a module of the
dotted name in `sys.modules`.
"""

import sys


class AttrsDescriptor:
    """What older code passes for `attrs`: the parameters that 16 divides, and those equal to 1."""

    def __init__(self, divisible_by_16=(), equal_to_1=()):
        self.divisible_by_16, self.equal_to_1 = tuple(divisible_by_16), tuple(equal_to_1)

    @classmethod
    def from_dict(cls, data):
        """Make one of {"arg_properties": {"tt.divisibility": positions, "tt.equal_to": ...}}."""
        properties = data["arg_properties"]
        return cls(properties.get("tt.divisibility", ()), properties.get("tt.equal_to", ()))


def serve_imports_from(module):
    """Have `from module import AttrsDescriptor` work, and `hasattr(module, ...)` be false."""
    sys.modules[f"{module}.AttrsDescriptor"] = AttrsDescriptor
