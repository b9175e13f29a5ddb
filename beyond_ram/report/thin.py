"""Reduce the samples to draw, keeping every extreme."""

from collections.abc import Iterable, Sequence

import numpy as np
from tsdownsample import MinMaxDownsampler

_downsampler = MinMaxDownsampler()  # type: ignore[no-untyped-call]


def kept(times: Sequence[float], series: Iterable[Sequence[float]], most: int) -> list[int]:
    """The indices of the samples to draw, in order: the minimum and maximum of each bucket of each series.

    About `most` per series, plus the first, the last, and the maximum of each series.
    """
    if len(times) <= most:
        return list(range(len(times)))
    places = {0, len(times) - 1}
    for values in series:
        numbers = np.asarray(values, float)
        places |= {int(np.argmax(numbers)), *_downsampler.downsample(numbers, n_out=most // 2 * 2).tolist()}
    return sorted(places)
