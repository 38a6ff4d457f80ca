"""Compares the includes of C++ files, and the imports of Python's, with the tables of compiler/README.md.

Needs: nothing but the checkout. A row of the table is a folder, and the others that its files may
       include. A name is a path from compiler/, or else from the checkout. A row is for all that a
       folder has in it, but for its own files alone where a folder in it has a row.
Gives: a line for each include that the table does not allow, for each folder that it lacks or that
       is gone, and for the first circle of what it allows; for each import of a floor above, for a
       circle of modules, and for what a facade defines; status 1 if there are any.
How:   an include of no file in the checkout, and of none that the build makes, is a library's. An import
       is of the module that it names. That Python runs the `__init__` of each folder around it does not
       count: these are facades, and what they import does not depend on who came first. Nor does an
       import by a name that the program computes, such as that of a user's module.
"""

import ast
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = "compiler/README.md"
HEADING = "## What may include what"
CHECKED = ("compiler", "runtime", "python/binding")
# Where an include starts from, in addition to its own folder.
STARTS = ("compiler", "compiler/include", "")
ENDINGS = (".h", ".cpp", ".def", ".td")
INCLUDE = re.compile(r'\s*#?\s*include\s*(["<])([^">]+)[">]')
NAMES = re.compile(r"`([^`]+)`")
FLOORS = "## The floors of the Python package"
PACKAGE = "python/pantile"
FACADES = "facades"


def rows_of(root, heading):
    """The cells of each row of the table below a heading of the page."""
    text = (root / PAGE).read_text(encoding="utf-8").partition(f"{heading}\n")[2]
    rows = [row.split("|") for row in text.partition("\n## ")[0].splitlines()]
    return [row for row in rows if len(row) > 2 and NAMES.search(row[-2] + row[1])]


def first_circle(uses):
    """A path from a name to itself along {name: those that it uses}; empty if there is none."""
    done = set()

    def search(path):
        for name in sorted(uses.get(path[-1], ())):
            if name in path:
                return [*path[path.index(name) :], name]
            if name not in done and (found := search([*path, name])):
                return found
        done.add(path[-1])
        return []

    return next((found for name in uses if (found := search([name]))), [])


class Layers:
    """The table of a checkout.

    Parameters
    ----------
    root : pathlib.Path
        The checkout.
    """

    def __init__(self, root):
        self.root = root
        self.allowed, self.problems = {}, []
        for cells in rows_of(root, HEADING):
            folder = self.folder(NAMES.findall(cells[1])[0])
            if folder in self.allowed:
                self.problems.append(f"{PAGE}: `{folder}` has two rows")
            self.allowed[folder] = {self.folder(name) for name in NAMES.findall(cells[2])}
        self.known = set(self.allowed).union(*self.allowed.values())
        for name in sorted(self.known):
            if not (root / name).is_dir():
                self.problems.append(f"{PAGE}: `{name}` is no folder")
            elif name not in self.allowed:
                self.problems.append(f"{PAGE}: `{name}` may be included and has no row")

    def folder(self, name):
        """The path of a name of the table, from the checkout."""
        inner = f"compiler/{name}"
        return inner if (self.root / inner).is_dir() else name

    def row_of(self, folder):
        """The row that a folder belongs to; None if it has none."""
        here = folder
        while here and here not in self.allowed:
            here = os.path.dirname(here)
        is_divided = any(name.startswith(f"{here}/") for name in self.allowed)
        return here if here and (here == folder or not is_divided) else None

    def folder_of(self, file, quote, name):
        """The folder of what `file` includes under `name`, from the checkout; None: a library's."""
        own = [os.path.dirname(file)] if quote == '"' else []
        found = [os.path.normpath(os.path.join(start, name)) for start in [*own, *STARTS]]
        for path in found:
            if (self.root / path).is_file():
                return os.path.dirname(path)
        made = (os.path.dirname(path) for path in found if path.endswith(".inc"))
        return next((path for path in made if (self.root / path).is_dir() and path), None)

    def files(self):
        """The path of each file that is checked, from the checkout."""
        for folder in CHECKED:
            for path in sorted((self.root / folder).rglob("*")):
                if path.suffix in ENDINGS:
                    yield path.relative_to(self.root).as_posix()

    def includes(self, file):
        """(line, folder of what it includes, its name) of each include of the checkout's own."""
        text = (self.root / file).read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            target = self.folder_of(file, *match.groups()) if match else None
            if target is not None:
                yield number, target, match[2]

    def findings(self):
        """A line for each difference."""
        yield from self.problems
        lacking = set()
        for file in self.files():
            source = self.row_of(os.path.dirname(file))
            if source is None:
                lacking.add(os.path.dirname(file))
                continue
            for number, target, name in self.includes(file):
                used = self.row_of(target)
                if used is None:
                    lacking.add(target)
                elif used != source and used not in self.allowed[source]:
                    yield f"{file}:{number}: `{source}` may not include `{name}` of `{used}`"
        for folder in sorted(lacking):
            yield f"{PAGE}: `{folder}` has no row"
        if circle := first_circle(self.allowed):
            yield f"{PAGE}: a circle: {' includes '.join(f'`{name}`' for name in circle)}"


class Floors:
    """The floors of the Python package of a checkout, and its modules.

    A module's name is its path below the package, "runtime/jit"; a folder's is "runtime/__init__".

    Parameters
    ----------
    root : pathlib.Path
        The checkout.
    """

    def __init__(self, root):
        self.root, self.problems = root, []
        self.floors, self.floor_of_name = [], {}
        for cells in rows_of(root, FLOORS):
            self.floors.append(re.split("[:,(]", cells[1])[0].strip())
            for name in NAMES.findall(cells[2]):
                if name in self.floor_of_name:
                    self.problems.append(f"{PAGE}: `{name}` is on two floors")
                self.floor_of_name[name] = len(self.floors) - 1
        package = root / PACKAGE
        self.modules = sorted(
            path.relative_to(package).with_suffix("").as_posix() for path in package.rglob("*.py")
        )
        for name in self.floor_of_name:
            if not any(module == name or module.startswith(f"{name}/") for module in self.modules):
                self.problems.append(f"{PAGE}: `{name}` is no module")

    def floor_of(self, module):
        """The number of a module's floor; None if the table lacks it."""
        last = module.rpartition("/")[2]
        if last == "__init__" and module not in self.floor_of_name:
            return self.floors.index(FACADES)
        while module and module not in self.floor_of_name:
            module = module.rpartition("/")[0]
        return self.floor_of_name.get(module)

    def module_of(self, path):
        """The module at a path of names below the package; None if there is none."""
        name = "/".join(path)
        folder = "/".join([*path, "__init__"])
        return folder if folder in self.modules else name if name in self.modules else None

    def imports(self, module, tree):
        """(line, module) of each import of the package's own."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                paths = [name.name.split(".") for name in node.names]
            elif isinstance(node, ast.ImportFrom):
                base = module.split("/")[: -node.level] if node.level else []
                base = ["pantile", *base] if node.level else base
                base += node.module.split(".") if node.module else []
                paths = [[*base, name.name] for name in node.names]
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
                name = getattr(node.args[0], "value", None)
                paths = [name.split(".")] if isinstance(name, str) else []
            else:
                continue
            for path in paths:
                found = self.module_of(path[1:]) or self.module_of(path[1:-1])
                is_ours = path[0] == "pantile" and path[-1] != "_pantile"
                # A program imports itself to run as the module that others see.
                if is_ours and found not in (None, module):
                    yield node.lineno, found

    def findings(self):
        """A line for each difference."""
        yield from self.problems
        uses = {}
        for module in self.modules:
            floor, file = self.floor_of(module), f"{PACKAGE}/{module}.py"
            if floor is None:
                yield f"{PAGE}: `{module}` is on no floor"
                continue
            tree = ast.parse((self.root / file).read_text(encoding="utf-8"))
            for line, used in self.imports(module, tree):
                uses.setdefault(module, set()).add(used)
                above = self.floor_of(used)
                if above is not None and above > floor:
                    floors = (
                        f"`{self.floors[floor]}` may not import `{used}` of `{self.floors[above]}`"
                    )
                    yield f"{file}:{line}: {floors}"
            if self.floors[floor] == FACADES:
                yield from self.definitions(file, tree)
        if circle := first_circle(uses):
            yield f"{PACKAGE}: a circle: {' imports '.join(f'`{name}`' for name in circle)}"

    @staticmethod
    def definitions(file, tree):
        """A line for each class and function that a facade defines."""
        for node in tree.body:
            is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            if isinstance(node, ast.ClassDef) or is_function and node.name != "__getattr__":
                yield f"{file}:{node.lineno}: the facade defines `{node.name}`"


def main():
    """Print the findings."""
    found = [*Layers(ROOT).findings(), *Floors(ROOT).findings()]
    for line in found:
        print(f"layers: {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
