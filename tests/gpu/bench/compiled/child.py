"""Compiles one case and compares it with eager execution; prints one line of JSON.

Usage: [-m pantile.compat] child.py CASE
"""

import json
import logging
import statistics
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch  # noqa: E402

from compiled.zoo import CASES  # noqa: E402


class Heard(logging.Handler):
    """Keeps what torch warns of."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        self.texts.append(f"{record.name}: {record.getMessage()}"[:300])


def flat(value):
    """The floating-point and integer tensors of any result, in order."""
    if isinstance(value, torch.Tensor):
        return [value.detach().double()]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for part in value for t in flat(part)] if isinstance(value, (list, tuple)) else []


def gradients_of(function, arguments, result):
    """Backward from the first result's mean square; the gradients of all leaves."""
    first = next(t for t in _tensors(result) if t.is_floating_point() and t.requires_grad)
    leaves = [a for a in arguments if isinstance(a, torch.Tensor) and a.requires_grad]
    leaves += list(function.parameters()) if isinstance(function, torch.nn.Module) else []
    for leaf in leaves:
        leaf.grad = None
    first.float().square().mean().backward()
    return [leaf.grad for leaf in leaves if leaf.grad is not None]


def _tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for part in value for t in _tensors(part)] if isinstance(value, (list, tuple)) else []


def step(case, function, owner, arguments):
    """One call, with gradients where the case trains."""
    if not case.trains:
        with torch.no_grad():
            return function(*arguments)
    result = function(*arguments)
    return [result, gradients_of(owner, arguments, result)]


def error(found, expected):
    """The largest difference over the tensor's largest element, of all tensors.

    Tensors with nothing but rounding errors, such as the gradient of a bias before a batch
    normalisation, count by a thousandth of the largest element of all.
    """
    found, expected = flat(found), flat(expected)
    if len(found) != len(expected):
        raise AssertionError(f"{len(found)} tensors instead of {len(expected)}")
    least = 1e-3 * max((b.abs().max().item() for b in expected if b.numel()), default=1.0)
    worst = 0.0
    for a, b in zip(found, expected):
        if a.shape != b.shape:
            raise AssertionError(f"shape {tuple(a.shape)} instead of {tuple(b.shape)}")
        if b.numel():
            worst = max(worst, ((a - b).abs().max() / b.abs().max().clamp_min(least)).item())
    return worst


def compiled_of(case, function, arguments):
    options = dict(case.compile)
    if not options.pop("aot", False):
        return torch.compile(function, **options)
    module = function if isinstance(function, torch.nn.Module) else _Module(function)
    program = torch.export.export(module.eval(), arguments)
    return torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(program))


class _Module(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *arguments):
        return self.function(*arguments)


def run_times(call, rounds=30):
    """Milliseconds of the host and the GPU together, of each call."""
    for _ in range(3):
        call()
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return times


def measure(case):
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("highest")
    function, arguments = case.make()
    owner = function
    if isinstance(function, torch.nn.Module):
        function.train(case.trains)
    expected = step(case, function, owner, arguments)
    start = time.perf_counter()
    compiled = compiled_of(case, function, arguments)
    found = step(case, compiled, owner, arguments)
    torch.cuda.synchronize()
    result = {"compile_s": time.perf_counter() - start, "error": error(found, expected)}
    if case.other_sizes:
        other = case.other_sizes(arguments)
        result["error"] = max(
            result["error"],
            error(step(case, compiled, owner, other), step(case, function, owner, other)),
        )
    result["run_ms"] = statistics.median(run_times(lambda: step(case, compiled, owner, arguments)))
    return result


def main():
    heard = Heard()
    for name in ("torch", "torch._inductor", "torch._dynamo"):
        logging.getLogger(name).addHandler(heard)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = measure(CASES[sys.argv[1]])
        except Exception as problem:
            import traceback

            result = {
                "failure": f"{type(problem).__name__}: {problem}"[-2000:],
                "trace": traceback.format_exc()[-6000:],
            }
    import triton

    result["triton"] = triton.__file__
    result["warnings"] = sorted({*heard.texts, *(str(w.message)[:300] for w in caught)})
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    main()
