"""The package's version, and the one that libraries compare with Triton's."""

version = "0.1.0"
__version__ = f"3.6.0+pantile.{version}"
