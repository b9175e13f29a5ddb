"""What names, folders and patterns hold: each name is read, refused, or counted by its reason."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from beyond_ram.tokenize.encoders import ENGINE

sys.path.insert(0, str(ENGINE))
import inventory
from trouble import Refused

sys.path.remove(str(ENGINE))


def write(*names):
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()


def link(name, target):
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).symlink_to(target)


def save(folder, files):
    """Write a folder as `Dataset.save_to_disk` does, with results of `map` beside it."""
    write(*(f"{folder}/{file}" for file in files), f"{folder}/cache-1f0.arrow", f"{folder}/dataset_info.json")
    state = {"_data_files": [{"filename": file} for file in files], "_split": "train"}
    Path(folder, "state.json").write_text(json.dumps(state), encoding="utf-8")


def hub():
    write("hub/blobs/0a1b", "hub/blobs/9c", "hub/refs/main")
    for revision in ("1", "2"):
        link(f"hub/snapshots/{revision}/train.jsonl", "../../blobs/0a1b")
    link("hub/snapshots/2/more.parquet", "../../blobs/9c")


def linked_folders():
    write("tree/m/1.jsonl", "far/2.jsonl", "far/deep/3.jsonl")
    link("tree/a", "../far")
    link("tree/z", "../far/deep")
    link("tree/m/up", "..")


def splits():
    save("saved/train", ["data-1.arrow", "data-0.arrow"])
    save("saved/test", ["data-0.arrow"])
    write("saved/.lock", "saved/validation/data-0.arrow")
    Path("saved/dataset_dict.json").write_text('{"splits": ["train", "test"]}', encoding="utf-8")


def special():
    write("in/a.jsonl", "in/.hidden/b.jsonl", "in/.c.jsonl", "in/README", "in/d.PDF", "in/e.JSONL.GZ")
    os.mkfifo("in/pipe.jsonl")
    link("in/null.txt", "/dev/null")
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind("in/socket.txt")


def saved_deeper():
    write("in/0.txt", "in/x.txt", "in/hf/cache-7.arrow", "in/hf/set-train.arrow", "in/hf/dataset_info.json")
    save("in/mine", ["b.arrow", "a.arrow"])


def described_by_no_file():
    write("in/0.arrow", "in/1/a.jsonl", "in/2/dataset_dict.json/b.jsonl", "in/9.parquet.gz")
    os.mkfifo("in/state.json")
    os.mkfifo("in/1/dataset_dict.json")


def odd_names():
    write("in/a[1].txt", "in/a-b.txt", "in/a/c.txt", "in/b\n.txt", "in/\udcff.txt", "in/~.txt")


# The folders, the names of their files in order, and how many are left out for which reason.
HELD = {
    "the cache of the Hub": (
        hub, "hub", ["snapshots/1/train.jsonl", "snapshots/2/more.parquet"], {"no ending": 3, "read already": 1},
    ),
    "linked folders, and a circle": (
        linked_folders, "tree", ["../far/2.jsonl", "../far/deep/3.jsonl", "m/1.jsonl"], {"folder read already": 2},
    ),
    "a DatasetDict": (
        splits, "saved", ["test/data-0.arrow", "train/data-1.arrow", "train/data-0.arrow"],
        {"beside a saved dataset": 9},
    ),
    "what is no file": (
        special, "in", ["a.jsonl", "e.JSONL.GZ"],
        {".PDF": 1, "no ending": 1, "hidden": 2, "pipe": 1, "device": 1, "socket": 1},
    ),
    "saved datasets, and the cache of `datasets`": (
        saved_deeper, "in", ["0.txt", "hf/set-train.arrow", "mine/b.arrow", "mine/a.arrow", "x.txt"],
        {"beside a saved dataset": 3, "cache of datasets": 2},
    ),
    "pipes and a folder with names of `datasets`": (
        described_by_no_file, "in", ["0.arrow", "1/a.jsonl", "2/dataset_dict.json/b.jsonl"], {"pipe": 2, ".gz": 1},
    ),
    "odd names": (odd_names, "in", ["a/c.txt", "a-b.txt", "a[1].txt", "b\n.txt", "~.txt", "\udcff.txt"], {}),
}  # fmt: skip


@pytest.mark.parametrize("case", HELD)
def test_folder_pattern_and_names_hold_the_same_files(case, tmp_path, monkeypatch):
    make, root, names, left_out = HELD[case]
    monkeypatch.chdir(tmp_path)
    make()
    files = [str(Path(root, name).parent.resolve() / Path(name).name) for name in names]
    of_folder = inventory.Inventory([root], "out")
    assert (of_folder.files, dict(+of_folder.left_out)) == (files, left_out)
    for pattern in (f"{root}/**", f"{tmp_path}/{root[:-1]}?/"):
        assert inventory.Inventory([pattern], "out").files == files
    of_pattern = inventory.Inventory([f"{root}/**/*.*"], "out").files
    assert sorted(of_pattern) == sorted(files)  # a saved dataset has an order of its own
    of_names = inventory.Inventory([f"{root}/{name}" for name in names], "out")
    assert (of_names.files, dict(+of_names.left_out)) == (files, {})


@pytest.mark.parametrize("arguments", [["in"], ["in/*.arrow"], ["in/*"], ["in/a.arrow", "in"]])
def test_results_that_datasets_keeps_are_no_data(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save("in", ["a.arrow"])
    assert inventory.Inventory(arguments, "out").files == [str(tmp_path / "in" / "a.arrow")]


def closed(name, mode):
    write("in/a.jsonl", "in/sub/b.jsonl")
    Path(name).chmod(mode)


def lost_part():
    save("in/mine", ["a.arrow", "b.arrow"])
    Path("in/mine/b.arrow").unlink()


def lost_split():
    write("in/train/data-0.arrow", "in/train/cache-0.arrow")
    Path("in/dataset_dict.json").write_text('{"splits": ["train"]}', encoding="utf-8")


def pipe_as_part():
    save("in", ["a.arrow"])
    Path("in/a.arrow").unlink()
    os.mkfifo("in/a.arrow")


def no_path():
    Path("in/state.json").write_text('{"_data_files": [{"filename": "\\u0000"}]}', encoding="utf-8")


def lost_description():
    write("in/a.jsonl")
    link("in/state.json", "gone")


def indices():
    save("in", ["a.arrow"])
    state = {"_data_files": [{"filename": "a.arrow"}], "_indices_data_files": [{"filename": "indices.arrow"}]}
    Path("in/state.json").write_text(json.dumps(state), encoding="utf-8")


def of_two_kinds():
    write("in/raw.txt")
    link("in/x.jsonl", "raw.txt")


# What cannot be an input: how it is made, the arguments, and the name in the message.
REFUSED = {
    "a link that leads nowhere": (lambda: [write("in/a.jsonl"), link("in/x", "gone")], ["in"], "in/x"),
    "the same by a pattern": (lambda: [write("in/a.jsonl"), link("in/x", "gone")], ["in/**/*.jsonl"], "in/x"),
    "the same by name": (lambda: link("x.jsonl", "gone"), ["x.jsonl"], "x.jsonl"),
    "a link to itself": (lambda: [write("in/a.jsonl"), link("in/x", "x")], ["in"], "in/x"),
    "a closed folder": (lambda: closed("in/sub", 0), ["in"], "in/sub"),
    "a folder that shows names only": (lambda: closed("in/sub", 0o444), ["in"], "in/sub/b.jsonl"),
    "a closed folder by a pattern": (lambda: closed("in/sub", 0), ["in/*/*.jsonl"], "in/sub"),
    "a lost part of a dataset": (lost_part, ["in"], "b.arrow"),
    "a lost split": (lost_split, ["in"], "train/state.json"),
    "rows that a file of indices chooses": (indices, ["in"], "in/state.json"),
    "a lost link to a description": (lost_description, ["in"], "leads nowhere"),
    "a closed description": (lambda: [save("in", []), closed("in/state.json", 0)], ["in"], "Permission denied"),
    "a closed split": (lambda: [splits(), closed("saved/test", 0)], ["saved"], "Permission denied"),
    "a part that is a pipe": (pipe_as_part, ["in"], "in/state.json names a.arrow"),
    "a part without a path": (lambda: [save("in", []), no_path()], ["in"], "in/state.json names"),
    "another state.json": (lambda: write("in/a.jsonl", "in/b/state.json"), ["in"], "in/b/state.json"),
    "a file of two kinds": (of_two_kinds, ["in"], "raw.txt"),
    "an unknown ending by name": (lambda: write("in/a.pdf"), ["in/a.pdf"], "in/a.pdf"),
    "nothing that can be read": (lambda: write("in/a.pdf", "in/.b.jsonl"), ["in"], "in"),
    "nothing in the second folder": (lambda: write("in/a.txt", "two/a.pdf"), ["in", "two"], "two"),
    "a name that is a pattern too": (lambda: write("in/*.txt", "in/a.txt"), ["in/*.txt"], "in/[*].txt"),
    "a pipe by name": (lambda: os.mkfifo("x.jsonl"), ["x.jsonl"], "x.jsonl"),
    "a result beside a dataset": (lambda: save("in", ["a.arrow"]), ["in/cache-1f0.arrow"], "in/cache-1f0.arrow"),
    "a result beside a dataset, and the dataset": (
        lambda: save("in", ["a.arrow"]),
        ["in", "in/cache-1f0.arrow"],
        "in/cache-1f0.arrow",
    ),
    "an empty name": (lambda: write("a.jsonl"), [""], "''"),
    "the home of nobody": (lambda: None, ["~no-such-user/x"], "~no-such-user/x"),
    "an input in the output": (lambda: write("out/a.jsonl"), ["out/a.jsonl"], "out/a.jsonl"),
    "a pattern in the output": (lambda: write("out/a.jsonl"), ["out/*.jsonl"], "out/*.jsonl"),
    "the output": (lambda: write("out/a.jsonl"), ["out"], "out"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_an_input_is_refused_by_name(case, tmp_path, monkeypatch):
    make, arguments, name = REFUSED[case]
    monkeypatch.chdir(tmp_path)
    make()
    tmp_path.chmod(0o755)
    user = os.geteuid()
    if user == 0 and ("closed" in case or "names only" in case):  # root can read everything
        os.seteuid(65534)
    try:
        with pytest.raises(Refused) as error:
            inventory.Inventory(arguments, "out")
    finally:
        os.seteuid(user)
    assert name in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("arguments", [["in"], ["in/**/*.jsonl"], ["in/*/*.jsonl", "in/a.jsonl"], ["in/*"]])
def test_output_in_an_input_folder_is_left_out_before_and_after(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("in/a.jsonl", "in/sub/b.jsonl")
    before = inventory.Inventory(arguments, "in/out")
    write("in/out/summary.json", "in/out/c.jsonl")
    after = inventory.Inventory(arguments, "in/out")
    assert before.files == after.files and len(before.files) == 2
    assert +before.left_out == +after.left_out == {"output folder": 1}


def test_digest_of_the_inputs_changes_with_any_of_them(tmp_path, monkeypatch):
    def called(*names):
        command = [sys.executable, ENGINE / "inventory.py", "out", *names]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    monkeypatch.chdir(tmp_path)
    write("in/a.jsonl", "in/b.jsonl")
    first = called("in").stdout
    assert len(first) == 65 and called("in").stdout == called("in/*").stdout == first
    digests = {first, called("in/b.jsonl", "in/a.jsonl").stdout}
    os.utime("in/a.jsonl", ns=(1, 1))
    digests.add(called("in").stdout)
    write("in/c.jsonl")
    digests.add(called("in").stdout)
    assert len(digests) == 4
    refused = called("none")
    assert (refused.returncode, refused.stdout) == (1, "") and refused.stderr.count("\n") == 1
