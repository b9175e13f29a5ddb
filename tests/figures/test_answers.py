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
    assert text.startswith("With memory for 20 % of the rows, blocks, shuffled: 50,000 rows/s (n = 2).")
    assert "map, the fastest with enough memory at 90,000 rows/s, delivered 100 rows/s there until" in text


def test_loader_that_is_fastest_with_and_without_memory_is_one_sentence() -> None:
    text = answer_of_loaders(
        loaded("map", 0, 90000), loaded("blocks", 0, 60000), loaded("map", 20, 80000), loaded("blocks", 20, 50000)
    )
    assert "map, shuffled: 80,000 rows/s" in text and "fastest with enough memory too" in text
    assert "blocks" not in text


def test_loader_that_was_killed_before_a_row_is_not_left_out() -> None:
    killed = loaded("map", 20, float("nan"), "killed_at_limit", n=0, read_per_byte=float("nan"))
    text = answer_of_loaders(loaded("map", 0, 90000), loaded("blocks", 0, 60000), killed, loaded("blocks", 20, 50000))
    assert "delivered no rows within a second there until it was killed at limit" in text


def test_loader_that_did_not_finish_with_memory_is_not_called_the_fastest() -> None:
    text = answer_of_loaders(
        loaded("map", 0, 90000, "timed_out", n=0), loaded("blocks", 0, 60000),
        loaded("map", 20, 100, "timed_out", n=0), loaded("blocks", 20, 50000),
    )  # fmt: skip
    assert "blocks, shuffled: 50,000 rows/s (n = 2). It is the fastest with enough memory too: 60,000" in text


def test_no_loader_is_named_where_none_finished() -> None:
    text = answer_of_loaders(loaded("map", 0, 90000), loaded("map", 20, 100, "killed_at_limit", n=0))
    assert text.startswith("With memory for 20 % of the rows, no loader, shuffled, finished under the limit.")


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ("straight", "june rose by 920 MB, 17 MB per MB of text (11 to 23) (n = 2)"),
        ("levels off", "june rose by 920 MB, then no more (n = 2)"),
        ("undecided", "june rose by 920 MB, too little to tell growth from scatter (n = 2)"),
        ("flat", "june rose by 920 MB (n = 2)"),
    ],
)
def test_heap_is_said_to_go_on_growing_only_where_it_does(shape: str, words: str) -> None:
    slope = zip(("", "_low", "_high"), (17000.0, 11000.0, 23000.0), strict=True)
    line = {"named": "june", "anon_shape": shape, "anon_rise_mb": 920.0, "runs": 2}
    line |= {f"anon_slope_mb_per_gb{end}": size for end, size in slope}
    assert module("growth_by_input")["kept"](line) == words


def started(*ends: str, cached: int = 0) -> dict[str, Any]:
    shards = [{"t_s": n, "from_cache": n < cached, "anon_bytes": (90 if n < cached else 400) * MB} for n in range(4)]
    attempts = [{"outcome": end, "shards": shards} for end in ends]
    return {"attempts": attempts, "memory_limit_bytes": 700 * MB, "cell": {"stack": "june"}}


def test_starts_are_counted_as_they_ended() -> None:
    answer = module("attempts")["answer"]
    assert answer(started("completed")) == "june: under 700 MB it completed at the first start."
    assert "was killed 2 times, and the same command then completed" in answer(
        started("killed_at_limit", "killed_at_limit", "completed", cached=3)
    )
    assert "heap 90 MB after them, 400 MB after" in answer(started("killed_at_limit", "completed", cached=3))
    assert "from the cache" not in answer(started("killed_at_limit", "completed"))
    assert "did not complete in 2 starts" in answer(started("killed_at_limit", "killed_at_limit", cached=1))


@pytest.mark.parametrize(("least", "word"), [(80, "so that was enough"), (120, "so that was not enough")])
def test_request_is_held_against_the_smallest_limit(least: int, word: str) -> None:
    line = {"cell": "map", "ask_bytes": 100 * MB, "completed_at_bytes": least * MB}
    assert word in module("smallest_limit")["answer"](line)


def test_no_release_is_named_without_a_confirmed_step() -> None:
    columns = ["metric", "factor", "from_value", "to_value", "from_version", "to_version", "n"]
    answer = module("versions")["answer"]
    assert answer(pd.DataFrame(columns=columns)) == "No step between two releases is confirmed."
    step = {"metric": "grown_anon_bytes", "factor": "tokenizers", "from_value": 69 * MB, "to_value": 3 * MB,
            "from_version": "0.20.3", "to_version": "0.21.0", "n": 2}  # fmt: skip
    assert "tokenizers 0.21.0 changed it from 69 to 3 MB (n = 2)" in answer(pd.DataFrame([step]))


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
