"""How processes agree on one decision: each log, each way to go wrong, with threads as ranks."""

import errno
import json
import multiprocessing
import os
import random
import subprocess
import sys
import threading
import time
import warnings

import pytest
from pantile.runtime import agreement, process_identity, rank_logs
from pantile.runtime.agreement import LogError, agree
from pantile.runtime.rank_logs import FileLog, KeyValueLog


class Store:
    """The part of torch.distributed's stores that is used, in memory."""

    def __init__(self):
        self.values, self.mutex = {}, threading.Lock()

    def compare_set(self, key, expected, desired):
        with self.mutex:
            if key not in self.values and expected == "":
                self.values[key] = desired.encode()
            return self.values.get(key, expected.encode())

    def check(self, keys):
        return all(key in self.values for key in keys)

    def get(self, key):
        return self.values[key]

    def add(self, key, amount):
        with self.mutex:
            self.values[key] = self.values.get(key, 0) + amount
            return self.values[key]


@pytest.fixture(params=["memory", "files", "hash store", "tcp store"])
def log(request, tmp_path):
    """A function that opens one more view of the same log."""
    if request.param == "files":
        return lambda: FileLog(str(tmp_path / "run"), "question")
    if request.param == "memory":
        store = Store()
    else:
        distributed = pytest.importorskip("torch.distributed")
        store = distributed.PrefixStore(
            "test",
            distributed.HashStore()
            if request.param == "hash store"
            else distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False),
        )
    return lambda: KeyValueLog(store, "question")


def in_threads(count, work):
    """Return what `work(number)` gave, or raised, in threads that run at once."""
    found = [None] * count

    def run(number):
        try:
            found[number] = work(number)
        except Exception as error:
            found[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return found


def claim_of(**more):
    """A claim that a process of another host appended."""
    there = {"host": "elsewhere", "process": 1, "started": "1", "token": "t"}
    return json.dumps(["claim", {**there, **more}])


def test_one_decides_for_all(log):
    decided = []

    def decide(number):
        time.sleep(0.05)
        decided.append(number)
        return {"best": number}

    found = in_threads(12, lambda number: agree(log(), lambda: decide(number), patience=30))
    assert len(decided) == 1
    assert sorted(is_ours for _, is_ours in found) == [False] * 11 + [True]
    assert all(decision == {"best": decided[0]} for decision, _ in found)
    assert agree(log(), lambda: 1 / 0, patience=30) == ({"best": decided[0]}, False)


def test_a_decision_that_fails_is_left_to_the_next(log):
    turns = []

    def decide(number):
        turns.append(number)
        time.sleep(0.02)
        if len(turns) < 4:
            raise ValueError(f"not {number}")
        return number

    found = in_threads(8, lambda number: agree(log(), lambda: decide(number), patience=30))
    assert len(turns) == 4 and len(set(turns)) == 4
    for number, one in enumerate(found):
        if number in turns[:3]:
            assert isinstance(one, ValueError) and str(one) == f"not {number}"
        else:
            assert one == (turns[3], number == turns[3])


def test_a_process_that_died_is_not_waited_for(log):
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True
    )
    claim = claim_of(host=process_identity.host_identity(), process=int(dead.stdout), started="7")
    log().append(0, claim)
    start = time.monotonic()
    found = in_threads(4, lambda number: agree(log(), lambda: number, patience=60))
    assert time.monotonic() - start < 10
    assert len({decision for decision, _ in found}) == 1
    assert sum(is_ours for _, is_ours in found) == 1


def test_a_zombie_is_dead():
    child = subprocess.Popen([sys.executable, "-c", "pass"], stdout=subprocess.PIPE)
    started = process_identity.start_of(child.pid)
    child.stdout.read()
    end = time.monotonic() + 20
    while process_identity.is_alive(child.pid, started) and time.monotonic() < end:
        time.sleep(0.01)
    assert os.path.exists(f"/proc/{child.pid}"), "it was not waited for"
    assert not process_identity.is_alive(child.pid, started)
    child.wait()
    assert process_identity.is_alive(os.getpid(), process_identity.start_of(os.getpid()))
    assert not process_identity.is_alive(os.getpid(), "0"), "a number that is used again"


def test_a_silent_process_of_another_host_is_not_waited_for(log, monkeypatch):
    monkeypatch.setattr(agreement, "_SIGN", 0.05)
    monkeypatch.setattr(agreement, "_SILENCE", 0.6)
    log().append(0, claim_of())
    start = time.monotonic()
    for _ in range(20):
        log().give_sign(0)
        time.sleep(0.01)
    found = in_threads(3, lambda number: agree(log(), lambda: number, patience=60))
    assert 0.6 < time.monotonic() - start < 20
    assert len({decision for decision, _ in found}) == 1


def test_signs_of_life_are_waited_for(log, monkeypatch):
    monkeypatch.setattr(agreement, "_SIGN", 0.05)
    monkeypatch.setattr(agreement, "_SILENCE", 1.0)
    monkeypatch.setattr(agreement, "host_identity", lambda: "not the one of claims")

    def slowly():
        time.sleep(3)
        return "slow"

    found = in_threads(3, lambda number: agree(log(), slowly, patience=60))
    assert [decision for decision, _ in found] == ["slow"] * 3
    assert sum(is_ours for _, is_ours in found) == 1


def test_patience_ends_and_the_first_decision_counts(log):
    """The process that claimed hangs for a while: it takes what the others decide meanwhile."""
    hangs = threading.Event()
    claimed = threading.Event()

    def hang():
        claimed.set()
        hangs.wait(30)
        return "late"

    def work(number):
        if number == 0:
            return agree(log(), hang, patience=30)
        claimed.wait(30)
        try:
            return agree(log(), lambda: number, patience=0.3)
        finally:
            hangs.set()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = in_threads(4, work)
    decisions = {decision for decision, _ in found}
    assert len(decisions) == 1 and decisions <= {1, 2, 3}
    assert found[0][1] is False
    assert caught and all("waited 0.3 s for another rank" in str(one.message) for one in caught)
    assert agree(log(), lambda: 1 / 0, patience=0) == (decisions.pop(), False)


def test_nothing_is_claimed_before_it_is_time(log):
    """What a rank waits for before it claims holds up no other."""
    begun, other_is_done = threading.Event(), threading.Event()

    def before():
        begun.set()
        assert other_is_done.wait(30)

    def work(number):
        if number == 0:
            return agree(log(), lambda: "first", patience=30, before_claim=before)
        begun.wait(30)
        try:
            return agree(log(), lambda: "second", patience=30)
        finally:
            other_is_done.set()

    assert in_threads(2, work) == [("second", False), ("second", True)]


def one_of_many(folder, number, delay):
    """A process that decides slowly, and writes down what it takes."""
    question = FileLog(str(folder / "run"), "q")

    def decide():
        time.sleep(delay)
        return number

    decision, _ = agree(question, decide, patience=60)
    (folder / f"answer{number}").write_text(str(decision))


@pytest.mark.parametrize("seed", range(6))
def test_processes_killed_at_random_points(tmp_path, seed):
    """Those that are left take one decision, soon; none that was killed keeps them waiting."""
    chance = random.Random(seed)
    fork = multiprocessing.get_context("fork")
    processes = [
        fork.Process(target=one_of_many, args=(tmp_path, number, chance.uniform(0, 0.3)))
        for number in range(8)
    ]
    start = time.monotonic()
    for process in processes:
        process.start()
    for victim in chance.sample(processes[:5], 4):
        time.sleep(chance.uniform(0, 0.1))
        victim.kill()
    for process in processes:
        process.join(60)
        assert process.exitcode is not None
    assert time.monotonic() - start < 30
    found = {path.name: path.read_text() for path in tmp_path.glob("answer*")}
    assert {"answer5", "answer6", "answer7"} <= set(found)
    assert len(set(filter(None, found.values()))) == 1, found


class Broken(Store):
    """A store whose server is gone after some calls."""

    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def check(self, keys):
        self._count()
        return super().check(keys)

    def compare_set(self, *args):
        self._count()
        return super().compare_set(*args)

    def _count(self):
        self.calls -= 1
        if self.calls < 0:
            raise RuntimeError("Connection reset by peer")


def test_a_key_value_store_that_is_gone():
    for calls in (0, 1):
        with pytest.raises(LogError, match="Connection reset"):
            agree(KeyValueLog(Broken(calls), "q"), lambda: 5, patience=1)
    with pytest.warns(
        RuntimeWarning, match="cannot send its choice to other ranks.*Connection reset"
    ):
        assert agree(KeyValueLog(Broken(2), "q"), lambda: 5, patience=1) == (5, True)


def test_entries_of_others_are_not_trusted(log):
    log().append(0, "no JSON")
    with pytest.raises(LogError, match="cannot be read"):
        agree(log(), lambda: 5, patience=1)


def test_entries_never_change(log):
    found = in_threads(12, lambda number: log().append(3, f"entry of {number}"))
    assert len(set(found)) == 1 and found[0] == log().read(3)
    assert log().read(0) is None and log().read(4) is None
    before = log().signs(3)
    time.sleep(0.02)
    log().give_sign(3)
    assert log().signs(3) != before and log().read(3) == found[0]


def test_files_need_no_locks_and_leave_nothing(tmp_path):
    log = FileLog(str(tmp_path / "run"), "q")
    in_threads(
        8, lambda number: agree(FileLog(str(tmp_path / "run"), "q"), lambda: number, patience=9)
    )
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["q.0", "q.1"]
    assert json.loads(log.read(1))[0] == "decision"


def folder(cache, **identity):
    return rank_logs.folder_of_run({"MASTER_PORT": "1", **identity}, str(cache))


def test_a_run_has_a_folder_of_its_own(tmp_path, monkeypatch):
    """Of runs of one name, the earlier one's choices do not count for the later one."""
    first = folder(tmp_path)
    assert first == folder(tmp_path) and first != folder(tmp_path, MASTER_PORT="2")
    assert set(in_threads(8, lambda _: folder(tmp_path))) == {first}
    now = time.time()
    monkeypatch.setattr(rank_logs.time, "time", lambda: now + 3600)
    monkeypatch.setattr(rank_logs, "seconds_since_start", lambda: 5.0)
    assert folder(tmp_path) == first, "the rank that began the run still runs"
    monkeypatch.setattr(rank_logs, "is_alive", lambda process, started: False)
    second = folder(tmp_path)
    assert second != first and os.path.dirname(second) == os.path.dirname(first)
    assert set(in_threads(8, lambda _: folder(tmp_path))) == {second}


@pytest.mark.parametrize("why", [errno.EPERM, errno.EOPNOTSUPP, errno.EROFS])
def test_a_cache_without_hard_links(tmp_path, monkeypatch, why):
    """Another folder serves; where there is none, each rank is left to itself."""
    link, cache = os.link, tmp_path / "cache"

    def refuse(source, target):
        if target.startswith(str(cache)):
            raise OSError(why, os.strerror(why))
        link(source, target)

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(rank_logs.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    found = folder(cache)
    assert found.startswith(str(tmp_path / "temporary")) and found == folder(cache)
    monkeypatch.setattr(rank_logs.tempfile, "gettempdir", lambda: str(cache))
    assert folder(cache) is None


def test_a_folder_that_others_may_write_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(rank_logs.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    (tmp_path / "ranks").mkdir()
    (tmp_path / "ranks").chmod(0o777)
    assert folder(tmp_path).startswith(str(tmp_path / "temporary"))


def test_old_runs_go(tmp_path, monkeypatch):
    """Of other names, and of the same one; new runs count on."""
    first = folder(tmp_path)
    other = folder(tmp_path, MASTER_PORT="2")
    name = os.path.dirname(first)
    for path in (os.path.dirname(other), first, f"{name}/run.0"):
        os.makedirs(path, exist_ok=True) if "run." not in path else None
        os.utime(path, (time.time() - 8 * 86400,) * 2)
    monkeypatch.setattr(rank_logs, "is_alive", lambda process, started: False)
    now = time.time()
    monkeypatch.setattr(rank_logs.time, "time", lambda: now + 60)
    monkeypatch.setattr(rank_logs, "seconds_since_start", lambda: 5.0)
    assert folder(tmp_path) == f"{name}/1"
    assert os.listdir(name) == ["run.1"] and os.listdir(os.path.dirname(name)) == [
        os.path.basename(name)
    ]
    assert folder(tmp_path) == f"{name}/1"
    monkeypatch.setattr(rank_logs.time, "time", lambda: now + 120)
    assert folder(tmp_path) == f"{name}/2"
