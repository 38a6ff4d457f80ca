"""Deliberate mistakes: the emulated GPU makes some in PTX, and passes plant others in the IR.

`python -m tests.mutate` sees by them whether the tests notice mistakes. Each run is a process of its own, as the
emulated GPU has one environment.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pantile
import pantile.language as tl
import pytest
from emulated_device import library_path

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))

from tests.mutate.__main__ import MUTANTS  # noqa: E402
from tests.mutate.record import instructions  # noqa: E402
from tests.mutate.running import Verdict, read_round, rounds  # noqa: E402

needs_emulator = pytest.mark.skipif(
    library_path() is None, reason="the emulated driver is not built"
)

SCRIPT = """
import emulated_device

emulated_device.start()
import numpy as np
import pantile
import pantile.language as tl


@pantile.jit
def scale(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) ^ 12, mask=i < n)


device = emulated_device.EmulatedDevice()
x = np.random.default_rng().integers(0, 1 << 20, 900, dtype=np.int32)
out = device.to(np.full(900, -1, np.int32))
scale[(4,)](out, device.to(x), 900, BLOCK=256)
made = device.numpy(out)
print([number for number in (0, 4, 8, 12, 13) if (made == x ^ number).all()], (made == -1).all())
"""


def run(folder, **variables):
    script = folder / "scale.py"
    script.write_text(SCRIPT)
    paths = f"{os.environ.get('PYTHONPATH', '')}:{ROOT / 'tests/python'}"
    environment = {**os.environ, "PYTHONPATH": paths, **variables}
    command = [sys.executable, str(script)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


@needs_emulator
@pytest.mark.parametrize(
    "mutant, shown",
    [
        ("", "[12] False"),
        (r"~(xor\.b32\s+%\w+, %\w+, )(\d+)~$1<$2+1>~", "[13] False"),
        (r"~(xor\.b32\s+%\w+, %\w+, )(\d+)~$1<$2^4>~", "[8] False"),
        (r"~(xor\.b32\s+%\w+, %\w+, )(\d+)~$1<$2-8>~", "[4] False"),
        (r"~xor\.b32\s+(%\w+), (%\w+), \d+~mov.b32 $1, $2~", "[0] False"),
        (r"/st\.global.*//", "[] True"),
        (r"~^@\S+ st\.global.*~~5", "[12] False"),  # there are not so many
        (
            r"~xor\.b32\s+(%\w+), (%\w+), 12~{ .reg .b32 m; mov.b32 m, 8; xor.b32 $1, $2, m; }~",
            "[8] False",
        ),
    ],
)
def test_instructions_are_rewritten(tmp_path, mutant, shown):
    result = run(tmp_path, PANTILE_EMULATION_MUTANT=mutant)
    assert result.stdout.strip() == shown, result.stdout + result.stderr


@needs_emulator
def test_one_of_several_matches_is_rewritten(tmp_path):
    texts = []
    for which in ("", "0", "1"):
        record = tmp_path / f"record{which}"
        record.mkdir()
        variables = {"PANTILE_EMULATION_MUTANT": rf"~mad\.|xor\.b32~$&~{which}"}
        if which:
            variables = {"PANTILE_EMULATION_WITHOUT": f"ld.param#{which}"}
        run(tmp_path, PANTILE_EMULATION_RECORD=str(record), **variables)
        (text,) = record.glob("*.ptx")
        texts.append(re.findall(r"ld\.param[^;]*;", text.read_text()))
    assert texts[1] == texts[0][1:] and texts[2] == texts[0][:1] + texts[0][2:]


@needs_emulator
@pytest.mark.parametrize(
    "mutant, message",
    [
        ("bar.sync", "instead of `/pattern/replacement/`"),
        ("/a(/b/", "is no regular expression"),
        ("/a/b/c", "ends with something that is no number"),
    ],
)
def test_a_mutant_that_cannot_be_read_is_an_error(tmp_path, mutant, message):
    assert message in run(tmp_path, PANTILE_EMULATION_MUTANT=mutant).stderr


def test_there_are_a_hundred_mutants():
    assert len(MUTANTS) == len({mutant.name for mutant in MUTANTS}) == 100
    for mutant in MUTANTS:
        re.compile(mutant.pattern)
        assert "~" not in mutant.pattern + mutant.replacement, mutant.name


def test_instructions_are_found_in_ptx():
    text = """
.visible .entry k(
	.param .u64 k_0
)
{
	.reg .b32 %r<3>;
	.loc 1 2 3 // a comment; with a semicolon
$L__BB0_1:
	@%p1 bra 	$L__BB0_1;
	// begin inline asm
	{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%r1], %r2; @p bra over; over: }
	// end inline asm
	ret;
}
"""
    found = instructions(text).splitlines()
    wait = "mbarrier.try_wait.parity.shared::cta.b64 p, [%r1], %r2"
    assert {"@%p1 bra $L__BB0_1", wait, "@p bra over", "ret"} <= set(found)


def line(test, outcome, *texts):
    return {"test": test, "outcome": outcome, "texts": list(texts), "message": "", "seconds": 1}


@pytest.mark.parametrize(
    "lines, status, verdict, by",
    [
        ([line("a", "passed", "1"), line("b", "passed", "2")], 0, "not reached", ""),
        ([line("a", "passed", "1"), line("b", "passed", "3")], 0, "survived", ""),
        ([line("a", "passed", "3"), line("b", "failed", "3")], 1, "caught", "b"),
        ([line("a", "failed")], 1, "refused", "a"),
        ([line("a", "passed", "3")], -11, "caught", "b"),
        ([], "timeout", "caught", "a"),
    ],
)
def test_what_becomes_of_a_mutant(lines, status, verdict, by):
    tests = [line("a", "passed", "1"), line("b", "passed", "2")]
    record = SimpleNamespace(tests={test["test"]: test for test in tests})
    made = Verdict("name", "sentence", "sm_90a")
    read_round(lines, status, record, tests, made)
    assert (made.verdict, made.by) == (verdict, by)


def test_each_test_function_comes_first_once():
    names = ["f[1]", "f[2]", "g[1]", "g[2]", "h"]
    tests = [line(name, "passed", "1") for name in names]
    made = [[test["test"] for test in chosen] for chosen in rounds(tests)]
    assert made == [["f[1]", "g[1]", "h"], ["f[2]", "g[2]"]]


@pantile.jit
def meet(out, x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.load(x + i)
    for _ in range(n):
        total = tl.sum(total, axis=0) + i
    tl.store(out + i, total)


def compiled(*enabled):
    source = pantile.compiler.ASTSource(
        meet, signature={"out": "*i32", "x": "*i32", "n": "i32"}, constexprs={"BLOCK": 256}
    )
    target = pantile.backends.GPUTarget("cuda", 90, 32)
    return pantile.compile(source, target=target, options={"enabled_passes": set(enabled)})


def planted(place, kind, at=0):
    return f"{place}+test-plant-error:kind={kind} at={at}"


def test_a_pass_makes_the_mistake_that_is_planted():
    """With a warm cache of kernels too: the mistake is part of the key."""
    plain = compiled()
    for _ in range(2):
        mutant = compiled(planted("nv-insert-barriers", "drop-barrier"))
        assert mutant.asm["ptx"].count("bar.sync") == plain.asm["ptx"].count("bar.sync") - 1
        assert compiled().asm["ptx"] == plain.asm["ptx"]
        assert mutant.hash != plain.hash
    far = compiled(planted("nv-insert-barriers", "drop-barrier", at=99))
    assert far.asm["ptx"] == plain.asm["ptx"]


@needs_emulator
@pytest.mark.parametrize("kind", ["missing-stage", "far-prefetch"])
def test_launches_have_the_mistake_that_is_planted(kind):
    """The plugin reaches the compilations of launches, too: a test of dots in a loop notices."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "tests.mutate.plugin"]
    command += ["--plant", planted("nv-schedule-loops", kind), "-k", "emulated-3-0-160"]
    command += ["tests/python/passes/test_mma_in_flight.py::test_registers_and_proxy"]
    environment = {**os.environ, "PANTILE_EMULATE": "1", "PANTILE_EMULATED_TARGET": "sm_80"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert "a race" in done.stdout and "1 failed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    "entry, message",
    [
        ("nv-no-pass+test-plant-error:kind=drop-barrier at=0", "there is no pass"),
        ("nv-insert-barriers+test-plant-error:kind=other at=0", "there is no mistake `other`"),
        ("nv-insert-barriers+test-plant-error:sort=other", "a planted error has other options"),
    ],
)
def test_a_mistake_that_does_not_exist_is_an_error(entry, message):
    with pytest.raises(Exception, match=message):
        compiled(entry)
