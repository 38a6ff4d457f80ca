"""A folder for `PYTHONPATH` and `sys.path`: what is in it is found as the package triton."""
