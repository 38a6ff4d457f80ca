"""Triton's import path of Gluon."""
