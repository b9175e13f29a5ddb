"""Loading: every loader delivers every row once, those as written show their faults, and the account tells faults."""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy
import pytest

from beyond_ram.experiment import tokens
from beyond_ram.experiment.events import faults

ROOT = Path(__file__).resolve().parents[2]
WORKLOADS = ROOT / "scripts/workloads"
INSIDE = ROOT / "tests/load/inside.py"
STACKS = ("loaders", "loaders-mds")
ROWS = 1_003
AS_WRITTEN = ["memmap_article", "hdf5_article", "dask_article"]
# Of every way to store a row one.
FAMILIES = [
    "memmap_article",
    "threads",
    "ring",
    "hdf5_blocks",
    "parquet_blocks",
    "csv_pandas",
    "webdataset",
    "lmdb",
    "arrayrecord",
]
DELIVERING = [name for name in tokens.loaders(ROOT) if name not in AS_WRITTEN]

pytestmark = pytest.mark.slow


def python(stack: str) -> str:
    """The interpreter of a stack, built where it is missing or its lock has changed."""
    lock, folder = ROOT / f"envs/{stack}.txt", ROOT / f".stacks/{stack}"
    marker = folder / "beyond-ram.lock"
    if not marker.exists() or marker.read_bytes() != lock.read_bytes():
        subprocess.run(["beyond-ram", "stack", "build", str(lock), str(folder)], cwd=ROOT, check=True)
    return str(folder / "bin/python")


def run(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=300)
    assert not done.returncode, done.stderr[-2000:]
    return done.stdout


def stack_of(loader: str) -> str:
    return tokens.writer_stack(tokens.format_of(loader, ROOT), ROOT)


def made(folder: Path, spec: dict[str, Any], loaders: Iterable[str]) -> Path:
    """A token dataset in the formats of some loaders."""
    formats = {tokens.format_of(loader, ROOT) for loader in loaders} - {tokens.SOURCE_FORMAT}
    written = folder / "spec.json"
    written.write_text(json.dumps(spec))
    run(python("loaders"), WORKLOADS / "make_tokens.py", "--spec", written, "--out", folder)
    for stack in STACKS:
        names = [name for name in sorted(formats) if tokens.writer_stack(name, ROOT) == stack]
        run(python(stack), INSIDE, "write", WORKLOADS, folder, *names)
    return folder


def deliveries(dataset: Path, workers: int, loaders: Iterable[str]) -> dict[str, Any]:
    """What some loaders deliver."""
    found: dict[str, Any] = {}
    for stack in STACKS:
        names = [name for name in loaders if stack_of(name) == stack]
        found |= json.loads(run(python(stack), INSIDE, "deliver", WORKLOADS, dataset, workers, *names).splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokens")
    return made(folder, {"rows": ROWS, "width": 1024, "vocabulary": 32000, "seed": 1}, tokens.loaders(ROOT))


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of one's own file: an odd number of ids, rows that are equal, and no numbers in them."""
    folder = tmp_path_factory.mktemp("own")
    ids = numpy.random.default_rng(1).integers(0, 50_000, (ROWS, 33), dtype=numpy.int32)
    ids[[3, 700]] = ids[200]
    numpy.save(folder / "train.npy", ids)
    return made(folder, {"path": str(folder / "train.npy"), "dtype": None, "rows": None, "width": None}, FAMILIES)


@pytest.fixture(scope="module")
def delivered(dataset: Path) -> dict[int, dict[str, Any]]:
    """What every loader delivered, by number of workers."""
    names = [name for name in tokens.loaders(ROOT) if name != "dask_article"]
    return {workers: deliveries(dataset, workers, names) for workers in (0, 2)}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", DELIVERING)
def test_every_row_is_delivered_once(delivered: dict[int, dict[str, Any]], name: str, workers: int) -> None:
    whole(delivered[workers][name])


def whole(delivered: dict[str, Any]) -> None:
    """Every row once, in both orders, or a reason why an order cannot be."""
    assert "error" not in delivered, delivered
    for order, account in delivered.items():
        if "not_applicable" in account:
            assert len(account["not_applicable"]) > 20, (order, account)
            continue
        faults = {key: account[key] for key in ("rows_twice", "rows_missing", "rows_wrong")}
        assert faults == dict.fromkeys(faults, 0), (order, account)
        assert account["rows_delivered"] == account["rows_expected"] == ROWS
        assert sum(account["rows_per_worker"].values()) == ROWS
        assert account["cpu_s"] > 0


def test_every_row_of_ones_own_file_is_delivered(own: Path) -> None:
    assert (own / "npy" / "ids.npy").is_symlink(), "32-bit rows are not copied"
    found = deliveries(own, 0, FAMILIES)
    for name in FAMILIES[1:]:
        whole(found[name])
        assert found[name]["sequential"]["rows_identified_by"] == "labels"
    assert found["memmap_article"]["sequential"]["rows_missing"] == ROWS % 100
    assert found["memmap_article"]["sequential"]["rows_wrong"] == 0


def test_the_memmap_of_the_article_drops_the_last_rows(delivered: dict[int, dict[str, Any]]) -> None:
    for account in delivered[0]["memmap_article"].values():
        assert account["rows_missing"] == ROWS % 100
        assert account["rows_wrong"] == account["rows_twice"] == 0


def load(dataset: Path, *words: str) -> tuple[int, list[dict[str, Any]]]:
    """The workload itself under an events file: exit status and events."""
    events = dataset / "events.jsonl"
    events.unlink(missing_ok=True)
    command = ["env", f"BEYOND_RAM_EVENTS={events}", python("loaders"), str(WORKLOADS / "load.py")]
    command += ["--work-dir", str(dataset), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, read(events)


def read(path: Path) -> list[dict[str, Any]]:
    """Events that follow the schema."""
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert not [fault for event in found for fault in faults(event)]
    return found


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


READ_BY_WHOM = """
import os, pathlib, sys
sys.path.insert(0, sys.argv[1])
from loaders import how, threads
folder = pathlib.Path(sys.argv[2])
loader = threads.make(folder, how.How(workers=2))
fill, by_threads = loader.dataset.fill, []
loader.dataset.fill = lambda slot, rows: by_threads.append(rows) or fill(slot, rows)
for evict in (False, True):
    with (folder / "ids.npy").open("rb") as file:
        os.fdatasync(file.fileno())
        while file.read(1 << 20):
            pass
        if evict:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    by_threads.clear()
    rows = sum(len(batch[0]) for batch in loader)
    print(rows, len(by_threads))
"""


def test_threads_read_only_what_is_not_in_the_page_cache(dataset: Path) -> None:
    if (kind := run("stat", "-f", "-c", "%T", dataset).strip()) in ("tmpfs", "ramfs"):
        pytest.skip(f"not run: {dataset} is on {kind}, which cannot be evicted")
    cached, evicted = run(python("loaders"), "-c", READ_BY_WHOM, WORKLOADS, dataset / "npy").splitlines()
    assert cached == f"{ROWS} 0"
    assert evicted == f"{ROWS} 4"


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


@pytest.mark.parametrize("workers", [0, 2])
def test_two_ranks_have_every_row_once(dataset: Path, workers: int) -> None:
    events = dataset / "ranks.jsonl"
    events.unlink(missing_ok=True)
    words = ["--work-dir", dataset, "--tokens-dir", dataset, "--loader", "memmap_batched", "--workers", workers]
    words += ["--order", "sequential", "--ranks", "2", "--batch-size", "256"]
    run("env", f"BEYOND_RAM_EVENTS={events}", python("loaders"), WORKLOADS / "ranks.py", *words)
    work = next(event for event in read(events) if event["event"] == "work")
    assert (work["rows_missing"], work["rows_twice"], work["rows_wrong"]) == (0, 0, 0)
    assert sum(work["rows_per_rank"]) == ROWS
    assert max(work["rows_per_rank"]) - min(work["rows_per_rank"]) <= 1


def test_the_account_tells_twice_missing_and_wrong(dataset: Path) -> None:
    sys.path.insert(0, str(WORKLOADS))
    try:
        import numpy
        from load import TokenRows  # type: ignore[import-not-found]
        from rows import Rows  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(WORKLOADS))
    ids, labels = numpy.load(dataset / "npy/ids.npy"), numpy.load(dataset / "npy/labels.npy")
    account = TokenRows(Rows(dataset))
    account.take(ids[:500], labels[:500], 0)
    account.take(ids[499:1000], labels[499:1000], 1)  # row 499 again, the last three never
    assert account.totals() | {"rows_per_worker": 0} == {
        "rows_identified_by": "ids", "labels_checked": True,
        "rows_expected": ROWS, "rows_delivered": 1001, "rows_twice": 1, "rows_missing": 3, "rows_wrong": 0,
        "rows_per_worker": 0,
    }  # fmt: skip
    torn = ids[1000:].copy()
    torn[0, 700] += 1  # a row that is not whole
    account.take(torn, labels[1000:], 1)
    account.take(ids[:1], labels[1:2], 1)  # a row with another's label
    assert account.totals()["rows_wrong"] == 2
    assert account.totals()["rows_missing"] == 1
