#!/usr/bin/env python3
"""Compares the numbered constraints of the dialects with their messages and their negative tests.

Needs: compiler/ir/*.td, the verifiers in compiler/ir, tests that expect an error.
Gives: status 1, and a line for each constraint that is described and not verified, verified and not
       described, or that no test breaks.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = r"\b[a-z]\w*_c\d+\b"


def found(pattern, paths):
    """What `pattern` finds in the files."""
    return {
        name for path in paths for name in re.findall(pattern, path.read_text(encoding="utf-8"))
    }


def main():
    """Print what is missing."""
    described = found(rf"- ({NAME}):", (ROOT / "compiler/ir").glob("*.td"))
    verified = found(rf'"({NAME})[:"]', (ROOT / "compiler/ir").glob("*.cpp"))
    broken = found(rf"(?:expected-error|CHECK|error:).*?({NAME})", (ROOT / "tests").rglob("*.mlir"))
    for names, what in (
        (described - verified, "no verifier names it"),
        (verified - described, "no description in compiler/ir/*.td has it"),
        (described - broken, "no negative test breaks it"),
    ):
        for name in sorted(names):
            print(f"constraint `{name}`: {what}")
    return 1 if described != verified or described - broken else 0


if __name__ == "__main__":
    sys.exit(main())
