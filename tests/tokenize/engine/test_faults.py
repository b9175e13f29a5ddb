"""Success means a complete and right result, also after kills, full disks, changed inputs or damaged outputs."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from random import Random

import pytest

from tests.conftest import mounted
from tests.tokenize.conftest import ENGINE, RUN, in_stack, words
from tests.tokenize.documents import files_of

pytestmark = pytest.mark.slow

FAULTS = int(os.environ.get("BEYOND_RAM_FAULTS", "6"))
FORMATS = ("bin", "datasets", "parquet")


@pytest.fixture(scope="module")
def finished(source, families, tokenize, tmp_path_factory):
    """Make an undisturbed output folder of each format. Tests copy it."""
    folders = {format: tmp_path_factory.mktemp("finished") / format for format in FORMATS}
    for format, out in folders.items():
        tokenize(source, tokenizer=families["gpt2"], out=out, format=format)
    return folders


def all_files(out):
    return sorted(path for path in out.rglob("*") if path.is_file() and path.stat().st_size)


def change_a_byte(path, random):
    """Change one byte, and set the times of the file back."""
    before, data = path.stat(), bytearray(path.read_bytes())
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("damage", ["delete", "one byte"])
def test_damaged_output_files_are_made_again(damage, format, source, finished, families, tokenize, tmp_path):
    """The same command makes it, for one file of each kind."""
    random, whole = Random(f"{damage} {format}"), files_of(finished[format])
    names = [path.relative_to(finished[format]) for path in all_files(finished[format])]
    names = [name for name in names if name.name != "manifest.json"]
    for name in {name.suffix: name for name in random.sample(names, len(names))}.values():
        out = tmp_path / "out"
        shutil.copytree(finished[format], out)
        if damage == "delete":
            (out / name).unlink()
        else:
            change_a_byte(out / name, random)
        done = tokenize(source, tokenizer=families["gpt2"], out=out, format=format, status=None)
        assert done.returncode == 0, (name, done.stderr)
        assert files_of(out) == whole, name
        shutil.rmtree(out)


@pytest.mark.parametrize("format", FORMATS[:2])
def test_records_under_each_others_names_are_worthless(format, source, families, tokenize, tmp_path):
    out, work = tmp_path / "out", tmp_path / "out" / ".beyond-ram-tokenize"

    def run():
        for shard in ("1/2", "2/2"):
            tokenize(source, tokenizer=families["gpt2"], out=out, format=format, shard=shard)
        return files_of(out)

    whole = run()
    for source_name, name in (("00001", "kept"), ("00002", "00001"), ("kept", "00002")):
        (work / f"shard-{source_name}.json").rename(work / f"shard-{name}.json")
    assert run() == whole


@pytest.mark.parametrize("format", FORMATS)
def test_file_that_readers_take_for_a_part_is_refused(format, source, finished, families, tokenize, tmp_path):
    name = {"bin": "tokens-00001-of-00002.bin", "datasets": "data-000077.arrow", "parquet": "data-000077.parquet"}
    shutil.copytree(finished[format], tmp_path / "out")
    stray = tmp_path / "out" / name[format]
    stray.write_bytes(b"another's")
    done = tokenize(source, tokenizer=families["gpt2"], out=tmp_path / "out", format=format, status=2)
    assert done.stderr.count("\n") == 1 and f"{stray}: not of this result" in done.stderr, done.stderr
    assert stray.read_bytes() == b"another's"


def test_damaged_manifest_is_refused(source, finished, families, tokenize, tmp_path):
    shutil.copytree(finished["bin"], tmp_path / "out")
    change_a_byte(tmp_path / "out" / ".beyond-ram-tokenize" / "manifest.json", Random(1))
    done = tokenize(source, tokenizer=families["gpt2"], out=tmp_path / "out", status=2)
    assert done.stderr.count("\n") == 1 and "damaged" in done.stderr


def test_parts_of_another_manifest_are_not_adopted(source, finished, families, tokenize, tmp_path):
    """Neither without a manifest, nor with the one of the command that adopts them."""
    (tmp_path / "other.txt").write_text("one two", encoding="utf-8")
    flags = {"tokenizer": families["gpt2"], "no_special_tokens": True}
    for format in FORMATS[:2]:
        right, out = tmp_path / f"right-{format}", tmp_path / f"out-{format}"
        tokenize(tmp_path / "other.txt", out=right, format=format, **flags)
        shutil.copytree(finished[format], out)
        manifest = out / ".beyond-ram-tokenize" / "manifest.json"
        manifest.unlink()
        done = tokenize(tmp_path / "other.txt", out=out, format=format, **flags, status=2)
        assert "manifest.json: missing" in done.stderr, done.stderr
        shutil.copy(right / ".beyond-ram-tokenize" / "manifest.json", manifest)
        done = tokenize(tmp_path / "other.txt", out=out, format=format, **flags, status=2)
        assert "belong to its manifest.json" in done.stderr, done.stderr
        assert files_of(out) == files_of(finished[format])


@pytest.mark.parametrize("change", ["in place", "another file"])
def test_input_that_changes_between_shards_is_refused(change, source, families, tokenize, tmp_path):
    """Also if its size and time of change are the same."""
    changing, out = tmp_path / "changing.jsonl", tmp_path / "out"
    shutil.copy2(source, changing)
    flags = {"tokenizer": families["gpt2"], "out": out}
    tokenize(changing, shard="1/2", **flags)
    if change == "another file":
        shutil.copy2(changing, tmp_path / "copy")
        (tmp_path / "copy").rename(changing)
    before = changing.stat()
    with changing.open("r+b") as file:
        file.seek(before.st_size // 30)  # in the middle between two places
        file.write(b"x")
    os.utime(changing, ns=(before.st_atime_ns, before.st_mtime_ns))
    done = tokenize(changing, shard="2/2", **flags, status=2)
    assert "changing.jsonl has changed" in done.stderr, done.stderr
    assert not (out / "summary.json").exists()


def test_planted_links_are_not_followed(source, finished, families, tokenize, tmp_path):
    victim, whole = tmp_path / "victim", files_of(finished["bin"])
    victim.write_text("precious")
    names = ["summary.json", "tokens.idx", ".beyond-ram-tokenize/000000.json"]
    names += [".beyond-ram-tokenize/tokens.bin", ".beyond-ram-tokenize/lock", ".beyond-ram-tokenize/000000.bin.partial"]
    for number, name in enumerate([*names, ".beyond-ram-tokenize/000000.bin.lengths"]):
        out = tmp_path / f"out-{number}"
        (out / ".beyond-ram-tokenize").mkdir(parents=True)
        shutil.copy(finished["bin"] / ".beyond-ram-tokenize" / "manifest.json", out / ".beyond-ram-tokenize")
        (out / name).symlink_to(victim)
        (out / ".partial-0123456789abcdef").touch()
        done = tokenize(source, tokenizer=families["gpt2"], out=out, status=None)
        assert victim.read_text() == "precious", name
        assert "Traceback" not in done.stderr, done.stderr
        assert files_of(out) == whole if done.returncode == 0 else not (out / "summary.json").is_file(), name


# The engine, with an input that changes, or is gone, after all units are done.
CHANGED = """
import os, sys
sys.path.insert(0, sys.argv[1])
from small import run
real = run.TokenizeRun.finish
def finish(self):
    path, change = sys.argv[2:4]
    before = os.stat(path)
    if change == "gone":
        os.unlink(path)
    else:
        with open(path, "r+b") as file:
            file.seek(100_000)
            file.write(b"x" * 10)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    real(self)
run.TokenizeRun.finish = finish
sys.exit(run.main(sys.argv[4:]))
"""


@pytest.mark.parametrize("change", ["changed", "gone"])
def test_input_that_changes_during_the_run_fails_it(change, source, families, tokenize, engine, tmp_path):
    """Also if the time of its last change is set back."""
    changing, flags = tmp_path / "changing.jsonl", {"tokenizer": families["gpt2"], "out": tmp_path / "out"}
    shutil.copyfile(source, changing)
    done = engine.run("-c", CHANGED, RUN.parent, changing, change, *words(changing, **flags))
    assert done.returncode == 2 and "changing.jsonl was changed while it was read" in done.stderr
    assert not (tmp_path / "out/summary.json").exists()
    if change == "changed":
        again = tokenize(changing, **flags, status=2)
        assert "start again" in again.stderr and not (tmp_path / "out/summary.json").exists()


@pytest.mark.parametrize("format", FORMATS[:2])
def test_full_disk_gets_one_line_and_the_same_command_continues(format, source, finished, families, tokenize, tmp_path):
    needed = sum(path.stat().st_size for path in all_files(finished[format]))
    for share in (0.3, 0.99):
        with mounted(tmp_path / f"{share}", str(int(needed * share))) as disk:
            flags = {"tokenizer": families["gpt2"], "out": disk / "out", "format": format}
            done = tokenize(source, workers=2, **flags, status=1)
            last = done.stderr.splitlines()[-1]
            assert all(words in last for words in ("the disk is full", " needs ", "can be had there")), last
            assert "Traceback" not in done.stderr and not (disk / "out" / "summary.json").exists()
            subprocess.run(["mount", "-o", "remount,size=200m", disk], check=True)
            tokenize(source, workers=2, **flags)
            assert files_of(disk / "out") == files_of(finished[format])


def test_size_of_a_file_that_another_worker_removes_is_0(tmp_path):
    """A full disk is measured while others still write."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import run; print(run.size_on_disk(sys.argv[2]))"
    (tmp_path / "whole").write_bytes(b"123")
    assert [in_stack("encoder", code, ENGINE, tmp_path / name) for name in ("whole", "gone")] == [3, 0]


def remount(folder, size):
    subprocess.run(["mount", "-o", f"remount,size={size}", folder], check=True)


def test_random_faults_cause_no_false_success(source, finished, families, tokenize, engine, tmp_path):
    """After one to three faults, a command that succeeds has the output of an undisturbed one."""
    random = Random(FAULTS)
    kinds, refusals = ("kill", "kill", "delete", "byte", "cut", "two at once", "input", "full disk"), 0
    copy = tmp_path / "big.jsonl"
    enough = 200 << 20
    with mounted(tmp_path / "disk", str(enough)) as disk:
        for number in range(FAULTS):
            format, out = random.choice(FORMATS), disk / f"out-{number}"
            shutil.copyfile(source, copy)
            flags = {"tokenizer": families["gpt2"], "out": out, "format": format, "workers": random.choice((1, 2))}
            command = [RUN, *words(copy, **flags)]
            changed = False
            for fault in random.choices(kinds, k=random.randint(1, 3)):
                outputs = all_files(out) if out.exists() else []
                if fault == "kill" or not outputs:
                    run = engine.start(*command, session=True)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        run.wait(random.uniform(0.02, 0.4))
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(run.pid, signal.SIGKILL)
                    run.wait()
                elif fault == "delete":
                    random.choice(outputs).unlink()
                elif fault == "byte":
                    change_a_byte(random.choice(outputs), random)
                elif fault == "cut":
                    path = random.choice(outputs)
                    os.truncate(path, random.randrange(path.stat().st_size))
                elif fault == "full disk":
                    used = sum(path.stat().st_size for path in all_files(out))
                    remount(disk, used + random.randrange(1 << 14, 1 << 20))
                    done = engine.run(*command)
                    assert "Traceback" not in done.stderr, done.stderr
                    remount(disk, enough)
                elif fault == "input":
                    run = engine.start(*command, session=True)
                    time.sleep(random.uniform(0.02, 0.3))
                    with copy.open("r+b") as file:
                        file.seek(random.randrange(copy.stat().st_size // 2))
                        file.write(b" ")
                    changed = True
                    if run.wait(120) == 0:  # it ended before the change: its output is of the old input
                        changed = files_of(out) != files_of(finished[format])
                        assert not changed, (number, fault)
                        shutil.copyfile(source, copy)
                elif fault == "two at once":
                    runs = [engine.start(*command) for _ in range(2)]
                    statuses = [run.wait(120) for run in runs]
                    assert changed or 0 in statuses or 2 in statuses, statuses
            done = engine.run(*command)
            if done.returncode:
                refusals += 1
                assert "Traceback" not in done.stderr, done.stderr
                if not (changed or "manifest.json: missing or damaged" in done.stderr or "has changed" in done.stderr):
                    pytest.fail(f"fault {number}: {done.stderr}")
            else:
                assert not changed, f"fault {number}: success over an input that changed"
                assert files_of(out) == files_of(finished[format]), f"fault {number}"
                assert json.loads((out / "summary.json").read_text())["documents"] > 0
            shutil.rmtree(out)
    assert refusals < FAULTS
