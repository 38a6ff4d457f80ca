#!/usr/bin/env python3
"""Writes python/pantile/language/dtype_table.py: the element types, from the compiler's own table.

Needs: compiler/include/pantile/Dtypes.def, and in python/binding/Arguments.cpp the names that torch
       and NumPy have and the table has not, next to its inclusion.
Gives: the module; with --check status 1 if it would change.
"""

import re
import sys
from pathlib import Path

from generated_page import finish

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "compiler/include/pantile/Dtypes.def"
BINDING = ROOT / "python/binding/Arguments.cpp"
MODULE = ROOT / "python/pantile/language/dtype_table.py"

HEAD = '''\
"""The element types as the compiler has them, without which Python names none.

Written by `scripts/dtype_table.py` from Dtypes.def.
"""

# The name of messages, that of signatures, that of `tl`, and bits.
ROWS = (
'''
OTHERS = """\
)

# The names of signatures for what torch and NumPy call otherwise, as launches read them.
NAMES_OF_ARRAYS = {
"""


def rows():
    """(name, short name, long name, bits) of each element type."""
    row = re.compile(r'^DTYPE\(\w+, "(\w+)", "(\w+)", "(\w+)", (\d+), "', re.M)
    found = [(*names, int(bits)) for *names, bits in row.findall(TABLE.read_text(encoding="utf-8"))]
    assert found, f"{TABLE} has no rows"
    return found


def names_of_arrays():
    """{another library's name: short name} of the binding."""
    text = BINDING.read_text(encoding="utf-8")
    before = text[: text.index('#include "pantile/Dtypes.def"')].rpartition("names[] = {")[2]
    found = dict(re.findall(r'\{"(\w+)", "(\w+)"\}', before))
    assert found, f"{BINDING} has no names before the table"
    return found


def module():
    """The text of the module."""
    lines = ["    ({}, {}, {}, {}),\n".format(*map(quoted, row)) for row in rows()]
    others = [f"    {quoted(a)}: {quoted(b)},\n" for a, b in names_of_arrays().items()]
    return "".join([HEAD, *lines, OTHERS, *others, "}\n"])


def quoted(value):
    """A value as Python writes it here, with double quotes."""
    return f'"{value}"' if isinstance(value, str) else str(value)


def main():
    """Write the module, or say that it would change."""
    return finish(MODULE, module())


if __name__ == "__main__":
    sys.exit(main())
