"""Kernel tests on the interpreter, on the IR before any pass and after each one."""
