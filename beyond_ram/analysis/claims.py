"""Published claims about streaming, each beside the factor that table `comparisons` measured."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from packaging.version import Version

from ..metrics import METRICS
from .comparisons import ratio_of

POST, RELEASE = "Streaming datasets: 100x more efficient", Version("4.3")
"""A post, and the release of datasets that has what it describes."""
CLAIMS = {
    "requests_metadata": ("up to 100 times fewer requests at startup (all that are no reads of data)", 100.0),
    "resolution_s": ("data files resolved up to 10 times faster (time in load_dataset)", 10.0),
    "rows_per_s": ("streaming up to 2 times faster (rows per second of an epoch)", 2.0),
}
"""Its claims by metric: in words, and as a factor of improvement."""


def claims(comparisons: pd.DataFrame, datasets: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The comparisons of a stack from before the post with one from after it, with the claim, and with the measured
    factor of improvement and its interval. `datasets` is the release of each stack."""
    has_it = {stack: Version(release) >= RELEASE for stack, release in datasets.items() if release}
    streamed = comparisons[comparisons["workload"].eq("stream") & comparisons["axis"].eq("stack")]
    for metric, (claim, claimed) in CLAIMS.items():
        for named in streamed[streamed["metric"] == metric].to_dict("records"):
            line = {str(name): value for name, value in named.items()}
            if [has_it.get(line[side]) for side in ("before", "after")] == [False, True]:
                measured, low, high = ratio_of(line).values()
                if METRICS[metric].direction == "lower":
                    measured, low, high = (math.inf if value <= 0 else 1 / value for value in (measured, high, low))
                own = {"claim": claim, "claimed": claimed, "measured": measured, "low": low, "high": high}
                yield line | own
