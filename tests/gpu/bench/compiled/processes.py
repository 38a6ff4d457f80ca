"""Children that compile: started, asked, ended."""

import atexit
import functools
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

CHILD = Path(__file__).resolve().parent / "child.py"
SIDES = {"triton": (), "pantile": ("-m", "pantile.compat")}
CACHES = {
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TRITON_CACHE_DIR": "triton",
    "PANTILE_CACHE_DIR": "pantile",
}
OFFLINE = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
# A lock that all children of this process take.
LOCK = Path(tempfile.gettempdir(), f"compiled-{os.getpid()}.lock")
atexit.register(LOCK.unlink, missing_ok=True)
END = 8  # s that a child has to end by itself


SHARED_WITH_CXX = "#include <iostream>\nvoid say() { std::cout << 1; }\n"


@functools.cache
def brings_libstdcxx(compiler):
    """Whether the C++ compiler links a libstdc++ of its own into shared libraries.

    With torch's, the two mix up locales: `std::regex`, with which an AOTInductor package reads the
    name of its device, crashes then as the package is loaded, whoever compiled its kernels.
    """
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "shared.so")
        command = [compiler, "-x", "c++", "-shared", "-fPIC", "-", "-o", str(library)]
        try:
            subprocess.run(command, input=SHARED_WITH_CXX, text=True, check=True, timeout=60)
        except (OSError, subprocess.SubprocessError):
            return False  # Inductor will say what is wrong with it
        return b"libstdc++.so" not in library.read_bytes()


def compilers(variables):
    """The C++ compiler for Inductor: without `CXX` it takes `g++` from the path."""
    compiler = variables.get("CXX")
    if compiler and brings_libstdcxx(compiler) and not brings_libstdcxx("g++"):
        return {"CXX": "g++"}
    return {}


def environment(folder, threads, kind):
    """That of a child whose caches are in `folder`.

    `kind` is "second" for one that finds something in them, "ahead" for one that prepares itself
    while others are being measured, else empty.
    """
    others = {name: value for name, value in os.environ.items() if name != "PANTILE_AS_TRITON"}
    own = {variable: str(Path(folder, name)) for variable, name in CACHES.items()}
    own |= {"TORCHINDUCTOR_COMPILE_THREADS": str(threads), "PYTHONFAULTHANDLER": "1"}
    own |= {"OMP_NUM_THREADS": "2", "COMPILED_LOCK": str(LOCK)} | OFFLINE | compilers(others)
    own |= {f"COMPILED_{kind.upper()}": "1"} if kind else {}
    return others | own


def told_last(text):
    """The end of what a process wrote; of a crash, from the stack of its C++ functions on."""
    crash = re.search(r"^SIG\w+\(\d+\), PID", text, re.MULTILINE)
    return text[crash.start() :][:6000] if crash else text[-6000:]


class Child:
    """A process that compiles one case for one side.

    `failure` is empty until something goes wrong; the process has then ended. `answers` has all
    that it said, by stage. The limit, in seconds, counts from `started`.
    """

    def __init__(self, case_and_side, folder, options, kind=""):
        name, side = case_and_side
        self.answers, self.failure = {}, {}
        self.stage, self.ended = "start", False
        self.errors = tempfile.TemporaryFile("w+", errors="replace")
        self.started = self.process_started = time.time()
        self.limit = options.limit
        self.process = subprocess.Popen(
            [sys.executable, *SIDES[side], str(CHILD), name],
            env=environment(folder, options.threads, kind),
            cwd=folder,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            start_new_session=True,
        )
        self.lines = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def tell(self, command):
        """Send a command; a child that is gone is noticed when it is read from."""
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        except OSError:
            pass

    def poll(self, stage):
        """Whether the child has come to the stage, or failed; it fails when its time is over."""
        if not self._read_until(stage) and time.time() - self.started > self.limit:
            self._overdue(f"more than {self.limit:.0f} s")
        return bool(self.failure) or stage in self.answers

    def _read_until(self, stage):
        while not self.failure and stage not in self.answers:
            try:
                self._take(self.lines.get_nowait())
            except queue.Empty:
                return False
        return True

    def wait(self, stage, seconds):
        """What the child said at the stage, or None where it failed."""
        end = time.time() + seconds
        while not self._read_until(stage):
            if time.time() > end:
                self._overdue(f"no answer to `{stage}` in {seconds} s")
            time.sleep(0.002)
        return self.answers.get(stage)

    def ask(self, command, stage, seconds=60):
        """Send a command and wait for the answer, which replaces an earlier one."""
        self.answers.pop(stage, None)
        self.tell(command)
        return self.wait(stage, seconds)

    def _take(self, line):
        if line is None:
            status = self.process.wait()
            ended = signal.Signals(-status).name if status < 0 else f"exit status {status}"
            return self._fail(ended)
        try:
            said = json.loads(line)
        except ValueError:
            return None
        self.stage = said.pop("stage")
        if self.stage == "failed":
            return self._fail(**said)
        self.answers[self.stage] = said
        return None

    def _overdue(self, failure):
        """Fail; before it is killed the child prints where its threads are."""
        self.process.send_signal(signal.SIGABRT)
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            pass
        self._fail(failure)

    def _fail(self, failure, trace=""):
        if not trace:
            failure += f" after stage `{self.stage}`"
        self.kill()
        self.errors.seek(0)
        self.failure = {"failure": failure, "trace": trace, "stderr": told_last(self.errors.read())}

    def end(self):
        """Let the process end, and its compile workers with it."""
        if self.ended:
            return
        self.ended = True
        self.tell("end")
        try:
            self.process.wait(END)
        except subprocess.TimeoutExpired:
            pass
        self.kill()
        self.errors.close()

    def kill(self):
        """End the session of the process, which is its own and its workers' alone."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
