"""Fewer samples to draw, with every extreme kept."""

from collections.abc import Iterable, Sequence

import numpy as np
from tsdownsample import MinMaxDownsampler

_downsampler = MinMaxDownsampler()  # type: ignore[no-untyped-call]


def kept(times: Sequence[float], series: Iterable[Sequence[float]], most: int) -> list[int]:
    """Return the places of the samples to draw, in order: minimum and maximum of each bucket of each series.

    About `most` for each series at most, with the first, the last, and the largest of each series.
    """
    if len(times) <= most:
        return list(range(len(times)))
    places = {0, len(times) - 1}
    for values in series:
        numbers = np.asarray(values, float)
        places |= {int(np.argmax(numbers)), *_downsampler.downsample(numbers, n_out=most // 2 * 2).tolist()}
    return sorted(places)
