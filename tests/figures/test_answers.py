"""The first paragraphs of captions, which answer the questions of the report, from data and from their opposite."""

import runpy
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
MB = 1e6


def module(name: str) -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts/figures" / f"{name}.py"))


def loaded(loader: str, limit: int, rate: float, outcome: str = "completed", **line: Any) -> dict[str, Any]:
    return {
        "loader": loader, "order": "shuffled", "workers": 0, "start": "none", "tokens": "t", "page_cache": "cold",
        "batch_size": 256, "limit_percent": limit, "rows_per_s_reached": rate, "read_per_byte": 1.5, "n": 2, "asked": 2,
        "rows_per_s_reached_min": 0.9 * rate, "rows_per_s_reached_max": 1.1 * rate, "duration_s": 12.0,
        "read_ahead_bytes": 131072, "outcome": outcome, "advice": "none", "option": "none", "torch_threads": 0, **line,
    }  # fmt: skip


def answer_of_loaders(*lines: dict[str, Any]) -> str:
    drawn = module("loading_limit")["plot"](pd.DataFrame(lines))
    assert not isinstance(drawn, str)
    plt.close(drawn[0])
    return str(drawn[1].partition("\n\n")[0])


def test_loader_that_is_fastest_with_memory_is_not_advised_without_it() -> None:
    text = answer_of_loaders(
        loaded("map", 0, 90000), loaded("blocks", 0, 60000),
        loaded("map", 20, 100, "timed_out", n=0), loaded("blocks", 20, 50000),
    )  # fmt: skip
    assert "20 % of the rows' bytes, shuffled, blocks reached 50,000 rows/s (45,000 to 55,000, n = 2)." in text
    assert "With enough memory map is the fastest, 90,000 rows/s (81,000 to 99,000, n = 2). The limit slows map" in text
    assert text.endswith("to 100 rows/s (90 to 110, n = 2) until it was timed out after 12 s.")


def test_loader_that_did_not_always_complete_says_so() -> None:
    text = answer_of_loaders(
        loaded("map", 0, 90000), loaded("blocks", 0, 60000),
        loaded("map", 20, 100, "timed_out", n=0), loaded("blocks", 20, 50000, "timed_out", n=1),
    )  # fmt: skip
    assert "blocks reached 50,000 rows/s (45,000 to 55,000, 1 of 2 runs timed out)." in text


def test_loader_says_what_it_shuffles() -> None:
    text = answer_of_loaders(
        loaded("map", 0, 9000), loaded("blocks", 20, 50000, shuffle="blocks"), loaded("map", 20, 9)
    )
    assert "blocks (shuffles blocks) reached" in text


def test_loader_that_is_fastest_with_and_without_memory_is_one_sentence() -> None:
    text = answer_of_loaders(
        loaded("map", 0, 90000), loaded("blocks", 0, 60000), loaded("map", 20, 80000), loaded("blocks", 20, 50000)
    )
    assert "shuffled, map reached 80,000 rows/s" in text and "With enough memory it is the fastest too" in text
    assert "blocks" not in text


def test_loaders_whose_ranges_overlap_are_not_told_apart() -> None:
    lines = [loaded("map", 0, 90000), loaded("blocks", 0, 60000), loaded("map", 20, 55000), loaded("blocks", 20, 50000)]
    assert ", not told apart from blocks" in answer_of_loaders(*lines)
    assert "told apart" not in answer_of_loaders(*lines[:2], loaded("map", 20, 80000), lines[3])


def test_loader_that_was_killed_before_a_row_is_not_left_out() -> None:
    killed = loaded("map", 20, float("nan"), "killed_at_limit", n=0, read_per_byte=float("nan"))
    text = answer_of_loaders(loaded("map", 0, 90000), loaded("blocks", 0, 60000), killed, loaded("blocks", 20, 50000))
    assert text.endswith("to no rows within a second (n = 2) until it was killed at limit.")


def test_loader_that_did_not_finish_says_so() -> None:
    cut = loaded("map", 20, 100, "killed_at_limit", n=0)
    text = answer_of_loaders(loaded("map", 0, 90000, "timed_out", n=0), cut)
    assert "map reached 100 rows/s (90 to 110, n = 2) until it was killed at limit." in text
    assert "the fastest too: 90,000 rows/s (81,000 to 99,000, n = 2) until it was timed out after 12 s." in text


def growing(shape: str, result: str | None = None, cause: str = "", **line: Any) -> str:
    """What the answer says about one line."""
    slope = zip(("", "_low", "_high"), (17000.0, 11000.0, 23000.0), strict=True)
    line = {"named": "june", "anon_shape": shape, "anon_rise_mb": 920.0, "runs": 2, "bytes_in_max": 60 * MB} | line
    line |= {f"anon_slope_mb_per_gb{end}": size for end, size in slope}
    line |= {"difference_result": result, "difference_low": -19000.0, "difference_high": -11000.0, "against": "old"}
    return str(module("growth_by_input")["kept"](line, (140.0, 1060.0), cause))


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ("straight", "With june the heap grew by 17 MB per MB of text (11 to 23, n = 2)"),
        ("levels off", "With june the heap lay between 140 and 1,060 MB (n = 2) and levelled off"),
        (
            "undecided",
            "With june the heap lay between 140 and 1,060 MB (n = 2); whether it grows is undecided (",
        ),
        ("flat", "With june the heap lay between 140 and 1,060 MB (n = 2) and did not grow"),
    ],
)
def test_heap_is_said_to_go_on_growing_only_where_it_does(shape: str, words: str) -> None:
    assert growing(shape).startswith(words)


def test_growth_names_its_cause_and_its_difference_only_where_they_are_decided() -> None:
    assert growing("straight", cause="the tokenizer held most of it").endswith("; the tokenizer held most of it")
    assert growing("flat", "better").endswith("; per MB of text it grew by 11 to 19 MB less than with old")
    assert " more than with old" in growing("flat", "worse")
    assert "than" not in growing("undecided", "undecided")
    assert "grew" not in growing("straight", bytes_in_max=2 * MB), "too little text for a rate"


def started(*ends: str, cached: int = 0) -> dict[str, Any]:
    shards = [{"t_s": n, "from_cache": n < cached, "rss_bytes": (90 if n < cached else 400) * MB} for n in range(4)]
    attempts = [{"outcome": end, "shards": shards} for end in ends]
    return {"attempts": attempts, "memory_limit_bytes": 700 * MB, "cell": {"stack": "june"}}


def test_starts_are_counted_as_they_ended() -> None:
    answer = module("attempts")["answer"]
    assert answer(started("completed")) == "june: under 700 MB it completed at the first start."
    assert "was killed 2 times, and the same command then completed" in answer(
        started("killed_at_limit", "killed_at_limit", "completed", cached=3)
    )
    assert "(90 MB resident then), and computed the rest (400 MB resident after it)" in answer(
        started("killed_at_limit", "completed", cached=3)
    )
    assert "from the cache" not in answer(started("killed_at_limit", "completed"))
    assert "did not complete in 2 starts" in answer(started("killed_at_limit", "killed_at_limit", cached=1))


@pytest.mark.parametrize(("least", "word"), [(80, ": enough (+25%)"), (120, ": not enough")])
def test_request_is_held_against_the_smallest_limit(least: int, word: str) -> None:
    line = {
        "cell": "map",
        "ask_bytes": 100 * MB,
        "completed_at_bytes": least * MB,
        "ended_at_bytes": 70 * MB,
        "ended": "killed",
    }
    assert word in module("smallest_limit")["answer"](line)


def test_no_release_is_named_without_a_confirmed_step() -> None:
    columns = ["metric", "factor", "from_value", "to_value", "from_version", "to_version", "n"]
    answer = module("versions")["answer"]
    assert answer(pd.DataFrame(columns=columns)) == "No step between two releases is confirmed."
    step = {"stack": "s", "metric": "grown_anon_bytes", "factor": "tokenizers", "from_value": 69 * MB, "n": 2}
    step |= {"to_value": 3 * MB, "from_version": "0.20.3", "to_version": "0.21.0"}
    assert answer(pd.DataFrame([step])) == "Heap growth (s): fell from 69 to 3 MB with tokenizers 0.21.0 (n = 2)."
    assert "rose from 3 to 69 MB" in answer(pd.DataFrame([step | {"from_value": 3 * MB, "to_value": 69 * MB}]))


def test_starts_that_never_complete_are_drawn() -> None:
    figures = module("attempts")
    record = started("killed_at_limit", "killed_at_limit") | {"work": {}}
    record["cell"] |= {"corpus": "c", "shards": 4, "rep": 1}
    record["attempts"] = [
        one | {"duration_s": 1.0, "course": [{"t_s": 0.0, "rss_bytes": MB}], "shards": []} for one in record["attempts"]
    ]
    drawn = figures["plot"]([(record, [])])
    assert not isinstance(drawn, str)
    plt.close(drawn[0])
    assert figures["name"](record) == "june, c, 4 shards"


def test_answer_of_loaders_names_the_size_of_the_rows_and_what_advice_to_the_kernel_gave() -> None:
    stored = {"stored_bytes": 2.05e9, "rows_expected": 500_000}
    text = answer_of_loaders(
        loaded("map", 0, 90000, **stored), loaded("blocks", 0, 60000, **stored),
        loaded("map", 20, 100, "timed_out", n=0), loaded("blocks", 20, 50000, **stored),
        loaded("map", 20, 7000, "timed_out", n=0, advice="random"),
    )  # fmt: skip
    assert text.startswith("With memory for 20 % of 2.05 GB of rows (4.1 kB each), shuffled, blocks reached 50,000")
    assert text.endswith(
        "; with madvise random 7,000 rows/s (6,300 to 7,700, n = 2) until it was timed out after 12 s."
    )


def test_loader_that_a_limit_slows_down_is_named_where_another_is_always_the_fastest() -> None:
    text = answer_of_loaders(
        loaded("map", 0, 50000), loaded("blocks", 0, 90000), loaded("map", 20, 100), loaded("blocks", 20, 85000)
    )
    assert "With enough memory it is the fastest too" in text and "The limit slows map most: from 50,000" in text
    level = answer_of_loaders(
        loaded("map", 0, 50000), loaded("blocks", 0, 51000), loaded("map", 20, 50000), loaded("blocks", 20, 51000)
    )
    assert "slows" not in level and level.count("not told apart from map") == 2
