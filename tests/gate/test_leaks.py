"""The smallest leak that a gate would have found, from noise and threshold, per batch and per row."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from beyond_ram.analysis.thresholds import LEAST
from beyond_ram.gate import check_run

from .test_verdict import SAME, gate

ROWS = {"rows": 2000, "batch_size": 10, "run_failed": 0.0}


def with_growth(grown: float, **more: Any) -> dict[str, Any]:
    return SAME | ROWS | {"grown": grown} | more


def test_smallest_leak_of_a_quiet_cell_is_the_threshold() -> None:
    (floor,) = gate((with_growth(20.0), with_growth(20.0))).smallest_leaks
    entry = floor.as_json()
    assert entry["bytes"] == LEAST["bytes"]
    assert (entry["rows"], entry["batches"]) == (2000, 200)
    assert entry["bytes_per_row"] == LEAST["bytes"] / 2000
    assert entry["bytes_per_batch"] == LEAST["bytes"] / 200


@pytest.mark.slow
def test_most_sensitive_cell_is_named_and_json_has_all() -> None:
    few = (with_growth(20.0, rows=10), with_growth(20.0, rows=10))
    result = gate(few, (with_growth(20.0), with_growth(20.0)))
    assert result.leak in result.lines()
    assert "cell-1" in result.leak
    assert "4 kB a row" in result.leak
    assert "40 kB a batch" in result.leak
    assert [floor["cell"] for floor in result.as_json()["smallest_leaks"]] == ["cell-1", "cell-0"]
    assert result.leak in result.markdown()


def test_cell_that_shows_no_leak_is_named() -> None:
    result = gate((with_growth(20.0), with_growth(20.0)), (with_growth(20.0, rows=0), with_growth(20.0, rows=0)))
    assert result.leak.index("cell-0") < result.leak.index("cell-1")
    assert "cell-1" not in gate((with_growth(20.0), with_growth(20.0))).leak


def test_one_repeat_and_cells_without_rows_have_no_smallest_leak() -> None:
    assert not gate((with_growth(20.0), with_growth(20.0)), n=1).smallest_leaks
    assert not gate((SAME, SAME)).smallest_leaks
    small = with_growth(20.0, machine_memory_bytes=1e6)
    assert not gate((small, small)).smallest_leaks, "the leak is larger than the machine's memory"
    assert gate((SAME, SAME)).leak in gate((SAME, SAME)).lines()


@pytest.fixture
def hub() -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    """Serve an address for checks; yield it, and a list of the requests."""
    requests: list[tuple[str, dict[str, Any]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append((self.path, body))
            self.send_response(201 if self.headers["Authorization"] == "Bearer good" else 403)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", requests
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_undecided_gate_is_a_neutral_check(tmp_path: Path, hub: tuple[str, list[tuple[str, Any]]]) -> None:
    address, requests = hub
    (tmp_path / "gate.md").write_text("**beyond-ram gate: undecided**\n\nsummary\n")
    runner = {"GITHUB_API_URL": address, "GITHUB_REPOSITORY": "me/mine", "HEAD_SHA": "abc", "TOKEN": "good"}
    check_run.made(tmp_path, runner)
    ((path, body),) = requests
    assert path == "/repos/me/mine/check-runs"
    assert (body["conclusion"], body["head_sha"]) == ("neutral", "abc")
    assert "summary" in body["output"]["summary"]
    with pytest.raises(OSError, match="403"):
        check_run.made(tmp_path, runner | {"TOKEN": "may not"})
