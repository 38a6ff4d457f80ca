#!/usr/bin/env python3
"""Builds the pages: Markdown of docs/ and the tutorials; then Sphinx.

Needs: an environment with docs/requirements.txt (`make docs` makes one).
Gives: build-docs/html; status 1 at a warning of Sphinx, such as a link that leads nowhere.
How:   docs/ is copied to build-docs/source. A tutorial becomes a page: its docstring and the comments
       after `# %%` are Markdown, the rest is code; plots of docs/images/tutorials go below its
       benchmark. Links to `../tutorials/*.py` lead there; as written they work on a code host.

Usage: scripts/docs.py [--sources-only]
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
INTRODUCTION = (
    "Each is a script of its own, with a kernel, its test and its benchmark, that runs with torch on"
    " a GPU and with NumPy elsewhere. 01 to 03 ask for no more than NumPy."
)


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


# ===-- pages -------------------------------------------------------------------------------===


def append_list(folder):
    """Have the pages of a folder follow its README, in the order in which that links to them."""
    readme = folder / "README.md"
    text = readme.read_text(encoding="utf-8")
    linked = re.findall(r"\]\(([a-z][\w-]*)\.md\)", text)
    rest = sorted({path.stem for path in folder.glob("[a-z]*.md")} - {*linked})
    pages = "\n".join(dict.fromkeys([*linked, *rest]))
    readme.write_text(f"{text}\n```{{toctree}}\n:hidden:\n\n{pages}\n```\n", encoding="utf-8")


def list_the_rest(index):
    """Let the `*` of the last list stand for the pages that no other list has."""
    text = index.read_text(encoding="utf-8")
    rest = [p.stem for p in sorted(SOURCE.glob("*.md")) if f"\n{p.stem}\n" not in text]
    rest.remove("index")
    block = re.search(r"```\{toctree\}\n[^`]*\n\*\n```\n", text)[0]
    listed = block.replace(":glob:\n", "").replace("\n*\n", "\n" + "\n".join(rest) + "\n")
    index.write_text(text.replace(block, listed if rest else ""), encoding="utf-8")


def link_to_pages(text):
    """Let links to the scripts and folders of tutorials lead to the pages made of them."""

    def link(match):
        return f"]({match[1]}tutorials/{match[2] or 'index'}.md"

    return re.sub(r"\]\(\.\./((?:\.\./)*)tutorials(?:/([\w-]+)(?:\.py)?)?/?(?=[)#])", link, text)


def write_sources():
    """Put the pages together in build-docs/source."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(
        ROOT / "docs", SOURCE, ignore=shutil.ignore_patterns("entries", "examples", "measurements")
    )
    for page in SOURCE.rglob("*.md"):
        page.write_text(link_to_pages(page.read_text(encoding="utf-8")), encoding="utf-8")
    write_tutorials()
    for folder in ("reference", "decisions"):
        append_list(SOURCE / folder)
    list_the_rest(SOURCE / "index.md")


def version():
    """The project's version, as CMake states it."""
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\([^)]*VERSION\s+([\d.]+)", text)[1]


def main():
    """Put the pages together and build them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources-only", action="store_true")
    options = parser.parse_args()
    write_sources()
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
