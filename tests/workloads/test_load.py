"""The program `load`: what it counts, what it measures beside, and what it says it cannot do."""

from pathlib import Path
from typing import Any

import pytest

from .tokens import LOAD, ROOT, ROWS, WORKLOADS, read, together

pytestmark = pytest.mark.slow

OWN_LOADER = ROOT / "examples/own_loader.py"
# Without labels, the last rows never and the first hundred twice.
NO_LABELS = """
import numpy
KIND, SHUFFLE = "own", "rows"
def make(folder, how):
    ids = numpy.load(folder / "ids.npy", mmap_mode="r")
    return [[ids[at : at + 100]] for at in [*range(0, 1000, 100), 0]]
"""
# It takes one number of its own, and names it or not.
OPTIONAL = NO_LABELS.replace("    ids =", "    assert how.option == {'ahead': 3}\n    ids =")
THREADED = NO_LABELS.replace("    ids =", "    import torch\n    assert torch.get_num_threads() == 3\n    ids =")
# A worker of these imports the program anew, as its user started it.
SPAWNING = ("spawned",)
Events = list[dict[str, Any]]


@pytest.fixture(scope="module")
def ran(dataset: Path, own: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, Events]]:
    """Exit status and events of every run, some at a time: most of one is imports and waiting, and none is timed."""
    work = tmp_path_factory.mktemp("work")
    (work / "no_labels.py").write_text(NO_LABELS)
    (work / "unnamed.py").write_text(OPTIONAL)
    (work / "threaded.py").write_text(THREADED)
    (work / "named.py").write_text(OPTIONAL + "OPTIONS = ('ahead',)")
    shuffled = ["--order", "shuffled", "--advice", "random"]
    commands: dict[str, list[str]] = {
        "dask": ["--tokens-dir", str(dataset), "--loader", "dask_article"],
        "h5py": ["--tokens-dir", str(dataset), "--loader", "hdf5_article", "--workers", "1", "--start", "spawn"],
        "pinned": ["--tokens-dir", str(dataset), "--loader", "threads", "--pin-memory", "yes"],
        "advised": ["--tokens-dir", str(dataset), "--loader", "memmap_batched", *shuffled],
        "no advice": ["--tokens-dir", str(dataset), "--loader", "hdf5_blocks", *shuffled],
        "apart": ["--loader", "mine", "--module", str(OWN_LOADER), "--data", str(dataset / "npy/ids.npy")],
    }
    for name in ("dask", "advised"):
        commands[name] += ["--epochs", "2"]
    commands["apart"] += ["--rows", str(ROWS), "--workers", "2"]
    commands["spawned"] = ["--tokens-dir", str(dataset), "--loader", "memmap_batched", "--workers", "1"]
    commands["spawned"] += ["--start", "spawn", "--epochs", "2"]
    commands["lent"] = ["--tokens-dir", str(dataset), "--loader", "threads", "--batch-size", "16", "--epochs", "2"]
    commands["in blocks"] = ["--tokens-dir", str(dataset), "--loader", "hdf5_blocks", "--order", "shuffled"]
    commands["in blocks"] += ["--epochs", "2"]
    for name, words in (
        ("named", ["--option", "ahead-3"]),
        ("unnamed", ["--option", "ahead-3"]),
        ("threaded", ["--torch-threads", "3"]),
    ):
        commands[name] = ["--tokens-dir", str(dataset), "--data", str(dataset / "npy"), "--loader", "mine"]
        commands[name] += ["--module", str(work / f"{name}.py"), *words]
    for whose, folder in (("generated", dataset), ("own", own)):
        words = ["--tokens-dir", str(folder), "--data", str(folder / "npy"), "--loader", "mine"]
        commands[f"labels, {whose}"] = [*words, "--module", str(OWN_LOADER), "--workers", "2"]
        commands[f"no labels, {whose}"] = [*words, "--module", str(work / "no_labels.py")]
    commands = {name: words + ([] if "--epochs" in words else ["--epochs", "1"]) for name, words in commands.items()}
    for name in commands:
        (work / name).mkdir()
    files = [work / name / "events.jsonl" for name in commands]
    program = {name: [WORKLOADS / "load.py"] if name in SPAWNING else ["-c", LOAD] for name in commands}
    statuses = together(
        [
            (events, *program[name], "--work-dir", events.parent, *words)
            for (name, words), events in zip(commands.items(), files, strict=True)
        ]
    )
    return dict(zip(commands, zip(statuses, map(read, files), strict=True), strict=True))


def work(ran: tuple[int, Events]) -> dict[str, Any]:
    """What a run that ended well says of its work."""
    status, events = ran
    assert status == 0
    return next(event for event in events if event["event"] == "work")


def test_the_dask_of_the_article_delivers_rows_twice(ran: dict[str, tuple[int, Events]]) -> None:
    assert work(ran["dask"])["rows_twice"] > 0


def test_a_dataset_that_cannot_be_sent_to_a_worker_is_an_error_that_is_named(
    ran: dict[str, tuple[int, Events]],
) -> None:
    """An open h5py file cannot be pickled; should a release be able to, its rows must come."""
    status, events = ran["h5py"]
    reasons = [event["reason"] for event in events if event["event"] == "gave_up"]
    if status == 0:
        assert work(ran["h5py"])["rows_delivered"]
    else:
        assert len(reasons) == 1
        assert "pickle" in reasons[0]


def test_pinning_without_an_accelerator_is_not_applicable(ran: dict[str, tuple[int, Events]]) -> None:
    names = [event["event"] for event in ran["pinned"][1]]
    if "work" in names:
        pytest.skip("this machine has an accelerator")
    assert "not_applicable" in names


def test_advice_is_followed_or_said_to_mean_nothing(ran: dict[str, tuple[int, Events]]) -> None:
    assert work(ran["advised"])["rows_missing"] == 0
    status, events = ran["no advice"]
    assert status == 0
    assert "not_applicable" in [event["event"] for event in events]


def test_an_option_is_given_to_the_loader_that_names_it_and_to_no_other(ran: dict[str, tuple[int, Events]]) -> None:
    assert work(ran["named"])["rows_delivered"] == 1100
    status, events = ran["unnamed"]
    reasons = [event["reason"] for event in events if event["event"] == "not_applicable"]
    assert (status, reasons) == (0, ["this loader has no option ahead"])


def test_pytorch_has_the_threads_that_are_asked_for(ran: dict[str, tuple[int, Events]]) -> None:
    assert work(ran["threaded"])["rows_delivered"] == 1100


@pytest.mark.parametrize(
    ("name", "ways"),
    [
        ("advised", {"random", "memmap_random", "memmap_take"}),
        ("in blocks", {"blocks", "memmap_blocks"}),
        ("dask", {"sequential", "memmap"}),
    ],
)
def test_the_fastest_way_without_a_loader_is_measured_for_longer(
    ran: dict[str, tuple[int, Events]], name: str, ways: set[str]
) -> None:
    ceilings = {event["kind"]: event for event in ran[name][1] if event["event"] == "read_ceiling"}
    assert set(ceilings) == ways
    fastest = max(ceilings.values(), key=lambda event: event["rows"] / event["cpu_s"])
    longest = max(event["cpu_s"] for event in ceilings.values())
    assert longest >= 0.05
    assert fastest["cpu_s"] >= 0.02


def test_a_loader_that_lends_is_seen_to_and_one_that_gives_is_not(ran: dict[str, tuple[int, Events]]) -> None:
    assert work(ran["lent"])["lends"] is True
    assert work(ran["spawned"])["lends"] is False
    assert work(ran["apart"])["lends"] is None, "too few batches came"


def test_epochs_after_the_first_are_repeated_until_they_are_a_rate_and_each_is_accounted_for(
    ran: dict[str, tuple[int, Events]],
) -> None:
    first, *later = [event for event in ran["lent"][1] if event["event"] == "epoch"]
    assert sum(event["cpu_s"] for event in later) >= 0.1
    assert len(later) > 1
    assert [event["epoch"] for event in later] == list(range(1, len(later) + 1))
    for event in (first, *later):
        assert (event["rows_delivered"], event["rows_twice"], event["rows_missing"]) == (ROWS, 0, 0)


def test_the_start_of_workers_is_told_apart(ran: dict[str, tuple[int, Events]]) -> None:
    """A spawned worker imports torch, which takes longer than all rows here."""
    first = next(event for event in ran["spawned"][1] if event["event"] == "epoch")
    assert 0.5 < first["startup_cpu_s"] < first["cpu_s"]
    assert first["cpu_s"] - first["startup_cpu_s"] < first["startup_cpu_s"]
    alone = next(event for event in ran["lent"][1] if event["event"] == "epoch")
    assert alone["startup_cpu_s"] == 0


def test_a_loader_of_ones_own_is_counted(ran: dict[str, tuple[int, Events]]) -> None:
    sums = work(ran["apart"])
    assert (sums["rows_delivered"], sums["rows_twice"], sums["rows_missing"]) == (ROWS, 0, 0)


@pytest.mark.parametrize("whose", ["generated", "own"])
def test_a_loader_of_ones_own_is_held_against_the_rows_of_its_token_dataset(
    ran: dict[str, tuple[int, Events]], whose: str
) -> None:
    sums = work(ran[f"labels, {whose}"])
    identified_by = "labels" if whose == "own" else "ids"
    assert (sums["rows_delivered"], sums["rows_identified_by"], sums["labels_checked"]) == (ROWS, identified_by, True)
    assert (sums["rows_twice"], sums["rows_missing"], sums["rows_wrong"]) == (0, 0, 0)
    sums = work(ran[f"no labels, {whose}"])
    identified_by = "contents" if whose == "own" else "ids"
    assert (sums["rows_delivered"], sums["rows_identified_by"], sums["labels_checked"]) == (1100, identified_by, False)
    # Of three equal rows the first hundred hold one: it stands for all.
    assert (sums["rows_twice"], sums["rows_missing"], sums["rows_wrong"]) == (100, 3, 0)
