"""Rounds in one process: what runs, and when it ends."""

from collections import Counter
from collections.abc import Callable, Sequence

from beyond_ram.rounds import Block, Round, run

NOISY, QUIET = Block("noisy", ("a", "b")), Block("quiet", ("c", "d"))
Undecided = Callable[[int], Sequence[Block[str]]]


class Simulated:
    """Runs that take a fixed time each."""

    def __init__(self, seconds: float = 1.0) -> None:
        self.now, self.seconds = 0.0, seconds
        self.done: list[tuple[str, int]] = []

    def once(self, member: str, repeat: int) -> None:
        self.done.append((member, repeat))
        self.now += self.seconds

    def rounds(self, undecided: Undecided, budget_s: float) -> list[Round[str]]:
        return list(run([NOISY, QUIET], self.once, undecided, budget_s, seed=1, clock=lambda: self.now))


def test_decided_blocks_stop_and_open_blocks_get_the_rest() -> None:
    runs = Simulated()
    rounds = runs.rounds(lambda repeat: [NOISY, QUIET] if repeat < 2 else [NOISY], budget_s=14)
    assert Counter(member for member, _ in runs.done) == {"a": 5, "b": 5, "c": 2, "d": 2}
    assert len(rounds) == 5
    assert rounds[-1].used_s == 14


def test_rounds_stop_early_if_all_is_decided() -> None:
    runs = Simulated()
    rounds = runs.rounds(lambda _: [], budget_s=1000)
    assert (len(rounds), rounds[0].open, rounds[0].used_s) == (1, (), 4)


def test_first_round_runs_with_any_budget() -> None:
    assert len(Simulated().rounds(lambda _: [NOISY, QUIET], budget_s=0.5)) == 1


def test_rest_of_the_budget_goes_to_the_first_block_that_fits() -> None:
    runs = Simulated(2.0)
    runs.rounds(lambda _: [QUIET, NOISY], budget_s=13)
    assert [member for member, repeat in runs.done if repeat == 2] in (["c", "d"], ["d", "c"])


def test_a_new_block_runs_a_shared_member_once_a_round() -> None:
    between = [Block("lower", ("a", "m")), Block("upper", ("m", "b"))]
    runs = Simulated()
    runs.rounds(lambda repeat: between if repeat < 3 else [], budget_s=100)
    assert Counter(runs.done) == Counter(dict.fromkeys(runs.done, 1))
    assert sorted(member for member, repeat in runs.done if repeat == 2) == ["a", "b", "m"]
