"""A jit function with the types of its parameters: what is compiled without arguments."""

__all__ = ["ASTSource"]


class ASTSource:
    """A jit function with the types of its parameters.

    Parameters
    ----------
    fn : JITFunction
        The kernel.
    signature : dict of str to str
        For names (or positions) of parameters types such as "*fp16", "i32" or "constexpr"; a tuple of
        types for a tuple.
    constexprs : dict, optional
        For names, positions or paths of positions the values of constants.
    attrs : dict, optional
        For positions or paths [["tt.divisibility", 16]]; or an object that lists positions as
        `divisible_by_16`.
    constants : dict, optional
        Older name of `constexprs`.
    """

    ext = "ttir"
    language = "TRITON"

    def __init__(self, fn, signature, constexprs=None, attrs=None, constants=None):
        self.fn = fn
        self.name = fn.__name__
        self.signature = {self._name(key): kind for key, kind in dict(signature).items()}
        given = {**(constants or {}), **(constexprs or {})}
        self.constants = {self._path(key): value for key, value in given.items()}
        self.attrs = {self._path(key): value for key, value in _attributes(attrs).items()}

    @classmethod
    def of_specialization(cls, fn, specialization, values):
        """Make the source of a call.

        Parameters
        ----------
        fn : JITFunction
            The kernel.
        specialization : pantile._pantile.Specialization
            The types of the call's arguments.
        values : list
            Its arguments, in the order of the parameters.
        """
        signature, constants, attrs = {}, {}, {}

        def walk(kind, value, path):
            if isinstance(kind, tuple):
                parts = value if isinstance(value, (tuple, list)) else [None] * len(kind)
                return tuple(walk(k, v, (*path, i)) for i, (k, v) in enumerate(zip(kind, parts)))
            if kind == "constexpr":
                constants[path] = value
                return kind
            name, colon, divisor = kind.partition(":")
            if colon:
                attrs[path] = [["tt.divisibility", int(divisor)]]
            return name

        for i, (name, kind) in enumerate(zip(fn.arg_names, specialization.types())):
            signature[name] = walk(kind, values[i], (i,))
        return cls(fn, signature, constants, attrs)

    def _name(self, key):
        return self.fn.arg_names[key] if isinstance(key, int) else key

    def _path(self, key):
        if isinstance(key, str):
            return (self.fn.arg_names.index(key),)
        return (key,) if isinstance(key, int) else tuple(key)

    def hash(self):
        """Return a digest of the function's text, the types and the constants."""
        constants = [(path, str(value)) for path, value in sorted(self.constants.items())]
        text = f"{self.fn.cache_key}-{self.attrs}-{sorted(self.signature.items())}-{constants}"
        import hashlib

        return hashlib.sha256(text.encode()).hexdigest()

    def parse_options(self):
        """Return the options that the source itself gives: none."""
        return {}

    def make_ir(self, target, options, codegen_fns=None, module_map=None, context=None):
        """Return the tile IR before any pass as a module of `triton._C.libtriton.ir`.

        Parameters
        ----------
        target : GPUTarget
            What it is for.
        options : options object
            What `parse_options` of the target's back end gave.
        codegen_fns, module_map, context : any, optional
            Of Triton, without effect.

        Raises
        ------
        CompilationError
            Where the kernel has a mistake.
        """
        from .. import _pantile
        from ..backends.options import library_options
        from ..runtime.snapshot import Snapshot

        snapshot = Snapshot(self.fn)
        specialization = self.specialization(snapshot.constant)
        library = library_options(target.name, options)
        return _pantile.ir.emit(snapshot.program(), specialization, library)

    def specialization(self, to_constant):
        """Return the library's Specialization.

        Parameters
        ----------
        to_constant : callable
            Converts a compile-time value into the library's.

        Raises
        ------
        ValueError
            For a parameter with neither a type nor a value.
        """
        from .. import _pantile

        result = _pantile.Specialization()
        for position, name in enumerate(self.fn.arg_names):
            path = (position,)
            if path in self.constants:
                result.append_constant(to_constant(self.constants[path]))
                continue
            if name not in self.signature or self.signature[name] == "constexpr":
                raise ValueError(f"parameter `{name}` has neither a type nor a value")
            result.append(self._text(self.signature[name], path))
        return result

    def _text(self, kind, path):
        """The type at `path` as the library parses it: "*fp16:16", "(i32, *fp32:16)"."""
        if isinstance(kind, (tuple, list)):
            parts = [self._text(element, (*path, i)) for i, element in enumerate(kind)]
            return f"({', '.join(parts)})"
        if kind == "constexpr":
            value = self.constants.get(path)
            return str(value).lower() if isinstance(value, bool) else str(value)
        kind = _OTHER_NAMES.get(kind, kind)
        aligned = any(attr[0] == "tt.divisibility" for attr in self.attrs.get(path, ()))
        return kind + (":16" if aligned else "")


_OTHER_NAMES = {"u1": "i1", "B": "i1", "fp8": "fp8e5", "f32": "fp32", "f16": "fp16", "f64": "fp64"}


def _attributes(attrs):
    """Attributes by position, of a dict or of an object that lists what 16 divides."""
    if attrs is None:
        return {}
    if isinstance(attrs, dict):
        return attrs
    divisible = getattr(attrs, "divisible_by_16", None) or getattr(attrs, "divisibility_16", ())
    return {position: [["tt.divisibility", 16]] for position in divisible}
