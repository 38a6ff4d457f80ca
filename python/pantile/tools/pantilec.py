"""The command `pantilec` of an installed wheel: the program that lies in the package."""

import os
import sys
from pathlib import Path


def program():
    """Return the path of the compiler's program."""
    return Path(__file__).resolve().parents[1] / "bin" / "pantilec"


def main():
    """Become the program; assemblers of this interpreter's environment are found as in Python."""
    if not os.environ.get("VIRTUAL_ENV") and sys.prefix != sys.base_prefix:
        os.environ["VIRTUAL_ENV"] = sys.prefix
    os.execv(program(), ["pantilec", *sys.argv[1:]])


if __name__ == "__main__":
    main()
