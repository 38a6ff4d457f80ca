"""Runs a case on the interpreter, the GPU and over NumPy, and compares all three.

Needs: case, running (devices), a folder for the generated modules.
Gives: check_case, which returns a Report; `blame`, the passes without which a failure vanishes.
How:   where NumPy rounded nothing but in conversions, every element must be the same; else elements
       may differ by a part of the largest one.
"""

import importlib.util
import linecache
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from .case import run_model
from .draft import optional_passes
from .running import Failure, allowed
from .values import Undefined

TOLERANCE = 0.03  # of the largest element, where sums are rounded


@dataclass
class Report:
    """What became of a program; `figures` counts what the compiler made of it."""

    failure: Failure = None
    figures: Counter = field(default_factory=Counter)


def load_module(case, folder, name):
    path = Path(folder) / f"{name}.py"
    path.write_text(case.text())
    return _imported(path)


def run_case(case, module, device):
    """The arrays after all launches, and the compiled kernel."""
    arrays = {name: _on_device(case, name, device) for name in case.arrays}
    views = [arrays[name][first:] if first else arrays[name] for name, first in case.views.values()]
    compiled = None

    def start(module):
        numbers = {**case.constants, **case.options}
        return module.kernel[case.grid](*views, *case.numbers(), **numbers)

    for rebound in case.rebound:
        constants = {name: module.tl.constexpr(value) for name, value in rebound.items()}
        vars(module).update(constants)
        try:
            compiled = start(module)
        except RuntimeError as refusal:  # globals may not change: another module has them
            if "was first compiled" not in str(refusal):
                raise
            module = _reloaded(module, rebound)
            compiled = start(module)
    results = {name: _fetched(case, name, device, array) for name, array in arrays.items()}
    if any(case.is_far(name) for name in arrays) and hasattr(device, "give_back_memory"):
        arrays.clear(), views.clear()
        device.give_back_memory()
    return results, compiled


def _on_device(case, name, device):
    """An array; of a far one only the pages of its places are touched."""
    if not case.is_far(name):
        return device.to(case.initial(name))
    data = case.initial(name)
    first, end = case.places[name]
    array = device.empty(data.size, data.dtype)
    array[first:end] = device.to(data[first:end])
    return array


def _fetched(case, name, device, array):
    first, end = case.places.get(name, (0, None))
    return device.numpy(array[first:end] if case.is_far(name) else array)


def _reloaded(module, values):
    """The module with other values of its constants, from a file of the same name."""
    path, text = Path(module.__file__), Path(module.__file__).read_text()
    for name, value in values.items():
        text = re.sub(rf"^{name} = .*$", f"{name} = tl.constexpr({value})", text, flags=re.M)
    path.write_text(text)
    linecache.checkcache(str(path))
    return _imported(path)


def _imported(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def differences(case, model, arrays):
    """Where arrays differ from the model; "" if nowhere."""
    for name, got in arrays.items():
        expected = case.compared(name, model.arrays[name])
        wrong = _wrong(got, expected, model.exact)
        if wrong.any():
            at = np.flatnonzero(wrong)
            i = at[0]
            return (
                f"{name}: {at.size} of {got.size} elements wrong, first [{i}] = {got[i]} instead of"
                f" {expected[i]}, then {at[1:6].tolist()}{'' if model.exact else ', inexact'}"
            )
    return ""


def _wrong(got, expected, exact):
    if got.dtype.kind == "c":
        parts = [_wrong(got.real, expected.real, exact), _wrong(got.imag, expected.imag, exact)]
        return parts[0] | parts[1]
    if exact or got.dtype.kind in "iub":
        if got.dtype.kind in "iub" and not exact:
            return np.abs(got.astype(np.int64) - expected) > 1 + TOLERANCE * np.abs(expected).max()
        return ~((got == expected) | ((got != got) & (expected != expected)))
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(expected)
    largest = np.abs(expected[finite]).max(initial=1.0)
    with np.errstate(invalid="ignore"):
        return finite & ~(np.abs(got - expected) <= TOLERANCE * largest)


def check_case(case, folder, name, devices, with_figures=True):
    """Run the case everywhere; the first failure, if any."""
    report = Report()
    try:
        model = run_model(case)
    except Undefined as problem:  # drawn in vain
        report.figures[f"undefined ({problem})"[:60]] += 1
        return report
    report.figures["exact"] += model.exact
    try:
        module = load_module(case, folder, name)
    except Exception as problem:
        report.failure = Failure("text", f"{type(problem).__name__}: {problem}")
        return report
    for device in devices:
        report.failure = _check_on(device, case, module, model, report, with_figures)
        if report.failure:
            break
    return report


def _check_on(device, case, module, model, report, with_figures):
    try:
        arrays, compiled = run_case(case, module, device)
    except Exception as problem:
        if allowed(device.name, problem):
            report.figures["does not fit"] += 1
            return None
        return Failure(f"{device.name} error", f"{type(problem).__name__}: {problem}")
    if device.name != "cpu" and with_figures:
        report.figures.update(technique_names(compiled.remarks))
    if message := differences(case, model, arrays):
        return Failure(f"{device.name} mismatch", message)
    return None


TECHNIQUES = {
    "wgmma": ("tensor cores", "runs on wgmma"),
    "mma.sync": ("tensor cores", "runs on mma.sync"),
    "TMA": ("tensor maps", ""),
    "warp specialisation": ("warp specialisation", ""),
    "pipelining": ("pipelining", ""),
    "persistence": ("persistence", ""),
    "overlap": ("", "of the next"),
    "sums by MMA": ("tensor cores", "row sums"),
    "overlapped results": ("pipelining", "results of this one"),
}


def technique_names(remarks):
    """Which of the techniques that matter were applied."""
    applied = [r for r in remarks if r.kind == "applied"]
    return {
        name
        for name, (technique, words) in TECHNIQUES.items()
        if any((r.technique == technique or not technique) and words in r.message for r in applied)
    }


def blame(case, fails):
    """The passes each of which must run for the case to fail."""
    return [step for step in optional_passes() if not fails(_without(case, step))]


def _without(case, step):
    left_out = {*filter(None, case.options.get("disabled_passes", "").split(",")), step}
    return replace(case, options={**case.options, "disabled_passes": ",".join(sorted(left_out))})
