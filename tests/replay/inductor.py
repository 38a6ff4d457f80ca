"""The kernels of torch.compile that `inductor_kernels.txt` keeps.

Gives: `record`.
How:   the texts become a module, whose helpers are those of `tests/kernels/inductor_helpers.py`.
"""

import importlib.util
import json
import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
IMPORTS = """import inductor_helpers as triton_helpers
import pantile as triton
import pantile.language as tl
from pantile.language import math as tl_math
from pantile.language.extra import libdevice
"""
LAUNCH = re.compile(r"^# launch: (.*)$", re.MULTILINE)


def record(recorder):
    from pantile.compiler.compiler import ASTSource

    text = (HERE / "inductor_kernels.txt").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        module = load(text, Path(folder) / "inductor_kernels.py")
        for found in LAUNCH.finditer(text):
            launch = json.loads(found[1])
            kernel = getattr(module, launch["kernel"])
            aligned = {position: [["tt.divisibility", 16]] for position in launch["aligned"]}
            source = ASTSource(kernel, launch["signature"], launch["constants"], aligned)
            recorder.record_source("inductor", source, {"num_warps": launch["num_warps"]})


def load(text, path):
    path.write_text(IMPORTS + text, encoding="utf-8")
    sys.path.append(str(HERE.parent / "kernels"))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
