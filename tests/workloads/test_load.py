"""The program `load`: its counts, its other measurements, and what it reports as not applicable."""

import pytest

from .tokens import LOAD, ROOT, ROWS, WORKLOADS, read_events, run_together

pytestmark = pytest.mark.slow

OWN_LOADER = ROOT / "examples/own_loader.py"
# It has no labels, lacks the last rows, and delivers the first hundred twice.
NO_LABELS = """
import numpy
SHUFFLE = "rows"
def make(folder, how):
    ids = numpy.load(folder / "ids.npy", mmap_mode="r")
    return [[ids[at : at + 100]] for at in [*range(0, 1000, 100), 0]]
"""
THREADED = NO_LABELS.replace("    ids =", "    import torch\n    assert torch.get_num_threads() == 3\n    ids =")
# It has a process below it, which reports no time to start.
FORKED = NO_LABELS.replace("    ids =", "    import subprocess\n    subprocess.Popen(['sleep', '20'])\n    ids =")
# Workers of these runs import the program again.
SPAWNING = ("spawned",)


@pytest.fixture(scope="module")
def runs(dataset, own, tmp_path_factory):
    """Return status and events of every run. Some run at a time, because they mostly wait and none is timed."""
    work = tmp_path_factory.mktemp("work")
    (work / "no_labels.py").write_text(NO_LABELS)
    (work / "threaded.py").write_text(THREADED)
    (work / "forked.py").write_text(FORKED)
    words = {
        "dask": "--loader dask_article --epochs 2",
        "h5py": "--loader hdf5_article --workers 1 --start spawn",
        "advised": "--loader memmap_batched --order shuffled --advice random --epochs 2",
        "no advice": "--loader hdf5_blocks --order shuffled --advice random",
        "spawned": "--loader memmap_batched --workers 1 --start spawn --epochs 2",
        "ahead": "--loader pyarrow_dataset --readahead no-batch",
        "no readahead": "--loader hdf5_blocks --readahead one-batch",
        "lent": "--loader threads --batch-size 16 --epochs 2",
    }
    commands = {name: ["--tokens-dir", str(dataset), *text.split()] for name, text in words.items()}
    mine = ["--loader", "mine", "--module"]
    commands["apart"] = [*mine, str(OWN_LOADER), "--data", str(dataset / "npy/ids.npy"), "--rows", str(ROWS)]
    commands["apart"] += ["--workers", "2"]
    for whose, folder in (("generated", dataset), ("own", own)):
        given = ["--tokens-dir", str(folder), "--data", str(folder / "npy"), *mine]
        commands[f"labels, {whose}"] = [*given, str(OWN_LOADER), "--workers", "2"]
        commands[f"no labels, {whose}"] = [*given, str(work / "no_labels.py")]
        if folder == dataset:
            commands["threaded"] = [*given, str(work / "threaded.py"), "--torch-threads", "3"]
            commands["forked"] = [*given, str(work / "forked.py")]
    commands = {name: words + ([] if "--epochs" in words else ["--epochs", "1"]) for name, words in commands.items()}
    for name in commands:
        (work / name).mkdir()
    files = [work / name / "events.jsonl" for name in commands]
    program = {name: [WORKLOADS / "load.py"] if name in SPAWNING else ["-c", LOAD] for name in commands}
    statuses = run_together(
        [
            (events, *program[name], "--work-dir", events.parent, *words)
            for (name, words), events in zip(commands.items(), files, strict=True)
        ]
    )
    return dict(zip(commands, zip(statuses, map(read_events, files), strict=True), strict=True))


def work(run):
    """Return the work event of a run, which must have succeeded."""
    status, events = run
    assert status == 0
    return next(event for event in events if event["event"] == "work")


def test_dask_loader_of_the_article_delivers_rows_twice(runs):
    assert work(runs["dask"])["rows_twice"] > 0


def test_dataset_that_cannot_be_pickled_is_a_named_error(runs):
    """An open h5py file cannot be pickled. If a release can, its rows must come."""
    status, events = runs["h5py"]
    reasons = [event["reason"] for event in events if event["event"] == "gave_up"]
    if status == 0:
        assert work(runs["h5py"])["rows_delivered"]
    else:
        assert len(reasons) == 1
        assert "pickle" in reasons[0]


@pytest.mark.parametrize(("followed", "not_followed"), [("advised", "no advice"), ("ahead", "no readahead")])
def test_setting_is_followed_or_not_applicable(runs, followed, not_followed):
    assert work(runs[followed])["rows_missing"] == 0
    status, events = runs[not_followed]
    assert status == 0
    assert "not_applicable" in [event["event"] for event in events]


def test_pytorch_gets_the_requested_threads(runs):
    assert work(runs["threaded"])["rows_delivered"] == 1100


def test_loaders_that_reuse_batch_memory_are_detected(runs):
    assert work(runs["lent"])["lends"] is True
    assert work(runs["spawned"])["lends"] is False
    assert work(runs["apart"])["lends"] is None, "there were too few batches to know"


def test_later_epochs_repeat_until_their_rate_is_measured(runs):
    first, *later = [event for event in runs["lent"][1] if event["event"] == "epoch"]
    assert sum(event["cpu_s"] for event in later) >= 0.1
    assert len(later) > 1
    assert [event["epoch"] for event in later] == list(range(1, len(later) + 1))
    for event in (first, *later):
        assert (event["rows_delivered"], event["rows_twice"], event["rows_missing"]) == (ROWS, 0, 0)


def test_startup_of_workers_is_measured_separately(runs):
    """A spawned worker imports torch, which takes longer than reading all rows."""
    first = next(event for event in runs["spawned"][1] if event["event"] == "epoch")
    assert 0.5 < first["startup_cpu_s"] < first["cpu_s"]
    assert first["cpu_s"] - first["startup_cpu_s"] < first["startup_cpu_s"]
    alone = next(event for event in runs["lent"][1] if event["event"] == "epoch")
    assert alone["startup_cpu_s"] == 0
    unknown = next(event for event in runs["forked"][1] if event["event"] == "epoch")
    assert unknown["startup_cpu_s"] is None


def test_rows_of_an_own_loader_are_counted(runs):
    sums = work(runs["apart"])
    assert (sums["rows_delivered"], sums["rows_twice"], sums["rows_missing"]) == (ROWS, 0, 0)


@pytest.mark.parametrize("whose", ["generated", "own"])
def test_rows_of_an_own_loader_are_compared_with_its_dataset(runs, whose):
    sums = work(runs[f"labels, {whose}"])
    identified_by = "labels" if whose == "own" else "ids"
    assert (sums["rows_delivered"], sums["rows_identified_by"], sums["labels_checked"]) == (ROWS, identified_by, True)
    assert (sums["rows_twice"], sums["rows_missing"], sums["rows_wrong"]) == (0, 0, 0)
    sums = work(runs[f"no labels, {whose}"])
    identified_by = "contents" if whose == "own" else "ids"
    assert (sums["rows_delivered"], sums["rows_identified_by"], sums["labels_checked"]) == (1100, identified_by, False)
    # The first hundred rows have one of three equal rows, which counts for all three.
    assert (sums["rows_twice"], sums["rows_missing"], sums["rows_wrong"]) == (100, 3, 0)
