"""Runs a program: on the interpreter, on the GPU, through the compilers; compares with the model.

Needs: pantile, a folder for the generated modules.
Gives: check_program, which returns None or a Failure: what kind, where, how far.
How:   each program becomes a module file of its own. Without a GPU, every program is compiled for two
       GPU generations; every `CUBIN_EVERY`th one to machine code.
"""

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .dtypes import NUMPY, is_float
from .values import Undefined

TARGETS = ("sm_90a", "sm_80")
CUBIN_EVERY = 8


@dataclass
class Failure:
    """`kind` names the stage; a reduced program has to fail in the same one."""

    kind: str
    message: str


def load_kernel(program, folder, name):
    """Write the program's module and import its kernel."""
    path = Path(folder) / f"{name}.py"
    path.write_text(program.text())
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def arguments(program, device, outputs):
    """The arrays and numbers that the kernel takes, in order; fills `outputs`."""
    result = []
    for name in program.used():
        if name in program.inputs:
            result.append(device.to(program.inputs[name][1]))
        elif name in program.outputs:
            array = device.to(program.outputs[name][1].copy())
            outputs[name] = array
            result.append(array)
        else:
            dtype, value = program.scalars[name]
            result.append(float(value) if is_float(dtype) else int(value))
    return result


def run_on(program, kernel, device):
    """The outputs as NumPy arrays."""
    outputs = {}
    args = arguments(program, device, outputs)
    kernel[(program.grid,)](*args, num_warps=program.num_warps, num_stages=program.num_stages)
    return {name: device.numpy(array) for name, array in outputs.items()}


def difference(program, memory, outputs):
    """Where the outputs leave the model's bounds; "" if they do not."""
    for name, got in outputs.items():
        dtype, expected = memory.dtype[name], memory.data[name]
        if is_float(dtype):
            values = got.astype(np.float64)
            with np.errstate(invalid="ignore"):
                wrong = ~(np.abs(values - expected) <= memory.error[name])
        else:
            values, wrong = got, got != expected
        if wrong.any():
            at = np.flatnonzero(wrong)
            i = at[0]
            return (
                f"{name} ({dtype}): {at.size} of {got.size} elements wrong, first [{i}] = {values[i]}"
                f" instead of {expected[i]} +- {memory.error[name][i]}, then {at[1:6].tolist()}"
            )
    return ""


def signature(program):
    """Types for a compilation without arguments."""
    types = {}
    for name in program.used():
        for table, star in ((program.inputs, "*"), (program.outputs, "*"), (program.scalars, "")):
            if name in table:
                types[name] = star + table[name][0]
    return types


def aligned_arguments(program):
    """Attributes of what 16 divides, by position."""
    return {
        i: [["tt.divisibility", 16]]
        for i, (name, kind) in enumerate(signature(program).items())
        if kind[0] == "*" or (kind == "i32" and program.scalars[name][1] % 16 == 0)
    }


def compile_for(program, kernel, target, stage, line_info=True):
    """Compile to PTX or machine code and return the kernel; raises what the compiler raises."""
    from pantile import _pantile
    from pantile.compiler.compiler import ASTSource
    from pantile.compiler.options import make_options
    from pantile.runtime.snapshot import Snapshot

    snapshot = Snapshot(kernel)
    source = ASTSource(kernel, signature(program), {}, aligned_arguments(program))
    specialization = source.specialization(snapshot.constant)
    keywords = {"num_warps": program.num_warps, "num_stages": program.num_stages}
    options = make_options(target, keywords)
    options.line_info = line_info
    return _pantile.compile(
        snapshot.program(), specialization, options, use_cache=False, stop_after=stage
    )


def allowed(target, error):
    """Refusals that are no bugs: what the hardware lacks."""
    text = f"{type(error).__name__}: {error}"
    if "out of resource" in text or type(error).__name__ == "OutOfResources":
        return True
    return target == "sm_80" and "fp8" in text


def check_program(program, folder, name, devices, compile_every=1, index=0):
    """Run the program everywhere; None, or the first Failure."""
    try:
        memory = program.evaluate()
    except Undefined as problem:
        return Failure("undefined", str(problem))
    try:
        kernel = load_kernel(program, folder, name)
    except Exception as problem:
        return Failure("text", f"{type(problem).__name__}: {problem}")
    for device in devices:
        try:
            outputs = run_on(program, kernel, device)
        except Exception as problem:
            if allowed(device.name, problem):
                continue
            return Failure(f"{device.name} error", f"{type(problem).__name__}: {problem}")
        if message := difference(program, memory, outputs):
            return Failure(f"{device.name} mismatch", message)
    if any(device.on_gpu for device in devices) or not compile_every or index % compile_every:
        return None
    return compile_everywhere(program, kernel, index)


def compile_everywhere(program, kernel, index):
    stage = "cubin" if index % CUBIN_EVERY == 0 else "ptx"
    for target in TARGETS:
        try:
            compile_for(program, kernel, target, stage)
        except Exception as problem:
            if not allowed(target, problem):
                return Failure(f"{target} error", f"{type(problem).__name__}: {problem}")
    return None


def devices_named(name):
    """The devices of a run: the interpreter, and with "cuda" or "emulated" a GPU too."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
    from device_arrays import Device

    if name == "emulated":
        import emulated_device

        emulated_device.start()
        return [Device("cpu"), emulated_device.EmulatedDevice()]
    return [Device("cpu")] + ([Device("cuda")] if name == "cuda" else [])


__all__ = ["NUMPY", "Failure", "check_program", "devices_named"]
