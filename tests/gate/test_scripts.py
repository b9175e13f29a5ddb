"""A gate over scripts, with a made-up package from an index on this machine."""

import json

import pytest

from beyond_ram.cli import main
from tests.bisect import served

BODY = "kept = b'x' * {mb} * 1_000_000\ndef answer(): return {answer!r}\n"
SCRIPT = "# /// script\n# dependencies = ['stairs']\n# ///\nimport stairs\nprint(stairs.answer())\n"


@pytest.mark.slow
def test_a_script_that_needs_more_is_worse(tmp_path, monkeypatch):
    sizes = {"1.0": (20, "a"), "1.1": (90, "b")}
    wheels = [
        served.wheel(tmp_path, "stairs", version, BODY.format(mb=mb, answer=answer))
        for version, (mb, answer) in sizes.items()
    ]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Case 1.py").write_text(SCRIPT)
    with served.index({"stairs": served.page("stairs", wheels)}, tmp_path) as address:
        monkeypatch.setenv("UV_DEFAULT_INDEX", address)
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
        words = ["--baseline", "stairs==1.0", "--candidate", "stairs==1.1", "--script", "Case 1.py"]
        assert main(["gate", *words, "--budget", "1", "--out", "found"]) == 1
    found = json.loads((tmp_path / "found/gate.json").read_text())
    worse = {one["metric"] for one in found["changes"] if one["verdict"] == "worse"}
    assert {"end_anon_bytes", "peak_anon_upper_bound_bytes"} <= worse
    assert "the answer" in found["differs_beside"]["case-1"]


def test_bad_scripts_are_one_line(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    words = ["gate", "--baseline", "a==1", "--candidate", "a==2", "--script", "none.py"]
    assert main(words) == 2 and capfd.readouterr().err == "beyond-ram: there is no file none.py\n"
    assert main([*words, "--cells", "read"]) == 2 and not list(tmp_path.iterdir())
