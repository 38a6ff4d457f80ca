"""What a compiled kernel has of each stage, under the stages' own names and Triton's."""

import functools

# Triton's names of the stages, for code that reads `kernel.asm["ttgir"]`.
_ALIASES = {"ttir": "tile", "ttgir": "mma", "llir": "llvm"}


@functools.cache
def _texts():
    """The stages whose output is text."""
    from .. import _pantile

    return frozenset(_pantile.stage_names()) - {"cubin"}


class Assembly(dict):
    """The output of each stage. What was not kept is made again on access, and so is "sass".

    `remake` compiles up to a stage; None where that cannot be done: then what was kept is all.
    """

    def __init__(self, kept, remake, on_gpu):
        super().__init__(kept)
        self._remake = remake
        names = ("ttir", "ttgir", "llir", "ptx", "cubin") if on_gpu else ("ttir",)
        if remake is None:
            names = tuple(name for name in names if _ALIASES.get(name, name) in kept)
        self._names = names

    def __reduce__(self):
        on_gpu = "cubin" in self._names
        if not on_gpu and self._remake:
            self["ttir"]  # made here, since it cannot be made where it is restored
        kept = {name: dict.__getitem__(self, name) for name in dict.keys(self)}
        return (Assembly, (kept, None, on_gpu))

    def __missing__(self, name):
        stage = _ALIASES.get(name, name)
        if stage == "sass" and "cubin" in self._names:
            from ..tools.disasm import get_sass

            self[stage] = get_sass(self["cubin"])
        elif stage in _texts() and self._remake and not dict.__contains__(self, stage):
            self.update(self._remake(stage))
        if not dict.__contains__(self, stage):
            raise KeyError(name)
        return dict.__getitem__(self, stage)

    def __contains__(self, name):
        return name in self._names or dict.__contains__(self, name)

    def get(self, name, default=None):
        """Return the text or code of a stage, or `default` where there is no such stage."""
        return self[name] if name in self else default

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)

    def keys(self):
        """Return the names of the stages, in order."""
        return list(self._names)

    def values(self):
        """Return what all stages gave; makes those that are missing."""
        return [self[name] for name in self._names]

    def items(self):
        """Return pairs of a stage and what it gave; makes those that are missing."""
        return [(name, self[name]) for name in self._names]
