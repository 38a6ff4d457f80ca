"""Joining kernels made ahead of time.

    python -m pantile.tools.link *.h -o name

writes name.c and name.h.

Headers of `pantile.tools.compile` say what each variant promises of its arguments, and with which
constants and options ("algorithm") it was compiled. The functions written are, for a kernel `f`:
`f(stream, arguments..., algo_id)`, `f_default`, `f_get_num_algos`, `load_f` and `unload_f`.
A launch takes the first variant whose promises hold; CUDA_ERROR_INVALID_VALUE says that there is none.
"""

import argparse
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

_MARK = re.compile(r"^// tt-linker: (\w+):(.*):(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Variant:
    """One compiled kernel."""

    symbol: str
    kernel: str
    types: tuple
    names: tuple
    promises: tuple  # one a parameter: "d" a multiple of 16, "c" equal to 1, "" none
    algorithm: str

    def condition(self):
        """The C expression of what the variant promises."""
        checks = {"d": "({name} % 16 == 0)", "c": "({name} == 1)"}
        parts = [checks[p].format(name=n) for p, n in zip(self.promises, self.names) if p]
        return " && ".join(parts) or "1"


def _promises(suffix, count):
    """Split "0d1d23c" into the promises of its numbered parameters, in order."""
    result, position, rest = [], 0, suffix
    # Numbers stand without a separator, and those of constants are left out.
    while rest and position < 1000:
        match = re.match(rf"{position}([cd]?)", rest)
        if match:
            result.append(match[1])
            rest = rest[match.end() :]
        position += 1
    if rest or len(result) != count:
        raise SystemExit(f"`{suffix}` does not name the {count} parameters of the signature")
    return tuple(result)


def variants_of(text):
    """Return the Variants that a header describes."""
    result = []
    for symbol, signature, algorithm in _MARK.findall(text):
        kernel, _, suffix = symbol.rsplit("_", 2)
        pairs = [part.strip().rsplit(" ", 1) for part in signature.split(",") if part.strip()]
        types, names = tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)
        promises = _promises(suffix, len(pairs))
        result.append(Variant(symbol, kernel, types, names, promises, algorithm))
    return result


def _parameters(variant):
    return "".join(f", {kind} {name}" for kind, name in zip(variant.types, variant.names))


def _arguments(variant):
    return "".join(f", {name}" for name in variant.names)


def _check(kernel, variants):
    kinds = {variant.types for variant in variants}
    if len(kinds) != 1:
        raise SystemExit(f"the variants of `{kernel}` differ in their types: {sorted(kinds)}")


def _header_of(kernel, variants):
    parameters = _parameters(variants[0])
    declared = [f"CUresult {v.symbol}(CUstream stream{_parameters(v)});" for v in variants]
    declared += [f"void {verb}_{v.symbol}(void);" for v in variants for verb in ("load", "unload")]
    return "\n".join(
        [
            *declared,
            f"CUresult {kernel}_default(CUstream stream{parameters});",
            f"CUresult {kernel}(CUstream stream{parameters}, int algo_id);",
            f"int {kernel}_get_num_algos(void);",
            f"void load_{kernel}(void);",
            f"void unload_{kernel}(void);",
            "",
        ]
    )


def _source_of(kernel, variants):
    parameters, arguments = _parameters(variants[0]), _arguments(variants[0])
    groups = defaultdict(list)
    for variant in variants:
        groups[variant.algorithm].append(variant)
    lines = []
    for i, (algorithm, members) in enumerate(groups.items()):
        # The more a variant promises, the faster it is.
        members.sort(key=lambda v: -sum(map(bool, v.promises)))
        lines += [
            f"/* {algorithm} */",
            f"static CUresult {kernel}_algo{i}(CUstream stream{parameters}) {{",
        ]
        for variant in members:
            condition = variant.condition()
            for ours, theirs in zip(variants[0].names, variant.names):
                condition = re.sub(rf"\b{theirs}\b", ours, condition)
            lines += [f"  if ({condition})", f"    return {variant.symbol}(stream{arguments});"]
        lines += ["  return CUDA_ERROR_INVALID_VALUE;", "}", ""]
    calls = ", ".join(f"{kernel}_algo{i}" for i in range(len(groups)))
    lines += [
        f"typedef CUresult (*{kernel}_function)(CUstream stream{parameters});",
        f"static const {kernel}_function {kernel}_algos[] = {{{calls}}};",
        "",
        f"int {kernel}_get_num_algos(void) {{ return {len(groups)}; }}",
        "",
        f"CUresult {kernel}(CUstream stream{parameters}, int algo_id) {{",
        f"  if (algo_id < 0 || algo_id >= {len(groups)})",
        "    return CUDA_ERROR_INVALID_VALUE;",
        f"  return {kernel}_algos[algo_id](stream{arguments});",
        "}",
        "",
        f"CUresult {kernel}_default(CUstream stream{parameters}) {{",
        f"  return {kernel}(stream{arguments}, 0);",
        "}",
        "",
    ]
    for verb in ("load", "unload"):
        body = [f"  {verb}_{variant.symbol}();" for variant in variants]
        lines += [f"void {verb}_{kernel}(void) {{", *body, "}", ""]
    return "\n".join(lines)


def link(headers, out):
    """Write `out`.h and `out`.c for the kernels of `headers`; return the two paths."""
    kernels = defaultdict(list)
    for header in headers:
        for variant in variants_of(Path(header).read_text()):
            kernels[variant.kernel].append(variant)
    if not kernels:
        raise SystemExit("no header says what it holds: they come from `pantile.tools.compile`")
    for kernel, variants in kernels.items():
        _check(kernel, variants)
    include = "#include <cuda.h>\n#include <stdint.h>\n"
    declared = "\n".join(_header_of(kernel, variants) for kernel, variants in kernels.items())
    defined = "\n".join(_source_of(kernel, variants) for kernel, variants in kernels.items())
    paths = [Path(f"{out}.h"), Path(f"{out}.c")]
    paths[0].write_text(f"#pragma once\n{include}\n{declared}")
    paths[1].write_text(f'#include "{paths[0].name}"\n\n{defined}')
    return paths


def main():
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("headers", nargs="+", help="headers that `pantile.tools.compile` wrote")
    parser.add_argument(
        "--out", "-o", type=Path, required=True, help="where to write, without a suffix"
    )
    parser.add_argument("--prefix", default="", help="taken for compatibility; has no effect")
    options = parser.parse_args()
    for written in link(options.headers, options.out):
        print(written)


if __name__ == "__main__":
    main()
