"""Words that the field has other names for: find those that mean one thing only.

    python scripts/words.py [FILES]

Lines with a word of the table are printed with the one to use instead, and the status is 1. Without
files, all that git tracks are read but data, pictures and the changelog.

docs/glossary.md says what words mean here. The table has only those for which nothing else is meant, so
that a machine can tell.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

INSTEAD = {
    # kernels and the GPU
    r"(a|an|its|no|of|the|these|per|each|few|fewer|many|more|several|\d+) multiprocessors?": "SM",
    r"blocks? (per|of an|on an|in an) SM": "CTA",
    r"blocks of (a cluster|threads)": "CTA",
    r"copy engines?": "TMA",
    r"raise[sd]? (loads? |stores? |them )?to (a )?(tensor maps?|TMA)": "convert to TMA",
    r"words of 32 bits": "32-bit registers",
    # programs and CTAs
    r"cut between (blocks|CTAs)": "split over CTAs",
    r"programs (that are )?cut": "split tile, stream-K",
    r"couriers?": "helper warp",
    r"givers?": "peer CTA",
    # loops
    r"matrix products?": "GEMM, dot",
    r"products? (of|in|is|are|stays?) (flight|under way)": "MMA in flight",
    r"under way": "in flight",
    r"(copied|copies|loaded|fetched) ahead": "prefetched, software-pipelined",
    r"fed loops?": "warp-specialisable loop",
    r"(?<![-\w])rings?": "circular buffer",
    r"go(es)? round": "iterate",
    # memory and registers
    r"memory tells": "data-dependent",
    r"park(s|ing| rows| values|ed rows?|ed values?|ed words?)": "spill to shared memory",
    r"widen(s|ed)? late": "rematerialise",
    # grammar
    r"afresh": "again",
    r"anew": "again",
    r"beside": "next to, in addition to",
    r"dear(er|est)?": "expensive",
    r"for want of": "for lack of",
    r"in front of": "before",
    r"mend(s|ed)?": "fix",
    r"(the|that|a|of) nights?('s)?": "the date",
    r"nobody('s)?": "no thread, nothing",
    r"(\d+|one|two|four|eight|sixteen|several) (bits?|bytes?|lines?|loads?|registers?|rows?|warps?)"
    r" an? (access|element|lane|program|row|thread|warp)": "per",
}
GROUPS = "|".join(rf"(?P<w{i}>{word})" for i, word in enumerate(INSTEAD))
PATTERN = re.compile(rf"\b(?:{GROUPS})\b", re.I)  # one look for a word's start
# In a name, but not in torch's `regs_per_multiprocessor`.
BETWEEN_WORDS = re.compile(r"(?<=[a-z])_(?!multiprocessor)(?=[a-z])")
LEFT_OUT = (
    "docs/measurements/",
    "CHANGELOG.md",
    "scripts/words.py",
    "tests/python/harness/test_words.py",
    "tests/gpu/bench/sanitize.py",  # names of rows, which are compared with older records
    "tests/gpu/bench/steps.py",
)
SUFFIXES = {".cpp", ".h", ".td", ".def", ".py", ".pyi", ".md", ".mlir", ".test", ".c", ".sh", ""}


def tracked():
    """The files that are read."""
    names = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).split("\n")
    return [
        name
        for name in names
        if name and not name.startswith(LEFT_OUT) and Path(name).suffix in SUFFIXES
    ]


def findings(text):
    """(line, word, what to write instead) for each word of the table, also within names."""
    for number, line in enumerate(text.split("\n"), 1):
        texts = {line, BETWEEN_WORDS.sub(" ", line)}
        matches = {match.span(): match for text in texts for match in PATTERN.finditer(text)}
        for (start, end), match in sorted(matches.items()):
            yield number, line[start:end], list(INSTEAD.values())[int(match.lastgroup[1:])]


def main(names):
    """Prints what it finds in the files of these names, or in all; the exit status."""
    found = 0
    for name in names or tracked():
        path = ROOT / name
        if not path.is_file():
            continue
        for number, word, instead in findings(path.read_text(errors="ignore")):
            print(f"{name}:{number}: `{word}` is `{instead}`")
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
