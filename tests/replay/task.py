"""One part of the set of kernels, in a process of its own: `python -m tests.replay.task NAME`.

Needs: `REPLAY_FOLDER`; `REPLAY_TEXTS` for the texts of the code.
Gives: `TASKS`: what there is to do, by name, the longest first.
"""

import os
import runpy
import sys
import tempfile
from pathlib import Path

from . import bench_launches
from .launching import record_compilations, record_launches
from .recorder import Recorder

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted((ROOT / "tutorials").glob("[0-9]*.py"))
GENERATED, CHUNK = 60, 15


def record_bench(recorder, part):
    record_launches(recorder, f"bench/{part}")
    bench_launches.run(part)


def record_tutorial(recorder, stem):
    path = next(path for path in TUTORIALS if path.stem == stem)
    record_compilations(recorder, lambda: f"tutorials/{stem}")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.argv = [str(path)]
        runpy.run_path(str(path), run_name="__main__")
        os.chdir(ROOT)


def record_generated(recorder, first):
    """Programs of a fixed seed, so that they reach all of the compiler."""
    from pantile.compiler.compiler import ASTSource

    from tests.fuzz.generator import draw_program
    from tests.fuzz.running import aligned_arguments, load_kernel, signature

    with tempfile.TemporaryDirectory() as folder:
        for index in range(int(first), int(first) + CHUNK):
            program = draw_program(f"replay.{index}")
            kernel = load_kernel(program, folder, f"replay_{index}")
            source = ASTSource(kernel, signature(program), {}, aligned_arguments(program))
            options = {"num_warps": program.num_warps, "num_stages": program.num_stages}
            recorder.record_source(f"generated/{index}", source, options)


def record_inductor(recorder, _):
    from .inductor import record

    record(recorder)


TASKS = {
    **{f"bench {part}": record_bench for part in bench_launches.PARTS},
    **{f"tutorial {path.stem}": record_tutorial for path in TUTORIALS},
    "inductor all": record_inductor,
    **{f"generated {first}": record_generated for first in range(0, GENERATED, CHUNK)},
}


def main():
    recorder = Recorder(os.environ["REPLAY_FOLDER"], bool(os.environ.get("REPLAY_TEXTS")))
    TASKS[sys.argv[1]](recorder, sys.argv[1].split(" ", 1)[1])


if __name__ == "__main__":
    main()
