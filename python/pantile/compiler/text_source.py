"""The text of a stage in a file, and what its names are."""

import re
from pathlib import Path

_ENTRY = {
    "ptx": re.compile(r"\.(?:visible|extern)\s+\.(?:entry|func)\s+(\w+)\s*\(([^)]*)\)"),
    "llir": re.compile(r"define (?:ptx_kernel )?void @(\w+)\(([^)]*)\)"),
}
_TILE = re.compile(r"func\.func (?:public )?@(\w+)\(([^)]*)\)")
_TILE_PARAMETER = re.compile(r"%\w+: ([^,]+)")
_POINTER = re.compile(r"^!tile\.ptr<(.*)>$")
_DIVISOR = re.compile(r"tile\.divisibility = (\d+)")
_PTX_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)")


class IRSource:
    """A file of tile IR ("*.ttir", "*.ttgir"), LLVM IR ("*.llir") or PTX.

    It can be read and hashed, and `compile` takes the path of one of tile IR. `name` and `signature`
    are those of the first kernel in it; `divisors` has the numbers that divide its arguments, by
    position.

    Parameters
    ----------
    path : str or pathlib.Path
        The file; its suffix is the stage.
    context, backend : any, optional
        Of Triton, without effect.

    Raises
    ------
    ValueError
        For a file without a kernel.
    """

    language = "TRITON"

    def __init__(self, path, context=None, backend=None):
        self.path = path
        path = Path(path)
        self.ext = path.suffix[1:]
        self.src = path.read_text()
        found = _ENTRY.get(self.ext, _TILE).search(self.src)
        if found is None:
            raise ValueError(f"`{path}` holds no kernel")
        self.name = found[1]
        self.signature = dict(enumerate(self._types(found[2])))
        self.constants, self.attrs = {}, {}
        self.divisors = {
            number: int(divisor[1])
            for number, text in enumerate(_TILE_PARAMETER.findall(found[2]))
            if (divisor := _DIVISOR.search(text))
        }

    def _types(self, parameters):
        if self.ext == "ptx":
            return _PTX_PARAMETER.findall(parameters)
        if self.ext == "llir":
            return [text.split()[0] for text in parameters.split(",") if text.strip()]
        kinds = [text.split()[0] for text in _TILE_PARAMETER.findall(parameters)]
        return [_POINTER.sub(r"*\1", kind) for kind in kinds]

    def hash(self):
        """Return a digest of the text."""
        import hashlib

        return hashlib.sha256(self.src.encode()).hexdigest()

    def parse_options(self):
        """Return the launch options that the text states: the number of warps of laid out tile IR."""
        found = re.search(r"tile\.num_warps = (\d+)", self.src) if self.ext == "ttgir" else None
        return {"num_warps": int(found[1])} if found else {}
