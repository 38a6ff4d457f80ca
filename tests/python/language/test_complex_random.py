"""Random programs of complex numbers: one source, run by a kernel and by NumPy. Every result is exact."""

import importlib.util
import random
import textwrap
import types

import numpy as np
import pytest

SHAPES = [(16, 32), (4, 64), (1, 8)]
MOST = 1 << 22  # exact in fp32, also after a sum
_KERNEL = """
import pantile as triton
import pantile.language as tl


@triton.jit
def small(z, zero):
    z = zero + z
    re = tl.minimum(tl.maximum(z.real, -4.0), 4.0)
    return tl.complex(re, tl.minimum(tl.maximum(z.imag, -4.0), 4.0))


@triton.jit
def kernel(out_ptr, z_ptr, x_ptr, i, turns):
    rows, columns = tl.arange(0, {M}), tl.arange(0, {N})
    places = rows[:, None] * {N} + columns[None, :]
    z, w = tl.load(z_ptr + places), tl.load(z_ptr + {M} * {N} + places)
    x, zero = tl.load(x_ptr + places), tl.zeros(({M}, {N}), tl.complex64)
    s = 0j + 1
{body}
    tl.store(out_ptr + places, z)
    tl.store(out_ptr + {M} * {N} + places, w)
    tl.store(out_ptr + 2 * {M} * {N}, s)
"""


class Drawn:
    """Draws statements on the tiles `z`, `w` (complex) and `x` (real) and on the scalar `s`.

    An expression is its text, a bound of its parts, and whether it is complex.
    """

    def __init__(self, seed):
        self.draw = random.Random(seed)

    def leaf(self, is_complex):
        d = self.draw
        if not is_complex:
            name = d.choice(["z", "w", "s"])
            return d.choice(
                [("x", 4), (f"{name}.real", 4), (f"{name}.imag", 4), ("2.0", 2), ("-3", 3)]
            )
        return d.choice([("z", 4), ("w", 4), ("z", 4), ("s", 4), ("(1 - 2j)", 2), ("3j", 3)])

    def expression(self, depth, is_complex=True):
        d = self.draw
        if depth == 0 or d.random() < 0.1:
            return self.leaf(is_complex)
        kind = d.choice(["binary"] * 4 + ["unary", "where", "made", "moved", "sum"])
        a, bound = self.expression(depth - 1, is_complex or (kind == "unary" and d.random() < 0.5))
        if kind == "binary":
            return self.binary(a, bound, depth, is_complex)
        if kind == "unary" and is_complex:
            return d.choice([f"(-{a})", f"tl.conj({a})", f"({a} + zero).conj()"]), bound
        if kind == "where":
            b, other = self.expression(depth - 1, is_complex)
            return f"tl.where({self.condition()}, {a}, {b})", max(bound, other)
        if kind == "made" and is_complex:
            b, other = self.expression(depth - 1, False)
            return f"tl.complex({a}.real, {b})", max(bound, other)
        if kind == "moved":
            zero = "zero" if is_complex else "zero.real"
            return f"tl.flip({a} + {zero}, 1)", bound
        if kind == "sum" and bound * 64 < MOST:
            zero = "zero" if is_complex else "zero.real"
            return f"tl.sum({a} + {zero}, 1)[:, None]", bound * 64
        return (a, bound) if is_complex else (f"({a}).real", bound)

    def binary(self, a, bound, depth, is_complex):
        d = self.draw
        b, other = self.expression(depth - 1, is_complex and d.random() < 0.6)
        if d.random() < 0.5:
            a, b = b, a
        if 2 * bound * other < MOST and d.random() < 0.5:
            return f"({a} * {b})", 2 * bound * other
        return f"({a} {d.choice('+-')} {b})", bound + other

    def condition(self):
        d = self.draw
        kind = d.choice(["equal", "unequal", "real", "scalar"])
        if kind == "scalar":
            return d.choice(["s == 1", "s.imag < 1", "s != z"])
        a, b = self.leaf(kind != "real")[0], self.leaf(d.random() < 0.5 and kind != "real")[0]
        return f"{a} {dict(equal='==', unequal='!=', real='>')[kind]} {b}"

    def statement(self, depth):
        d = self.draw
        kind = d.choice(["z", "w", "z", "w", "s", "part", "if", "for", "pair"])
        value = self.expression(d.randint(1, 4))[0]
        if kind in "zw":
            return f"{kind} = small({value}, zero)"
        if kind == "s":
            return "s = " + d.choice(
                ["-s", "tl.conj(s)", "s * 1j", "z[0, i] * 1", "1 + 0j if i > 1 else 2j"]
            )
        if kind == "part":
            return d.choice(
                [
                    "z[0] = w[0] * 1j",
                    "w[i % 1] = z[0].conj()",
                    "z[:, ::2] = x[:, 1::2]",
                    "w[0, i] = s",
                ]
            )
        if kind == "pair":
            return "z, w = " + d.choice(["w, z", "z, tl.conj(z)", "(w, z) if i > 1 else (z, w)"])
        if depth == 0:
            return "z = -z"
        test = d.choice(["i > 1", "s.real > 0", "s == 1j", "s"])
        head = f"if {test}:" if kind == "if" else "for k in range(turns):"
        text = head + "\n" + textwrap.indent(self.block(depth - 1), "    ")
        if kind == "if" and d.random() < 0.5:
            text += "\nelse:\n" + textwrap.indent(self.block(depth - 1), "    ")
        return text

    def block(self, depth):
        return "\n".join(self.statement(depth) for _ in range(self.draw.randint(1, 4)))


def _small(z, zero):
    z = zero + z
    return np.clip(z.real, -4, 4) + 1j * np.clip(z.imag, -4, 4)


_NUMPY = types.SimpleNamespace(
    complex=lambda re, im: re + 1j * im,
    conj=np.conj,
    where=np.where,
    flip=np.flip,
    sum=np.sum,
)


def run_numpy(text, z, w, x, i, turns):
    names = {"tl": _NUMPY, "small": _small, "z": z.copy(), "w": w.copy(), "x": x, "i": i}
    names.update(turns=turns, s=np.complex128(1), zero=np.zeros(z.shape, complex))
    lines = text.replace("z, w = w, z", "z, w = w.copy(), z.copy()")
    exec(lines, names)
    return names


def run_kernel(folder, text, seed, shape):
    path = folder / f"complex_{seed}.py"
    path.write_text(_KERNEL.format(body=textwrap.indent(text, "    "), M=shape[0], N=shape[1]))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


@pytest.mark.parametrize("seed", range(40))
def test_random_program(device, tmp_path, seed):
    shape = SHAPES[seed % len(SHAPES)]
    text = Drawn(seed).block(2)
    rng = np.random.default_rng(seed)
    z = rng.integers(-4, 5, (2, *shape)) + 1j * rng.integers(-4, 5, (2, *shape))
    x = rng.integers(-4, 5, shape).astype(float)
    i, turns = int(rng.integers(1, 4)), int(rng.integers(0, 4))
    names = run_numpy(text, z[0], z[1], x, i, turns)
    kernel = run_kernel(tmp_path, text, seed, shape)
    count = shape[0] * shape[1]
    out = device.output(2 * count + 1, "c64")
    kernel[(1,)](
        out.array, device.to(z.astype(np.complex64)), device.to(x.astype(np.float32)), i, turns
    )
    got = out.numpy()
    for part, name in enumerate(["z", "w"]):
        expected = np.broadcast_to(names[name], shape).reshape(-1)
        np.testing.assert_array_equal(got[part * count : (part + 1) * count], expected, text)
    assert got[2 * count] == names["s"], text
