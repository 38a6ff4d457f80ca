"""Runs the tests that reach a mutant until one fails.

Needs: a record of what the tests launch (record.py).
Gives: `judge`: caught by which test, survived, never reached, or refused by the compiler or the emulator.
How:   first the fastest tests, one of each test function, then the others, a process for each round. Whether a test
       was reached shows in the texts that it launched: they are not those of the record.
"""

import shutil
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .record import ROOT, environment, pytest_command, read_results

FEW, MANY = 8, 60  # tests of the first round, and of each later one


@dataclass
class Verdict:
    """What became of one mutant."""

    name: str
    sentence: str
    target: str
    verdict: str = "not reached"  # or "survived", "caught", "refused"
    kernels: int = 0  # texts that have its pattern
    tests: int = 0  # tests that launch them
    reached: int = 0  # runs of tests with other code than in the record
    by: str = ""
    message: str = ""
    seconds: float = 0.0
    survivors_of: list = field(default_factory=list)  # tests that it passed, the first few

    def as_json(self):
        return {key: value for key, value in asdict(self).items() if value not in ("", [])}


def judge(mutant, record, build, most_seconds, seeds=1):
    """Run rounds of tests until one fails, or those of `most_seconds` (as recorded) are through for each seed."""
    texts = record.texts_with(mutant.pattern)
    tests = within(record.tests_with(texts), most_seconds)
    verdict = Verdict(
        mutant.name, mutant.sentence, mutant.target, "not reached", len(texts), len(tests)
    )
    start = time.time()
    for seed, chosen in ((seed, chosen) for seed in range(seeds) for chosen in rounds(tests)):
        run_round(mutant, record, build, chosen, verdict, seed)
        if verdict.verdict in ("caught", "refused") or (seed and not verdict.reached):
            break
    verdict.seconds = round(time.time() - start, 1)
    return verdict


def within(tests, most_seconds):
    """As many of the fastest tests as take `most_seconds` together."""
    total, chosen = 0.0, []
    for test in tests:
        total += test["seconds"]
        if total > most_seconds and chosen:
            break
        chosen.append(test)
    return chosen


def rounds(tests):
    """First the fastest of each test function, the few fastest of these; then all others."""
    functions = {}
    for test in tests:
        functions.setdefault(test["test"].split("[")[0], test)
    first = list(functions.values())[:FEW]
    rest = [test for test in tests if test not in first]
    yield from [first] if first else []
    for at in range(0, len(rest), MANY):
        yield rest[at : at + MANY]


def run_round(mutant, record, build, tests, verdict, seed):
    """Run `tests` with the mutant; changes `verdict`."""
    folder = Path(tempfile.mkdtemp(prefix="mutant-", dir=build / "mutate"))
    variables = {
        "PANTILE_EMULATION_RECORD": str(folder),
        "PANTILE_EMULATION_SEED": str(seed),
        **mutant.variables,
    }
    command = pytest_command(folder, "-x", *mutant.options, *(test["test"] for test in tests))
    limit = 60 + 20 * sum(test["seconds"] for test in tests)
    try:
        finished = subprocess.run(
            command,
            cwd=ROOT,
            env=environment(build, mutant.target, **variables),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=limit,
        )
        status = finished.returncode
    except subprocess.TimeoutExpired:
        status = "timeout"
    read_round(list(read_results(folder)), status, record, tests, verdict, mutant.in_text)
    shutil.rmtree(folder)


def read_round(lines, status, record, tests, verdict, in_text=True):
    """Count what was reached; the first failure decides. A process that ended early died at the next test."""
    for line in lines:
        has_other_code = not set(line["texts"]) <= set(record.tests[line["test"]]["texts"])
        verdict.reached += has_other_code or not in_text
        if line["outcome"] == "failed":
            # What was not launched at all was refused by the compiler or the emulator, not by a test.
            kind = "caught" if line["texts"] or not in_text else "refused"
            verdict.verdict, verdict.by, verdict.message = kind, line["test"], line["message"]
            return
        if has_other_code or not in_text:
            verdict.verdict = "survived"
            verdict.survivors_of = [*verdict.survivors_of, line["test"]][:5]
    if status not in (0, 1):
        verdict.reached += 1
        died = tests[len(lines)]["test"] if len(lines) < len(tests) else tests[-1]["test"]
        verdict.verdict, verdict.by, verdict.message = "caught", died, f"ends with status {status}"


__all__ = ["Verdict", "judge"]
