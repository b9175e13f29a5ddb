"""How large a difference has to be to matter. One that is real and smaller is not worth a sentence."""

SHARE = 0.05
"""Of a metric, between two ways of doing the same: nobody would notice less."""
LEAST = {"bytes": 8e6, "requests": 1.0, "s": 0.1}
"""In the metric's unit, between two versions."""
STEP_SHARE = 0.10
"""Of the larger side of a step between two versions. With one run on a side, which says nothing about noise, a step has
to be twice as large as this and as LEAST."""
EPOCH_SHARE, EPOCH_BYTES = 0.01, 500_000
"""Growth an epoch: this share of an epoch's input, or this much."""
GROWN_BYTES, GROWN_SHARE = 16e6, 0.05
"""Growth over the work: this much, or this share of the input. Interpreters and libraries move by less."""
