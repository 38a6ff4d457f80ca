"""Compares the includes of C++ files with the table of compiler/README.md.

Needs: nothing but the checkout. A row of the table is a folder, and the others that its files may
       include. A name is a path from compiler/, or else from the checkout. A row is for all that a
       folder has in it, but for its own files alone where a folder in it has a row.
Gives: a line for each include that the table does not allow, for each folder that it lacks or that
       is gone, and for the first circle of what it allows; status 1 if there are any.
How:   an include of no file in the checkout, and of none that the build makes, is a library's.
"""

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
        text = (root / PAGE).read_text(encoding="utf-8").partition(f"{HEADING}\n")[2]
        rows = text.partition("\n## ")[0].splitlines()
        for cells in (row.split("|") for row in rows if row.startswith("| `")):
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

    def circle(self):
        """A path of folders from one to itself along what is allowed; empty if there is none."""
        done = set()

        def search(path):
            for name in sorted(self.allowed.get(path[-1], ())):
                if name in path:
                    return [*path[path.index(name) :], name]
                if name not in done and (found := search([*path, name])):
                    return found
            done.add(path[-1])
            return []

        return next((found for name in self.allowed if (found := search([name]))), [])

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
        if circle := self.circle():
            yield f"{PAGE}: a circle: {' includes '.join(f'`{name}`' for name in circle)}"


def main():
    """Print the findings."""
    found = list(Layers(ROOT).findings())
    for line in found:
        print(f"layers: {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
