#!/usr/bin/env python3
"""Writes docs/knobs.md: every setting, from the table in python/pantile/knobs.py.

Needs: nothing but the source tree.
Gives: the page; with --check status 1 if it would change.
"""

import importlib
import sys
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/knobs.md"

INTRODUCTION = """# Settings

Written by `scripts/knobs_page.py` from `python/pantile/knobs.py`.

A setting is an environment variable, read when it is needed, and an attribute in Python that wins
over the variable. Where Triton has a variable with the same meaning, it is accepted too; ours
comes first.

```python
from pantile import knobs

knobs.compilation.dump_dir = "/tmp/dump"  # until knobs.compilation.reset()
with knobs.autotuning.scope():  # until the end of the block
    knobs.autotuning.print = True
```

`1`, `true`, `on`, `yes` and `y` mean yes. The command line and C++ read the variables that start with
`PANTILE_`.

`PANTILE_AS_TRITON` is no attribute, since Python reads it when it starts: with `1`, `import triton`
gives Pantile wherever its wheel is installed ([child processes](python.md#child-processes)). Nor are
`PANTILE_CHECK_EACH_PASS` and `PANTILE_CHECK_EACH_PASS_REPORT`, for work on the compiler
([a launch after each pass](remarks-and-plans.md#a-launch-after-each-pass)).
"""

HOOKS = """## Hooks

| attribute | called |
|---|---|
| `runtime.launch_enter_hook`, `runtime.launch_exit_hook` | around each launch, with its metadata; `add` and `remove` |
| `runtime.kernel_load_start_hook`, `runtime.kernel_load_end_hook` | around the first launch of a kernel on a device |
| `runtime.jit_cache_hook`, `runtime.jit_post_compile_hook` | before and after a kernel is compiled for new arguments |
| `compilation.listener` | after every compilation, with its times |
"""

COUNTERPARTS = """## Triton's variables with another counterpart

| Triton | here |
|---|---|
| `MLIR_ENABLE_DUMP`, `MLIR_DUMP_PATH`, `LLVM_IR_ENABLE_DUMP` | `PANTILE_DUMP_DIR`, or `pantilec --dump-dir` |
| `MLIR_ENABLE_TIMING`, `LLVM_ENABLE_TIMING` | `pantilec --time` |
| `MLIR_ENABLE_REMARK`, `MLIR_ENABLE_DIAGNOSTICS` | `PANTILE_REMARKS`, or `pantilec --remarks` |
| `TRITON_ENABLE_LLVM_DEBUG`, `TRITON_LLVM_DEBUG_ONLY` | `PANTILE_DUMP_DIR`: the IR after every pass |
| `TRITON_REPRODUCER_PATH` | a failure of the compiler itself always writes a reproducer and names the file |
| `DISABLE_MMA_V3`, `DISABLE_LLVM_OPT` | passes are left out by name: `disabled_passes` of a launch, `pantilec --disable-pass` |
"""


def knobs_module():
    """Import the settings without the rest of the package, which a build makes."""
    if "pantile" not in sys.modules:
        package = types.ModuleType("pantile")
        package.__path__ = [str(ROOT / "python/pantile")]
        sys.modules["pantile"] = package
    return importlib.import_module("pantile.knobs")


def default_of(setting):
    """The default as the page has it."""
    if setting.shown is not None:
        return setting.shown
    if setting.default is None or setting.default == "":
        return ""
    if isinstance(setting.default, bool):
        return "yes" if setting.default else "no"
    return f"`{setting.default}`"


def variables(setting):
    """The variables of a setting, ours first."""
    return ", ".join(f"`{name}`" for name in setting.names)


def table(name, group):
    """The settings of a group that mean something here."""
    rows = [
        f"| `{name}.{key}` | {variables(kind)} | {default_of(kind)} | {kind.doc} |"
        for key, kind in group.knob_descriptors.items()
        if not kind.unused
    ]
    if not rows:
        return ""
    head = f"## {name}\n\n{group.__doc__.splitlines()[0]}\n\n"
    return (
        head + "| setting | variable | default | meaning |\n|---|---|---|---|\n" + "\n".join(rows)
    )


def unused_table(groups):
    """Settings that are accepted for the programs that set them."""
    rows = [
        f"| `{name}.{key}` | {variables(kind)} | {kind.doc or group.__doc__.splitlines()[0]} |"
        for name, group in groups
        for key, kind in group.knob_descriptors.items()
        if kind.unused
    ]
    return (
        "## Accepted, without an effect here\n\n| setting | variable | why |\n|---|---|---|\n"
        + "\n".join(rows)
    )


def page():
    """The text of the page."""
    knobs = knobs_module()
    names = "runtime compilation autotuning cache language nvidia redis build amd proton".split()
    groups = [(name, getattr(knobs, name)) for name in names]
    tables = [text for name, group in groups if (text := table(name, group))]
    parts = [INTRODUCTION, *(text + "\n" for text in tables)]
    return "\n".join([*parts, HOOKS, unused_table(groups) + "\n", COUNTERPARTS])


def main():
    """Write the page, or say that it would change."""
    text = page()
    current = PAGE.exists() and PAGE.read_text() == text
    if not current and "--check" not in sys.argv:
        PAGE.write_text(text)
    print(f"{PAGE.relative_to(ROOT)} {'is current' if current else 'was stale'}")
    return 1 if not current and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
