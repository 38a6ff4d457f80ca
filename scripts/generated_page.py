"""The end of a script that generates a file: write it, or compare it if `--check` was given."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def finish(path, text, faults=()):
    """Print the faults and whether the file was current; return the exit status.

    With `--check` nothing is written, and a file that is not current is a failure. A fault is one
    always.
    """
    faults = list(faults)
    for fault in faults:
        print(fault)
    check = "--check" in sys.argv
    current = path.exists() and path.read_text(encoding="utf-8") == text
    if not current and not check:
        path.write_text(text, encoding="utf-8")
    print(f"{path.relative_to(ROOT)} {'is current' if current else 'was stale'}")
    return 1 if faults or (not current and check) else 0
