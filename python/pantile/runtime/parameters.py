"""The parameters of jit functions, and what their annotations say."""

import functools
import inspect

from ..language.dtypes import dtype
from .errors import CompilationError


class KernelParam:
    """One parameter of a jit function."""

    def __init__(self, position, parameter, do_not_specialize, do_not_specialize_on_alignment):
        self.num, self._param = position, parameter
        self.name = parameter.name
        self.has_default = parameter.default is not inspect.Parameter.empty
        self.default = parameter.default if self.has_default else None
        self.do_not_specialize = do_not_specialize
        self.do_not_specialize_on_alignment = do_not_specialize_on_alignment

    @functools.cached_property
    def annotation(self):
        annotation = self._param.annotation
        return "" if annotation is inspect.Parameter.empty else _annotation_text(annotation)

    @property
    def _last_name(self):
        return self.annotation.rpartition(".")[2]

    @property
    def is_constexpr(self):
        return self._last_name == "constexpr"

    @property
    def is_const(self):
        return self._last_name == "const" or self.annotation.startswith("*k")

    @property
    def annotation_type(self):
        """The type that the annotation fixes: "i64" of numbers, "*fp32" of raw addresses; else ""."""
        if self.annotation.startswith("*"):
            name = self.annotation[1:].removeprefix("k")
            return "*" + (dtype.by_long_name(name) or name)
        return dtype.by_long_name(self._last_name) if self.annotation else ""

    def for_dispatcher(self):
        from .. import _pantile

        if self._param.kind is inspect.Parameter.VAR_KEYWORD:
            raise TypeError(
                f"a kernel cannot take `**{self.name}`, as in Triton 1: give each meta-parameter "
                "a name of its own, `BLOCK: tl.constexpr`"
            )
        if self.is_constexpr and (self.do_not_specialize or self.do_not_specialize_on_alignment):
            raise CompilationError(
                None,
                None,
                f"{self.name} marked as constexpr and listed in do_not_specialize or "
                "do_not_specialize_on_alignment; a compile-time value is always specialised",
            )
        return _pantile.Parameter(
            self.name,
            self.is_constexpr,
            not self.do_not_specialize,
            not (self.do_not_specialize or self.do_not_specialize_on_alignment),
            self.is_const,
            self.annotation_type,
            self.has_default,
            self.default,
        )


def _annotation_text(annotation):
    if isinstance(annotation, str):
        return annotation.strip("\"'")
    if isinstance(annotation, dtype):
        return annotation.short_name
    return getattr(annotation, "__name__", str(annotation))


def parameters_of(fn, do_not_specialize, do_not_specialize_on_alignment):
    """Return the KernelParams of a function; the lists name parameters, or count them from 0."""
    unspecialized, unaligned = do_not_specialize or (), do_not_specialize_on_alignment or ()
    return [
        KernelParam(
            i,
            parameter,
            i in unspecialized or parameter.name in unspecialized,
            i in unaligned or parameter.name in unaligned,
        )
        for i, parameter in enumerate(inspect.signature(fn).parameters.values())
    ]
