"""Random kernels of nested loops, branches and early exits: what Python computes from the same source."""

import importlib.util
import random

import numpy as np
import pytest

MASK = 1023


class Writer:
    """Draws the lines of one function body over the integers `a`, `b`, `c` and `x`."""

    def __init__(self, rng, returns):
        self.rng = rng
        self.returns = returns
        self.lines = []

    def put(self, indent, text):
        self.lines.append("    " * indent + text)

    def variable(self):
        return self.rng.choice("abc")

    def condition(self):
        divisor = self.rng.randint(2, 5)
        return f"{self.variable()} % {divisor} == {self.rng.randint(0, divisor - 1)}"

    def assignment(self, indent):
        target, other = self.variable(), self.rng.choice(["a", "b", "c", "1", "2", "x"])
        self.put(indent, f"{target} = {self.variable()} {self.rng.choice('+-*')} {other}")
        self.put(indent, f"{target} = {target} & {MASK}")

    def block(self, indent, depth, in_loop):
        for _ in range(self.rng.randint(1, 4)):
            draw = self.rng.random()
            if draw < 0.35 or depth == 0:
                self.assignment(indent)
            elif draw < 0.55:
                self.branch(indent, depth, in_loop)
            elif draw < 0.7:
                self.loop(indent, depth, in_loop)
            elif in_loop and draw < 0.9:
                if not self.exit(indent):
                    return
            elif self.returns:
                self.put(indent, f"if {self.condition()}:")
                self.put(indent + 1, f"return {self.variable()} + 7, {self.variable()}")
            else:
                self.assignment(indent)

    def branch(self, indent, depth, in_loop):
        self.put(indent, f"if {self.condition()}:")
        self.block(indent + 1, depth - 1, in_loop)
        if self.rng.random() < 0.5:
            self.put(indent, "else:")
            self.block(indent + 1, depth - 1, in_loop)

    def loop(self, indent, depth, in_loop):
        kind = self.rng.choice(["range", "range", "static", "while"])
        counter = f"i{indent}"
        if kind == "while":
            self.put(indent, f"{counter} = {self.rng.randint(1, 5)}")
            self.put(indent, f"while {counter} > 0:")
            self.put(indent + 1, f"{counter} -= 1")
        else:
            end = self.rng.choice(["x", "3", "5"])
            over = (
                f"range({end})" if kind == "range" else f"tl.static_range({self.rng.randint(1, 3)})"
            )
            self.put(indent, f"for {counter} in {over}:")
            target = self.variable()
            self.put(indent + 1, f"{target} = {target} + {counter}")
        self.block(indent + 1, depth - 1, True)
        if self.rng.random() < 0.3:
            self.put(indent, "else:")
            self.block(indent + 1, depth - 1, in_loop)

    def exit(self, indent):
        """Write a way out of the loop; False if it is taken always."""
        ways = ["break", "continue"]
        if self.returns:
            ways.append(f"return {self.variable()}, {self.variable()} * 3")
        way = self.rng.choice(ways)
        if self.rng.random() < 0.15:
            self.put(indent, way)
            return False
        self.put(indent, f"if {self.condition()}:")
        self.put(indent + 1, way)
        return True


def program(seed):
    """Return the source of a function with returns and of a kernel that calls it."""
    rng = random.Random(seed)
    function, kernel = Writer(rng, returns=True), Writer(rng, returns=False)
    function.block(1, 4, False)
    kernel.block(1, 3, False)
    lines = ["@triton.jit", "def f(a, b, c, x):", *function.lines, "    return a + b * 3, c", ""]
    lines += ["@triton.jit", "def kernel(p, x):"]
    lines += ["    a = x * 3 + 1", "    b = x + 2", "    c = 50 - x", *kernel.lines]
    lines += ["    r, s = f(a, b, c, x)"]
    lines += [f"    tl.store(p + {i}, {name})" for i, name in enumerate("abcrs")]
    return "\n".join(lines) + "\n"


class Memory:
    """A pointer into a list, for the run in Python."""

    def __init__(self, values, offset=0):
        self.values, self.offset = values, offset

    def __add__(self, steps):
        return Memory(self.values, self.offset + steps)


class Language:
    """What the programs use of `tl`, for the run in Python."""

    static_range = range

    @staticmethod
    def store(pointer, value):
        pointer.values[pointer.offset] = value


@pytest.mark.parametrize("seed", range(25))
def test_program(device, tmp_path, seed):
    """A random program computes what Python does."""
    text = program(seed)
    scope = {"tl": Language}
    exec(text.replace("@triton.jit\n", ""), scope)
    path = tmp_path / "program.py"
    path.write_text("import pantile as triton\nimport pantile.language as tl\n\n\n" + text)
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for x in (3, 5):
        expected = [0] * 5
        scope["kernel"](Memory(expected), x)
        out = device.output(5, "i32")
        module.kernel[(1,)](out.array, x)
        wrapped = [(value + 2**31) % 2**32 - 2**31 for value in expected]
        np.testing.assert_array_equal(out.numpy(), wrapped, err_msg=text)
