"""Documents with code points that two releases take otherwise have the ids of the older one, wherever they stand."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beyond_ram.tokenize import encoders
from tests.conftest import interpreter
from tests.tokenize.conftest import ENGINE, Tokenize, in_stack

ORACLE = """
import hashlib, json, sys, numpy, tokenizers
tokenizer = tokenizers.Tokenizer.from_file(sys.argv[1])
texts = json.load(open(sys.argv[2], encoding="utf-8"))
ids = [id for text in texts for id in tokenizer.encode(text).ids]
print(json.dumps(hashlib.sha256(numpy.array(ids, "int32").tobytes()).hexdigest()))
"""
RANGES = [[0x61D, 0x61D], [0x2E43, 0x2E5D], [0x105C9, 0x105C9]]


@given(st.lists(st.text(st.characters() | st.sampled_from("\u061d\u2e42\u2e43\u2e5d\u2e5e\U000105c9\U000105ca"))))
def test_which_texts_hold_one(texts: list[str]) -> None:
    sys.path.insert(0, str(ENGINE))
    try:
        import older  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(ENGINE))
    expected = [
        at for at, text in enumerate(texts) if any(first <= ord(c) <= last for c in text for first, last in RANGES)
    ]
    assert list(older.Differing(RANGES).which(texts)) == expected


LATE = {
    "gpt2": "\U000323b0's",
    "qwen2": "\U000105d2\u0307",
    "bert": "a\u2e52b",
    "t5": "\U0001f16c",
}


@pytest.mark.slow
@pytest.mark.parametrize("family", LATE)
def test_ids_are_those_of_the_older_one(
    family: str, families: dict[str, Path], exact: Callable[[str], Any], tokenize: Tokenize, tmp_path: Path
) -> None:
    """Small, at the end of a long one, alone in a batch, and in documents that are taken in pieces."""
    late = LATE[family]
    texts = [
        "plain",
        "caf\u00e9 \u2019x\u2019 \u4e2d\u6587",
        f"x {late} y",
        "",
        f"{'long enough ' * 4000}{late} z",
        late,
    ]
    long = "one two three " * 80_000  # more than a MiB: it comes as a stream
    texts += [f"{long}{late} {'more words ' * 9}", long, "end"]
    (tmp_path / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    expected = in_stack(interpreter("encoder-0.23"), ORACLE, families[family], tmp_path / "texts.json")
    flags: dict[str, Any] = {"tokenizer": families[family], "sha256": True}

    def summary(out: str, **more: Any) -> Any:
        done = tokenize(tmp_path / "in.jsonl", out=tmp_path / out, **flags, **more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    alone = summary("alone")
    assert alone["ids_sha256"] != expected, "they agree now, so nothing is tested"
    ways = {"free": {}, "tight": {"memory_limit": 150 << 20}, "rows": {"format": "datasets"}}
    if family != "gpt2":
        del ways["rows"]  # what is written knows nothing of the family
    for out, more in ways.items():
        found = summary(out, exact=json.dumps(exact(family)), **more)
        assert (found["ids_sha256"], found["documents_by_other"]) == (expected, 4), out
    if family == "gpt2":
        done = tokenize(tmp_path / "in.jsonl", out=tmp_path / "alone", **flags, exact=json.dumps(exact(family)))
        assert done.returncode == 2 and "was begun otherwise" in done.stderr


def answered(program: str, said: str, started: list[str]) -> Callable[..., Any]:
    """What starts a program, but for one, which would say this; its command is kept."""
    start = subprocess.run

    def run(command: list[str], **how: Any) -> Any:
        if not command[1].endswith(program):
            return start(command, **how)
        started.extend(command)
        return subprocess.CompletedProcess(command, 0, said, "")

    return run


@pytest.mark.slow
def test_what_is_found_is_kept_and_what_cannot_be_is_told(
    families: dict[str, Path], cache: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(cache("gpt2"), tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = encoders.choose(families["gpt2"])
    (kept,) = (tmp_path / "beyond-ram" / "differ").iterdir()
    said = kept.read_text(encoding="utf-8")
    changed = json.loads(said) | {"codes": [[5, 6]]}
    kept.write_text(json.dumps(changed), encoding="utf-8")
    again = encoders.choose(families["gpt2"])
    assert first.exact and again.exact and again.exact["codes"] == [[5, 6]] != first.exact["codes"]
    kept.write_text("cut", encoding="utf-8")
    started: list[str] = []
    with monkeypatch.context() as patch:
        # It was asked for this cache, which took 12 s: the second time its answer is given.
        patch.setattr(encoders.subprocess, "run", answered("differ.py", said, started))
        assert encoders.choose(families["gpt2"]).exact == first.exact
    assert started == [str(first.python), str(ENGINE / "differ.py"), str(families["gpt2"]), first.exact["python"]]
    assert kept.read_text(encoding="utf-8") == said
    assert encoders.choose(families["gpt2"], ("encoder",)).exact is None

    from beyond_ram.stacks.locks import StackError

    def broken(stack: str) -> Path:
        if stack == "encoder-0.23":
            raise StackError("no network\nmore")
        return interpreter(stack)

    monkeypatch.setattr(encoders, "interpreter", broken)
    with pytest.raises(ValueError, match=r"cannot be built: no network; `--stack encoder` encodes without it"):
        encoders.choose(families["gpt2"])


@pytest.mark.slow
def test_the_other_process_ends_with_its_worker(families: dict[str, Path]) -> None:
    code = "import os, sys; sys.path.insert(0, sys.argv[1]); import older; "
    code += "one = older.Older(sys.argv[2], sys.argv[3]); print(one.process.pid, flush=True); os.kill(os.getpid(), 9)"
    command = [interpreter("encoder"), "-c", code, ENGINE, interpreter("encoder-0.23"), families["gpt2"]]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False, timeout=60)
    program, given_up = Path(f"/proc/{int(done.stdout)}/exe"), time.monotonic() + 10
    while program.exists() and time.monotonic() < given_up:  # its signal comes as the worker ends, and not before
        time.sleep(0.01)
    assert not program.exists()
