"""The same work repeated, by every subject of a stack with a prerelease of tokenizers: the same ids, or a reason."""

import json

import pytest

from .encoding import reason, run

pytestmark = pytest.mark.slow


def soak(stack, work, corpus, subject):
    """Return the number of tokens and bytes of a run, or the reason why there is none."""
    flags = ["--num-files", "12", "--subject", subject, "--epochs", "2"]
    events = run(stack, "soak.py", work, corpus, *flags)
    return reason(events) or next((event["tokens"], event["bytes_in"]) for event in events if event["event"] == "work")


def test_every_subject_counts_the_same_ids_or_gives_a_reason(corpus, tmp_path):
    wanted = soak("current", tmp_path / "current", corpus, "transformers")
    files = json.loads((corpus / "manifest.json").read_text())["files"]
    assert wanted[1] == 2 * sum(file["text_bytes"] for file in files[:12])
    for stack in ("next", "current"):
        assert soak(stack, tmp_path / f"tokenizers-{stack}", corpus, "tokenizers") == wanted
    assert soak("next", tmp_path / "transformers", corpus, "transformers") in (wanted, "this stack has no transformers")
