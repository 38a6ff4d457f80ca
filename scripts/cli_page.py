#!/usr/bin/env python3
"""Writes docs/pantilec.md: what `pantilec --help` says, command by command.

Needs: a built pantilec, by PANTILEC or in build/; its flags stand in compiler/tools/*.cpp, and what
       options mean in compiler/include/pantile/Options.def.
Gives: the page; with --check status 1 if it would change, or if a flag has no meaning.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from generated_page import finish

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/pantilec.md"
INTRODUCTION = """# The command line

Written by `scripts/cli_page.py` from `pantilec --help`. [Quick start](quickstart.md) has examples, [the kernel cache](kernel-cache.md)
more of `build`, `run` and `cache`. Exit status: 0; 1: the kernel did not compile, or a command failed; 2: the command line is
wrong. Messages go to the error output.

`TYPE=value` is a default, `{a,b}` and `[a - b]` are what may be given; `...` may be given several times. A file that has
the name of a command is compiled as `./cache`.
"""
COMMANDS = {
    "pantilec": "Compile a kernel of a Python file up to a stage",
    "pantilec run": "Run a kernel once, and measure it",
    "pantilec build": "Compile kernels ahead of time",
    "pantilec cache": "Look after the kernel cache",
    "pantilec cache ls": "",
    "pantilec cache verify": "",
    "pantilec cache clear": "",
    "pantilec cache export": "",
    "pantilec cache import": "",
}


def tool():
    """The path of pantilec."""
    return os.environ.get("PANTILEC") or str(ROOT / "build/compiler/tools/pantilec")


def help_of(command):
    """The text of a command's --help."""
    words = [tool(), *command.split()[1:], "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return done.stdout.rstrip()


def rows(text):
    """(flag, type, meaning) of each flag and positional of a help text."""
    for head, rest in re.findall(r"^  (\S.*)\n?((?: {8,}\S.*\n?)*)", f"{text}\n", re.M):
        flag, _, said = head.partition("  ")
        meaning = " ".join(f"{said} {rest}".split())
        name, _, kind = flag.partition(" ")
        yield name, kind.strip(), meaning


def section(command, about):
    """The part of the page on a command."""
    text = help_of(command)
    usage = re.search(r"^Usage: (.*)$", text, re.M)[1]
    summary = text.partition("\n")[0]
    title = f"## {command}" if about or command == "pantilec" else f"### {command}"
    lines = [title, "", f"{about or summary[:1].upper() + summary[1:]}.", "", f"`{usage}`", ""]
    lines += ["| flag | takes | meaning |", "|---|---|---|"]
    for flag, kind, meaning in rows(text.partition("Usage:")[2].partition("\n\n")[2]):
        if flag.startswith("-h"):
            continue
        takes = f"`{kind}`" if kind else ""
        lines.append(f"| `{flag}` | {takes} | {meaning} |".replace("||", "\\|\\|"))
    return [*lines, ""]


def page():
    """The text of the page."""
    lines = [INTRODUCTION]
    for command, about in COMMANDS.items():
        lines += section(command, about)
    return "\n".join(lines).rstrip() + "\n"


def undocumented():
    """Flags without a meaning, as "pantilec --time"."""
    for command in COMMANDS:
        for flag, _, meaning in rows(help_of(command).partition("Usage:")[2]):
            if not meaning:
                yield f"{command} {flag}"


def main():
    """Write the page, or say that it would change."""
    missing = [f"`{flag}` does not say what it means" for flag in undocumented()]
    return finish(PAGE, page(), missing)


if __name__ == "__main__":
    sys.exit(main())
