"""The engine as a command: every input and output gives the same ids; kills, limits, shards and bad input."""

import contextlib
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from beyond_ram.watch import WatchOptions, watch
from tests.tokenize.conftest import ENGINE, FLAT, RUN, in_stack, words
from tests.tokenize.documents import big, files_of, some_texts, summary
from tests.watch.conftest import needs_group

pytestmark = pytest.mark.slow

ORACLE = """
import json, sys, tokenizers
tokenizer = tokenizers.Tokenizer.from_file(sys.argv[1])
texts = json.load(open(sys.argv[2], encoding="utf-8"))
print(json.dumps([tokenizer.encode(text).ids for text in texts]))
"""


@pytest.fixture(scope="module")
def texts():
    return some_texts()


@pytest.fixture(scope="module")
def expected(texts, families, tmp_path_factory):
    """Return the ids of every whole text by tokenizers 0.23."""
    path = tmp_path_factory.mktemp("oracle") / "texts.json"
    path.write_text(json.dumps(texts), encoding="utf-8")
    return in_stack("encoder-0.23", ORACLE, families["llama3"], path)


def write(texts, kind, folder):
    """Write the texts as a file of one kind."""
    path = folder / f"data.{kind}"
    (path if kind == "txt" else folder).mkdir(parents=True, exist_ok=True)
    table = pa.table({"number": list(range(len(texts))), "text": texts})
    lines = "".join(json.dumps({"n": [1, {"text": "no"}], "text": text}) + "\n" for text in texts)
    if kind == "jsonl":
        path.write_text(lines.replace("\n", "\n\n", 5), encoding="utf-8")  # empty lines are no rows
    elif kind == "jsonl.gz":
        data = lines.encode()
        path.write_bytes(gzip.compress(data[: len(data) // 2]) + gzip.compress(data[len(data) // 2 :]))
    elif kind == "jsonl.zst":
        raw = "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts).encode()
        with pa.output_stream(str(path), compression="zstd") as sink:
            sink.write(raw)
    elif kind == "csv":
        import csv

        with path.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["number", "text"])
            rows.writerows(enumerate(texts))
    elif kind == "txt":  # a folder with a file for each
        for number, text in enumerate(texts):
            (path / f"{number:04d}.txt").write_bytes(text.encode())
    elif kind == "parquet":
        pq.write_table(table, path, row_group_size=40)
    elif kind == "dictionary.parquet":
        pq.write_table(table.set_column(1, "text", table["text"].dictionary_encode()), path, row_group_size=100)
    elif kind == "arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=23)
    elif kind == "feather":
        large = table.set_column(1, "text", table["text"].cast(pa.large_string()))
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, large.schema) as writer:
            writer.write_table(large, max_chunksize=77)
    else:
        raise ValueError(kind)
    return path


KINDS = ("jsonl", "jsonl.gz", "jsonl.zst", "csv", "parquet", "dictionary.parquet", "arrow", "feather", "txt")


@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_those_of_whole_documents_for_every_input(kind, texts, expected, families, tokenize, tmp_path):
    out = tmp_path / "out"
    tokenize(write(texts, kind, tmp_path), tokenizer=families["llama3"], out=out, workers=2, sha256=True)
    assert in_stack("encoder", FLAT, out / "tokens") == expected
    ids = b"".join(id.to_bytes(4, "little") for document in expected for id in document)
    import hashlib

    assert summary(out)["ids_sha256"] == hashlib.sha256(ids).hexdigest()
    assert summary(out)["documents"] == len(expected)


LOAD = """
import json, sys, datasets
data = datasets.load_from_disk(sys.argv[1])
assert data.column_names == ["input_ids"], data
print(json.dumps(list(data["input_ids"])))
"""


LENGTHS = LOAD.replace('list(data["input_ids"])', 'list(map(len, data["input_ids"]))')


@pytest.mark.parametrize("stack", ["current", "june-2023"])
def test_datasets_opens_the_output_folder(stack, texts, expected, families, tokenize, tmp_path):
    out = tmp_path / "out"
    source = write(texts, "jsonl", tmp_path)
    tokenize(source, tokenizer=families["llama3"], out=out, format="datasets", workers=2)
    assert in_stack(stack, LOAD, out) == expected


def test_folder_saved_by_datasets_is_read_in_order(texts, expected, families, tokenize, tmp_path):
    code = "import sys, json, datasets\n"
    code += "read = {'keep_default_na': False, 'data_files': sys.argv[1], 'cache_dir': sys.argv[3]}\n"
    code += "datasets.load_dataset('csv', split='train', **read)"
    code += ".save_to_disk(sys.argv[2], num_shards=12)\nprint(1)"
    in_stack("current", code, write(texts, "csv", tmp_path), tmp_path / "saved", tmp_path / "cache")
    tokenize(tmp_path / "saved", tokenizer=families["llama3"], out=tmp_path / "out")
    assert in_stack("encoder", FLAT, tmp_path / "out" / "tokens") == expected


def test_digest_depends_only_on_the_ids(texts, families, tokenize, tmp_path):
    """It is the same for every kind of input and output, and xxh128sum prints it for the flat file."""
    digests = set()
    for kind, format in (("jsonl", "bin"), ("parquet", "bin"), ("arrow", "datasets"), ("csv", "parquet")):
        out = tmp_path / f"{kind}-{format}"
        source = write(texts, kind, tmp_path / kind)
        tokenize(source, tokenizer=families["gpt2"], out=out, format=format)
        digests.add(summary(out)["digest"])
    assert len(digests) == 1
    code = "import sys, json, xxhash; print(json.dumps(xxhash.xxh3_128(open(sys.argv[1], 'rb').read()).hexdigest()))"
    digest = in_stack("encoder", code, tmp_path / "jsonl-bin" / "tokens.bin")
    assert digests == {f"xxh3-128:{digest}"}


def test_name_that_is_not_utf_8_is_read_and_named(families, tokenize, tmp_path):
    for kind, texts in (("jsonl", ["one", "two"]), ("arrow", ["one"])):
        source = write(texts, kind, tmp_path / "made").rename(tmp_path / f"\udcff.{kind}")
        out = tmp_path / f"\udcfe-{kind}"
        for _ in range(2):
            done = tokenize(source, tokenizer=families["gpt2"], out=out)
            assert summary(out)["documents"] == len(texts), done.stderr
        refused = tokenize(source, tokenizer=families["gpt2"], out=out, format="datasets", status=2)
        assert refused.stderr.count("\n") == 1, refused.stderr
    source = write(["one"], "parquet", tmp_path / "made").rename(tmp_path / "\udcff.parquet")
    done = tokenize(source, tokenizer=families["gpt2"], out=tmp_path / "out", status=2)
    assert "\\udcff.parquet" in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_large_document_among_small_ones_has_its_ids(families, tokenize, tmp_path):
    """Read it from every kind of input. It is encoded in pieces."""
    source = big(tmp_path / "big.jsonl", 0.75)
    lines = [json.loads(line)["text"] for line in source.read_text(encoding="utf-8").splitlines()]
    texts = [*lines[1:], lines[0], "behind"]
    (tmp_path / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    for family, kind, format in (
        ("gpt2", "jsonl", "bin"),
        ("gpt2", "parquet", "datasets"),
        ("llama2", "arrow", "bin"),
    ):
        expected, out = in_stack("encoder", ORACLE, families[family], tmp_path / "texts.json"), tmp_path / kind
        tokenize(write(texts, kind, tmp_path), tokenizer=families[family], out=out, format=format)
        if format == "bin":
            rows = in_stack("encoder", FLAT, out / "tokens")
        else:
            names = [out / name for name in summary(out)["files"]]
            rows = [row for name in names for row in pa.ipc.open_stream(name).read_all()[0].to_pylist()]
        assert rows == expected, (family, kind, format)


@pytest.fixture(scope="module")
def whole(source, families, tokenize, tmp_path_factory):
    """Return the flat files of an uninterrupted run. Any number of workers writes the same."""
    out = tmp_path_factory.mktemp("whole") / "out"
    tokenize(source, tokenizer=families["gpt2"], out=out, workers=2)
    return files_of(out)


KILLS = int(os.environ.get("BEYOND_RAM_KILLS", "1"))


@pytest.mark.parametrize("format", ["bin", "datasets", "parquet"])
def test_killing_all_processes_does_not_change_the_output(format, families, tokenize, engine, tmp_path):
    """Kill the coordinator and its workers at once, then run the same command. No finished unit is done again."""
    source = big(tmp_path / "big.jsonl", 3)
    flags = {"tokenizer": families["gpt2"], "format": format, "workers": 2}
    begun = time.monotonic()
    tokenize(source, out=tmp_path / "whole", **flags)
    spent = time.monotonic() - begun
    killed, random = 0, Random(f"{format} {KILLS}")
    for number in range(50 * KILLS):
        out = tmp_path / f"killed-{number}"
        run = engine.start(RUN, *words(source, out=out, **flags), session=True)
        try:
            run.wait(random.random() * spent)  # it ended before its kill
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
            killed += 1
        finished = {path: path.stat().st_mtime_ns for path in out.glob(".beyond-ram-tokenize/0*.json")}
        tokenize(source, out=out, **flags)
        assert {path: path.stat().st_mtime_ns for path in finished} == finished
        assert files_of(out) == files_of(tmp_path / "whole"), f"kill {number} of {killed}"
        shutil.rmtree(out)
        if killed == KILLS:
            return
    pytest.fail(f"{killed} of {KILLS} kills came before the end")


def test_workers_end_with_the_coordinator(families, python, tmp_path):
    source = big(tmp_path / "big.jsonl", 24)
    command = [python, RUN, *words(source, tokenizer=families["gpt2"], out=tmp_path / "out", workers=6)]
    run = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    children = []
    until = time.monotonic() + 60
    while not (len(children) == 5 and all(map(ignores_ctrl_c, children))):  # their last step before they work
        assert run.poll() is None and time.monotonic() < until
        children = [int(pid) for pid in Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()]
    for pid in children:  # in the middle of a unit, where none sees that nobody waits for it
        os.kill(pid, signal.SIGSTOP)
    run.kill()
    run.wait()
    until = time.monotonic() + 20
    while (living := [pid for pid in children if Path(f"/proc/{pid}").exists()]) and time.monotonic() < until:
        time.sleep(0.02)
    for pid in living:
        os.kill(pid, signal.SIGKILL)
    assert not living, "a worker would go on alone"


def ignores_ctrl_c(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    ignored = next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn:"))
    return bool(int(ignored, 16) & 1 << signal.SIGINT - 1)


def test_killed_worker_is_reported_and_the_same_command_continues(source, whole, families, tokenize, engine, tmp_path):
    flags = {"tokenizer": families["gpt2"], "workers": 2, "out": tmp_path / "out"}
    run = engine.start(RUN, *words(source, **flags))
    until, children = time.monotonic() + 60, Path(f"/proc/{run.pid}/task/{run.pid}/children")
    while not (pids := children.read_text().split()) and time.monotonic() < until:
        time.sleep(0.002)
    os.kill(int(pids[0]), signal.SIGKILL)
    _, output = run.communicate(timeout=30)
    assert run.returncode == 1, output
    assert "a worker was killed by signal 9" in output.splitlines()[-1] and "Traceback" not in output
    assert "give --memory-limit" in output
    tokenize(source, **flags)
    assert files_of(tmp_path / "out") == whole


# The engine, killed when it writes a file of that name.
KILLED_AT = """
import os, sys
sys.path.insert(0, sys.argv[1])
from small import run
def killed(real):
    def write(path, value):
        if path.name.startswith(sys.argv[2]):
            os._exit(9)
        real(path, value)
    return write
run.write_json, run.write_record = killed(run.write_json), killed(run.write_record)
run.main(sys.argv[3:])
"""


@pytest.mark.parametrize("name", ["shard-00001.json", "tokens.merged", "summary.json"])
def test_kill_while_finishing_does_not_change_the_output(name, source, whole, families, tokenize, engine, tmp_path):
    flags = {"tokenizer": families["gpt2"], "workers": 2, "out": tmp_path / "out"}
    killed = engine.run("-c", KILLED_AT, RUN.parent, name, *words(source, **flags))
    assert killed.returncode == 9, killed.stderr
    tokenize(source, **flags)
    assert files_of(tmp_path / "out") == whole


def test_memory_limit_includes_the_memory_of_planning(families, tokenize, tmp_path):
    """Planning a table of many columns and groups takes memory."""
    table = pa.table({f"column {at}": ["a"] * 220 for at in range(400)} | {"text": ["Some words of text. "] * 220})
    pq.write_table(table, tmp_path / "wide.parquet", row_group_size=1)
    limit = 60 << 20
    flags = {"program": ENGINE / "run.py", "workers": 2, "memory_limit": limit}
    done = tokenize(tmp_path / "wide.parquet", tokenizer=families["gpt2"], out=tmp_path / "out", **flags, status=2)
    assert "wide.parquet: to know its parts needs more memory" in done.stderr, done.stderr


FREED = """
import mmap, sys
sys.path.insert(0, sys.argv[1])
import run
before, size, block = run.available(), 64 << 20, bytes([1]) * (1 << 20)
heap = mmap.mmap(-1, size, mmap.MAP_PRIVATE)
for at in range(0, size, len(block)):
    heap[at:at + len(block)] = block
    heap.madvise(mmap.MADV_FREE, at, len(block))
    heap[at:at + len(block)] = block
print(before, before - run.available(), file=open(sys.argv[2], "w"))
"""


@needs_group
def test_memory_that_was_given_back_and_written_again_is_not_free(python, tmp_path):
    """The kernel keeps such pages on the lists of page cache."""
    limit, result = 400_000_000, tmp_path / "free"
    program = [str(python), "-B", "-c", FREED, str(ENGINE), str(result)]
    assert watch(program, tmp_path / "watched", WatchOptions(memory_limit_bytes=limit))["outcome"] == "completed"
    before, taken = map(int, result.read_text().split())
    assert before < limit
    assert taken == pytest.approx(64 << 20, rel=0.1)


def test_output_does_not_depend_on_the_number_of_workers(source, whole, families, engine, tmp_path):
    for workers, others in ((1, 0), (2, 1), (4, 3)):
        out = tmp_path / str(workers)
        run = engine.start(RUN, *words(source, tokenizer=families["gpt2"], out=out, workers=workers))
        seen = set()
        while run.poll() is None:
            with contextlib.suppress(OSError):
                seen |= set(Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split())
            time.sleep(0.002)
        assert run.returncode == 0, run.stderr
        assert len(seen) == others
        assert files_of(out) == whole


def test_ctrl_c_stops_the_run_and_the_same_command_continues(source, whole, families, tokenize, engine, tmp_path):
    out = tmp_path / "out"
    flags = {"tokenizer": families["gpt2"], "workers": 2, "out": out}
    run = engine.start(RUN, *words(source, **flags))
    until = time.monotonic() + 60
    while not list((out / ".beyond-ram-tokenize").glob("0*.json")) and time.monotonic() < until:
        time.sleep(0.002)
    run.send_signal(signal.SIGINT)
    _, output = run.communicate(timeout=30)
    assert run.returncode == 130 and output.splitlines()[-1].startswith("beyond-ram: stopped"), output
    tokenize(source, **flags)
    assert files_of(out) == whole


def test_last_shard_joins_the_output(source, whole, families, tokenize, engine, tmp_path):
    """Also of shards that run at the same time."""
    parts = tmp_path / "parts"
    for shard in ("2/3", "1/3", "3/3"):
        assert not (parts / "summary.json").exists()
        tokenize(source, tokenizer=families["gpt2"], out=parts, shard=shard)
    joined = b"".join((parts / name).read_bytes() for name in summary(parts)["files"])
    assert joined == whole["tokens.bin"]
    flags = {"tokenizer": families["gpt2"], "out": tmp_path / "rows", "format": "datasets"}
    together = [engine.start(RUN, *words(source, **flags, shard=shard)) for shard in ("2/2", "1/2")]
    assert [shard.wait() for shard in together] == [0, 0]
    lengths = in_stack("current", LENGTHS, tmp_path / "rows")
    totals = json.loads(whole["summary.json"])
    assert sum(lengths) == totals["tokens"]
    assert summary(tmp_path / "rows")["documents"] == totals["documents"] == len(lengths)


def test_damage_that_another_shard_finds_makes_its_record_invalid(source, whole, families, tokenize, tmp_path):
    def call(shard, status=0):
        return tokenize(source, tokenizer=families["gpt2"], out=tmp_path / "parts", shard=shard, status=status)

    parts = [tmp_path / "parts" / f"tokens-0000{shard}-of-00002.bin" for shard in (1, 2)]
    call("1/2")
    call("2/2")
    parts[0].write_bytes(b"damage" + parts[0].read_bytes()[6:])
    done = call("2/2", status=1)
    assert "`--shard 1/2` makes it again" in done.stderr, done.stderr
    assert not (tmp_path / "parts" / "summary.json").exists()
    done = call("2/2")
    assert "shards 1 of 2 are left" in done.stderr, done.stderr
    call("1/2")
    assert summary(tmp_path / "parts")["files"]
    assert b"".join(part.read_bytes() for part in parts) == whole["tokens.bin"]


def test_same_command_does_nothing_and_a_changed_one_is_refused(texts, families, tokenize, tmp_path):
    source, out = write(texts, "jsonl", tmp_path), tmp_path / "out"
    tokenize(source, tokenizer=families["gpt2"], out=out)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.bin")}
    again = tokenize(source, tokenizer=families["gpt2"], out=out)
    assert "done before" in again.stderr
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.bin")} == before

    def refused(what, **flags):
        done = tokenize(source, **{"tokenizer": families["gpt2"], "out": out, **flags}, status=2)
        assert done.stderr.count("\n") == 1 and what in done.stderr, done.stderr

    refused("the tokenizer has changed", tokenizer=families["llama3"])
    refused("format was 'bin' and is 'datasets'", format="datasets")
    refused("special tokens was True and is False", no_special_tokens=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").touch()
    refused("not made by beyond-ram tokenize", out=tmp_path / "other")
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("def", "fed", 1), encoding="utf-8")
    refused("data.jsonl has changed")


def test_special_tokens_and_an_appended_entry_are_written(texts, families, tokenize, tmp_path):
    source = write(["one", "", "two words"], "jsonl", tmp_path)
    spec = json.loads(families["llama3"].read_text(encoding="utf-8"))
    first, last = (
        next(e["id"] for e in spec["added_tokens"] if e["content"] == one)
        for one in ("<|begin_of_text|>", "<|eot_id|>")
    )
    flags = {"tokenizer": families["llama3"], "append": "<|eot_id|>"}
    tokenize(source, out=tmp_path / "with", **flags)
    tokenize(source, out=tmp_path / "without", no_special_tokens=True, **flags)
    rows = in_stack("encoder", FLAT, tmp_path / "with" / "tokens")
    assert [(row[0], row[-1]) for row in rows] == [(first, last)] * 3
    assert in_stack("encoder", FLAT, tmp_path / "without" / "tokens") == [row[1:] for row in rows]
    done = tokenize(source, out=tmp_path / "no", tokenizer=families["llama3"], append="<nothing>", status=2)
    assert "no such entry" in done.stderr


def test_output_in_the_input_folder_may_be_made_twice(texts, families, tokenize, tmp_path):
    write(texts, "jsonl", tmp_path / "in")
    summaries = []
    for _ in range(2):
        tokenize(tmp_path / "in", tokenizer=families["gpt2"], out=tmp_path / "in" / "out")
        summaries.append(summary(tmp_path / "in" / "out"))
    assert summaries[0] == summaries[1] and summaries[0]["files_skipped"] == {"output folder": 1}


def test_tokenizer_file_with_a_byte_order_mark_gets_one_line(families, tokenize, tmp_path):
    (tmp_path / "tokenizer.json").write_bytes(b"\xef\xbb\xbf" + families["gpt2"].read_bytes())
    source = write(["one"], "jsonl", tmp_path)
    done = tokenize(source, tokenizer=tmp_path / "tokenizer.json", out=tmp_path / "out", status=2)
    assert "byte order mark" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "message"), [('{"text": null}', "holds null"), ('{"text": "\\ud800"}', "half a pair of surrogates")]
)
def test_bad_input_gets_one_line(line, message, families, tokenize, tmp_path):
    """Readers refuse one, and the tokenizer the other."""
    (tmp_path / "bad.jsonl").write_text(f'{{"text": "x"}}\n{line}\n', encoding="utf-8")
    done = tokenize(tmp_path / "bad.jsonl", tokenizer=families["gpt2"], out=tmp_path / "out", status=2)
    assert done.stderr.count("\n") == 1 and message in done.stderr and "bad.jsonl, line 2: " in done.stderr, done.stderr
    assert not (tmp_path / "out" / "summary.json").exists()


def test_document_that_cannot_be_cut_needs_memory(families, tokenize, tmp_path):
    """A document that can be cut needs little memory; another is refused, with the memory it needs."""
    cut, whole = tmp_path / "cut.txt", tmp_path / "whole.txt"
    cut.write_text("some words " * 1_000_000, encoding="utf-8")
    whole.write_text("a" * 6_000_000, encoding="utf-8")
    flags = {"tokenizer": families["gpt2"], "memory_limit": 150 << 20, "workers": 1}
    tokenize(cut, out=tmp_path / "1", **flags)
    done = tokenize(whole, out=tmp_path / "2", **flags, status=2)
    assert "whole.txt: a document needs" in done.stderr, done.stderr
    tokenize(whole, out=tmp_path / "3", **{**flags, "memory_limit": 1 << 30})
    done = tokenize(cut, out=tmp_path / "4", **{**flags, "memory_limit": 1 << 20}, status=2)
    assert "are not enough" in done.stderr, done.stderr


def test_document_too_large_for_two_workers_is_done_by_one(families, tokenize, tmp_path):
    """A document that needs more than a worker's share is done after the other workers have ended."""
    texts = tmp_path / "texts"
    texts.mkdir()
    for number in range(6):
        (texts / f"{number}.txt").write_text("some words " * 120_000, encoding="utf-8")
    (texts / "3.txt").write_text("a" * 3_000_000, encoding="utf-8")
    flags = {"tokenizer": families["gpt2"], "workers": 2}
    tokenize(texts, out=tmp_path / "free", **flags)
    tokenize(texts, out=tmp_path / "tight", memory_limit=400 << 20, **flags)
    assert files_of(tmp_path / "tight") == files_of(tmp_path / "free")


def test_run_that_did_nothing_does_not_block_other_settings(source, families, tokenize, tmp_path):
    """The corrected command may use the same folder, until a unit is done there."""
    out = tmp_path / "out"
    flags = {"tokenizer": families["gpt2"], "out": out, "format": "datasets"}
    wrong = tokenize(source, **flags, text_column="body", status=2)
    assert "no column 'body'" in wrong.stderr, wrong.stderr
    tokenize(source, **{**flags, "format": "parquet"})
    assert sorted(path.suffix for path in out.glob("data-*")) == [".parquet"] * len(list(out.glob("data-*")))
    again = tokenize(source, **flags, status=2)
    assert "was started with other settings" in again.stderr, again.stderr


def test_second_run_on_the_same_output_is_refused(source, families, tokenize, engine, tmp_path):
    flags = {"tokenizer": families["gpt2"], "out": tmp_path / "out"}
    # In a session of its own: if a process group has a stopped process, the kernel hangs up on the whole group, tests
    # included, as soon as a member ends whose parent is in another group of the session.
    run = engine.start(RUN, *words(source, **flags), session=True)
    try:
        until = time.monotonic() + 60
        while not list((tmp_path / "out/.beyond-ram-tokenize").glob("0*.json")) and time.monotonic() < until:
            time.sleep(0.01)
        os.kill(run.pid, signal.SIGSTOP)
        done = tokenize(source, **flags, status=2)
        assert "another run is at work there" in done.stderr
    finally:
        run.kill()
        run.wait()


LIMIT = 100_000_000


@pytest.mark.parametrize(
    "fields", ['"o": [' + '"ab", ' * 2_000_000 + "0]", '"o": 1' + ', "a": {"b": [[{}]]}' * 100_000]
)
def test_fields_that_are_not_read_take_no_memory(fields, families, tokenize, tmp_path):
    (tmp_path / "a.jsonl").write_text("{" + fields + ', "text": "hello"}\n', encoding="utf-8")
    (tmp_path / "b.jsonl").write_text('{"text": "hello"}\n', encoding="utf-8")
    for name, limit in (("a", {"memory_limit": LIMIT}), ("b", {})):
        tokenize(tmp_path / f"{name}.jsonl", tokenizer=families["gpt2"], out=tmp_path / name, workers=1, **limit)
    assert summary(tmp_path / "a")["digest"] == summary(tmp_path / "b")["digest"]


RESERVED = """
import sys
sys.path.insert(0, sys.argv[1])
import inputs, json, run, worker
inputs.arrow_library()
before = worker.data_bytes()
texts = sum(len(batch.texts) for batch in inputs.read([(sys.argv[2], 0, None)], "text"))
print(json.dumps([texts, worker.data_bytes() - before]))
"""


def test_reading_zstd_reserves_no_addresses(python, tmp_path):
    """Addresses count against a limit; pyarrow's own allocator would reserve 1 GiB."""
    with pa.output_stream(str(tmp_path / "rows.csv.zst"), compression="zstd") as sink:
        sink.write(("text\n" + "текст и ещё слова\n" * 20_000).encode())
    command = [python, "-c", RESERVED, ENGINE, tmp_path / "rows.csv.zst"]
    texts, reserved = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)
    assert texts == 20_000 and reserved < 32 << 20


def test_document_larger_than_the_limit_is_written_for_datasets(families, python, tmp_path):
    (tmp_path / "long.txt").write_text("Ab cd " * 10_000_000, encoding="utf-8")
    flags = {"tokenizer": families["gpt2"], "out": tmp_path / "out", "memory_limit": 75_000_000, "workers": 1}
    command = [python, ENGINE / "run.py", *words(tmp_path / "long.txt", **flags, format="datasets")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_pages_and_batches_above_the_limit_are_refused_in_a_line(families, tokenize, tmp_path):
    page, dictionary, batch = tmp_path / "page.parquet", tmp_path / "dictionary.parquet", tmp_path / "a.arrow"
    table = pa.table({"text": ["a" * 1_000_000] * 110})
    pq.write_table(table, page, use_dictionary=False, data_page_size=1 << 30, compression="zstd")
    pq.write_table(
        pa.table({"text": [f"{at}" + "a" * 1_000_000 for at in range(60)] * 2}),
        dictionary,
        dictionary_pagesize_limit=1 << 30,
    )
    with pa.ipc.new_file(str(batch), table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    for path in (page, dictionary, batch):
        done = tokenize(path, tokenizer=families["gpt2"], out=tmp_path / "out", workers=1, memory_limit=LIMIT, status=2)
        assert str(path) in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


def test_killed_child_is_reported_by_its_parent(families, python, tmp_path):
    data = big(tmp_path / "data.jsonl", 20)
    flags = {"tokenizer": families["gpt2"], "out": tmp_path / "out", "workers": 1, "memory_limit": LIMIT}
    with subprocess.Popen([python, RUN, *words(data, **flags)], stderr=subprocess.PIPE, text=True) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while not (tmp_path / "out" / ".beyond-ram-tokenize" / "000000.json").exists() and process.poll() is None:
            time.sleep(0.005)
        os.kill(int(children.read_text()), signal.SIGKILL)
        message = process.communicate(timeout=30)[1]
    assert process.returncode == 1 and len(message.splitlines()) == 1 and str(data) in message, message
    assert "a --memory-limit below what is free" in message


@pytest.mark.parametrize("text", ["\U0001f600 " * 500_000, "\n" * 2_400_000])
def test_text_without_a_cut_counts_in_bytes(text, families, tokenize, tmp_path):
    path = tmp_path / "one.jsonl"
    path.write_text('{"text": "short"}\n' + json.dumps({"text": text}, ensure_ascii=False) + "\n", encoding="utf-8")
    done = tokenize(path, tokenizer=families["gpt2"], out=tmp_path / "out", workers=1, memory_limit=LIMIT, status=2)
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert f"{path}, line 2: a document needs" in done.stderr, done.stderr


# The engine with a need that is far too low, so that the library is out of memory.
TOO_LOW = """
import os, sys
sys.path.insert(0, sys.argv[1])
import encoder, run
encoder.NEED_ARRAYS = 1
status = run.main(sys.argv[2:])
sys.stdout.flush()
os._exit(status)
"""


def test_library_that_is_out_of_memory_ends_the_command_with_a_line(families, python, tmp_path):
    """It may panic, abort, or wait for itself while it prints a backtrace."""
    path = tmp_path / "one.txt"
    path.write_text("\U0001f600 " * 1_600_000, encoding="utf-8")
    flags = {"tokenizer": families["gpt2"], "out": tmp_path / "out", "workers": 1, "memory_limit": LIMIT}
    command = [python, "-c", TOO_LOW, ENGINE, *words(path, **flags)]
    environment = os.environ | {"RUST_BACKTRACE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, env=environment)
    assert done.returncode in (1, 2) and len(done.stderr.splitlines()) == 1, done.stderr
    assert str(path) in done.stderr and "memory" in done.stderr and "give more" in done.stderr, done.stderr


def test_memory_printed_is_no_less_than_what_was_held(families, tokenize, tmp_path):
    """Memory that is held only for a moment, between two readings, counts too."""
    printed = []
    for size in (1, 40_000_000):
        table = pa.table({"text": ["a"]}).replace_schema_metadata({"k": "v" * size})
        with pa.ipc.new_stream(str(tmp_path / "a.arrow"), table.schema) as writer:
            writer.write_table(table)
        done = tokenize(tmp_path / "a.arrow", tokenizer=families["gpt2"], out=tmp_path / str(size), workers=1)
        printed.append(int(re.findall(r"memory, files included, at most (\d+) MB", done.stderr)[-1]) * 1e6)
    assert printed[1] - printed[0] >= 40e6


@pytest.mark.parametrize("name", ["manifest.json", "000000.json", "000000.bin.lengths", "tokens.merged"])
def test_pipe_in_the_work_folder_is_not_waited_for(name, families, python, tmp_path):
    (tmp_path / "a.txt").write_text("some words", encoding="utf-8")
    flags = {"tokenizer": families["gpt2"], "out": tmp_path / "out"}
    command = [python, ENGINE / "run.py", *words(tmp_path / "a.txt", **flags)]
    for status in (0, None):
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        assert status is None or done.returncode == status, done.stderr
        path = tmp_path / "out/.beyond-ram-tokenize" / name
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    assert len(done.stderr.splitlines()) <= 1 or done.returncode == 0, done.stderr


def test_shard_of_other_inputs_is_refused_after_one_without_a_unit(families, tokenize, tmp_path):
    path, flags = tmp_path / "a.txt", {"tokenizer": families["gpt2"], "out": tmp_path / "out"}
    path.write_text("some words", encoding="utf-8")
    tokenize(path, **flags, shard="1/2")
    path.write_text("some other words", encoding="utf-8")
    done = tokenize(path, **flags, shard="2/2", status=2)
    assert "was started with other settings" in done.stderr, done.stderr
