"""Tile IR as text, and a kernel together with NumPy's results.

`Case.text` is the module; `Case.inputs(np, rng)` and `Case.expected(np, *inputs)` are called on the GPU's machine.
"""

SCRATCH = 128 * 1024


class Kernel:
    """Collects the text of one kernel."""

    def __init__(self, name, warps, arguments, target="sm_90a"):
        self.name, self.warps, self.target, self.lines, self.count = name, warps, target, [], 0
        self.arguments = arguments

    def emit(self, text):
        self.lines.append(text)

    def value(self, text):
        self.count += 1
        self.emit(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def pointers(self, argument, element, layout):
        flat = layout.flat()
        size, enc = flat.shape[0], flat.text()
        ints, ptrs = f"tensor<{size}xi32, {enc}>", f"tensor<{size}x!tile.ptr<{element}>, {enc}>"
        index = self.value(f"tile.arange 0, {size} : {ints}")
        base = self.value(f"tile.splat %{argument} : {ptrs}")
        return self.value(f"tile.addptr {base}, {index} : {ptrs}, {ints}"), ptrs

    def load(self, argument, element, layout):
        ptr, ptrs = self.pointers(argument, element, layout)
        flat = f"tensor<{layout.flat().shape[0]}x{element}, {layout.flat().text()}>"
        value = self.value(f"tile.load {ptr} : {ptrs} -> {flat}")
        if len(layout.shape) == 1:
            return value
        return self.value(f"tile.reshape {value} : {flat} -> {tile(element, layout)}")

    def store(self, argument, element, layout, value):
        ptr, ptrs = self.pointers(argument, element, layout)
        flat = f"tensor<{layout.flat().shape[0]}x{element}, {layout.flat().text()}>"
        if len(layout.shape) != 1:
            value = self.value(f"tile.reshape {value} : {tile(element, layout)} -> {flat}")
        self.emit(f"tile.store {ptr}, {value} : {ptrs}, {flat}")

    def zeros(self, element, layout):
        zero = "0" if element.startswith("i") else "0.0"
        return self.value(f"arith.constant dense<{zero}> : {tile(element, layout)}")

    def text(self):
        args = ", ".join(
            f"%{n}: !tile.ptr<{e}> {{tile.divisibility = 16 : i32}}" for n, e in self.arguments
        )
        body = "\n".join("    " + line for line in self.lines)
        return (
            f'module attributes {{tile.target = "{self.target}", tile.num_warps = {self.warps} : i32}} {{\n'
            f"  func.func @{self.name}({args}) attributes {{tile.kernel}} {{\n{body}\n    return\n  }}\n}}\n"
        )


def tile(element, layout):
    return f"tensor<{'x'.join(map(str, layout.shape))}x{element}, {layout.text()}>"


NUMPY = {
    "f16": "float16",
    "f32": "float32",
    "i32": "int32",
    "i8": "int8",
    "i64": "int64",
    "f64": "float64",
}


class Case:
    """One kernel, its inputs and its expected output."""

    def __init__(self, kernel, inputs, output, expected, tolerance=0.0):
        self.name, self.warps, self.text, self.target = (
            kernel.name,
            kernel.warps,
            kernel.text(),
            kernel.target,
        )
        self.inputs, self.output, self.expected, self.tolerance = (
            inputs,
            output,
            expected,
            tolerance,
        )


def random_input(np, rng, shape, element):
    if element.startswith("i"):
        low, high = (-100, 100)
        return rng.integers(low, high, shape).astype(NUMPY[element])
    return rng.standard_normal(shape).astype(NUMPY[element])


def float8_values(np, kind):
    """All 256 values in byte order."""
    mantissa, bias = (3, 7) if kind == "f8E4M3FN" else (2, 15)
    values = []
    for byte in range(256):
        exponent, fraction = (byte & 0x7F) >> mantissa, byte & ((1 << mantissa) - 1)
        sign = -1.0 if byte & 0x80 else 1.0
        scale = 2.0 ** (max(exponent, 1) - bias - mantissa)
        value = sign * scale * (fraction + ((1 << mantissa) if exponent else 0))
        if kind == "f8E4M3FN" and byte & 0x7F == 0x7F:
            value = np.nan
        if kind == "f8E5M2" and exponent == 31:
            value = sign * np.inf if fraction == 0 else np.nan
        values.append(value)
    return np.array(values)
