"""The pages hang together: links lead somewhere, every page is listed, tutorials become pages.

`make docs` builds them in earnest; this needs no Sphinx.
"""

import fnmatch
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import pantilec_path

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
TUTORIALS = sorted((ROOT / "tutorials").glob("[0-9][0-9]-*.py"))
FOLDERS = [
    page for name in ("reference", "decisions", "dialects") for page in DOCS.glob(f"{name}/*.md")
]
FRONT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "tests/README.md")]
PAGES = sorted([*DOCS.glob("*.md"), *FOLDERS, *FRONT])


@pytest.fixture(scope="module")
def docs():
    spec = importlib.util.spec_from_file_location("docs_script", ROOT / "scripts/docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prose(path):
    """A page without its listings."""
    return re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)


def anchors(path):
    """What a link to a heading of the page may say after `#`."""
    titles = re.findall(r"^#+ (.*)$", prose(path), re.M)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


def target(page, link):
    """The file that a relative link leads to; one that only the built pages have is none."""
    path = page.parent / link
    return path if path.exists() else None


def is_page(entry):
    """Whether a list names a page; those of tutorials are made from the scripts."""
    tutorial = re.fullmatch(r"tutorials/(.+)", entry)
    if not tutorial:
        return (DOCS / f"{entry}.md").exists()
    made = {path.stem for path in (ROOT / "tutorials").glob("[0-9][0-9]-*")}
    return tutorial[1] in made | {"index"}


def test_listings_of_stages():
    """What the page shows of each stage is there, as the compiler prints it now."""
    command = [sys.executable, ROOT / "scripts/stage_listings.py", "--check"]
    environment = {**os.environ, "PANTILEC": str(pantilec_path())}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (DOCS / "how-a-tile-becomes-instructions.md").read_text(encoding="utf-8")
    assert page.count("<!-- stage") == page.count("-->\n```") == 8
    assert "nv.tma_store" in page and "wgmma.mma_async" in page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links(page):
    """Every link of a page leads to a file, and to a heading in it."""
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose(page))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        path = target(page, name) if name else page
        if path is None or (anchor and path.suffix == ".md" and anchor not in anchors(path)):
            wrong.append(link)
    assert not wrong, f"{page.name} links to {wrong}"


def test_links_to_pages_that_only_sphinx_makes_are_refused():
    """On a code host there is no `docs/tutorials`; there is the script."""
    page = DOCS / "quickstart.md"
    assert target(page, "tutorials/index.md") is None
    assert target(page, "tutorials/03-matrix-multiplication.md") is None
    assert target(page, "../tutorials/03-matrix-multiplication.py")


def test_links_to_tutorials_lead_to_their_pages(docs):
    """What a code host shows as a script is a page of the built documentation."""
    text = "[a](../tutorials), [b](../tutorials/08-x), [c](../tutorials/03-y.py#z), [d](../python)"
    assert docs.link_to_pages(text) == (
        "[a](tutorials/index.md), [b](tutorials/08-x.md), [c](tutorials/03-y.md#z), [d](../python)"
    )
    assert docs.link_to_pages("[a](../../tutorials/03-y.py)") == "[a](../tutorials/03-y.md)"


def test_links_lead_out_of_docs_to_tutorials_alone(docs):
    """The built pages have no other folder of the repository."""
    for page in set(PAGES) - set(FRONT):
        for link in re.findall(r"\]\(([^)\s#]+)", docs.link_to_pages(prose(page))):
            path = (page.parent / link).resolve()
            assert re.match(r"[a-z]+:", link) or path.is_relative_to(DOCS), (page, link)


@pytest.mark.parametrize("page", FRONT[:2], ids=lambda page: page.name)
def test_paths_of_the_front_page(page):
    """What the front pages name in backticks exists."""
    names = re.findall(r"`((?:docs|tutorials|compiler|tests|scripts)/[\w./-]+)`", prose(page))
    assert names
    assert not [name for name in names if not (ROOT / name).exists()]


def test_folders_of_tests_are_listed():
    """`tests/README.md` has a place for each folder of tests, and for each of `tests/python`."""
    tests = ROOT / "tests"
    text = (tests / "README.md").read_text(encoding="utf-8")
    found = [*tests.glob("[a-z]*"), *tests.glob("python/[a-z]*")]
    folders = [path for path in found if path.is_dir() and any(path.rglob("*.*"))]
    unnamed = [path.name for path in folders if f"`{path.relative_to(tests)}" not in text]
    assert len(folders) > 10 and not unnamed


def test_every_page_is_listed():
    entries = []
    for block in re.findall(r"```\{toctree\}\n(.*?)```", (DOCS / "index.md").read_text(), re.S):
        entries += [line for line in block.split("\n") if line and not line.startswith(":")]
    explicit = [entry for entry in entries if "*" not in entry]
    assert len(set(explicit)) == len(explicit), "a page is listed twice"
    for entry in explicit:
        assert is_page(entry), f"no page {entry}"
    for page in DOCS.glob("*.md"):
        assert any(fnmatch.fnmatch(page.stem, entry) for entry in entries), page


def test_every_decision_is_listed_and_complete():
    """Each record is in the index once, and has its four parts in a page's length."""
    index = re.findall(r"\]\(([\w-]+\.md)\)", (DOCS / "decisions/README.md").read_text())
    records = [page for page in DOCS.glob("decisions/*.md") if page.name != "README.md"]
    assert sorted(index) == sorted(page.name for page in records)
    for page in records:
        text = page.read_text(encoding="utf-8")
        parts = re.findall(r"^\*\*(\w+)\.\*\*", text, re.M)
        assert parts == ["Context", "Decision", "Consequences", "Number"], page
        assert len(text.splitlines()) <= 40, page


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_tutorial_becomes_a_page(docs, path):
    text = path.read_text(encoding="utf-8")
    cells = list(docs.cells(text))
    kinds = [kind for kind, _ in cells]
    assert kinds[0] == "text" and re.match(r".+\n=+\n", cells[0][1]), "no title"
    prose = "\n".join(body for kind, body in cells if kind == "text")
    titles = re.findall(r"^(.+)\n-+$", prose, re.M)
    places = [titles.index(name) for name in ("Unit test", "Benchmark", "What to try next")]
    assert places == sorted(places) and len(titles) >= 5
    # All code, in order, and nothing else.
    code = "\n".join(body for kind, body in cells if kind == "code")
    compile(code, path, "exec")
    assert re.findall(r"^(?:def|@|class) ?\S*", code, re.M) == re.findall(
        r"^(?:def|@|class) ?\S*", text, re.M
    )
    page = docs.tutorial_page(path)
    assert page.count("```") % 2 == 0 and "# %%" not in page


@pytest.fixture
def listings(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return importlib.import_module("stage_listings")


def test_listings_are_cut_where_marked(listings):
    text = "head\n  a 1\n    b\n  c\nd\n  a 2\ntail"
    options = [["show", "a \\d .. c"], ["show", "a .. a"]]
    assert listings.excerpt(text, options) == ["a 1", "  b", "c", "...", "a 2"]
    assert listings.excerpt(text, [["match", "a|d"], ["lines", "2"]]) == ["head", "a 1"]
    with pytest.raises(LookupError, match="no line matches `zzz`"):
        listings.excerpt(text, [["show", "zzz .. a"]])


def test_listings_are_replaced(listings, tmp_path):
    """A listing that is there, or none, becomes the current one; what is around it stays."""
    stages = listings.Stages(tmp_path / "no-pantilec")
    stages.texts["ptx"] = "one\ntwo $1\nthree"
    asked = "a\n\n<!-- stage ptx\nmatch: t\n-->\n"
    filled = listings.fill(f"{asked}\nb\n", stages)
    assert filled == f"{asked}```text\ntwo $1\nthree\n```\n\nb\n"
    stages.texts["ptx"] = "other"
    assert listings.fill(filled, stages) == f"{asked}```text\nother\n```\n\nb\n"


def test_quick_start_is_what_the_examples_are():
    """The page shows the files that are run, in Python below and in C++ by the embedding tests."""
    text = (DOCS / "quickstart.md").read_text(encoding="utf-8")
    python = re.findall(r"```python\n(.*?)```", text, re.S)
    examples = DOCS / "examples"
    assert python == [(examples / n).read_text() for n in ("saxpy.py", "quickstart.py")]
    (cpp,) = re.findall(r"```cpp\n(.*?)  \.\.\.\n```", text, re.S)
    assert cpp in (examples / "quickstart.cpp").read_text()


def test_the_page_of_the_host_is_current():
    """`scripts/python_page.py` writes it from the docstrings."""
    command = [sys.executable, ROOT / "scripts/python_page.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_of_the_host_has_each_public_name(monkeypatch):
    spec = importlib.util.spec_from_file_location("python_page", ROOT / "scripts/python_page.py")
    page = importlib.util.module_from_spec(spec)
    monkeypatch.syspath_prepend(ROOT / "scripts")
    spec.loader.exec_module(page)
    assert list(page.differences()) == []
    monkeypatch.setitem(page.SECTIONS, "Layouts", ("pantile.tools", ""))
    monkeypatch.setitem(page.LEFT_OUT, "pantile.jit", "listed all the same")
    monkeypatch.setitem(page.LEFT_OUT, "pantile.gone", "no such name")
    said = [line.partition(":")[0] for line in page.differences()]
    assert said == [
        "`pantile.jit` is on the page and left out",
        "`pantile.tools.LinearLayout` is not on the page",
        "`pantile.gone` is left out and not public",
    ]


def test_the_page_of_passes_is_current():
    """`scripts/passes_page.py` writes it; each example is what the built `pantile-opt` prints."""
    tool = Path(pantilec_path()).with_name("pantile-opt")
    if not tool.exists():
        pytest.skip("there is no pantile-opt next to pantilec")
    command = [sys.executable, ROOT / "scripts/passes_page.py", "--check"]
    environment = {**os.environ, "PANTILE_OPT": str(tool)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_pages_of_the_dialects_are_current():
    """`scripts/dialect_pages.py` writes them by mlir-tblgen."""
    if not Path("/usr/lib/llvm-22/bin/mlir-tblgen").exists() and "MLIR_TBLGEN" not in os.environ:
        pytest.skip("there is no mlir-tblgen")
    command = [sys.executable, ROOT / "scripts/dialect_pages.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_pictures_of_the_architecture_are_current():
    """`scripts/diagrams.py` draws them from the pipeline."""
    command = [sys.executable, ROOT / "scripts/diagrams.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_of_performance_is_current():
    """`scripts/performance_page.py` computes its summary; it is short, and its plots exist."""
    command = [sys.executable, ROOT / "scripts/performance_page.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    text = (DOCS / "performance.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    plots = set(re.findall(r"!\[[^]]+\]\(images/performance/([\w-]+\.svg)\)", text))
    assert plots == {path.name for path in (DOCS / "images/performance").iterdir()}


@pytest.fixture
def peers(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return importlib.import_module("peers")


def test_ratios_of_the_summary(peers):
    """A time counts the other way around, recorded ratios as they are; names are not used twice."""
    rates = [{"name": "a", "rates": {"x": 4.0, "y": 2.0}}, {"name": "b", "rates": {"x": 1.0}}]
    kept = [{"name": "c", "rates": {"x": 1.0}, "relative to": {"y": 0.5}}]
    assert peers.speeds({"unit": "GB/s", "rows": rates + kept}, "x", "y") == {"a": 2.0, "c": 0.5}
    assert peers.speeds({"unit": "ms", "rows": rates}, "x", "y") == {"a": 0.5}
    assert peers.mean([0.5, 8.0]) == pytest.approx(2.0)
    assert peers.cell({"a": 0.5, "c": 8.0}) == "2.00 (0.50)"
    with pytest.raises(ValueError, match="two rows"):
        peers.speeds({"unit": "ms", "rows": rates + rates}, "x", "y")


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "index.md"], ids=lambda p: p.name)
def test_first_example_runs(page, tmp_path):
    """What a front page shows first is a program: it adds what it says it adds."""
    text = re.search(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S)[1]
    script = tmp_path / "first.py"
    script.write_text(text + "assert (out == x + y).all() and len(out) == 10_000\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_quick_start_runs(tmp_path):
    example = DOCS / "examples/quickstart.py"
    done = subprocess.run([sys.executable, example], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
