"""Results of a compiled program next to those of eager execution."""

import re

import torch

PATH = re.compile(r"(?:(?:~|\.{1,2})?/[\w.+\-]+)+")
HASH = re.compile(r"\b[0-9a-z]{24,}\b|\b0x[0-9a-fA-F]+\b")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def tensors(value):
    """All tensors of a result, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for part in value for t in tensors(part)] if isinstance(value, (list, tuple)) else []


def gradients_of(function, arguments, result):
    """Backward from the first result's mean square; the gradients of all leaves."""
    first = next(t for t in tensors(result) if t.is_floating_point() and t.requires_grad)
    leaves = [a for a in arguments if isinstance(a, torch.Tensor) and a.requires_grad]
    leaves += list(function.parameters()) if isinstance(function, torch.nn.Module) else []
    for leaf in leaves:
        leaf.grad = None
    first.float().square().mean().backward()
    return [leaf.grad for leaf in leaves if leaf.grad is not None]


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
    normalisation, count by a thousandth of the largest element of all. A NaN that eager execution
    does not give is an infinite error.
    """
    found, expected = ([t.detach().double() for t in tensors(v)] for v in (found, expected))
    if len(found) != len(expected):
        raise AssertionError(f"{len(found)} tensors instead of {len(expected)}")
    largest = [b.nan_to_num(posinf=0.0, neginf=0.0).abs().max() for b in expected if b.numel()]
    least = 1e-3 * max((b.item() for b in largest), default=1.0)
    worst = 0.0
    for a, b in zip(found, expected):
        if a.shape != b.shape:
            raise AssertionError(f"shape {tuple(a.shape)} instead of {tuple(b.shape)}")
        if b.numel():
            worst = max(worst, _difference(a, b, least))
    return worst


def _difference(a, b, least):
    same = (a == b) | (a.isnan() & b.isnan())
    if not (a.isfinite() == b.isfinite()).all() or not same[~b.isfinite()].all():
        return float("inf")
    scale = b.nan_to_num(posinf=0.0, neginf=0.0).abs().max().clamp_min(max(least, 1e-300))
    return ((a - b).masked_fill(same, 0.0).abs().max() / scale).item()


def normalised(warning):
    """A message without what differs between two runs: paths, hashes, addresses, numbers."""
    text = PATH.sub("PATH", warning)
    return re.sub(r"\s+", " ", NUMBER.sub("N", HASH.sub("HASH", text))).strip()[:300]
