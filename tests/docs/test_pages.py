"""The parser of pages: blocks in order, with the comments above them, and inline code."""

from pathlib import Path

import pytest

from .pages import PAGES, anchors, blocks, links, spans

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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    """Within the project. The site, whose links Sphinx checks, is built end to end."""
    wrong = []
    for link in links(page):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if "://" not in link and not (target.exists() and (not anchor or anchor in anchors(target))):
            wrong.append(link)
    assert not wrong
