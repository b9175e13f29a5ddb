"""Which runs an upgrade keeps, which folders it refuses, and what is pruned."""

import hashlib
from pathlib import Path

import pytest

from beyond_ram.experiment import ConfigError, kept

from .test_records import LOCK, LOCK_SHA256, run_once

OTHER = b"datasets==5.1.0\n"


def results(folder: Path) -> Path:
    """A results folder with one run of stack `current`, measured with LOCK."""
    (folder / "runs").mkdir(parents=True)
    (folder / ".beyond-ram-results").touch()
    run_once(folder / "runs", seconds=0)
    return folder


def test_folder_without_the_runs_is_refused_and_one_with_runs_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing: no results folder; give another with --results"):
        kept.check(tmp_path / "nothing", "current", LOCK)
    mine = results(tmp_path / "results-mine")
    kept.check(mine, "current", LOCK)
    with pytest.raises(ConfigError, match=r"nothing: no results folder; \S+results-mine has some; give"):
        kept.check(tmp_path / "nothing", "current", LOCK)
    foreign = tmp_path / "photos"
    foreign.mkdir()
    (foreign / "a.jpg").touch()
    with pytest.raises(ConfigError, match=r"photos: no results folder; \S+results-mine has some"):
        kept.check(foreign, "current", LOCK)
    for stack, lock in (("middle", LOCK), ("current", OTHER)):
        with pytest.raises(ConfigError, match=rf"no runs of stack {stack} with the lock that it has now; give"):
            kept.check(mine, stack, lock)
    assert [path.name for path in mine.iterdir() if path.name == kept.FILE] == []


def upgrades(folder: Path) -> list[str]:
    """Four upgrades over three locks, with a run each; the last keeps the first lock again."""
    names = []
    for number in (1, 2, 3, 1):
        lock = LOCK + b"# %d\n" % number
        run = run_once(folder / "runs", seconds=0)
        record = (run / "run.json").read_text()
        (run / "run.json").write_text(record.replace(LOCK_SHA256, hashlib.sha256(lock).hexdigest()))
        (run / "requests.csv").touch()
        name, runs = kept.keep(folder, "current", lock)
        assert runs
        names.append(name)
    return names


@pytest.mark.slow
def test_newest_kept_locks_of_each_stack_stay(tmp_path: Path) -> None:
    folder = results(tmp_path / "results")
    first, second, third, last = upgrades(folder)
    assert first == last
    assert sorted(kept.locks(folder)) == sorted({first, second, third})
    assert kept.prune(folder, 3) == {}
    assert kept.prune(folder, 0, "middle") == {}
    assert kept.prune(folder, 2) == {second: 1}
    assert {path.split("/")[1] for path in kept.read(folder)} == {f"stack~{first}", f"stack~{third}"}
    assert sorted(kept.locks(folder)) == sorted({first, third})
    assert not (folder / "runs/growth" / f"stack~{second}").exists()
    assert kept.prune(folder, 1) == {third: 1}
    assert len(list((folder / "runs").rglob("run.json"))) == 1
    assert kept.prune(folder, 0, "current") == {first: 1}
    assert kept.read(folder) == []
    assert not [path for path in (folder / "runs").rglob("*") if path.is_file()]


def test_only_runs_of_the_folder_are_removed(tmp_path: Path) -> None:
    folder = results(tmp_path / "results")
    outside = tmp_path / "outside/stack~current@0/rep~1"
    outside.mkdir(parents=True)
    (outside / "run.json").touch()
    (folder / kept.FILE).write_text('{"current@0": ["../../outside/stack~current@0/rep~1"], "current@1": []}')
    with pytest.raises(ValueError, match="not a run's folder"):
        kept.prune(folder, 0)
    (folder / "out").symlink_to(tmp_path / "outside")
    (folder / "runs/growth").rename(folder / "runs/moved")
    (folder / "runs/growth").symlink_to(tmp_path / "outside")
    (folder / kept.FILE).write_text('{"current@0": ["growth/stack~current@0/rep~1"]}')
    kept.prune(folder, 0)
    assert (outside / "run.json").exists()
