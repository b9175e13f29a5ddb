"""The endpoint beside a run: it runs as long as the run, and its log is joined with the process tree."""

import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import psutil
import pytest

from beyond_ram.experiment import Job, Served
from beyond_ram.hub import Hub
from beyond_ram.measure import served
from beyond_ram.measure.cell import MeasuringError, measure
from beyond_ram.watch import GuardError, procfs

from ..conftest import interpreter
from ..repositories.test_webdataset import TARS, repository
from .conftest import setting_of

LOCAL = Served(repository="n")


def logged(t_s, pid, endpoint="resolve", method="GET", **more):
    fields = {"path": "/datasets/l/n/resolve/main/a.parquet", "range": "", "status": 206, "bytes_sent": 10, "fault": ""}
    times = {"t_s": 0.0, "monotonic_s": 100.0 + t_s, "duration_s": 0.5, "in_flight": 1}
    return {**fields, **times, "pid": pid, "endpoint": endpoint, "method": method, **more}


# The program's clock was 101 when the watcher's time was 1: the run began at 100.
EVENTS = [
    {"t_s": 1.0, "event": "provenance", "pid": 1, "clock_s": 101.0},
    {"t_s": 1.1, "event": "worker", "pid": 2, "worker": 0},
    {"t_s": 3.0, "event": "first_batch", "pid": 1},
]


def test_requests_are_counted_by_kind_and_role():
    requests = [
        logged(1.5, 1, "info"),
        logged(2.0, 1, method="HEAD", bytes_sent=0),
        logged(2.0, 1, path="/datasets/l/n/resolve/main/README.md", status=200),
        logged(2.2, 2),
        logged(2.4, 2, endpoint="cdn"),
        logged(3.5, 3, status=302),
        logged(4.5, None, status=500, fault="error-500"),
        logged(5.5, 1, endpoint="reconstruction", path="/v2/reconstructions/x", status=200),
        logged(6.5, 1, endpoint="xorb", path="/xorbs/x"),
    ]
    summary = served.summary(requests, 1, EVENTS)
    assert summary["requests"] == {
        "data": {"unknown": 1, "worker": 2},
        "head": {"main": 1},
        "info": {"main": 1},
        "reconstruction": {"main": 1},
        "redirect": {"other": 1},
        "small-file": {"main": 1},
        "xorb": {"main": 1},
    }
    assert summary["requests_failed"] == 1
    assert summary["bytes_received"] == 80
    assert summary["in_flight_max"] == 4


def metered(t_s, duration_s, cpu_s, used_s, **more):
    """Return a request that used this much of the endpoint's CPU time, after `cpu_s` of earlier requests."""
    sums = [{"cpu_s": at, "busy_s": at, "injected_s": 0.0} for at in (cpu_s, cpu_s + used_s)]
    return logged(t_s, 1, duration_s=duration_s, before=sums[0], after=sums[1], **more)


def test_endpoints_own_work_is_summed_over_the_run():
    requests = [metered(2.5, 0.2, 7.0, 0.1), metered(4.0, 1.0, 7.1, 0.4), metered(5.5, 0.1, 7.5, 0.1)]
    work = served.own_work(requests)
    assert work == pytest.approx({"cpu_s": 0.6, "busy_s": 0.6, "injected_s": 0, "duration_s": 3.1}), "from 2.5 to 5.6"
    assert served.summary(requests, 1, EVENTS)["endpoint"] == work


def test_requests_without_a_meter_have_the_times_of_the_run():
    requests = [logged(1.0, 1), logged(1.5, 1)]
    summary = served.summary(requests, 1, EVENTS)
    assert "endpoint" not in summary and summary["in_flight_max"] == 1, "one began as the other ended"
    assert [line["t_s"] for line in served.joined(requests, 1, EVENTS)] == [1.0, 1.5]


def test_conditions_become_flags_of_the_endpoint():
    flags = served._conditions(
        {"page_size": 7, "latency_ms": 20, "bandwidth_mb_per_s": 5, "redirect": "yes", "fault": "error-500-every-3"}
    )
    assert " ".join(flags) == "--page-size 7 --latency-ms 20 --bandwidth-mb-s 5 --redirect --fault error-500:3"
    plain = {"page_size": 1000, "latency_ms": 0, "bandwidth_mb_per_s": 0, "redirect": "no", "fault": "none"}
    assert served._conditions(plain) == ["--page-size", "1000", "--latency-ms", "0"]


@pytest.mark.slow
def test_endpoint_serves_and_logs_a_run(tmp_path, monkeypatch):
    repository = tmp_path / "root" / "datasets" / "local" / "n"
    repository.mkdir(parents=True)
    (repository / "README.md").write_text("hello")
    for name in ("HF_HUB_OFFLINE", "https_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "1")
    with served.serving(LOCAL, tmp_path / "root", tmp_path, sys.executable) as endpoint:
        assert not {"HF_HUB_OFFLINE", "https_proxy", "HTTP_PROXY"} & set(os.environ)
        assert endpoint.environment["HF_HOME"].startswith(str(tmp_path))
        url = f"{endpoint.environment['HF_ENDPOINT']}/datasets/local/n/resolve/main/README.md"
        assert url.startswith("http://127.0.0.1:")
        assert urllib.request.urlopen(url, timeout=10).read() == b"hello"
        code = f"import urllib.request; urllib.request.urlopen({url!r}).read()"
        child = subprocess.Popen([sys.executable, "-c", code])
        assert child.wait(20) == 0
    assert os.environ["HF_HUB_OFFLINE"] == os.environ["HTTP_PROXY"] == "1"
    lines = served.joined(endpoint.requests(), os.getpid(), [])
    assert [(line["role"], line["pid"], line["bytes_sent"]) for line in lines] == [
        ("main", os.getpid(), 5),
        ("other", child.pid, 5),
    ]
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url, timeout=2)


@pytest.mark.slow
def test_other_hub_is_reached_through_a_relay(tmp_path, monkeypatch):
    """Only the relay has the Hub's token. The run has another, which is valid for this relay only."""
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH"):
        monkeypatch.setenv(name, "hf_secret")
    monkeypatch.setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "datasets/l/n").mkdir(parents=True)
    with (
        Hub(tmp_path) as other,
        served.serving(LOCAL.model_copy(update={"endpoint": other.url}), tmp_path, work, sys.executable) as endpoint,
    ):
        variables = {**os.environ, **endpoint.environment}
        assert "hf_secret" not in variables.values()
        assert "HF_HUB_DISABLE_IMPLICIT_TOKEN" not in variables
        assert variables["HF_ENDPOINT"] not in (other.url, "")
        assert variables["HF_TOKEN"] == variables["HUGGING_FACE_HUB_TOKEN"]
        address = f"{variables['HF_ENDPOINT']}/api/datasets/l/n"
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(address, timeout=10)
        authorized = urllib.request.Request(address, headers={"Authorization": f"Bearer {variables['HF_TOKEN']}"})
        urllib.request.urlopen(authorized, timeout=10).read()
        assert len(other.requests) == 1
    assert [(request["endpoint"], request["status"]) for request in endpoint.requests()] == [
        ("info", 401),
        ("info", 200),
    ]
    assert variables["HF_TOKEN"] not in (work / "requests.jsonl").read_text()


@pytest.mark.slow
def test_endpoint_that_does_not_start_fails_the_run(tmp_path):
    with (
        pytest.raises(served.ServingError, match="the endpoint did not start"),
        served.serving(LOCAL, tmp_path / "missing", tmp_path, sys.executable),
    ):
        pass


def endpoint_pid():
    below = procfs.descendants(os.getpid())
    (pid,) = [pid for pid in below if b"beyond_ram.hub" in (procfs.read(pid, "cmdline") or b"")]
    return pid


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killed_endpoint_fails_the_run(tmp_path, number):
    """Otherwise the result would be that the client gave up."""
    (tmp_path / "root" / "datasets" / "local" / "n").mkdir(parents=True)
    with (
        pytest.raises(served.ServingError, match="the endpoint ended before the run, with s"),
        served.serving(LOCAL, tmp_path / "root", tmp_path, sys.executable) as endpoint,
    ):
        assert endpoint.lives()
        os.kill(endpoint_pid(), number)
        until = time.monotonic() + 10
        while endpoint.lives() and time.monotonic() < until:
            time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("whose", "message"),
    [("endpoint", "the endpoint ended before the run, with signal SIGKILL"), ("guard", "the guard process was killed")],
)
def test_run_ends_with_its_endpoint(tmp_path, whose, message):
    """Clients retry for minutes."""
    (tmp_path / "n" / "datasets").mkdir(parents=True)
    (tmp_path / "n" / "manifest.json").write_text("{}")
    program = tmp_path / "program.py"
    program.write_text(f"import pathlib, time; pathlib.Path({str(tmp_path / 'waits')!r}).touch(); time.sleep(30)")
    job = Job(path="ended/stack~current/rep~1", workload="stream", program=str(program))
    job = job.but(served=Served(repository=str(tmp_path / "n")))
    killed = []

    def kill():
        while not (tmp_path / "waits").exists():
            time.sleep(0.01)
        pid = endpoint_pid()
        os.kill(pid if whose == "endpoint" else psutil.Process(pid).ppid(), signal.SIGKILL)
        killed.append(time.monotonic())

    thread = threading.Thread(target=kill)
    thread.start()
    with pytest.raises((MeasuringError, GuardError), match=message):
        measure(setting_of(job, tmp_path), tmp_path / "runs")
    assert time.monotonic() - killed[0] < 10
    thread.join()
    assert not list((tmp_path / "runs").rglob("run.json"))


@pytest.mark.slow
def test_pushing_run_gets_a_copy_of_the_repository(tmp_path):
    repository(TARS, tmp_path / "root")
    before = {path: path.read_bytes() for path in (tmp_path / "root").rglob("*") if path.is_file()}
    copy = served.copied(tmp_path / "root", tmp_path / "copy")
    with Hub(copy) as hub:
        upload = (
            "import sys, huggingface_hub as h; a = h.HfApi(token='x');"
            "a.upload_file(path_or_fileobj=b'new', path_in_repo='data/train-00000.tar', repo_id='local/mine',"
            " repo_type='dataset')"
        )
        environment = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path), "HF_HUB_DISABLE_XET": "1"}
        subprocess.run([interpreter("hub-files"), "-c", upload], env=environment, check=True)
    assert (copy / "datasets/local/mine/data/train-00000.tar").read_bytes() == b"new"
    assert {path: path.read_bytes() for path in (tmp_path / "root").rglob("*") if path.is_file()} == before
