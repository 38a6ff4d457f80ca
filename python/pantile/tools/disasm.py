"""Machine code as text."""

import os
import re
import subprocess
import tempfile


def extract(file_path, fun=None):
    """Return the SASS of a cubin file, or of one function in it; needs nvdisasm or cuobjdump."""
    from .. import knobs

    if knobs.nvidia.nvdisasm is not None:
        text = _output(knobs.nvidia.nvdisasm.path, "-c", file_path)
    elif knobs.nvidia.cuobjdump is not None:
        text = _output(knobs.nvidia.cuobjdump.path, "-sass", file_path)
    else:
        raise FileNotFoundError("neither nvdisasm nor cuobjdump is installed")
    return text if fun is None else _function(text, fun)


def _output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _function(text, name):
    parts = re.split(r"(?m)^(?=.*(?:\.section\s+\.text\.|Function : ))", text)
    for part in parts:
        head = part.partition("\n")[0]
        if re.search(rf"(?:\.text\.|Function : ){re.escape(name)}\b", head):
            return part
    raise KeyError(f"there is no function `{name}` in the machine code")


def get_sass(cubin_asm, fun=None):
    """Return the SASS of a cubin's bytes, or of a compiled kernel."""
    is_code = isinstance(cubin_asm, (bytes, bytearray))
    cubin = cubin_asm if is_code else cubin_asm.asm["cubin"]
    handle, path = tempfile.mkstemp(suffix=".cubin")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(cubin)
        return extract(path, fun)
    finally:
        os.remove(path)
