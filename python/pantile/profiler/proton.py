"""`python -m pantile.profiler.proton script.py arguments...`: profile a program from outside."""

import argparse
import os
import runpy
import sys

from .flags import flags
from .profile import finalize, start


def _parser():
    parser = argparse.ArgumentParser(
        prog="proton",
        description="run a Python script, or pytest, and write a profile of its kernels",
        usage="proton [options] script.py [arguments...] | proton [options] pytest [arguments...]",
    )
    parser.add_argument("-n", "--name", help="path of the file, without its suffix")
    parser.add_argument("-b", "--backend", choices=["cupti"])
    parser.add_argument("-c", "--context", default="shadow", choices=["shadow", "python"])
    parser.add_argument("-m", "--mode", help="there is none yet")
    parser.add_argument("-d", "--data", default="tree", choices=["tree", "trace"])
    parser.add_argument("-k", "--hook", choices=["triton", "launch"])
    parser.add_argument("target_args", nargs=argparse.REMAINDER, metavar="script.py ...")
    return parser


def _run(script, arguments):
    """Run a script as `python` would, or pytest."""
    sys.argv = [script, *arguments]
    if os.path.basename(script) == "pytest":
        import pytest

        return int(pytest.main(arguments))
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")
    return 0


def main():
    """Run the program of the command line; its exit status is the program's."""
    parser = _parser()
    options = parser.parse_args()
    if not options.target_args:
        parser.error("there is no script to run")
    start(
        options.name,
        context=options.context,
        data=options.data,
        backend=options.backend,
        mode=options.mode,
        hook=options.hook,
    )
    flags.command_line = True  # `start` of the script does nothing
    try:
        return _run(options.target_args[0], options.target_args[1:])
    finally:
        finalize()


if __name__ == "__main__":
    # The modules under their own names: `__main__` would have flags of its own.
    from pantile.profiler.proton import main as run

    sys.exit(run())
