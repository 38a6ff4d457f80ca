"""The check of what folders may include and modules may import, on checkouts that are made here."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "scripts/layers.py"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="scripts are not on this machine")

TABLE = """# A page
| `ir` | `runtime` |

## What may include what
| folder | may include |
|---|---|
| `include` | |
| `ir` | `include` |
| `passes` | |
| `passes/mma` | `passes`, `ir` |
| `interp` | `ir` |
| `runtime` (launches) | `interp` |

## Another table
| `ir` | `passes` |
"""
FILES = {
    "compiler/include/pantile/Error.h": "",
    "compiler/ir/Tile.h": '#include "ir/TileOps.h.inc"\n#include "pantile/Error.h"\n#include <map>',
    "compiler/ir/TileOps.td": 'include "mlir/IR/OpBase.td"\n',
    "compiler/passes/Passes.h": '#include "passes/Passes.h.inc"\n',
    "compiler/passes/mma/SelectMma.cpp": '#include "ir/Tile.h"\n#include "passes/Passes.h"\n',
    "compiler/interp/Code.h": '#include "kernels/Kernels.h"\n#include "ir/Tile.h"\n',
    "compiler/interp/kernels/Kernels.h": '#include "interp/Code.h"\n#include "llvm/ADT/Twine.h"\n',
    "runtime/Launch.h": '#include "interp/Code.h"\n',
}


def script():
    spec = importlib.util.spec_from_file_location("layers", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def findings(folder, files, table=TABLE):
    """What the check says of a checkout of FILES, changed by `files`."""
    for name, text in (FILES | files | {"compiler/README.md": table}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(script().Layers(folder).findings())


def test_repository():
    """The compiler includes nothing that the table forbids."""
    assert list(script().Layers(ROOT).findings()) == []


def test_allowed(tmp_path):
    """Includes that the table allows are no findings."""
    assert findings(tmp_path, {}) == []


@pytest.mark.parametrize(
    "file, text, name, folders",
    [
        ("compiler/ir/A.h", '#include "%s"', "passes/Passes.h", "compiler/ir compiler/passes"),
        ("compiler/ir/A.h", "\n # include <%s>", "passes/Passes.h", "compiler/ir compiler/passes"),
        ("compiler/ir/A.h", '#include "%s"', "passes/Passes.h.inc", "compiler/ir compiler/passes"),
        ("compiler/ir/A.h", '#include "%s"', "../interp/Code.h", "compiler/ir compiler/interp"),
        ("compiler/ir/A.td", 'include "%s"', "passes/Passes.h", "compiler/ir compiler/passes"),
        ("compiler/passes/A.h", '#include "%s"', "mma/SelectMma.cpp", "compiler/passes compiler/passes/mma"),
        ("compiler/passes/mma/A.h", '#include "%s"', "pantile/Error.h", "compiler/passes/mma compiler/include"),
        ("compiler/interp/kernels/A.h", '#include "%s"', "runtime/Launch.h", "compiler/interp runtime"),
        ("runtime/A.cpp", '#include "%s"', "ir/Tile.h", "runtime compiler/ir"),
    ],
)  # fmt: skip
def test_refused(tmp_path, file, text, name, folders):
    """An include that the table does not have is found with its line."""
    source, used = folders.split()
    line = text.count("\n") + 1
    assert findings(tmp_path, {file: text % name}) == [
        f"{file}:{line}: `{source}` may not include `{name}` of `{used}`"
    ]


@pytest.mark.parametrize(
    "text",
    ["// #include <passes/Passes.h>", '#include "Passes.h"', "int include;", "#include <ir>"],
)
def test_not_ours(tmp_path, text):
    assert findings(tmp_path, {"compiler/ir/Dialect.cpp": text}) == []


@pytest.mark.parametrize("folder", ["compiler/late", "compiler/passes/late"])
@pytest.mark.parametrize("text", ["", '#include "A.h"', '#include "ir/Tile.h"'])
def test_folder_without_row(tmp_path, folder, text):
    new = {f"{folder}/A.h": "", f"{folder}/A.cpp": text}
    assert findings(tmp_path, new) == [f"compiler/README.md: `{folder}` has no row"]


def test_use_of_folder_without_row(tmp_path):
    new = {"tests/A.h": "", "runtime/A.cpp": '#include "tests/A.h"'}
    assert findings(tmp_path, new) == ["compiler/README.md: `tests` has no row"]


@pytest.mark.parametrize(
    "row, expected",
    [
        ("| `gone` | |", "compiler/README.md: `gone` is no folder"),
        ("| `ir` | |", "compiler/README.md: `compiler/ir` has two rows"),
    ],
)
def test_wrong_rows_of_the_table(tmp_path, row, expected):
    """A row of the table that is wrong is found."""
    table = TABLE.replace("| `include` | |\n", f"{row}\n| `include` | |\n")
    assert findings(tmp_path, {}, table) == [expected]


@pytest.mark.parametrize(
    "row, more, circle",
    [
        ("`ir` |", "`interp`", "compiler/ir compiler/interp"),
        ("`ir` |", "`runtime`", "compiler/ir runtime compiler/interp"),
        ("`passes` |", "`passes/mma`", "compiler/passes compiler/passes/mma"),
    ],
)
def test_circle(tmp_path, row, more, circle):
    """A circle of includes in the table is found."""
    heading, table = TABLE.split("## What", 1)
    table = f"{heading}## What{table.replace(row, f'{row} {more}', 1)}"
    names = [f"`{name}`" for name in [*circle.split(), circle.split()[0]]]
    expected = f"compiler/README.md: a circle: {' includes '.join(names)}"
    assert findings(tmp_path, {}, table) == [expected]


FLOORS = """## The floors of the Python package
| floor | modules |
|---|---|
| ground | `settings`, `runtime/errors` |
| kernels: all else | `runtime`, `compiler` |
| facades | `compiler/compiler` |
| programs | `demo` |

## Another table
| ground | `demo` |
"""
MODULES = {
    "__init__": "from . import runtime\nfrom .runtime.jit import jit\n",
    "settings": "import os\nfrom os import path\n",
    "runtime/__init__": "from .jit import jit\n\ndef __getattr__(name):\n    from . import tuner\n",
    "runtime/errors": "from .. import _pantile, settings\n",
    "runtime/jit": "from .. import settings\nfrom ..compiler.kernel import Kernel\n",
    "runtime/tuner": "from .jit import jit\nimport pantile.settings\n",
    "compiler/__init__": "from .compiler import compile\n",
    "compiler/compiler": "from .kernel import *\n",
    "compiler/kernel": "from ..runtime.errors import Error\nfrom ..runtime import errors\n",
    "demo": "import pantile\nfrom pantile import runtime\n",
}


def floor_findings(folder, modules, table=FLOORS):
    """What the check says of a package of MODULES, changed by `modules`."""
    files = {f"python/pantile/{name}.py": text for name, text in (MODULES | modules).items()}
    for name, text in (files | {"compiler/README.md": table}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(script().Floors(folder).findings())


def test_floors_of_repository():
    assert list(script().Floors(ROOT).findings()) == []


def test_imports_of_own_and_lower_floors(tmp_path):
    assert floor_findings(tmp_path, {}) == []


@pytest.mark.parametrize(
    "module, floor, text, used, above",
    [
        ("settings", "ground", "from .runtime import jit", "runtime/jit", "kernels"),
        ("settings", "ground", "from .runtime.jit import jit", "runtime/jit", "kernels"),
        ("settings", "ground", "import os, pantile.runtime.jit", "runtime/jit", "kernels"),
        ("settings", "ground", "def f():\n    from .demo import run", "demo", "programs"),
        ("settings", "ground", "def f():\n    import pantile", "__init__", "facades"),
        ("runtime/errors", "ground", "class A:\n    from .jit import jit", "runtime/jit", "kernels"),
        ("compiler/kernel", "kernels", "from . import compile", "compiler/__init__", "facades"),
        ("compiler/kernel", "kernels", "from .compiler import compile", "compiler/compiler", "facades"),
        ("runtime/tuner", "kernels", "from ..runtime import *", "runtime/__init__", "facades"),
        ("runtime/tuner", "kernels", "import_module('pantile.demo')", "demo", "programs"),
        ("compiler/compiler", "facades", "from pantile.demo import run", "demo", "programs"),
    ],
)  # fmt: skip
def test_upward_imports(tmp_path, module, floor, text, used, above):
    line = text.count("\n") + 1
    found = floor_findings(tmp_path, {module: text})
    expected = f"`{floor}` may not import `{used}` of `{above}`"
    assert found[0] == f"python/pantile/{module}.py:{line}: {expected}"
    assert all("a circle" in other for other in found[1:])


@pytest.mark.parametrize("text", ["from .jit import g", "def f():\n    from .jit import g"])
def test_circle_of_modules(tmp_path, text):
    new = {"runtime/tuner": text, "runtime/jit": "from .tuner import f"}
    circle = "`runtime/jit` imports `runtime/tuner` imports `runtime/jit`"
    assert floor_findings(tmp_path, new) == [f"python/pantile: a circle: {circle}"]


@pytest.mark.parametrize(
    "text, name", [("class A: pass", "A"), ("def f(): pass", "f"), ("async def g(): pass", "g")]
)
@pytest.mark.parametrize("facade", ["__init__", "compiler/compiler"])
def test_facades_define_nothing(tmp_path, facade, text, name):
    assert floor_findings(tmp_path, {facade: text}) == [
        f"python/pantile/{facade}.py:1: the facade defines `{name}`"
    ]


def test_module_without_floor(tmp_path):
    page = "compiler/README.md"
    assert floor_findings(tmp_path, {"late": ""}) == [f"{page}: `late` is on no floor"]
    table = FLOORS.replace("`demo` |\n\n", "`demo`, `gone`, `late`, `settings` |\n\n")
    assert floor_findings(tmp_path, {}, table)[:2] == [
        f"{page}: `settings` is on two floors",
        f"{page}: `gone` is no module",
    ]
