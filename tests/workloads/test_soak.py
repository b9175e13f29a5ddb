"""The same work again, by every subject of a stack whose tokenizers is a prerelease: the same ids, or a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from .encoding import ran, reason

pytestmark = pytest.mark.slow

BETWEEN = ["reload", "clear-cache", "no-cache", "deepcopy", "pickle", "workers"]


def soaked(stack: str, work: Path, corpus: Path, subject: str, between: str = "nothing") -> int | str | None:
    """The tokens of a run; the reason where there is none."""
    flags = ["--num-files", "12", "--subject", subject, "--between", between, "--epochs", "2"]
    events = ran(stack, "soak.py", work, corpus, *flags)
    return reason(events) or next(event.get("tokens") for event in events if event["event"] == "work")


def test_every_subject_counts_the_same_ids_or_says_why_not(corpus: Path, tmp_path: Path) -> None:
    wanted = soaked("current", tmp_path / "current", corpus, "transformers")
    assert isinstance(wanted, int)
    for subject in ("tokenizers", "tokenizers-fast"):
        assert soaked("next", tmp_path / subject, corpus, subject) == wanted
        assert soaked("current", tmp_path / f"{subject}-current", corpus, subject) == wanted
    assert soaked("next", tmp_path / "transformers", corpus, "transformers") in (
        wanted,
        "this stack has no transformers",
    )


# Nothing is done between epochs above. What a program does between them knows nothing of the kind of tokenizer.
@pytest.mark.parametrize("corpus", ["byte-level"], indirect=True)
@pytest.mark.parametrize("between", BETWEEN)
def test_what_is_done_between_epochs_is_done_or_told(corpus: Path, tmp_path: Path, between: str) -> None:
    wanted = soaked("current", tmp_path / "current", corpus, "tokenizers", between)
    assert isinstance(wanted, int)
    result = soaked("next", tmp_path / "next", corpus, "tokenizers", between)
    refusal = "this release of tokenizers"
    assert result == wanted or (between in ("clear-cache", "no-cache") and str(result).startswith(refusal)), result
