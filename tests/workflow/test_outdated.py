"""Contents of records against their stamps."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from beyond_ram.workflow import outdated


@pytest.fixture
def stamps(tmp_path):
    """Stamps of records a and b, of which a has the digest of its code."""
    for name, provenance in (("a", {"code_sha256": "1"}), ("b", {})):
        (tmp_path / name).write_text(json.dumps({"provenance": provenance}))
    outdated.write_stamps([str(tmp_path / name) for name in "abc"], str(tmp_path), str(tmp_path / "stamps"))
    return tmp_path / "stamps"


def changed(stamps):
    return outdated.changed(str(stamps.parent), outdated.stamps(str(stamps)))


def test_only_other_content_counts(stamps):
    assert not changed(stamps)
    record = stamps.with_name("a")
    text = record.read_text()
    os.utime(record, (1, 1))
    stamps.with_name("b").unlink()
    assert not changed(stamps), "another time, or a missing record"
    record.write_text(text.replace("1", "2"))
    os.utime(record, (1, 1))
    assert changed(stamps)


def test_stamps_have_the_code_of_a_run(stamps):
    assert {record: stamp.code for record, stamp in outdated.stamps(str(stamps)).items()} == {"a": "1", "b": None}


def test_edited_import_is_other_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    digests = {"near.py": hashlib.sha256(b"near").hexdigest(), "/nowhere/far.py": "0" * 64}
    assert not outdated._is_other("/nowhere/far.py", "0" * 64), "of another machine"
    assert outdated._is_other(f"{tmp_path}/gone.py", "0" * 64)
    Path("a").write_text(json.dumps({"provenance": {"code_sha256": "1", "imported_sha256": digests}}))
    outdated.write_stamps(["a"], str(tmp_path), "stamps")
    for content, code in (("near", "1"), ("edited", outdated.EDITED), (None, outdated.EDITED)):
        Path("near.py").write_text(content) if content else Path("near.py").unlink()
        outdated._is_other.cache_clear()
        assert outdated.code_of("a") == code == outdated.stamps("stamps")["a"].code


@pytest.mark.parametrize("content", ["", "[]", "1", '{"a": 1}', '{"a": [1]}'])
def test_damaged_stamps_are_none(stamps, content):
    stamps.write_text(content)
    assert outdated.stamps(str(stamps)) == {}
