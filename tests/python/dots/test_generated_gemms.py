"""Generated GEMM kernels: how edges, addresses, grids and results are written, in any combination, against float64.

A failing number shows its source: `PYTHONPATH=build/python:tests/python python tests/python/dots/test_generated_gemms.py NUMBER` prints it.
"""

import importlib.util
import random as python_random
import sys

import numpy as np
import pytest
from device_arrays import random

CHOICES = {
    "rows": ["mask", "bound first", "remainder", "where", "minimum", "none"],
    "columns": ["mask", "bound first", "remainder", "where", "minimum", "none"],
    "depth": ["mask", "bound first", "whole", "index"],
    "addresses": ["advanced", "computed"],
    "counter": ["elements", "blocks"],
    "grid": ["plane", "line", "groups", "batch", "leaves", "tiles", "flattened tiles"],
    "left": ["plain", "plain", "turned", "computed"],
    "result": ["plain", "bias", "residual", "leaky", "twice", "scaled", "atomic", "less maximum"],
    "dtype": ["fp16", "bf16"],
    "orders": ["rr", "rc", "cr", "cc"],
    "block": [(64, 64, 32), (128, 64, 32), (64, 128, 64), (128, 128, 32), (32, 64, 32)],
    "warps": [4, 4, 8, 2],
    "stages": [2, 3, 4],
    "any_size": [False, False, True],
}
GRIDS = {
    "plane": ["m, n = tl.program_id(0), tl.program_id(1)"],
    "line": ["m, n = tl.program_id(0) // across, tl.program_id(0) % across"],
    "groups": [
        "group = tl.program_id(0) // (2 * across)",
        "m = group * 2 + tl.program_id(0) % tl.minimum(down - group * 2, 2)",
        "n = tl.program_id(0) % (2 * across) // tl.minimum(down - group * 2, 2)",
    ],
    "batch": [
        "m, n, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)",
        "a, b, c = a + z * saz, b + z * sbz, c + z * scz",
    ],
    "leaves": [
        "m, n = tl.program_id(0), tl.program_id(1)",
        "if m >= down:\n        return",
        "if n * BN >= N:\n        return",
    ],
}
EDGES = {"remainder": "{i} % {n}", "where": "tl.where({i} < {n}, {i}, 0)", "minimum": "tl.minimum({i}, {n} - 1)"}  # fmt: skip
BOUNDS = {"mask": "{i} < {n}", "bound first": "{n} > {i}"}
RESULTS = {
    "plain": [],
    "bias": ["acc += tl.load(vector + rn, mask=rn < N, other=0.0)[None, :]"],
    "residual": ["acc += tl.load(rest + rm[:, None] * N + rn[None, :], mask=inside, other=0.0)"],
    "leaky": ["acc = tl.where(acc > 0, acc, 0.125 * acc)"],
    "twice": ["acc += other"],
    "scaled": ["acc *= tl.load(vector + rm % 64)[:, None]"],
    "less maximum": ["acc -= tl.max(tl.where(inside, acc, float('-inf')), 1)[:, None]"],
    "atomic": [],
}
PARAMETERS = "a, b, c, vector, rest, M, N, K, saz, sam, sak, sbz, sbk, sbn, scz, scm, scn"


def draw(number):
    """The choices of that number."""
    generator = python_random.Random(number)
    return {name: generator.choice(values) for name, values in CHOICES.items()}


def loads(style):
    """The two loads and what comes before the loop for them."""
    turned = style["left"] == "turned"
    first = "k * BK" if style["counter"] == "blocks" else "k"
    depth = {"mask": f"rk < K - {first}", "bound first": f"K - {first} > rk", "index": f"{first} + rk < K"}  # fmt: skip
    before, inside, behind = [], [], []
    for name, index, edge, extent, shape in (
        ("a", "rm", style["rows"], "M", "[None, :]" if turned else "[:, None]"),
        ("b", "rn", style["columns"], "N", "[None, :]"),
    ):
        along = "[:, None]" if shape == "[None, :]" else "[None, :]"
        strides = ("sam", "sak") if name == "a" else ("sbn", "sbk")
        own = EDGES.get(edge, "{i}").format(i=index, n=extent)
        k = f"({first} + rk)" if style["addresses"] == "computed" else "rk"
        address = f"{name} + (({own}){shape} * {strides[0]} + {k}{along} * {strides[1]})"
        masks = [f"({BOUNDS[edge].format(i=index, n=extent)}){shape}"] if edge in BOUNDS else []
        masks += [f"({depth[style['depth']]}){along}"] if style["depth"] in depth else []
        mask = f", mask={' & '.join(masks)}, other=0.0" if masks else ""
        if style["addresses"] == "advanced":
            before.append(f"{name}_at = {address}")
            behind.append(f"{name}_at += BK * {strides[1]}")
            address = f"{name}_at"
        inside.append(f"{'x' if name == 'a' else 'y'} = tl.load({address}{mask})")
    if turned:
        inside.append("x = x.T")
    if style["left"] == "computed":
        inside.append("x = tl.where(x > 0, x, x * 0.5).to(a.dtype.element_ty)")
    return before, inside, behind


def text(style):
    """The kernel."""
    before, inside, behind = loads(style)
    loop = "tl.cdiv(K, BK)" if style["counter"] == "blocks" else "0, K, BK"
    products = ["acc = tl.dot(x, y, acc)"]
    if style["result"] == "twice":
        before.append("other = tl.zeros((BM, BN), tl.float32)")
        products.append("other += tl.dot(x, y) * 0.5")
    at = "c + rm[:, None] * scm + rn[None, :] * scn"
    end = f"tl.store({at}, acc.to(c.dtype.element_ty), mask=inside)"
    if style["result"] == "atomic":
        end = f"tl.atomic_add({at}, acc, mask=inside)"
    body = [
        "rm, rn, rk = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN), tl.arange(0, BK)",
        *before,
        "acc = tl.zeros((BM, BN), tl.float32)",
        f"for k in range({loop}):",
        *(f"    {line}" for line in inside + products + behind),
        "inside = (rm < M)[:, None] & (rn < N)[None, :]",
        *RESULTS[style["result"]],
        end,
    ]
    head = ["down, across = tl.cdiv(M, BM), tl.cdiv(N, BN)"]
    if style["grid"] in GRIDS:
        body = [*head, *GRIDS[style["grid"]], *body]
    else:
        flat = ", flatten=True" if style["grid"] == "flattened tiles" else ""
        tiles = f"for tile in tl.range(tl.program_id(0), down * across, 2{flat}):"
        body = ["m, n = tile // across, tile % across", *body]
        body = [*head, tiles, *(f"    {line}" for line in body)]
    lines = [
        "import pantile as triton",
        "import pantile.language as tl",
        "",
        "",
        "@triton.jit",
        f"def kernel({PARAMETERS}, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):",
        *(f"    {line}" for line in body),
    ]
    return "\n".join(lines) + "\n"


def sizes(style, number):
    """M, N and K: multiples of 16 or anything, and of the tile where nothing masks."""
    generator = np.random.default_rng(number)
    extents = [
        int(generator.integers(low, high)) for low, high in ((20, 280), (20, 280), (10, 200))
    ]
    if not style["any_size"]:
        extents = [-(-extent // 16) * 16 for extent in extents]
    whole = (style["rows"] == "none", style["columns"] == "none", style["depth"] == "whole")
    return [
        max(extent // step * step, step) if is_whole else extent
        for extent, step, is_whole in zip(extents, style["block"], whole, strict=True)
    ]


def reference(style, a, b, vector, rest):
    """The result in float64."""
    a, b, vector, rest = (x.astype(np.float64) for x in (a, b, vector, rest))
    result = (np.where(a > 0, a, 0.5 * a) if style["left"] == "computed" else a) @ b
    rows, columns = result.shape[1:]
    if style["result"] == "bias":
        result += vector[:columns]
    elif style["result"] == "residual":
        result += rest
    elif style["result"] == "leaky":
        result = np.where(result > 0, result, 0.125 * result)
    elif style["result"] == "twice":
        result *= 1.5
    elif style["result"] == "scaled":
        result *= vector[np.arange(rows) % 64][:, None]
    elif style["result"] == "less maximum":
        for first in range(0, columns, style["block"][1]):
            part = result[..., first : first + style["block"][1]]
            part -= part.max(axis=2, keepdims=True)
    return result


def launch(device, kernel, style, number):
    """The result as the kernel gives it, and in float64."""
    M, N, K = sizes(style, number)
    batch = 3 if style["grid"] == "batch" else 1
    a, b = random((batch, M, K), style["dtype"], 1), random((batch, K, N), style["dtype"], 2)
    vector, rest = random((512,), style["dtype"], 3), random((M, N), style["dtype"], 4)
    views = [
        device.to(x) if order == "r" else device.to(np.ascontiguousarray(x.swapaxes(1, 2))).swapaxes(1, 2)
        for x, order in zip((a, b), style["orders"], strict=True)
    ]  # fmt: skip
    adds = style["result"] == "atomic"
    out = device.output((batch, M, N), "fp32" if adds else style["dtype"])
    if adds:
        out.array.fill(0) if device.name == "cpu" else out.array.zero_()
    down, across = -(-M // style["block"][0]), -(-N // style["block"][1])
    grid = {
        "plane": (down, across),
        "leaves": (down + 1, across + 1),
        "batch": (down, across, batch),
        "line": (down * across,),
        "groups": (down * across,),
    }.get(style["grid"], (2,))
    strides = [stride for array in (*views, out.array) for stride in device.strides(array)]
    kernel[grid](
        *views, out.array, device.to(vector), device.to(rest), M, N, K, *strides, *style["block"],
        num_warps=style["warps"], num_stages=style["stages"],
    )  # fmt: skip
    return out.numpy().astype(np.float64), reference(style, a, b, vector, rest), K


@pytest.mark.parametrize("number", range(48))
def test_generated(device, number, tmp_path):
    """A generated kernel agrees with float64."""
    style = draw(number)
    path = tmp_path / f"generated_{number}.py"
    path.write_text(text(style))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    result, exact, depth = launch(device, module.kernel, style, number)
    unit = 2.0**-7 if style["dtype"] == "bf16" else 2.0**-10
    rounded = unit if style["left"] == "computed" else 2.0**-13
    allowed = 2 * unit * np.abs(exact) + 8 * rounded * np.sqrt(depth) + 1e-3
    np.testing.assert_array_less(np.abs(result - exact), allowed, err_msg=f"{style}\n{text(style)}")


if __name__ == "__main__":
    print(text(draw(int(sys.argv[1]))))
