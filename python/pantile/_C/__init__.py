"""Triton's import path of its extension module."""
