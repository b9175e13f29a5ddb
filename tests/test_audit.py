"""The result of .ci/audit from that of pip-audit: vulnerable, known, nothing known, no answer."""

import json
import runpy

import pytest

from .conftest import ROOT

AUDIT = runpy.run_path(str(ROOT / ".ci" / "audit"))
SOUND = {"name": "a", "version": "1", "vulns": []}
BAD = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["3"]}]}
UNKNOWN = {"name": "c", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("dependencies", "messages", "status", "expected_line"),
    [
        ([SOUND, BAD, UNKNOWN], "", 1, "b 2: CVE-1, fixed in 3"),
        ([SOUND, UNKNOWN], "", 0, "0 of 1 packages are vulnerable; of 1 nothing is known here"),
        ([UNKNOWN, UNKNOWN], "", 0, "SKIPPED, nothing is known here of any of 2 packages: not found"),
        (None, "first\nno route to host\n", 0, "SKIPPED, the audit could not be made: no route to host"),
        (None, "", 0, "SKIPPED, the audit could not be made: no answer"),
    ],
)
def test_only_a_known_vulnerability_fails(dependencies, messages, status, expected_line):
    lines, ended = AUDIT["summary"](json.dumps({"dependencies": dependencies}) if dependencies else "", messages)
    assert ended == status
    assert expected_line in lines


def test_audited_lock_exists():
    assert AUDIT["LOCK"].read_text(encoding="utf-8").startswith("aio")
