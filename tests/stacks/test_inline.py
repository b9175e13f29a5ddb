"""Inline metadata of scripts."""

import pytest

from beyond_ram.stacks.inline import read
from beyond_ram.stacks.variants import exchanged

BLOCK = """# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "pandas[excel]>=2",
#   "numpy<2",
# ]
# ///
"""


def script(tmp_path, text):
    file = tmp_path / "x.py"
    file.write_bytes(text.encode())
    return file


def test_requirements_are_read(tmp_path):
    metadata = read(script(tmp_path, f"#!/usr/bin/env python\n{BLOCK}print(1)\n"), ["rich"])
    assert metadata.requirements == ("pandas[excel]>=2", "numpy<2", "rich")
    changed = exchanged(metadata.requirements, {"pandas": "pandas==2.1"}, exact=True)
    assert changed == ["numpy<2", "rich", "pandas[excel]==2.1"]
    assert read(script(tmp_path, BLOCK.replace("\n", "\r\n"))).packages == ["pandas", "numpy"]


def test_packages_and_versions_come_from_a_stack(tmp_path):
    lock = tmp_path / "mine.txt"
    lock.write_text("numpy==1.26.4 --hash=sha256:0\npandas==2.1.4\n")
    inline = read(script(tmp_path, "print(1)\n"), ["pandas==2.2.0"], lock)
    assert inline.requirements == ("numpy", "pandas==2.2.0")
    assert inline.pins == {"numpy": "1.26.4"}, "a requested package kept its version"
    lock.write_text("# nothing\n")
    with pytest.raises(ValueError, match="pins no package"):
        read(script(tmp_path, ""), stack=lock)


def test_script_without_a_block_has_no_requirements(tmp_path):
    assert read(script(tmp_path, "print(1)\n")).requirements == ()


def test_exclude_newer_of_uv_is_read(tmp_path):
    text = BLOCK.removesuffix("# ///\n") + '# [tool.uv]\n# exclude-newer = "2024-01-01T00:00:00Z"\n# ///\n'
    assert read(script(tmp_path, text)).until == "2024-01-01T00:00:00Z"


@pytest.mark.parametrize(
    "text",
    [
        BLOCK.replace(">=3.11", "<3.9"),
        BLOCK.replace(">=3.11", "three"),
        BLOCK.replace('"numpy<2"', "numpy"),
        BLOCK.replace("numpy<2", "numpy <> 2"),
        BLOCK + "\n" + BLOCK,
        BLOCK.removesuffix("# ///\n"),
        BLOCK.removesuffix("# ///\n") + '# [tool.uv.sources]\n# numpy = {path = "x"}\n# ///\n',
        BLOCK.removesuffix("# ///\n") + '# [tool.uv]\n# index-url = "https://example.org"\n# ///\n',
        BLOCK.removesuffix("# ///\n") + '# [tool.uv]\n# override-dependencies = ["numpy==1"]\n# ///\n',
        BLOCK.removesuffix("# ///\n") + "# [tool]\n# uv = 3\n# ///\n",
    ],
    ids=["python", "bound", "toml", "requirement", "two", "no end", "sources", "index", "override", "table"],
)
def test_unusable_metadata_gets_one_line(tmp_path, text):
    with pytest.raises(ValueError, match=r"x\.py: [^\n]+$"):
        read(script(tmp_path, text))
