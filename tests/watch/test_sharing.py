"""Pages that processes share are counted once: never too few, and exactly if PSS is read."""

import mmap
import os
import random
import signal
import subprocess
import time
from collections import Counter

import pytest

from beyond_ram.memory_request import TREE, request_of
from beyond_ram.watch import ceilings, procfs
from beyond_ram.watch.missing import Missing
from beyond_ram.watch.sampler import Counting, Sampler
from beyond_ram.watch.sharing import _HUGE_BYTES, ProcessMemory, Sample, Sharing, Twice
from beyond_ram.watch.tree import Tree

from .conftest import PYTHON, only_child, read_within

PAGE = mmap.PAGESIZE
IMAGE = (1, 2)


class World:
    """Simulated processes with their pages and page faults."""

    def __init__(self, chance):
        self.chance = chance
        self.private = {1: set()}
        self.shared = {1: set()}
        self.parents, self.faults, self._next, self._pid = {1: 0}, {1: 0}, 0, 1

    def sample(self):
        return Sample(
            {
                pid: ProcessMemory(
                    len(own) * PAGE, len(self.shared[pid]) * PAGE, self.faults[pid], (self.parents[pid], IMAGE)
                )
                for pid, own in self.private.items()
            },
            faults=sum(self.faults.values()),
        )

    def truth(self):
        return PAGE * sum(len(set().union(*pages.values())) for pages in (self.private, self.shared))

    def twice(self):
        both = (self.private, self.shared)
        sums = [sum(map(len, pages.values())) - len(set().union(*pages.values())) for pages in both]
        return Twice(sums[0] * PAGE, sums[1] * PAGE)

    def step(self):
        pid = self.chance.choice(list(self.private))
        some = self.chance.randrange(1, 60)
        action = self.chance.choice(["take", "give", "fork", "end", "copy", "map", "unmap"])
        if action == "take":
            self._touch(pid, self.private[pid], some)
        elif action == "give":
            self._drop(self.private[pid], some)
        elif action == "fork" and len(self.private) < 9:
            self.fork(pid)
        elif action == "end" and len(self.private) > 1:
            self.end(pid)
        elif action == "copy":
            owners = Counter(page for pages in self.private.values() for page in pages)
            common = [page for page in self.private[pid] if owners[page] > 1][:some]
            self.private[pid] -= set(common)
            self._touch(pid, self.private[pid], len(common))
        elif action == "map":
            to_map = sorted(set().union(*self.shared.values()) - self.shared[pid])[:some]
            self.faults[pid] += len(to_map)
            self.shared[pid] |= set(to_map)
            self._touch(pid, self.shared[pid], some // 4)
        elif action == "unmap":
            self._drop(self.shared[pid], some)

    def fork(self, pid):
        self._pid += 1
        self.private[self._pid], self.shared[self._pid] = set(self.private[pid]), set()
        self.parents[self._pid], self.faults[self._pid] = pid, 0
        return self._pid

    def end(self, pid):
        del self.private[pid], self.shared[pid]
        self.parents |= {child: 0 for child, parent in self.parents.items() if parent == pid}

    def burst(self):
        """Processes that start and end between two samples, and copy or take memory. Returns the peak in bytes."""
        most, started = 0, []
        for _ in range(self.chance.randrange(5)):
            started.append(pid := self.fork(self.chance.choice(list(self.private))))
            dropped = self.chance.randrange(1, 60)
            self._drop(self.private[pid], dropped)
            self._touch(pid, self.private[pid], dropped + self.chance.randrange(60))
            most = max(most, self.truth())
            if self.chance.random() < 0.5:
                self.end(started.pop())
        for pid in started:
            self.end(pid)
        return most

    def _touch(self, pid, pages, count):
        pages |= set(range(self._next, self._next + count))
        self._next += count
        self.faults[pid] += count

    def _drop(self, pages, count):
        pages -= set(self.chance.sample(sorted(pages), min(count, len(pages))))


@pytest.fixture
def sharing():
    made = Sharing()
    yield made
    made.close()


@pytest.mark.parametrize("seed", range(300))
def test_kept_memory_is_never_underestimated(sharing, seed):
    chance = random.Random(seed)
    world, most = World(chance), 0
    for _ in range(chance.randrange(5, 120)):
        for _ in range(chance.randrange(4)):  # events between two samples
            world.step()
        most = max(most, world.truth())
        sharing.note(world.sample())
        if chance.random() < 0.2:
            now = world.sample()
            sharing.read(now, now, world.twice())
    sharing.end()
    assert sharing.kept_bytes >= 0.99 * most, "samples within 1 % of each other count as one"


@pytest.mark.parametrize("seed", range(100))
def test_what_ended_between_two_samples_was_possible(sharing, seed):
    world, most = World(random.Random(seed)), 0
    for _ in range(40):
        world.step()
        sharing.note(world.sample())
        most = max(most, world.truth(), world.burst())
        sharing.note(world.sample())
    assert sharing.record()["kept_possible_bytes"] >= most


def test_huge_pages_of_what_ended_between_two_samples_were_possible(sharing):
    """A child took twenty huge pages with thirty faults, beside ten that a living process took."""
    huge = _HUGE_BYTES or pytest.skip("this kernel has no transparent huge pages")
    sharing.note(Sample({1: ProcessMemory(100 * PAGE, 0, 0)}, faults=0, huge_faults=5))
    living = {1: ProcessMemory(100 * PAGE + 10 * huge, 0, 10)}
    sharing.note(Sample(living, faults=40, huge_faults=35))
    possible = sharing.record(faults=40)["kept_possible_bytes"]
    assert 0 <= possible - (100 * PAGE + 30 * huge) <= 50 * PAGE


@pytest.mark.parametrize("lives", [True, False])
def test_shared_small_pages_that_became_huge_are_copies(sharing, lives):
    huge = _HUGE_BYTES or pytest.skip("this kernel has no transparent huge pages")
    parent, child = ProcessMemory(50 * huge, 0, 0, (9, (1, 1))), ProcessMemory(50 * huge, 0, 0, (1, (1, 1)))
    sharing.note(Sample({1: parent}, collapses=5))
    sharing.note(Sample({1: parent, 2: child}, collapses=5))
    assert sharing.kept_bytes == 50 * huge
    sharing.note(Sample({1: parent, 2: child} if lives else {1: parent}, collapses=25))
    assert sharing.kept_bytes == 70 * huge


def test_nothing_more_was_possible_without_children(sharing):
    for at in range(5):
        sharing.note(Sample({1: held(100, 1000 * at)}, faults=1000 * at))
    assert sharing.record(faults=9000)["kept_possible_bytes"] == sharing.kept_bytes == 100 * PAGE


@pytest.mark.parametrize("seed", range(50))
def test_kept_memory_is_exact_if_every_sample_is_read(sharing, seed):
    world, most = World(random.Random(seed)), 0
    for _ in range(60):
        world.step()
        most = max(most, world.truth())
        now = world.sample()
        sharing.note(now)
        sharing.read(now, now, world.twice())
    sharing.end()
    assert sharing.kept_bytes == most


def held(anon, faults=0, parent=0, image=IMAGE, shmem=0):
    """Return the memory of a process, from numbers of pages."""
    return ProcessMemory(anon * PAGE, shmem * PAGE, faults, (parent, image if parent else None))


def sample_of(**anon):
    return Sample({int(pid[1:]): held(size) for pid, size in anon.items()})


FIRST = {2: held(1000, 1000, 1)}
FORKED = FIRST | {3: held(1000, 30, 2)}


@pytest.mark.parametrize(
    ("samples", "kept"),
    [
        ([Sample(FIRST), Sample(FORKED)], 1030),
        ([Sample(FIRST), Sample(FORKED | {4: held(500, 10, 2, (3, 4))})], 1530),
        ([Sample(FIRST), Sample(FORKED | {4: held(1000, 20, 3)})], 1080),
        ([Sample(FIRST, faults=1000), Sample(FORKED, faults=1030), Sample(FIRST, faults=1800)], 1800),
        ([Sample({1: held(10, shmem=5)}, rise_bytes=700 * PAGE)], 710),
        ([Sample({1: held(0, shmem=500), 2: held(0, shmem=500)}, machine_shmem_bytes=520 * PAGE)], 520),
    ],
    ids=(
        "a fork shares what it has not touched",
        "another program has other addresses since its exec, and shares nothing",
        "forks of forks",
        "of a process that ended, the number of pages that it copied is known",
        "shared memory of no process is the machine's rise",
        "a tree has at most the machine's shared memory",
    ),
)
def test_pages_without_a_reading_of_pss(sharing, samples, kept):
    for sample in samples:
        sharing.note(sample)
    assert sharing.kept_bytes == kept * PAGE
    sharing.end()
    at_kept = sharing.record()["at_kept"]
    assert at_kept["anon_bytes"] + at_kept["shmem_bytes"] == kept * PAGE


def test_reading_holds_for_earlier_samples(sharing):
    for size in (100, 900, 1000):
        sharing.note(sample_of(p1=size))
    sharing.note(sample_of(p1=1000, p2=1000))
    now = sample_of(p1=1000, p2=1000, p3=1000)
    sharing.note(now)
    assert sharing.kept_bytes == 3000 * PAGE
    sharing.read(now, now, Twice(2000 * PAGE, 0))
    assert sharing.kept_bytes == 1000 * PAGE


def test_reading_of_shared_memory_holds_for_later_samples(sharing):
    before, after = (Sample({pid: held(own, shmem=500) for pid in (1, 2)}) for own in (10, 100))
    sharing.note(before)
    sharing.read(before, before, Twice(0, 500 * PAGE))
    sharing.note(after)
    assert sharing.kept_bytes == (2 * 100 + 500) * PAGE


def test_page_faults_count_copied_pages(sharing):
    now = sample_of(p1=1000, p2=1000)
    sharing.note(now)
    sharing.read(now, now, Twice(1000 * PAGE, 0))
    sharing.note(Sample({1: held(1000, 700), 2: held(1000)}))  # RSS does not move
    assert sharing.kept_bytes == 1700 * PAGE


def test_short_lived_child_invalidates_a_reading(sharing):
    other = ProcessMemory(PAGE, 0, 0)
    before, after = (Sample({1: ProcessMemory(PAGE, 0, 0, (0, None), faults), 2: other}) for faults in (0, 90))
    sharing.note(before)
    sharing.read(before, after, Twice(PAGE, 0))
    assert sharing.kept_bytes == 2 * PAGE


@pytest.mark.parametrize("alone", [True, False])
def test_reading_refutes_what_was_believed(sharing, alone):
    """A child replaced the pages of its fork without page faults. Then it gave up half."""
    sharing.note(Sample(FIRST))
    sharing.note(Sample(FORKED))
    assert sharing.kept_bytes == 1030 * PAGE and sharing.shares
    now = Sample(FIRST | {3: held(500, 30, 2)})
    sharing.read(now, now, Twice(0, 0), alone=alone)
    assert sharing.kept_now_bytes == 1500 * PAGE and not sharing.shares
    assert sharing.kept_bytes == (2000 if alone else 1500) * PAGE, "what was believed before the reading counts"


def test_what_is_shared_is_read_again_within_its_budget(sharing):
    now = sample_of(p1=1000, p2=1000)
    sharing.note(now)
    sharing.read(now, now, Twice(1000 * PAGE, 0))
    assert [sharing.worth_reading(spent, 0.3) for spent in (0, 0.4, 0.6)] == [True, True, False]
    assert not sharing.worth_reading(0, 0.1)


def test_number_of_pending_samples_is_bounded(sharing):
    for size in range(1, 5000):
        sharing.note(sample_of(p1=size * size, p2=size))
    assert len(sharing._pending) <= 64
    assert sharing.kept_bytes == (4999**2 + 4999) * PAGE


def test_reading_while_memory_grows_is_replaced_later(sharing):
    """Eight workers map the same segment. PSS is read halfway and at the end."""

    def mapped(size):
        return Sample({pid: held(0, size // 16, shmem=size) for pid in range(1, 9)})

    sharing.note(mapped(1000))
    sharing.read(mapped(1000), mapped(4000), Twice(0, 7000 * PAGE))
    assert sharing.kept_bytes > 20_000 * PAGE, "pages that came meanwhile may be private"
    sharing.note(mapped(5000))
    sharing.read(mapped(5000), mapped(5000), Twice(0, 35_000 * PAGE))
    assert sharing.kept_bytes <= 5000 * PAGE


# The first process waits, and is the root of a tree of two that share memory. One of these follows orders.
FOLLOWS_ORDERS = """
import os, signal, sys
ready, told = map(int, sys.argv[1:])
if os.fork(): os.wait()
held = bytearray(b"x") * 30_000_000
if os.fork() == 0: os.write(ready, b"."); signal.pause()
os.write(ready, b".")
while word := os.read(told, 1):
    if word == b"m": more = bytearray(b"x") * 30_000_000
    if word == b"f" and os.fork() == 0: signal.pause()
    os.write(ready, b".")
"""


@pytest.mark.parametrize(
    ("word", "has_pss", "is_counted"),
    [(b"-", True, True), (b"m", False, True), (b"f", True, False)],
    ids=["nothing", "takes memory", "forks"],
)
def test_reading_of_pss_counts_only_if_nothing_changed_meanwhile(word, has_pss, is_counted, tmp_path, monkeypatch):
    """Otherwise a page that two processes map one after the other would count one and a half times."""
    (ready, readied), (told, tell) = os.pipe(), os.pipe()
    command = [*PYTHON, FOLLOWS_ORDERS, str(readied), str(told)]
    with subprocess.Popen(command, pass_fds=[readied, told], start_new_session=True) as root:
        try:
            dots = b""
            while len(dots) < 2:
                dots += read_within(ready, 60)
            tree, sharing = Tree(root.pid), Sharing()
            sampler = Sampler(tmp_path / "s.csv", time.monotonic(), tree, counting=Counting(sharing=sharing))
            sampler.sample()
            before, read, words = sharing.readings, sampler.reader.proportional, [word]

            def meanwhile(pid):
                reading = read(pid)
                while words:
                    os.write(tell, words.pop())
                    assert read_within(ready, 60) == b"."
                return reading

            monkeypatch.setattr(sampler.reader, "proportional", meanwhile)
            row = sampler.sample(proportional=True)
            sampler.close()
        finally:
            os.killpg(root.pid, signal.SIGKILL)
            for descriptor in (ready, readied, told, tell):
                os.close(descriptor)
    assert row is not None and row["processes"] == 2
    assert (row["pss_bytes"] != "") is has_pss
    assert (sharing.readings > before) is is_counted


@pytest.mark.parametrize(("skipped", "has_pss"), [(0, True), (2, True), (3, False)])
def test_reading_of_pss_that_skips_a_mapping_is_repeated_or_left_out(skipped, has_pss, tmp_path, monkeypatch):
    """Linux 6.1 skips mappings now and then."""
    with only_child("held = bytearray(30_000_000)") as parent:
        whole, left = procfs.read, [b"[rollup]\nRss: 4000 kB\nPss: 4000 kB\n"] * skipped

        def read(pid, name):
            return left.pop() if name == "smaps_rollup" and left else whole(pid, name)

        monkeypatch.setattr(procfs, "read", read)
        missing = Missing()
        sampler = Sampler(tmp_path / "s.csv", time.monotonic(), Tree(parent), missing=missing)
        row = sampler.sample(proportional=True)
        sampler.finish(1)
        sampler.close()
    assert row is not None and row["processes"] == 1 and not left
    assert missing.has("PSS and USS") is not has_pss
    assert (row["pss_bytes"] != "") is has_pss
    assert not has_pss or row["pss_bytes"] > 30_000_000


def test_shared_memory_that_others_free_hides_none_that_is_new(monkeypatch):
    sizes = iter([200, 80, 190])
    monkeypatch.setattr(Sharing, "_read_machine", lambda _: next(sizes) << 20)
    sharing = Sharing()
    try:
        assert [sharing.look(), sharing.look()] == [True, True]
        assert sharing.sample({}).rise_bytes == 110 << 20
    finally:
        sharing.close()


BURSTS = """
import os, time
for _ in range(4):
    if os.fork() == 0: bytearray(b"x") * 60_000_000; os._exit(0)
    os.wait()
time.sleep(1)
"""


@pytest.mark.usefixtures("alone")
def test_children_that_no_sample_saw_weaken_request_and_ceiling(watched):
    record = watched(BURSTS, interval_ms=300)
    kept, request = record["peak"]["kept"], request_of(record)
    assert (record["outcome"], kept["basis"]) == ("completed", TREE)
    assert kept["kept_possible_bytes"] >= 60_000_000
    assert request.at_least or request.request_bytes >= 60_000_000
    (judged,) = ceilings.judge(record, [ceilings.Ceiling("anon", 40_000_000, "40MB")])
    assert judged["result"] != ceilings.WITHIN
