"""Mutated sources through the parser and the front end: no crash, no hang, no internal error.

Needs: pantile; the kernels of tests, tutorials and the library as seeds.
Gives: `python -m tests.fuzz.mutate --count 100000 --jobs 16 --seed S`; status 1 if a source fails.
How:   a source is a kernel with a few edits of its tokens, characters or lines. It is parsed; every
       fourth is emitted too, its parameters pointers to fp32, int32 or 16. The user's errors are what is expected.
       Workers say at which source they are, so that the one which ended or delayed them is known.
"""

import argparse
import ast
import multiprocessing
import os
import random
import re
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOKENS = (
    "( ) [ ] { } : , . ; -> = == != < <= > >= + - * / // % ** @ & | ^ ~ << >> += //= **= := not and or if "
    "else elif for while in is lambda return pass def class break continue yield None True False tl tl.load "
    "tl.sum range x 0 1 -1 1e400 0x 1_0 99999999999999999999 '' 'a' \"\"\" f'{' # \\ \n \t \0 \u00e9 \ufeff"
).split(" ")
SUFFIXES = [
    "(" * 400,
    "[" * 400,
    "-" * 2000,
    "not " * 1000,
    "x if x else " * 300,
    "if x:\n  " * 200,
]


def seeds():
    """The jit functions in tests, tutorials and the library, as text from `def` on."""
    files = [*ROOT.glob("tests/python/*.py"), *ROOT.glob("tests/kernels/*.py")]
    files += [*ROOT.glob("tutorials/*.py"), *ROOT.glob("compiler/stdlib/*.py")]
    found = []
    for file in sorted(files):
        lines = file.read_text().splitlines(keepends=True)
        for node in ast.parse("".join(lines)).body:
            if isinstance(node, ast.FunctionDef) and (
                file.parent.name == "stdlib"
                or any("jit" in ast.dump(d) for d in node.decorator_list)
            ):
                found.append("".join(lines[node.lineno - 1 : node.end_lineno]))
    return found


def mutated(rng, text):
    """The text with one to four edits."""
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 4])):
        text = rng.choice(EDITS)(rng, text)
    return text


def _tokens(text):
    return re.findall(r"\w+|\s+|[^\w\s]", text)


def _edit_token(rng, text):
    tokens = _tokens(text)
    at = rng.randrange(len(tokens)) if tokens else 0
    choice = rng.randrange(4)
    if choice == 0:
        tokens[at : at + 1] = []
    elif choice == 1:
        tokens[at:at] = [rng.choice(TOKENS)]
    elif choice == 2 and tokens:
        tokens[at] = rng.choice(tokens)
    else:
        tokens[at : at + 1] = [rng.choice(TOKENS)]
    return "".join(tokens)


def _edit_character(rng, text):
    at = rng.randrange(len(text) + 1)
    if rng.random() < 0.5:
        return text[:at] + text[at + 1 :]
    return text[:at] + chr(rng.choice([*range(128), 0xE9, 0x3B1, 0x1F600])) + text[at:]


def _edit_line(rng, text):
    lines = text.split("\n")
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    choice = rng.randrange(4)
    if choice == 0:
        del lines[a]
    elif choice == 1:
        lines.insert(b, lines[a])
    elif choice == 2:
        lines[a] = " " * rng.randrange(12) + lines[a].lstrip()
    else:
        lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines)


def _nest(rng, text):
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(SUFFIXES) + text[at:]


def _cut(rng, text):
    a, b = sorted(rng.randrange(len(text) + 1) for _ in range(2))
    return text[:a] + text[b:] if rng.random() < 0.5 else text[:b]


EDITS = [_edit_token] * 8 + [_edit_character] * 3 + [_edit_line] * 3 + [_nest, _cut]


def source(seed, index, texts):
    """Source number `index`, and whether it is emitted after parsing."""
    rng = random.Random(f"{seed}.{index}")
    return mutated(rng, rng.choice(texts)), index % 4 == 0


class Front:
    """The front end with the globals of an ordinary kernel."""

    def __init__(self, folder):
        import importlib.util

        path = Path(folder) / f"plain_{os.getpid()}.py"
        path.write_text(
            "import pantile as triton\nimport pantile.language as tl\n\n\n"
            "@triton.jit\ndef kernel(x):\n    tl.store(x, tl.load(x))\n"
        )
        spec = importlib.util.spec_from_file_location("plain", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        from pantile.runtime.snapshot import Snapshot

        snapshot = Snapshot(module.kernel)
        snapshot.program()
        self.described = snapshot._described[0]

    def run(self, text, emits):
        """Parse, perhaps emit; the text of an internal error, or ""."""
        from pantile import _pantile
        from pantile.compiler.options import make_options

        name = re.match(r"\s*def\s+(\w+)", text)
        described = {**self.described, "text": text, "name": name[1] if name else "kernel"}
        specialization = _pantile.Specialization()
        parameters = re.match(r"\s*def\s+\w+\(([^()]*)\)", text)
        for parameter in (parameters[1] if parameters else "").split(","):
            if "constexpr" in parameter:
                specialization.append_constant(16)
            elif parameter.strip():
                specialization.append("*fp32:16" if "ptr" in parameter else "i32")
        try:
            program = _pantile.Program([described], 0, [])
            stage = "tile" if emits else "ast"
            _pantile.compile(
                program, specialization, make_options("cpu", {}), use_cache=False, stop_after=stage
            )
        except Exception as problem:
            if type(problem).__name__ == "InternalError" or isinstance(problem, SystemError):
                return f"{type(problem).__name__}: {problem}"
        return ""


def work(numbers, current, started, found, options):
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the sources print while they are compiled
    front, texts = Front(options.out), seeds()
    for index in numbers:
        current.value, started.value = index, time.time()
        text, emits = source(options.seed, index, texts)
        if message := front.run(text, emits):
            found.put((index, message[:400]))
    current.value = -1


class Batch:
    """Numbers of sources in a process of their own, taken up again behind a source that ends it."""

    def __init__(self, numbers, found, options):
        self.numbers, self.found, self.options = numbers, found, options
        context = multiprocessing.get_context("spawn")
        self.current, self.started = context.Value("q", -2), context.Value("d", time.time())
        args = (numbers, self.current, self.started, found, options)
        self.process = context.Process(target=work, args=args, daemon=True)
        self.process.start()

    def lost(self):
        """The number and the fate of the source that ended the process; None while it runs or if all is well."""
        if self.process.is_alive():
            late = (
                self.current.value >= 0 and time.time() - self.started.value > self.options.timeout
            )
            if not late:
                return None
            self.process.kill()
            self.process.join()
            return self.current.value, f"hang: more than {self.options.timeout} s"
        if self.current.value == -1:
            return None
        return self.current.value, f"crash: the process ended with {self.process.exitcode}"


def run_all(options):
    """Failures by number of the source."""
    context = multiprocessing.get_context("spawn")
    found, failures = context.Queue(), {}
    batches = [
        Batch(range(job, options.count, options.jobs), found, options)
        for job in range(options.jobs)
    ]
    while batches:
        time.sleep(0.05)
        for batch in list(batches):
            lost = batch.lost()
            if lost is None and batch.process.is_alive():
                continue
            batches.remove(batch)
            if lost is None:
                continue
            failures[lost[0]] = lost[1]
            print(f"source {lost[0]}: {lost[1]}", flush=True)
            rest = [n for n in batch.numbers if n > lost[0]]
            if rest and len(failures) < 50:
                batches.append(Batch(rest, found, options))
        while not found.empty():
            index, message = found.get()
            failures[index] = message
            print(f"source {index}: {message}", flush=True)
    return failures


def main():
    parser = argparse.ArgumentParser(prog="tests.fuzz.mutate", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", default=str(int(time.time())))
    parser.add_argument("--jobs", type=int, default=min(16, os.cpu_count()))
    parser.add_argument("--timeout", type=float, default=20, help="seconds that a source may take")
    parser.add_argument("--show", type=int, help="print this source and go")
    parser.add_argument("--out", default="", help="folder for files")
    options = parser.parse_args()
    if options.show is not None:
        print(source(options.seed, options.show, seeds())[0])
        return 0
    options.out = options.out or tempfile.mkdtemp(prefix="pantile-mutate-")
    Path(options.out).mkdir(parents=True, exist_ok=True)
    start = time.time()
    failures = run_all(options)
    print(
        f"seed {options.seed}: {options.count - len(failures)} of {options.count} sources are refused or"
        f" accepted in order, in {time.time() - start:.0f} s"
    )
    for index in sorted(failures)[:20]:
        path = Path(options.out) / f"source-{options.seed}-{index}.py"
        path.write_text(source(options.seed, index, seeds())[0])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
