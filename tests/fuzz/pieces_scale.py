"""What scores of a softmax are multiplied by, and how they are masked.

Needs: draft.
Gives: Scale, whose `factor`, `argument` and `masked` are texts; INFINITY.
How:   a scale is an argument, a number, or made of both. It has few bits, so that products are exact, or
       is infinite, NaN, zero, tiny or huge. A usual one is a positive argument, perhaps times a number,
       and masks are infinities then.
"""

USUAL = [0.125, 0.125, 0.25, 1.0, 0.5, 2.0, 0.1875, 0.08984375, 3.0, 1.4375]
NEGATIVE = [-0.125, -1.0, -0.1875, -2.0]
TINY = [2.0**-64, 2.0**-65, 1.5 * 2.0**-64, 2.0**-70, 2.0**-126, 2.0**-140, -(2.0**-70)]
HUGE = [2.0**64, 2.0**63, 1.5 * 2.0**64, 2.0**70, 2.0**120, -(2.0**70)]
SPECIAL = [0.0, -0.0, "inf", "-inf", "nan"]
INFINITY = 'float("inf")'


class Scale:
    """The scales of a kernel with `m` rows and `length` columns."""

    def __init__(self, draft, m, length):
        self.draft, self.m, self.length = draft, m, length
        self.is_usual = draft.chance(0.6)  # little that keeps the scale from being late
        self.is_moderate = True  # differences with other numbers are exact

    def argument(self):
        """The name of an argument of fp32."""
        draft = self.draft
        sets = [USUAL] * 8 + [NEGATIVE, NEGATIVE, TINY, HUGE, SPECIAL]
        chosen = draft.pick(*sets)
        self.is_moderate &= chosen in (USUAL, NEGATIVE)
        return draft.scalar(draft.pick(*chosen), "scale")

    def factor(self):
        """What scores are multiplied by."""
        draft = self.draft
        ways = ["argument"] * 12 + ["times"] * 6
        if not self.is_usual:
            ways += ["late times", "arguments", "arguments", "integer", "integer", "constexpr"]
            ways += ["literal", "divided", "loaded", "sum", "wide", "absolute", "half"]
        way = draft.pick(*ways)
        if way == "constexpr":
            return draft.constant(draft.pick(*USUAL, *NEGATIVE), "SCALE")
        if way == "literal":
            return draft.pick("0.125", "-0.125", "1.0", "0.0")
        if way == "integer":
            return draft.let("f", f"{draft.scalar(draft.pick(2, 3, -2, 0))}.to(tl.float32)")
        if way == "loaded":
            return draft.let("f", f"tl.load({draft.array('factor', 'fp32', 1, -2, 2, 0.5)})")
        scale = self.argument()
        if way == "argument":
            return scale
        text = self._made(way, scale)
        return draft.let("f", text) if draft.chance(0.7) else f"({text})"

    def _made(self, way, scale):
        """What is made of an argument."""
        numbers = ["1.4375", "1.4375", "0.5"]
        if not self.is_usual:
            numbers += ["-1.0", "1.0", "0.0", "2.0"]
        constant = self.draft.pick(*numbers)
        if way == "arguments":
            return f"{scale} * {self.argument()}"
        return {
            "times": f"{scale} * {constant}",
            "late times": f"{constant} * {scale}",
            "divided": f"{scale} / 2.0",
            "sum": f"{scale} + 0.5",
            "wide": f"({scale} * 1.0).to(tl.float32)",
            "absolute": f"tl.abs({scale})",
            "half": f"{scale}.to(tl.bfloat16).to(tl.float32)",
        }[way]

    def masked(self, tile, is_stepped):
        """A tile of rows `rm` and columns `cols` under a mask; `is_stepped`: it stays of few bits."""
        draft = self.draft
        conditions = [] if self.is_usual else [f"{tile} < 20.0"]
        condition = draft.pick(
            "rm[:, None] >= cols[None, :]", "rm[:, None] >= cols[None, :]", "cols[None, :] % 3 != 1",
            f"cols[None, :] < {draft.number(draft.rng.randint(1, self.length))}",
            f"(rm[:, None] < {self.m // 2}) | (cols[None, :] < 7)", *conditions,
        )  # fmt: skip
        others = [INFINITY] if self.is_usual else ["0.0", INFINITY]
        if self.is_moderate and not self.is_usual:
            others += ["-1000000.0", "5.0"] + ["-1.0e30"] * (not is_stepped)
        other = draft.pick(*[f"-{INFINITY}"] * 8, *others)
        if draft.chance(0.2):
            return f"tl.where({condition}, {other}, {tile})"
        return f"tl.where({condition}, {tile}, {other})"
