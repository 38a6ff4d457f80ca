"""A generated program: its statements, their text, and what they do by the model.

Needs: values.
Gives: Program, whose `text()` is a Python module with the kernel and whose `evaluate()` gives the
       expected outputs; OPS, the operations by name, filled by the op_* modules.
How:   an operation is a pair of functions, text and evaluation; a statement names its operands, so
       statements can be deleted and the rest evaluated again. Names that a deletion left without a
       value, and operations without one right answer, raise Undefined.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .dtypes import NUMPY, is_float
from .values import Undefined, Value, held

GRID_NAME = "pid"
MAX_TRIPS = 64


@dataclass(frozen=True)
class Literal:
    """A number written into the text."""

    value: object

    def __str__(self):
        return repr(self.value)


@dataclass(frozen=True)
class Op:
    """`text(args, params)` is an expression; `evaluate(state, values, params)` a Value or several."""

    text: Callable
    evaluate: Callable


OPS = {}


def op(name, text):
    """Register the decorated function as the evaluation of operation `name`."""

    def register(evaluate):
        OPS[name] = Op(text, evaluate)
        return evaluate

    return register


class State:
    """One program of the grid while it is evaluated."""

    def __init__(self, program, pid, memory):
        self.program, self.pid, self.memory = program, pid, memory
        self.env = {GRID_NAME: Value("i32", np.int32(pid))}
        for name, (dtype, value) in program.scalars.items():
            self.env[name] = held(dtype, np.asarray(value, NUMPY[dtype]))

    def value(self, arg):
        if isinstance(arg, Literal):
            return arg
        if arg not in self.env:
            raise Undefined(f"no value of {arg}")
        return self.env[arg]


class Memory:
    """What the outputs hold: exact part, bound, and where anything was written."""

    def __init__(self, outputs):
        self.data, self.error, self.written, self.dtype = {}, {}, {}, {}
        for name, (dtype, array) in outputs.items():
            self.dtype[name] = dtype
            self.data[name] = array.astype(np.float64) if is_float(dtype) else array.copy()
            self.error[name] = np.zeros(array.size)
            self.written[name] = np.zeros(array.size, bool)


@dataclass
class Call:
    """`targets = op(args)`; without targets, the text stands alone."""

    targets: tuple
    op: str
    args: tuple = ()
    params: dict = field(default_factory=dict)

    def lines(self):
        text = OPS[self.op].text([str(arg) for arg in self.args], self.params)
        return [f"{', '.join(self.targets)} = {text}" if self.targets else text]

    def execute(self, state):
        values = [state.value(arg) for arg in self.args]
        try:
            with np.errstate(all="ignore"):
                result = OPS[self.op].evaluate(state, values, self.params)
        except (
            ValueError,
            IndexError,
        ) as problem:  # NumPy's word for shapes that do not go together
            raise Undefined(str(problem)) from problem
        results = result if isinstance(result, tuple) else (result,)
        for target, value in zip(self.targets, results):
            state.env[target] = value


@dataclass
class Replace(Call):
    """`target = tile`, then `target[place] = part`; the other name keeps the old elements."""

    def lines(self):
        tile, part = self.args
        return [
            f"{self.targets[0]} = {tile}",
            f"{self.targets[0]}[{self.params['place']}] = {part}",
        ]


@dataclass
class Assign:
    """`target = source`: carries a value out of a branch or to the next iteration."""

    target: str
    source: str

    def lines(self):
        return [f"{self.target} = {self.source}"]

    def execute(self, state):
        new, old = state.value(self.source), state.value(self.target)
        if (new.dtype, new.shape) != (old.dtype, old.shape):
            raise Undefined("a carried value changes its type")
        state.env[self.target] = new


class Leave(Exception):
    """A jump on its way to the loop, or to the end of the program."""

    def __init__(self, kind):
        super().__init__(kind)
        self.kind = kind


@dataclass
class Jump:
    """`break`, `continue` or `return` where a scalar has a value."""

    kind: str
    var: str
    at: int

    def lines(self):
        return [f"if {self.var} == {self.at}:", f"    {self.kind}"]

    def execute(self, state):
        if int(state.value(self.var).data) == self.at:
            raise Leave(self.kind)


def block_lines(body):
    return ["    " + line for statement in body for line in statement.lines()] or ["    pass"]


def execute_block(body, state):
    """Run statements; the names that they introduce end with them."""
    before = set(state.env)
    try:
        for statement in body:
            statement.execute(state)
    finally:
        for name in set(state.env) - before:
            del state.env[name]


def execute_iteration(body, state):
    """Run a loop's body once; False if it leaves the loop."""
    try:
        execute_block(body, state)
    except Leave as leave:
        if leave.kind == "return":
            raise
        return leave.kind == "continue"
    return True


@dataclass
class If:
    """A branch on a scalar."""

    condition: str
    then: list
    orelse: list

    def lines(self):
        lines = [f"if {self.condition}:", *block_lines(self.then)]
        return lines + (["else:", *block_lines(self.orelse)] if self.orelse else [])

    def execute(self, state):
        taken = bool(state.value(self.condition).data)
        execute_block(self.then if taken else self.orelse, state)


@dataclass
class For:
    """A counted loop; bounds are literals or names of scalars, of which the step is above 0."""

    var: str
    header: str
    start: object
    stop: object
    step: object
    body: list
    keywords: str = ""
    dtype: str = "i32"  # of the counters

    def lines(self):
        start = self.start if self.dtype == "i32" else f"tl.full([], {self.start}, tl.int64)"
        bounds = f"{start}, {self.stop}" + (f", {self.step}" if self.step != 1 else "")
        if self.header == "tl.static_range":  # its counter is a constant, which has no type yet
            return [
                f"for constant_{self.var} in {self.header}({bounds}):",
                f"    {self.var} = tl.to_tensor(constant_{self.var})",
                *block_lines(self.body),
            ]
        return [
            f"for {self.var} in {self.header}({bounds}{self.keywords}):",
            *block_lines(self.body),
        ]

    def counters(self, state):
        bounds = (self.start, self.stop, self.step)
        values = [b if isinstance(b, int) else int(state.value(b).data) for b in bounds]
        if values[2] == 0 or (values[2] < 0 and not isinstance(self.step, int)):
            raise Undefined("a step that does not count up")
        return range(*values)

    def execute(self, state):
        steps = self.counters(state)
        if len(steps) > MAX_TRIPS:
            raise Undefined("too many iterations")
        for i in steps:
            state.env[self.var] = Value(self.dtype, NUMPY[self.dtype](i))
            if not execute_iteration(self.body, state):
                break
        state.env.pop(self.var, None)


@dataclass
class While:
    """A loop that runs while `counter` is below `limit`; the body ends by advancing the counter."""

    counter: str
    limit: object
    body: list
    advance: int

    def lines(self):
        last = f"    {self.counter} += {self.advance}"
        return [f"while {self.counter} < {self.limit}:", *block_lines(self.body), last]

    def execute(self, state):
        limit = self.limit if isinstance(self.limit, int) else int(state.value(self.limit).data)
        for _ in range(MAX_TRIPS):
            counter = state.value(self.counter)
            if not int(counter.data) < limit or not execute_iteration(self.body, state):
                return
            state.env[self.counter] = Value("i32", np.int32(counter.data + self.advance))
        raise Undefined("too many iterations")


@dataclass
class Helper:
    """A jit function that the kernel calls."""

    name: str
    parameters: list
    body: list
    results: list

    def lines(self):
        return [
            "@triton.jit",
            f"def {self.name}({', '.join(self.parameters)}):",
            *block_lines(self.body),
            f"    return {', '.join(self.results)}",
        ]


@dataclass
class Program:
    """A kernel with the data that it runs on."""

    seed: str
    grid: int = 1
    num_warps: int = 4
    num_stages: int = 3
    inputs: dict = field(default_factory=dict)  # name -> (dtype, array)
    outputs: dict = field(default_factory=dict)  # name -> (dtype, initial array)
    scalars: dict = field(default_factory=dict)  # name -> (dtype, value)
    helpers: dict = field(default_factory=dict)
    body: list = field(default_factory=list)

    def body_text(self):
        return "\n".join(block_lines(self.body))

    def text(self):
        """The module, with the parameters and helpers that the body needs."""
        body = self.body_text()
        helpers = [h for h in self.helpers.values() if h.name + "(" in body]
        parameters = ", ".join(self.used(body))
        lines = [
            f'"""Program {self.seed}: grid {self.grid}, {self.num_warps} warps, {self.num_stages} stages."""',
            "import pantile as triton",
            "import pantile.language as tl",
            *COMBINES,
            *(line for helper in helpers for line in ["", *helper.lines()]),
            "",
            "@triton.jit",
            f"def kernel({parameters}):",
            f"    {GRID_NAME} = tl.program_id(0)",
            body,
        ]
        return "\n".join(lines) + "\n"

    def used(self, body=None):
        """The names of the kernel's parameters, in order."""
        import re

        words = set(re.findall(r"\w+", body or self.body_text()))
        return [n for n in (*self.inputs, *self.outputs, *self.scalars) if n in words]

    def evaluate(self):
        """Run the model over the grid; the Memory that it leaves."""
        memory = Memory(self.outputs)
        for pid in range(self.grid):
            try:
                execute_block(self.body, State(self, pid, memory))
            except Leave:
                continue
        return memory


# The combining functions that generated programs use.
COMBINES = """

@triton.jit
def combine_add(a, b):
    return a + b


@triton.jit
def combine_max(a, b):
    return tl.where(a > b, a, b)


@triton.jit
def combine_xor(a, b):
    return a ^ b


@triton.jit
def combine_sum_max(a, x, b, y):
    return a + b, tl.maximum(x, y)


@triton.jit
def combine_first(a, i, b, j):
    keeps = (a < b) | ((a == b) & (i <= j))
    return tl.where(keeps, a, b), tl.where(keeps, i, j)


@triton.jit
def combine_linear(a, x, b, y):
    return a * b, x * b + y
""".splitlines()
