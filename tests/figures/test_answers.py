"""The first paragraphs of captions, which answer the questions of the report, from data and from their opposite.

`BEYOND_RAM_GOLDEN=1 uv run pytest tests/figures/test_answers.py` renews the page of them: read the diff.
"""

import math
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from ..conftest import ROOT, assert_golden

GOLDEN = Path(__file__).with_name("answers.md")
MB = 1e6


def module(name):
    return runpy.run_path(str(ROOT / "scripts/figures" / f"{name}.py"))


def loaded(loader, limit, rate, outcome="completed", **line):
    return {
        "loader": loader, "order": "shuffled", "workers": 0, "start": "none", "tokens": "t", "page_cache": "cold",
        "batch_size": 256, "limit_percent": limit, "rows_per_s_reached": rate, "read_per_byte": 1.5, "n": 2, "runs": 2,
        "rows_per_s_reached_min": 0.9 * rate, "rows_per_s_reached_max": 1.1 * rate, "duration_s": 12.0,
        "read_ahead_bytes": 131072, "outcome": outcome, "advice": "none", "readahead": "default", "torch_threads": 0,
        **line,
    }  # fmt: skip


def cut(rate, outcome="timed_out", loader="map", n=0, **line):
    """A loader that a limit ends."""
    return loaded(loader, 20, rate, outcome, n=n, **line)


FREE = (loaded("map", 0, 90000), loaded("blocks", 0, 60000))
STORED = {"stored_bytes": 2.05e9, "rows_expected": 500_000}
LOADERS = {
    "the fastest with memory is timed out without it": (*FREE, cut(100), loaded("blocks", 20, 50000)),
    "not every run completed": (*FREE, cut(100), cut(50000, loader="blocks", n=1)),
    "blocks are shuffled": (*FREE[:1], loaded("blocks", 20, 50000, shuffle="blocks"), loaded("map", 20, 9)),
    "one is the fastest with and without memory": (*FREE, loaded("map", 20, 80000), loaded("blocks", 20, 50000)),
    "ranges overlap": (*FREE, loaded("map", 20, 58000), loaded("blocks", 20, 50000)),
    "one is killed before a row": (
        *FREE, cut(math.nan, "killed_at_limit", read_per_byte=math.nan), loaded("blocks", 20, 50000),
    ),
    "none finishes": (loaded("map", 0, 90000, "timed_out", n=0), cut(100, "killed_at_limit")),
    "sizes are known, and advice was given to the kernel": (
        *({**line, **STORED} for line in FREE), cut(100), loaded("blocks", 20, 50000, **STORED),
        cut(7000, advice="random"),
    ),
    "a limit slows down one most, and another is always the fastest": (
        loaded("map", 0, 50000), loaded("blocks", 0, 90000), loaded("map", 20, 100), loaded("blocks", 20, 45000),
    ),
    "a limit slows down none": (
        loaded("map", 0, 50000), loaded("blocks", 0, 51000), loaded("map", 20, 50000), loaded("blocks", 20, 51000),
    ),
}  # fmt: skip


def of_loaders(*lines):
    drawn = module("loading_limit")["plot"](pd.DataFrame(lines))
    assert not isinstance(drawn, str)
    plt.close(drawn[0])
    return str(drawn[1].partition("\n\n")[0])


def of_growth(shape, result=None, cause="", **line):
    """What the answer says about one line."""
    slope = zip(("", "_low", "_high"), (17000.0, 11000.0, 23000.0), strict=True)
    line = {"named": "june", "anon_shape": shape, "anon_rise_mb": 920.0, "n": 2, "bytes_in_max": 60 * MB} | line
    line |= {f"anon_slope_mb_per_gb{end}": size for end, size in slope}
    line |= {"difference_result": result, "difference_low": -19000.0, "difference_high": -11000.0, "against": "old"}
    return str(module("growth_by_input")["kept"](line, (140.0, 1060.0), cause))


def started(*ends, cached=0):
    shards = [{"t_s": n, "from_cache": n < cached, "rss_bytes": (90 if n < cached else 400) * MB} for n in range(4)]
    attempts = [{"outcome": end, "shards": shards} for end in ends]
    return {"attempts": attempts, "memory_limit_bytes": 700 * MB, "cell": {"stack": "june"}}


KILLED, DONE = "killed_at_limit", "completed"
STARTS = {
    "completed": started(DONE), "killed twice": started(KILLED, KILLED, DONE, cached=3),
    "killed once": started(KILLED, DONE, cached=3), "without a cache": started(KILLED, DONE),
    "never completed": started(KILLED, KILLED, cached=1),
}  # fmt: skip
SMALLEST = {"cell": "map", "request_bytes": 100 * MB, "ended_at_bytes": 70 * MB, "ended": "killed", "completed_runs": 3}
SMALLEST |= {"ended_runs": 1, "ended_of_runs": 2}
STEP = {"stack": "s", "metric": "grown_anon_bytes", "factor": "tokenizers", "from_value": 69 * MB, "n": 2}
STEP |= {"to_value": 3 * MB, "from_version": "0.20.3", "to_version": "0.21.0"}


def answers():
    texts = {f"loading_limit: {name}": of_loaders(*lines) for name, lines in LOADERS.items()}
    for shape in ("straight", "levels off", "undecided", "flat"):
        texts[f"growth_by_input: {shape}"] = of_growth(shape)
    texts["growth_by_input: straight, with its cause"] = of_growth("straight", cause="the tokenizer held most of it")
    for shape, result in (("flat", "better"), ("flat", "worse"), ("undecided", "undecided")):
        texts[f"growth_by_input: {shape} and {result}"] = of_growth(shape, result)
    texts["growth_by_input: too little text for a rate"] = of_growth("straight", bytes_in_max=2 * MB)
    texts |= {f"attempts: {name}": module("attempts")["answer"](record) for name, record in STARTS.items()}
    for least in (80, 120):
        line = SMALLEST | {"completed_at_bytes": least * MB}
        texts[f"smallest_limit: 100 MB requested, {least} MB completed"] = module("smallest_limit")["answer"](line)
    columns = pd.DataFrame(columns=[*STEP])
    back = STEP | {"from_value": STEP["to_value"], "to_value": STEP["from_value"]}
    for name, steps in (("no step", columns), ("a fall", pd.DataFrame([STEP])), ("a rise", pd.DataFrame([back]))):
        texts[f"versions: {name}"] = module("versions")["answer"](steps)
    return texts


def test_answers_read_as_on_their_golden_page():
    page = "\n".join(f"## {name}\n\n{text}\n" for name, text in answers().items())
    assert_golden(page, GOLDEN)


def test_starts_that_never_complete_are_drawn():
    figures = module("attempts")
    record = started(KILLED, KILLED) | {"work": {}}
    record["cell"] |= {"corpus": "c", "shards": 4, "rep": 1}
    record["attempts"] = [
        one | {"duration_s": 1.0, "course": [{"t_s": 0.0, "rss_bytes": MB}], "shards": []} for one in record["attempts"]
    ]
    drawn = figures["plot"]([(record, [])])
    assert not isinstance(drawn, str)
    plt.close(drawn[0])
    assert figures["name"](record) == "june, c, 4 shards"
