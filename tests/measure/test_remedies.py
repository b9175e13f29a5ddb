"""Remedies of a run."""

from beyond_ram.measure.remedies import REMEDIES


def test_every_remedy_is_in_the_docs(root):
    page = (root / "docs" / "explain.md").read_text(encoding="utf-8")
    assert [name for name, remedy in REMEDIES.items() if f"| `{name}` | {remedy.description} |" not in page] == []
