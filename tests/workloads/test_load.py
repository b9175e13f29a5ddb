"""The program `load`: what it counts, what it measures beside, and what it says it cannot do."""

from pathlib import Path

import pytest

from .tokens import ROOT, ROWS, load

pytestmark = pytest.mark.slow


def test_the_dask_of_the_article_delivers_rows_twice(dataset: Path) -> None:
    status, events = load(dataset, "--tokens-dir", str(dataset), "--loader", "dask_article", "--epochs", "1")
    work = next(event for event in events if event["event"] == "work")
    assert status == 0
    assert work["rows_twice"] > 0


def test_the_hdf5_of_the_article_cannot_be_pickled(dataset: Path) -> None:
    words = ["--tokens-dir", str(dataset), "--loader", "hdf5_article", "--workers", "1", "--start", "spawn"]
    status, events = load(dataset, *words)
    reasons = [event["reason"] for event in events if event["event"] == "gave_up"]
    assert status != 0
    assert reasons == ["TypeError: h5py objects cannot be pickled"]


def test_pinning_without_an_accelerator_is_not_applicable(dataset: Path) -> None:
    words = ["--tokens-dir", str(dataset), "--loader", "threads", "--pin-memory", "yes"]
    _, events = load(dataset, *words)
    names = [event["event"] for event in events]
    if "work" in names:
        pytest.skip("this machine has an accelerator")
    assert "not_applicable" in names


def test_advice_is_followed_or_said_to_mean_nothing(dataset: Path) -> None:
    for loader, outcome in (
        ("memmap_corrected", "work"),
        ("memmap_batched", "work"),
        ("hdf5_blocks", "not_applicable"),
    ):
        words = [
            "--tokens-dir",
            str(dataset),
            "--loader",
            loader,
            "--order",
            "shuffled",
            "--advice",
            "random",
            "--epochs",
            "1",
        ]
        status, events = load(dataset, *words)
        assert status == 0
        assert outcome in [event["event"] for event in events], loader


def test_a_loader_of_ones_own_is_counted(dataset: Path) -> None:
    words = [
        "--loader",
        "mine",
        "--module",
        str(ROOT / "examples/own_loader.py"),
        "--data",
        str(dataset / "npy/ids.npy"),
    ]
    status, events = load(dataset, *words, "--rows", str(ROWS), "--workers", "2", "--epochs", "1")
    work = next(event for event in events if event["event"] == "work")
    assert status == 0
    assert (work["rows_delivered"], work["rows_twice"], work["rows_missing"]) == (ROWS, 0, 0)


NO_LABELS = """
import numpy
KIND, SHUFFLE = "own", "rows"
def make(folder, how):
    ids = numpy.load(folder / "ids.npy", mmap_mode="r")
    return [[ids[at : at + 100]] for at in [*range(0, 1000, 100), 0]]
"""


@pytest.mark.parametrize("of_whom", ["generated", "own"])
def test_a_loader_of_ones_own_is_held_against_the_rows_of_its_token_dataset(
    dataset: Path, own: Path, tmp_path: Path, of_whom: str
) -> None:
    folder = dataset if of_whom == "generated" else own
    words = ["--tokens-dir", str(folder), "--data", str(folder / "npy"), "--loader", "mine", "--epochs", "1"]
    identified_by = "labels" if of_whom == "own" else "ids"
    status, events = load(folder, *words, "--module", str(ROOT / "examples/own_loader.py"), "--workers", "2")
    assert status == 0
    said = next(event for event in events if event["event"] == "work")
    assert (said["rows_delivered"], said["rows_identified_by"], said["labels_checked"]) == (ROWS, identified_by, True)
    assert (said["rows_twice"], said["rows_missing"], said["rows_wrong"]) == (0, 0, 0)

    # Without labels, the last rows never and the first hundred twice.
    module = tmp_path / "no_labels.py"
    module.write_text(NO_LABELS)
    status, events = load(folder, *words, "--module", str(module))
    assert status == 0
    said = next(event for event in events if event["event"] == "work")
    identified_by = "contents" if of_whom == "own" else "ids"
    assert (said["rows_delivered"], said["rows_identified_by"], said["labels_checked"]) == (1100, identified_by, False)
    # Of three equal rows the first hundred hold one: it stands for all.
    assert (said["rows_twice"], said["rows_missing"], said["rows_wrong"]) == (100, 3, 0)


def test_the_read_ceilings_are_measured_in_the_same_run(dataset: Path) -> None:
    _, events = load(dataset, "--tokens-dir", str(dataset), "--loader", "threads", "--epochs", "1")
    kinds = {event["kind"]: event["cpu_s"] for event in events if event["event"] == "read_ceiling"}
    assert set(kinds) == {"sequential", "random", "memcpy", "memmap", "memmap_random"}
    assert all(seconds > 0 for seconds in kinds.values())
