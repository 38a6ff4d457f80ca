"""Programmatic dependent launch: the two names that wait for, and release, neighbouring grids."""

from ...cuda_names import gdc_launch_dependents, gdc_wait

__all__ = ["gdc_launch_dependents", "gdc_wait"]
