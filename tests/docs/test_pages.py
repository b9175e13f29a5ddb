"""The parser of pages: blocks in order, with the comments above them, and inline code."""

from pathlib import Path

from .pages import blocks, spans

TEXT = """# A page

    uv run one

<!-- not run: needs a cluster -->
<!-- slow: takes long -->
    uv run two \\
        --more

```yaml
a: 1
```

<!-- [[[cog
    made()
]]] -->
| `code` | in a table |
| --- | --- |
<!-- [[[end]]] -->

A comment between <!-- not run: of nothing -->, then `beyond-ram watch`.

    uv run three
"""


def test_blocks_are_found_in_order_with_the_comments_above_them() -> None:
    contents = [(block.language, block.text.split()[-1], dict(block.notes)) for block in blocks(Path("x.md"), TEXT)]
    two = {"not run": "needs a cluster", "slow": "takes long"}
    assert contents == [("sh", "one", {}), ("sh", "--more", two), ("yaml", "1", {}), ("sh", "three", {})]


def test_spans_of_text_and_tables_are_found(tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text(TEXT)
    assert list(spans(tmp_path / "x.md")) == ["code", "beyond-ram watch"]
