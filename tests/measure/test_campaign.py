"""Campaigns: budget, resuming after the last complete block, other questions."""

import json
import math

import pytest

from beyond_ram.files import DamagedError
from beyond_ram.folders import ForeignFolderError
from beyond_ram.measure.campaign import BLOCKS, OtherQuestionError, opened, words_of
from beyond_ram.measure.plan import Block, Member, Run

A, B = Member("case", "a"), Member("case", "b")


class Rounds:
    """A policy that runs both members in each of some rounds."""

    def __init__(self, rounds, *, must=False):
        self.rounds, self.must = rounds, must

    def next(self, runs):
        done = len(runs) // 2
        return [Block(f"round {done}", (A, B), self.must)] if done < self.rounds else []


def fill(campaign, policy, budget_s=1e9, run_s=1.0, stop=10**6):
    """Run a campaign whose runs take `run_s`, by its own clock; the call is killed in its run number `stop`."""
    now, made = [0.0], list[Run]()

    def once(member, number, block):
        if len(made) + 1 == stop:
            raise KeyboardInterrupt
        now[0] += run_s
        made.append(Run(member, number, block, "completed", values={"n": number}, started_at=now[0] - run_s,
                        ended_at=now[0]))  # fmt: skip
        return made[-1]

    campaign.clock, campaign.once = lambda: now[0], once
    campaign.__post_init__()
    campaign.run(policy, budget_s)
    return made


def test_metric_that_is_missing_is_null_in_the_file(tmp_path):
    with opened(tmp_path / "out", {"of": "a"}) as campaign:
        campaign.once = lambda *of: Run(*of, "completed", values={"known": 1.5, "missing": math.nan})
        campaign.run(Rounds(1), 9)
    assert json.loads((campaign.out / BLOCKS).read_text())["runs"][0]["values"] == {"known": 1.5, "missing": None}
    with opened(campaign.out, {"of": "a"}) as again:
        values = again.runs[0].values
        assert values["known"] == 1.5
        assert math.isnan(values["missing"])


@pytest.mark.parametrize("stop", range(1, 9))
def test_call_that_was_ended_goes_on_after_its_last_complete_block(tmp_path, stop):
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt), opened(out, {"of": "a"}) as campaign:
        fill(campaign, Rounds(4), stop=stop)
    assert out.exists() is (stop > 2), "a new folder without a complete block is removed"
    with opened(out, {"of": "a"}) as campaign:
        made = fill(campaign, Rounds(4))
        assert len(campaign.runs) == 8
        assert [run.number for run in campaign.runs if run.member == A] == [1, 2, 3, 4]
        assert len(made) == 8 - 2 * ((stop - 1) // 2)
        assert campaign.used_s == 8
    with opened(out, {"of": "a"}) as again:
        assert again.runs == campaign.runs
        assert again.seed == campaign.seed
        assert not fill(again, Rounds(4))


def test_line_that_was_cut_is_made_again(tmp_path):
    with opened(tmp_path / "out", {}) as campaign:
        fill(campaign, Rounds(3))
    blocks = tmp_path / "out" / BLOCKS
    whole = blocks.read_bytes()
    blocks.write_bytes(whole[:-9])
    with opened(tmp_path / "out", {}) as campaign:
        assert len(fill(campaign, Rounds(3))) == 2
    with opened(tmp_path / "out", {}) as campaign:
        assert [run.number for run in campaign.runs if run.member == A] == [1, 2, 3]
    assert len(blocks.read_bytes().splitlines()) == 3
    blocks.write_bytes(whole.replace(b'"runs"', b'"ruins"', 1))
    with pytest.raises(DamagedError), opened(tmp_path / "out", {}):
        pass


def test_other_question_is_refused_and_changes_nothing(tmp_path):
    with opened(tmp_path / "out", {"package": "polars", "releases": ["1", "2"]}) as campaign:
        fill(campaign, Rounds(1))
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*")}
    with (
        pytest.raises(OtherQuestionError, match='package was "polars", and is "pandas"'),
        opened(tmp_path / "out", {"package": "pandas", "releases": ["1", "2"]}),
    ):
        pass
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*")} == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(ForeignFolderError), opened(tmp_path / "mine", {}):
        pass


def test_budget_leaves_out_blocks_that_would_not_fit(tmp_path):
    with opened(tmp_path / "out", {}) as campaign:
        assert len(fill(campaign, Rounds(9), budget_s=5)) == 4
        assert campaign.out_of_budget
    with opened(tmp_path / "out", {}) as campaign:
        assert not fill(campaign, Rounds(9), budget_s=5), "the time of earlier calls counts"
        assert campaign.out_of_budget
        assert len(fill(campaign, Rounds(9), budget_s=7)) == 2
    with opened(tmp_path / "must", {}) as campaign:
        assert len(fill(campaign, Rounds(2, must=True), budget_s=0.1)) == 4


def test_order_of_a_campaign_can_be_repeated(tmp_path):
    with opened(tmp_path / "out", {"of": 1}, seed=7) as campaign:
        assert campaign.seed == 7
    assert json.loads((tmp_path / "out" / "campaign.json").read_text()) == {"question": {"of": 1}, "seed": 7}


def test_commands_that_differ_in_a_secret_are_other_questions():
    one, other = (words_of(["x", "--pass", word]) for word in ("2", "40"))
    assert one != other
    assert "40" not in other[:-1]
    assert words_of(["x", "--rows", "2"]) == ["x", "--rows", "2"]
