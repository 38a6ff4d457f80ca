"""Look at every kernel that a test compiled, once the test has run.

`PANTILE_TEST_TILE_IR=FOLDER` keeps the tile IR of each in the folder, for `scripts/test passes`; that of a kernel for the
CPU as the one for GPUs, since it differs in the target's name alone. On the emulated GPU, `ptxas` compiles kernels too
with `wgmma`: a kernel whose MMAs it serialises fails the test.

As a program, `compiled_kernels.py SCRIPT` runs a script and keeps the tile IR of its kernels.
"""

import functools
import hashlib
import os
import runpy
import subprocess
import sys
from pathlib import Path

FOLDER = os.environ.get("PANTILE_TEST_TILE_IR")
TARGETS = ("sm_90a", "sm_80")
_noted = None


def start():
    """Note each kernel that this process compiles from now on."""
    global _noted
    if _noted is not None:
        return
    from pantile.compiler.compiler import CompiledKernel

    _noted = []
    init = CompiledKernel.__init__

    def init_and_note(self, *args):
        init(self, *args)
        # Not the kernel itself: it would keep its function.
        _noted.append((self._kernel, self._code.compile_to))

    CompiledKernel.__init__ = init_and_note


def look(may_lack_registers=False):
    """Keep and check what was noted, and forget it; AssertionError for a kernel that ptxas slows down.

    Where a test's tiles fill the registers, that may be why.
    """
    kernels = list(_noted or ())
    if kernels:
        _noted.clear()
    for kernel, compile_to in kernels:
        options = compile_to.args[2]
        if FOLDER:
            _keep_tile_ir(compile_to, options, Path(FOLDER))
        ptx = kernel.text.get("ptx", "")
        if os.environ.get("PANTILE_EMULATE") and "wgmma.mma_async" in ptx:
            said = _serialised(ptx, options)
            if may_lack_registers:
                said = [line for line in said if "insufficient register" not in line]
            assert not said, f"`{kernel.name}`: {said}"


def _keep_tile_ir(compile_to, options, folder):
    """Write a file for each target, with the options that passes have; its name is its hash."""
    from pantile import CompilationError

    words = [f"--max-registers={options.maxnreg}"]
    words += [f"--disable-pass={name}" for name in sorted(options.disabled_passes)]
    words += [f"--enable-pass={name}" for name in sorted(options.enabled_passes)]
    try:
        ir = compile_to(stop_after="tile", use_cache=False).text["tile"]
    except CompilationError:  # what it calls while compiling is gone with the test
        return
    texts = [ir.replace('tile.target = "cpu"', f'tile.target = "{name}"') for name in TARGETS]
    folder.mkdir(parents=True, exist_ok=True)
    for text in set(texts):
        content = f"// {' '.join(words)}\n{text}"
        path = folder / f"{hashlib.sha256(content.encode()).hexdigest()[:24]}.mlir"
        path.write_text(content)


@functools.cache
def _ptxas():
    from pantile import knobs

    return getattr(knobs.nvidia.ptxas, "path", None)


def _serialised(ptx, options):
    """The lines in which ptxas says that it serialises wgmma; none where there is no ptxas."""
    digest = hashlib.sha256(ptx.encode()).hexdigest()
    known = Path(os.environ["PANTILE_CACHE_DIR"], "overlapping", digest)
    if known.exists() or not (ptxas := _ptxas()):
        return []
    command = [ptxas, f"--gpu-name={options.target}", "-o", os.devnull, "-v", "/dev/stdin"]
    command += [f"--maxrregcount={options.maxnreg}"] if options.maxnreg else []
    done = subprocess.run(command, input=ptx, capture_output=True, text=True)
    log = done.stdout + done.stderr
    assert done.returncode == 0, log
    slow = [line for line in log.splitlines() if "Performance Loss" in line]
    if not slow:
        known.parent.mkdir(parents=True, exist_ok=True)
        known.touch()
    return slow


if __name__ == "__main__":
    start()
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
    look()
