"""Fewer samples to draw, with every extreme kept."""

from collections.abc import Iterable, Sequence

import numpy as np
from tsdownsample import MinMaxDownsampler

_downsampler = MinMaxDownsampler()  # type: ignore[no-untyped-call]


def kept(times: Sequence[float], series: Iterable[Sequence[float]], most: int) -> list[int]:
    """The places of samples that are drawn, in order: of each series the least and the largest of every so many.

    No more than about `most` for each series. The first and the last stay, and so does the largest of each series.
    """
    if len(times) <= most:
        return list(range(len(times)))
    found = {0, len(times) - 1}
    for values in series:
        known = np.asarray(values, float)
        found |= {int(np.argmax(known)), *_downsampler.downsample(known, n_out=most // 2 * 2).tolist()}
    return sorted(found)
