"""A mutant: one deliberate mistake, in PTX or in the output of a pass."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One mistake; the tests that can reach it are those whose PTX has `pattern`.

    A mistake in PTX is `pattern`, `replacement` and, unless all matches of a kernel are meant, `which`: see
    tests/ptx/Mutant.cpp. A planted one is `kind` at opportunity `which` after pass `place`: see TestPlantError.cpp.
    """

    name: str
    sentence: str
    pattern: str
    replacement: str = ""
    which: int | None = None
    target: str = "sm_90a"
    kind: str = ""
    place: str = ""
    in_text: bool = True  # False: the mistake is in what the host does, and the text stays as it is

    @property
    def variables(self):
        """The environment of a process whose emulated GPU loads mutants."""
        if self.kind:
            return {}
        number = "" if self.which is None else self.which
        return {"PANTILE_EMULATION_MUTANT": f"~{self.pattern}~{self.replacement}~{number}"}

    @property
    def options(self):
        """The options of pytest for a mistake that a pass makes."""
        if not self.kind:
            return []
        return ["--plant", f"{self.place}+test-plant-error:kind={self.kind} at={self.which}"]


def with_register(value, instruction):
    """`instruction`, which reads `m`, with `m` computed by `value` before it."""
    return f"{{ .reg .b32 m; {value}; {instruction}; }}"


__all__ = ["Mutant", "with_register"]
