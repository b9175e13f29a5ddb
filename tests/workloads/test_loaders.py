"""Every loader delivers every row once. Loaders as written in the article show their faults."""

import json
import subprocess

import pytest

from beyond_ram.experiment import tokens

from .tokens import FAMILIES, INSIDE, ROOT, ROWS, WORKLOADS, generate, run

OF_THE_ARTICLE = ["memmap_article", "hdf5_article", "dask_article"]
pytestmark = pytest.mark.slow


def deliveries(dataset, loaders, *workers):
    """Return what some loaders deliver, by number of workers."""
    output = run("loaders", INSIDE, "deliver", WORKLOADS, dataset, ",".join(map(str, workers)), *loaders)
    by_loader = json.loads(output.splitlines()[-1])
    return {number: {name: by_workers[str(number)] for name, by_workers in by_loader.items()} for number in workers}


@pytest.fixture(scope="module")
def delivered(dataset):
    """Return what a loader of each family delivers, by number of workers."""
    return deliveries(dataset, FAMILIES, 0, 2)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in OF_THE_ARTICLE])
def test_every_row_is_delivered_once(delivered, name, workers):
    check_complete(delivered[workers][name])


def check_complete(delivered):
    """Check that every row came once in both orders, or that there is a reason why an order is impossible."""
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


@pytest.mark.release
@pytest.mark.end_to_end
def test_every_row_is_delivered_once_by_all_other_loaders(tmp_path):
    every = tokens.names_in(tokens.LOADERS, ROOT)
    names = [name for name in every if name not in (*OF_THE_ARTICLE, *FAMILIES)]
    assert names
    for by_loader in deliveries(generate(tmp_path, names), names, 0, 2).values():
        for account in by_loader.values():
            check_complete(account)


def test_every_row_of_an_own_file_is_delivered(own):
    assert (own / "npy" / "ids.npy").is_symlink(), "32-bit rows were copied"
    by_loader = deliveries(own, FAMILIES, 0)[0]
    for name in FAMILIES[1:]:
        check_complete(by_loader[name])
        assert by_loader[name]["sequential"]["rows_identified_by"] == "labels"
    assert by_loader["memmap_article"]["sequential"]["rows_missing"] == ROWS % 100
    assert by_loader["memmap_article"]["sequential"]["rows_wrong"] == 0


def test_memmap_loader_of_the_article_drops_the_last_rows(delivered):
    for account in delivered[0]["memmap_article"].values():
        assert account["rows_missing"] == ROWS % 100
        assert account["rows_wrong"] == account["rows_twice"] == 0


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


def test_threads_read_only_rows_outside_of_the_page_cache(dataset):
    if (kind := subprocess.check_output(["stat", "-f", "-c", "%T", dataset], text=True).strip()) in ("tmpfs", "ramfs"):
        pytest.skip(f"not run: {dataset} is on {kind}, which cannot be evicted")
    cached, evicted = run("loaders", "-c", READ_BY_WHOM, WORKLOADS, dataset / "npy").splitlines()
    assert cached == f"{ROWS} 0"
    rows, by_threads = map(int, evicted.split())
    assert rows == ROWS
    assert by_threads >= 1  # the first; the kernel may read the next ones ahead
