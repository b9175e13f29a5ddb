"""The same work repeated, by every subject of a stack with a prerelease of tokenizers: the same ids, or a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from .encoding import reason, run

pytestmark = pytest.mark.slow

BETWEEN = ["reload", "clear-cache", "no-cache", "deepcopy", "pickle", "workers"]


def soak(stack: str, work: Path, corpus: Path, subject: str, between: str = "nothing") -> int | str | None:
    """Return the number of tokens of a run, or the reason why there is none."""
    flags = ["--num-files", "12", "--subject", subject, "--between", between, "--epochs", "2"]
    events = run(stack, "soak.py", work, corpus, *flags)
    return reason(events) or next(event.get("tokens") for event in events if event["event"] == "work")


def test_every_subject_counts_the_same_ids_or_gives_a_reason(corpus: Path, tmp_path: Path) -> None:
    wanted = soak("current", tmp_path / "current", corpus, "transformers")
    assert isinstance(wanted, int)
    for subject in ("tokenizers", "tokenizers-fast"):
        assert soak("next", tmp_path / subject, corpus, subject) == wanted
        assert soak("current", tmp_path / f"{subject}-current", corpus, subject) == wanted
    assert soak("next", tmp_path / "transformers", corpus, "transformers") in (
        wanted,
        "this stack has no transformers",
    )


# The test above does nothing between epochs. What a program does between them does not depend on the tokenizer.
@pytest.mark.parametrize("corpus", ["byte-level"], indirect=True)
@pytest.mark.parametrize("between", BETWEEN)
def test_work_between_epochs_is_done_or_has_a_reason(corpus: Path, tmp_path: Path, between: str) -> None:
    wanted = soak("current", tmp_path / "current", corpus, "tokenizers", between)
    assert isinstance(wanted, int)
    result = soak("next", tmp_path / "next", corpus, "tokenizers", between)
    refusal = "this release of tokenizers"
    assert result == wanted or (between in ("clear-cache", "no-cache") and str(result).startswith(refusal)), result
