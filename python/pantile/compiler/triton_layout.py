"""Compiled kernels in the layout of Triton's cache, for programs that read its files.

A kernel has the folder `<knobs.cache.triton_dir>/<base32 of its hash>`. There lie `NAME.json` (the
metadata), our own entry of the cache as `kernel.pantile`, stages as text, and the list of all,
`__grp__NAME.json`. `NAME.cubin` is there only if launches need nothing beyond Triton's: a launcher
that finds it starts it, torch's static one in particular. A folder that was restored, on another machine say, serves as a hit of the
cache; the library reads `kernel.pantile`, whose key contains the build of the compiler.
"""

import json
import os
import shutil
import uuid

from .. import knobs

__all__ = ["publish"]

_TEXTS = ("ttir", "ttgir", "llir", "ptx")
_PASSED_BY_ALL = frozenset("constexpr i1 i8 i16 i32 i64 u1 u8 u16 u32 u64 fp32 f32 fp64".split())


def publish(compiled, texts, machine_code=True):
    """Write the files of a CompiledKernel; return {name: path}, empty where there are none.

    Without `texts` only those of the stages that cost nothing are written, without `machine_code`
    none that another launcher would start. A kernel of the CPU, and
    one that was compiled past the cache, has no key and no files. What cannot be written is left
    out: the kernel works without it.
    """
    key = compiled._kernel.hash
    if compiled.target.backend != "cuda" or not key:
        return {}
    from ..runtime.cache import _base32

    folder = os.path.join(os.path.abspath(knobs.cache.triton_dir), _base32(key))
    files = _files_of(compiled, texts, machine_code, folder)
    try:
        _write(folder, compiled.name[:150], files)
    except OSError:
        return {}
    return {name: os.path.join(folder, name) for name in files}


def _files_of(compiled, texts, machine_code, folder):
    name, stages = compiled.name[:150], compiled.asm
    files = {}
    if machine_code and _is_startable(compiled):
        files[f"{name}.cubin"] = stages["cubin"]
        files[f"{name}.ptx"] = stages["ptx"].encode()
    if texts and not knobs.compilation.store_binary_only:
        files[f"{name}.source"] = stages["source"].encode()
        files.update({f"{name}.{stage}": stages[stage].encode() for stage in _TEXTS})
    entry = _entry_of(compiled._kernel.hash, folder)
    if entry is not None:
        files["kernel.pantile"] = entry
    files[f"{name}.json"] = json.dumps(compiled.metadata._asdict(), default=_plain).encode()
    return files


def _is_startable(compiled):
    """Whether a launcher that finds the machine code may start it.

    Such launchers look for a kernel by the name of its function. They pass pointers and scalars, of
    which torch's passes those of 16 bits as fp32, and no type whose size it cannot find.
    """
    return (
        not compiled._kernel.needs_beyond_arguments
        and compiled.name == compiled.src.fn.__name__
        and all(_is_passed_by_all(kind) for kind in compiled.src.signature.values())
    )


def _is_passed_by_all(kind):
    return isinstance(kind, str) and (kind[0] == "*" or kind in _PASSED_BY_ALL)


def _entry_of(key, restored):
    """The bytes of our cache's own entry, or of the one in the folder that the kernel came from.

    None where there is none, as of a kernel whose host calls other processes cannot compare.
    """
    from .. import _pantile

    stores = [_pantile.cache_directory(), *(knobs.cache.shared or "").split(":")]
    places = [os.path.join(store, key[:2], key) for store in stores if store]
    contents = map(_content_of, [*places, os.path.join(restored, "kernel.pantile")])
    return next((content for content in contents if content is not None), None)


def _plain(value):
    """What JSON has no word for: targets and other records by their values, sets in order."""
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    return vars(value) if hasattr(value, "__dict__") else str(value)


def _write(folder, name, files):
    """Make `folder` appear whole. In one that is there, replace what differs, file by file."""
    children = {child: os.path.join(folder, child) for child in files}
    files = {**files, f"__grp__{name}.json": json.dumps({"child_paths": children}).encode()}
    if not _holds_files(folder):
        made = os.path.join(os.path.dirname(folder), f"tmp.{os.getpid()}.{uuid.uuid4().hex}")
        os.makedirs(made)
        try:
            for child, content in files.items():
                _put(os.path.join(made, child), content)
            os.rename(made, folder)
            return
        except OSError:
            if not _holds_files(folder):  # else another process has just made it
                raise
        finally:
            shutil.rmtree(made, ignore_errors=True)
    for child, content in files.items():
        path = os.path.join(folder, child)
        if _content_of(path) != content:
            temporary = f"{path}.tmp.{os.getpid()}.{uuid.uuid4().hex}"
            _put(temporary, content)
            os.replace(temporary, path)


def _holds_files(folder):
    try:
        return bool(os.listdir(folder))
    except OSError:
        return False


def _put(path, content):
    with open(path, "wb") as file:
        file.write(content)


def _content_of(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None
