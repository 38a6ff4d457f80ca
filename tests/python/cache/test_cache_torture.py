"""The kernel cache under bad treatment: no wrong kernel, only damaged entries are lost, one warning per event.

Kernels are compiled by `pantilec` in processes of their own; what they give is compared with what a fresh cache gives.
"""

import fcntl
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pantile._pantile as extension
import pytest
from command_line import pantilec, pantilec_path

KERNEL = """
import pantile as triton
import pantile.language as tl

@triton.jit
def sums(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(y_ptr + tl.program_id(0), tl.sum(x * x, axis=0))
"""
BLOCKS = (64, 128, 256, 512)
UNPRIVILEGED = 65534


@pytest.fixture(scope="module")
def world():
    """A folder that every user may enter, with the kernel; and the machine code of each block size."""
    if "assembler: none" in pantilec("--version"):
        pytest.skip("needs an assembler")
    folder = Path(tempfile.mkdtemp(prefix="pantile-torture-"))
    folder.chmod(0o755)
    (folder / "k.py").write_text(KERNEL)
    good = World(folder, {})
    for block in BLOCKS:
        good.expected[block] = good.compile(folder / "fresh", block).code
    assert len(set(good.expected.values())) == len(BLOCKS)
    yield good
    shutil.rmtree(folder, ignore_errors=True)


class Compiled:
    """What one process gave: machine code, whether it came from the cache, what it had to say."""

    def __init__(self, done):
        assert done.returncode == 0, done.stderr
        self.code = done.stdout
        self.text = done.stderr.decode()
        self.cached = "total (cached)" in self.text
        self.warnings = [line for line in self.text.splitlines() if "warning" in line]


class World:
    def __init__(self, folder, expected):
        self.folder, self.expected = folder, expected

    def command(self, block):
        words = ["--signature", "*fp32, *fp32, i32", "-D", f"BLOCK={block}", "--target", "sm_80"]
        return [pantilec_path(), str(self.folder / "k.py"), *words, "--emit", "cubin", "--time"]

    def environment(self, cache, **more):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PANTILE_CACHE")}
        return {**kept, "PANTILE_CACHE_DIR": str(cache), **more}

    def start(self, cache, block, **more):
        environment = self.environment(cache, **more)
        return subprocess.Popen(
            self.command(block), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def compile(self, cache, block, preexec=None, **more):
        done = subprocess.run(
            self.command(block),
            env=self.environment(cache, **more),
            capture_output=True,
            preexec_fn=preexec,
        )
        return Compiled(done)

    def check(self, cache, block, cached=None, **more):
        """Compile; the code has to be right, and to come from the cache or not."""
        made = self.compile(cache, block, **more)
        assert made.code == self.expected[block]
        assert cached is None or made.cached == cached, made.text
        return made


def entries(cache):
    return [path for path in Path(cache).glob("??/*") if len(path.name) == 64]


@pytest.fixture
def cache(world):
    folder = Path(tempfile.mkdtemp(dir=world.folder))
    yield folder
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)


@pytest.fixture
def filled(world, cache):
    """A cache with the kernels of 64 and 128, and the path of the first one's entry."""
    before = set()
    world.check(cache, 128, cached=False)
    before = set(entries(cache))
    world.check(cache, 64, cached=False)
    (victim,) = set(entries(cache)) - before
    return cache, victim


def test_64_processes_compile_a_kernel_once(world, cache):
    processes = [world.start(cache, 64) for _ in range(64)]
    made = []
    for process in processes:
        out, err = process.communicate()
        made.append(Compiled(subprocess.CompletedProcess([], process.returncode, out, err)))
    assert all(one.code == world.expected[64] for one in made)
    assert [one.cached for one in made].count(False) == 1
    assert not [one for one in made if one.warnings]
    assert not list(cache.rglob("*.lock")) and not list(cache.rglob("*.tmp"))


def test_killed_at_random_points(world, filled):
    cache, _ = filled
    end = time.monotonic() + 4
    kills = 0
    while kills <= 10 or time.monotonic() < end:
        running = [world.start(cache, block) for block in random.sample(BLOCKS[2:], 2)]
        time.sleep(random.uniform(0, 0.08))
        for process in running:
            process.send_signal(signal.SIGKILL)
            kills += process.wait() == -signal.SIGKILL
            process.communicate()
        for path in entries(cache):
            if path.read_bytes()[:8] == b"PANTILE\n" and random.random() < 0.3:
                blocks = [b for b in BLOCKS[2:] if world.expected[b] in path.read_bytes()]
                if blocks:
                    path.unlink(missing_ok=True)
    assert "0 damaged" in pantilec("cache", "--dir", cache, "verify")
    for block in BLOCKS:
        made = world.check(cache, block, cached=True if block < 256 else None)
        assert not made.warnings, "a killed process leaves no damaged entry"
        world.check(cache, block, cached=True)


def test_a_lock_that_is_never_freed(world, cache):
    """A process that waits too long compiles by itself."""
    world.check(cache, 64)
    (entry,) = [path for path in entries(cache) if world.expected[64] in path.read_bytes()]
    entry.unlink()
    with open(f"{entry}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        start = time.monotonic()
        made = world.check(cache, 64, cached=False, PANTILE_CACHE_LOCK_SECONDS="0.5")
        assert time.monotonic() - start > 0.5 and not made.warnings
    world.check(cache, 64, cached=True)


WITHOUT_LOCKS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int flock(int file, int operation) {
  char link[64], path[4096] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  if (readlink(link, path, sizeof path - 1) > 0 && strstr(path, "/WHERE/"))
    return errno = WHY, -1;
  return ((int (*)(int, int))dlsym(RTLD_NEXT, "flock"))(file, operation);
}
"""


def without_locks(folder, where, why):
    """The environment of processes on a file system that has no locks below folders named `where`."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs a C compiler")
    source, library = folder / "locks.c", folder / "locks.so"
    source.write_text(WITHOUT_LOCKS.replace("WHERE", where).replace("WHY", why))
    command = [compiler, "-shared", "-fPIC", "-w", str(source), "-o", str(library), "-ldl"]
    subprocess.run(command, check=True)
    temporary = folder / "temporary"
    temporary.mkdir()
    return {"LD_PRELOAD": str(library), "TMPDIR": str(temporary)}


@pytest.mark.parametrize("why", ["ENOLCK", "EOPNOTSUPP", "ENOSYS"])
def test_a_file_system_without_locks(world, cache, why):
    """The processes of a host compile once all the same."""
    env = without_locks(cache, "plain", why)
    processes = [world.start(cache / "plain", 64, **env) for _ in range(16)]
    made = []
    for process in processes:
        out, err = process.communicate()
        made.append(Compiled(subprocess.CompletedProcess([], process.returncode, out, err)))
    assert all(one.code == world.expected[64] for one in made)
    assert [one.cached for one in made].count(False) == 1
    assert not [one for one in made if one.warnings]
    assert not list(cache.rglob("*.lock"))


def test_a_file_system_without_locks_and_a_host_without_a_folder(world, cache):
    """Each process compiles: none waits for a lock that cannot be had."""
    env = without_locks(cache, "plain", "ENOLCK")
    folder = cache / "temporary" / f"pantile-locks-{os.geteuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    start = time.monotonic()
    processes = [world.start(cache / "plain", 64, **env) for _ in range(4)]
    for process in processes:
        out, err = process.communicate()
        made = Compiled(subprocess.CompletedProcess([], process.returncode, out, err))
        assert made.code == world.expected[64] and not made.warnings
    assert time.monotonic() - start < 60
    world.check(cache / "plain", 64, cached=True, **env)


def truncate(path, data):
    path.write_bytes(data[: random.randrange(len(data))])


def flip(path, data):
    at = random.randrange(len(data))
    path.write_bytes(data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :])


def other_version(path, data):
    path.write_bytes(data[:8] + (99).to_bytes(8, "little") + data[16:])


def longer(path, data):
    path.write_bytes(data + b"\0")


def swap(path, data):
    (other,) = [p for p in path.parents[1].glob("??/*") if p.stat().st_size > 1000 and p != path]
    shutil.copyfile(other, path)


def sparse(path, data):
    os.truncate(path, 1 << 40)


def pipe(path, data):
    path.unlink()
    os.mkfifo(path)


def folder(path, data):
    path.unlink()
    path.mkdir()
    (path / "x").write_text("x")


def link(path, data):
    hidden = path.with_name("hidden")
    path.rename(hidden)
    path.symlink_to(hidden)


def open_to_all(path, data):
    path.chmod(0o666)


def foreign(path, data):
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(path, UNPRIVILEGED, UNPRIVILEGED)


def garbage(path, data):
    """A sound entry that holds no kernel."""
    stored_by_hand(path, b"no kernel at all")


def another_kernel(path, data):
    """A valid entry that holds another kernel: only its content shows that."""
    (other,) = [p for p in path.parents[1].glob("??/*") if p.stat().st_size > 1000 and p != path]
    stored_by_hand(path, extension.cache_load(other.name))


def stored_by_hand(path, payload):
    path.unlink()
    extension.cache_store(path.name, payload, "kernel")


@pytest.mark.parametrize(
    "harm",
    [truncate, truncate, flip, flip, flip, other_version, longer, swap, sparse, pipe, folder, link]
    + [open_to_all, foreign, garbage, another_kernel],
    ids=lambda harm: harm.__name__,
)
def test_a_bad_entry_warns_once_and_is_made_again(world, filled, harm, monkeypatch):
    cache, victim = filled
    monkeypatch.setenv("PANTILE_CACHE_DIR", str(cache))
    harm(victim, victim.read_bytes())
    running = [world.start(cache, 64) for _ in range(4)]
    made = []
    for process in running:
        out, err = process.communicate()
        made.append(Compiled(subprocess.CompletedProcess([], process.returncode, out, err)))
    assert all(one.code == world.expected[64] for one in made)
    told = [line for one in made for line in one.warnings]
    assert len(told) == 1 and victim.name in told[0], told
    assert not world.check(cache, 64, cached=True).warnings
    assert not world.check(cache, 128, cached=True).warnings
    assert not list(cache.rglob("*.tmp"))


def test_a_full_disk(world, filled):
    """A bound on the size of files stands for it, and a small file system where one may be mounted."""
    import resource

    cache, victim = filled
    limit = victim.stat().st_size - 50
    victim.unlink()

    def bounded():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    made = world.check(cache, 64, cached=False, preexec=bounded)
    assert len(made.warnings) == 1 and "nothing is saved in the cache" in made.warnings[0]
    assert not list(cache.rglob("*.tmp")) and not victim.exists()
    world.check(cache, 128, cached=True)
    assert not world.check(cache, 64, cached=False).warnings
    world.check(cache, 64, cached=True)


def test_a_full_file_system(world, cache):
    options = ["-t", "tmpfs", "-o", "size=64k", "none", str(cache)]
    if os.geteuid() != 0 or subprocess.run(["mount", *options], capture_output=True).returncode:
        pytest.skip("may not mount")
    try:
        world.check(cache, 64, cached=False)
        (cache / "filler").write_bytes(b"")
        with open(cache / "filler", "wb", buffering=0) as filler:
            try:
                while filler.write(os.urandom(4096)):
                    pass
            except OSError:
                pass
        made = world.check(cache, 128, cached=False)
        assert len(made.warnings) == 1 and "no space left" in made.warnings[0]
        assert not list(cache.rglob("*.tmp"))
        world.check(cache, 64, cached=True)
        (cache / "filler").unlink()
        assert not world.check(cache, 128, cached=False).warnings
        world.check(cache, 128, cached=True)
    finally:
        subprocess.run(["umount", str(cache)], check=True)


@pytest.mark.parametrize("years", [-30, 30])
def test_the_clock_jumps(world, filled, years):
    """Entries of another time are found, and the bound holds: the file of another age goes or stays whole."""
    cache, victim = filled
    then = time.time() + years * 365 * 86400
    for path in entries(cache):
        os.utime(path, (then, then))
    world.check(cache, 64, cached=True)
    assert abs(victim.stat().st_mtime - time.time()) < 60, "a hit sets the time of use"
    for block in BLOCKS:
        world.check(cache, block, PANTILE_CACHE_SIZE="24k")
    assert sum(path.stat().st_size for path in entries(cache)) <= 24 * 1024
    assert not world.check(cache, 512, cached=True).warnings, "what was just stored stays"


def test_eviction_under_use(world, cache):
    """A cache too small for its kernels: entries come and go under eight processes."""
    end = time.monotonic() + 2
    while time.monotonic() < end:
        running = [(b, world.start(cache, b, PANTILE_CACHE_SIZE="16k")) for b in BLOCKS * 2]
        for block, process in running:
            out, err = process.communicate()
            made = Compiled(subprocess.CompletedProcess([], process.returncode, out, err))
            assert made.code == world.expected[block] and not made.warnings
    assert "0 damaged" in pantilec("cache", "--dir", cache, "verify")


def as_reader():
    """Become a user who may read the cache and not write it."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(UNPRIVILEGED)
        os.setuid(UNPRIVILEGED)


def make_readable(cache, writable=False):
    for path in [cache, *cache.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
        if path.is_dir() and os.geteuid() != 0 and not writable:
            path.chmod(0o555)


def test_a_read_only_directory(world, filled):
    cache, victim = filled
    make_readable(cache)
    before = {path: path.read_bytes() for path in entries(cache)}
    home = tempfile.mkdtemp(dir=world.folder)
    more = {"preexec": as_reader, "HOME": home}
    assert not world.check(cache, 64, cached=True, **more).warnings
    assert not world.check(cache, 512, cached=False, **more).warnings, "read only on purpose"
    os.chmod(victim.parent, 0o755)
    victim.write_bytes(victim.read_bytes()[:-1])
    make_readable(cache)
    made = world.check(cache, 64, cached=False, **more)
    assert len(made.warnings) == 1 and "cannot be removed" in made.warnings[0]
    after = {path: path.read_bytes() for path in entries(cache)}
    assert {p: b for p, b in before.items() if p != victim} == {
        p: b for p, b in after.items() if p != victim
    }


def test_a_shared_directory(world, filled):
    """Kernels that an administrator made for all are found after one's own, which stays private."""
    cache, _ = filled
    make_readable(cache)
    own = Path(tempfile.mkdtemp(dir=world.folder))
    if os.geteuid() == 0:
        os.chown(own, UNPRIVILEGED, UNPRIVILEGED)
    more = {"preexec": as_reader, "HOME": str(own), "PANTILE_CACHE_SHARED": f"/none:{cache}"}
    world.check(own, 64, cached=True, **more)
    assert not [path for path in entries(own) if path.stat().st_size > 1000]
    world.check(own, 256, cached=False, **more)
    world.check(own, 256, cached=True, **more)
    (made,) = [path for path in entries(own) if path.stat().st_size > 1000]
    assert made.stat().st_mode & 0o777 == 0o600 and made.parent.stat().st_mode & 0o777 == 0o700


def test_the_check_of_hits(world, filled, monkeypatch):
    """PANTILE_CACHE_CHECK compiles on every hit, and notices machine code that was tampered with."""
    cache, victim = filled
    monkeypatch.setenv("PANTILE_CACHE_DIR", str(cache))
    assert world.check(cache, 64, PANTILE_CACHE_CHECK="1").cached is False
    payload = extension.cache_load(victim.name)
    at = payload.index(world.expected[64]) + len(world.expected[64]) // 2
    stored_by_hand(victim, payload[:at] + bytes([payload[at] ^ 255]) + payload[at + 1 :])
    done = subprocess.run(
        world.command(64),
        env=world.environment(cache, PANTILE_CACHE_CHECK="1"),
        capture_output=True,
        text=True,
        errors="replace",
    )
    assert done.returncode == 1 and "differs from its cache entry" in done.stderr
