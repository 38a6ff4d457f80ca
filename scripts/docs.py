#!/usr/bin/env python3
"""Builds the pages: Markdown of docs/, the tutorials, the IR of a matrix product; then Sphinx.

Needs: an environment with docs/requirements.txt (`make docs` makes one), and a build with pantilec.
Gives: build-docs/html; status 1 at a warning of Sphinx, such as a link that leads nowhere.
How:   docs/ is copied to build-docs/source. A tutorial becomes a page: its docstring and the comments
       after `# %%` are Markdown, the rest is code; plots of docs/images/tutorials go below its
       benchmark. Blocks such as ```{stage} layout are replaced by what pantilec prints: each
       `show: A .. B` is the lines from the next one that matches A to the next that matches B.

Usage: scripts/docs.py [--build DIR] [--sources-only]
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "build-docs/source"
MATMUL = ROOT / "tutorials/03-matrix-multiplication.py"
WIDTH = 240  # columns of a listing
INTRODUCTION = (
    "Each is a script of its own, with a kernel, its test and its benchmark, that runs with torch on"
    " a GPU and with NumPy elsewhere. 01 to 03 ask for no more than NumPy."
)
COMMAND = [
    "--kernel", "matmul_kernel", "--signature",
    "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1",
    "-D", "BLOCK_SIZE_M=128", "-D", "BLOCK_SIZE_N=256", "-D", "BLOCK_SIZE_K=64",
    "-D", "GROUP_SIZE_M=8", "-D", 'ACTIVATION=""', "--num-warps", "8", "--num-stages", "3",
    "--target", "sm_90a", "--emit",
]  # fmt: skip


# ===-- tutorials ---------------------------------------------------------------------------===


def cells(text):
    """The cells of a tutorial in order: pairs of "text" or "code" and the lines' text."""
    docstring = re.match(r'"""\n?(.*?)"""\n', text, re.S)
    yield "text", docstring[1]
    for number, block in enumerate(text[docstring.end() :].split("\n# %%\n")):
        lines = block.split("\n")
        count = 0
        while number and count < len(lines) and lines[count].startswith("#"):
            count += 1
        if count:
            yield "text", "\n".join(line[2:] for line in lines[:count])
        if code := "\n".join(lines[count:]).strip("\n"):
            yield "code", code


def plots(stem):
    """Lines that show the plots of a tutorial."""
    number = stem[:2]
    found = sorted((ROOT / "docs/images/tutorials").glob(f"{number}-*.svg"))
    if not found:
        return []
    lines = ["Measured on an H200; medians of runs that find nothing in the L2 cache:", ""]
    for path in found:
        title = path.stem[3:].replace("-", " ")
        lines += [f"```{{image}} ../images/tutorials/{path.name}", f":alt: {title}", ":class: plot"]
        lines += ["```", ""]
    return lines


def tutorial_page(path):
    """The page of a tutorial that is a script."""
    lines, in_benchmark = [], False
    for kind, text in cells(path.read_text(encoding="utf-8")):
        if kind == "text":
            in_benchmark = bool(re.search(r"^Benchmark\n-+$", text, re.M))
            lines += [text, ""]
            continue
        lines += ["```python", text, "```", ""]
        if in_benchmark and "perf_report" in text:
            lines += plots(path.stem)
    lines += [f"The script is `tutorials/{path.name}`.", ""]
    return "\n".join(lines)


def folder_page(path):
    """The page of a tutorial that is a folder: its text, with ```{file} NAME replaced."""

    def listing(match):
        name = match[1]
        languages = {".py": "python", ".cpp": "cpp", ".txt": "cmake"}
        language = languages.get(Path(name).suffix, "text")
        return f"```{language}\n{(path / name).read_text(encoding='utf-8').rstrip()}\n```"

    text = (path / "README.md").read_text(encoding="utf-8").replace("](../../docs/", "](../")
    return re.sub(r"```\{file\} (\S+)\n```", listing, text)


def write_tutorials():
    """The tutorials' pages and their list."""
    folder = SOURCE / "tutorials"
    folder.mkdir()
    names = []
    for path in sorted((ROOT / "tutorials").glob("[0-9][0-9]-*")):
        if path.is_dir() and not (path / "README.md").exists():
            continue
        page = folder_page(path) if path.is_dir() else tutorial_page(path)
        (folder / f"{path.stem}.md").write_text(page, encoding="utf-8")
        names.append(path.stem)
    lines = ["# Tutorials", "", INTRODUCTION, ""]
    for name in names:
        title, summary = heading((folder / f"{name}.md").read_text(encoding="utf-8"))
        lines += [f"- [{title}]({name}.md): {summary}"]
    lines += ["", "```{toctree}", ":maxdepth: 1", ":hidden:", "", *names, "```", ""]
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8")


def heading(page):
    """The title of a page and the first sentence below it."""
    title, rest = re.match(r"\s*#* ?([^\n]+)\n(.*)", page, re.S).groups()
    paragraph = next(p for p in re.split(r"\n\s*\n", rest) if p.strip(" =\n"))
    return title, re.match(r".*?[.:](?=\s|$)", " ".join(paragraph.split()))[0].rstrip(":.")


# ===-- listings ----------------------------------------------------------------------------===


class Stages:
    """The texts of the stages of the matrix product, each made once."""

    def __init__(self, build):
        self.pantilec, self.texts = build / "compiler/tools/pantilec", {}

    def text(self, stage):
        if stage == "source":
            return MATMUL.read_text(encoding="utf-8")
        if stage not in self.texts:
            command = [self.pantilec, MATMUL, *COMMAND, stage, "--no-cache", "-o", "-"]
            self.texts[stage] = subprocess.run(
                command, check=True, capture_output=True, text=True
            ).stdout
        return self.texts[stage]


def shorten(line):
    """A line of at most WIDTH columns."""
    return line if len(line) <= WIDTH else line[: WIDTH - 2] + " …"


def undent(lines):
    """Without the indentation that all lines share."""
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[margin:] for line in lines]


def excerpt(text, options):
    """The lines of a listing that `options` ask for; raises LookupError if there is no such line."""
    lines, result, at = text.split("\n"), [], 0
    limit = int(next((value for key, value in options if key == "lines"), 1000))
    for key, value in options:
        if key == "match":
            result += [shorten(line.strip()) for line in lines if re.search(value, line)][:limit]
        if key != "show":
            continue
        first, last = value.split(" .. ")
        numbered = range(at, len(lines))
        begin = next((i for i in numbered if re.search(first, lines[i])), None)
        if begin is None:
            raise LookupError(f"no line matches `{first}`")
        end = next((i for i in range(begin + 1, len(lines)) if re.search(last, lines[i])), begin)
        part = undent(lines[begin : end + 1] if first != last else lines[begin : begin + 1])
        result += (["..."] if result else []) + [shorten(line) for line in part]
        at = end + 1
    if not result:
        raise LookupError("the listing is empty")
    return result


def fill_stages(text, stages):
    """Replace the blocks that ask for a stage."""

    def listing(match):
        options = [line.split(": ", 1) for line in match[2].strip().split("\n")]
        language = {"source": "python", "llvm": "llvm"}.get(match[1], "text")
        body = "\n".join(excerpt(stages.text(match[1]), options))
        return f"```{language}\n{body}\n```"

    quoted = [f"'{word}'" if re.search(r'[ *"]', word) else word for word in COMMAND]
    command = f"pantilec tutorials/{MATMUL.name} {' '.join(quoted)} STAGE"
    text = re.sub(r"```\{stage-command\}\n```", lambda _: f"```text\n{command}\n```", text)
    return re.sub(r"```\{stage\} (\w+)\n(.*?)```", listing, text, flags=re.S)


def list_the_rest(index):
    """Let the `*` of the last list stand for the pages that no other list has."""
    text = index.read_text(encoding="utf-8")
    rest = [p.stem for p in sorted(SOURCE.glob("*.md")) if f"\n{p.stem}\n" not in text]
    rest.remove("index")
    block = re.search(r"```\{toctree\}\n[^`]*\n\*\n```\n", text)[0]
    listed = block.replace(":glob:\n", "").replace("\n*\n", "\n" + "\n".join(rest) + "\n")
    index.write_text(text.replace(block, listed if rest else ""), encoding="utf-8")


def write_sources(build):
    """Put the pages together in build-docs/source."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(
        ROOT / "docs", SOURCE, ignore=shutil.ignore_patterns("entries", "examples", "measurements")
    )
    write_tutorials()
    for folder in ("reference", "decisions"):
        pages = sorted(path.stem for path in (SOURCE / folder).glob("[a-z]*.md"))
        with open(SOURCE / folder / "README.md", "a", encoding="utf-8") as file:
            file.write("\n```{toctree}\n:hidden:\n\n" + "\n".join(pages) + "\n```\n")
    list_the_rest(SOURCE / "index.md")
    stages = Stages(build)
    path = SOURCE / "how-a-tile-becomes-instructions.md"
    path.write_text(fill_stages(path.read_text(encoding="utf-8"), stages), encoding="utf-8")


def version():
    """The project's version, as CMake states it."""
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\([^)]*VERSION\s+([\d.]+)", text)[1]


def main():
    """Put the pages together and build them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=ROOT / "build", type=Path)
    parser.add_argument("--sources-only", action="store_true")
    options = parser.parse_args()
    write_sources(options.build.resolve())
    if options.sources_only:
        return 0
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    environment = {**os.environ, "PANTILE_VERSION": version()}
    done = subprocess.run([*command, SOURCE, ROOT / "build-docs/html"], env=environment)
    if done.returncode == 0:
        print(f"docs: {ROOT / 'build-docs/html/index.html'}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
