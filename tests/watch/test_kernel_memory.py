"""Memory of the kernel that no group is charged for, with real sockets."""

import os
import sys

import pytest

from beyond_ram import memory_request
from beyond_ram.cli import main
from beyond_ram.watch import summary
from beyond_ram.watch.kernel_memory import _IN_A_ROW, KernelMemory

from .conftest import record_in

RING_BYTES, RINGS = 32 << 20, 8
RINGS_OF_PACKETS = f"""
import socket, struct, time
kept = []
for _ in range({RINGS}):
    kept.append(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
    kept[-1].setsockopt(263, 5, struct.pack("IIII", 1 << 20, {RING_BYTES >> 20}, 2048, {RING_BYTES >> 11}))
time.sleep(1)
"""
FREED_AND_TAKEN = """
import mmap, time
for turn in range(4):
    taken = mmap.mmap(-1, 150 << 20)
    for at in range(0, len(taken), 4096):
        taken[at] = 1
    time.sleep(0.6 if turn == 3 else 0)
    taken.close()
"""


@pytest.fixture
def peak(tmp_path, reading_is_possible):
    def watched(program):
        assert main(["watch", "--out", str(tmp_path / "run"), "--", sys.executable, "-c", program]) == 0
        return record_in(tmp_path / "run")

    return watched


@pytest.fixture
def reading_is_possible():
    if (kernel := KernelMemory.open()) is None:
        pytest.skip("this /proc does not tell the kernel's memory")
    kernel.close()


def test_rings_of_packet_sockets_are_named(peak):
    if os.geteuid():
        pytest.skip("needs root, for packet sockets")
    record = peak(RINGS_OF_PACKETS)
    if record["peak"]["uncharged_bytes"] is None:
        pytest.skip("no group counts the command")
    held = RINGS * RING_BYTES
    assert record["peak"]["kept"]["kept_bytes"] < held / 2, "no group is charged"
    assert record["peak"]["uncharged_bytes"] == pytest.approx(held, rel=0.5)
    size = f"{record['peak']['uncharged_bytes'] / 1e6:,.0f} MB"
    assert size in summary.without(memory_request.request_of(record), record["peak"])


def test_memory_that_cannot_be_read_is_named(peak, monkeypatch):
    monkeypatch.setattr(KernelMemory, "open", lambda: None)
    record = peak("")
    if (record["peak"]["kept"] or {"basis": "tree"})["basis"] == "tree":
        pytest.skip("no group counts the command")
    assert record["peak"]["uncharged_bytes"] is None
    assert summary.without(memory_request.request_of(record), record["peak"])


def test_memory_that_a_program_takes_and_frees_is_not_the_kernels(peak):
    record = peak(FREED_AND_TAKEN)
    assert (record["peak"]["uncharged_bytes"] or 0) < 100e6


def test_what_others_free_hides_nothing_that_comes_later(monkeypatch, reading_is_possible):
    kernel, sizes = KernelMemory(), iter([700, *[300] * _IN_A_ROW, *[500] * _IN_A_ROW, 900])
    before = kernel._before_bytes
    monkeypatch.setattr(kernel, "_read", lambda: before + next(sizes))
    monkeypatch.setattr(kernel, "_before_bytes", before + 700)
    for now_s in range(2 * _IN_A_ROW + 2):
        kernel.look(float(now_s), 0)
    kernel.close()
    assert kernel.uncharged_bytes == 200, "900 was there once: pages on their way"
