#!/usr/bin/env python3
"""Writes the summary of docs/performance.md from docs/measurements.

Needs: a line `<!-- summary -->` before the table and `<!-- end -->` after it.
Gives: the page; with --check status 1 if its table is another one.

Usage: scripts/performance_page.py [--check]
"""

import re
import sys
from pathlib import Path

import peers

PAGE = Path(__file__).resolve().parent.parent / "docs/performance.md"
BLOCK = re.compile(r"(<!-- summary -->\n).*?(<!-- end -->)", re.S)


def main():
    """Write or check the table."""
    old = PAGE.read_text(encoding="utf-8")
    table = "\n".join(peers.summary())
    new, count = BLOCK.subn(lambda match: match[1] + table + "\n" + match[2], old)
    if count != 1:
        print(f"performance_page: error: {PAGE} has {count} places for the summary")
        return 1
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(new, encoding="utf-8")
    elif new != old:
        print("performance_page: the summary differs, run `scripts/performance_page.py`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
