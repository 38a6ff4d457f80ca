"""Writes tests/coverage/README.md, unless --check; status 1 if a name has no test on both devices."""

import sys

from .names import ROOT
from .table import collect, markdown, missing

tests = collect()
if "--check" not in sys.argv:
    (ROOT / "tests/coverage/README.md").write_text(markdown(tests))
none, no_gpu = missing(tests)
print(f"{len(tests)} tests; without a test: {none}; only on the CPU: {no_gpu}")
sys.exit(1 if none or no_gpu else 0)
