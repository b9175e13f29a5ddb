"""Tokenizers of model families, trained once, and the interpreters of the two stacks that encode."""

import json
import subprocess
from pathlib import Path

import pytest

from beyond_ram.tokenize.encoders import ENGINE
from tests.conftest import forking, interpreter, once

HERE = Path(__file__).parent
RUN = HERE / "small.py"
MANY_SCRIPTS = (
    "Größe naïve Ελληνικά Σίσυφος ΟΔΥΣΣΕΥΣ русский текст и ещё слова 中文字符，测试。 日本語テキスト "
    "العربية עברית हिन्दी 한국어 문장 e\u0301 a\u0308\u0323 ﬁ ² ½ ㎏ 😀👩\u200d👩\u200d👧 İstanbul ǆ ẞ "
    "\u00a0\u3000 ＡＢＣ １２３ it's I'LL don't 1234567 3.14\r\n"
)


def training_texts():
    """Return sources of Python's standard library, and some text in many scripts."""
    folder = Path(json.__file__).parents[1]
    sources = [folder / f"{name}.py" for name in ("argparse", "ast", "typing", "pathlib")]
    return [path.read_text(encoding="utf-8") for path in sources] + [MANY_SCRIPTS] * 20


@pytest.fixture(scope="session")
def python():
    """Return the interpreter of the newest encoder."""
    return interpreter("encoder")


@pytest.fixture(scope="session")
def families(shared):
    """Return a tokenizer.json of each family."""

    def train(folder):
        (folder / "texts").write_text(json.dumps(training_texts()), encoding="utf-8")
        command = [interpreter("encoder-0.23"), HERE / "families.py", folder / "texts", folder]
        subprocess.run(command, check=True, timeout=300)

    return {path.stem: path for path in sorted(once(shared / "families", train).glob("*.json"))}


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    """Write an input of four units. Tests do not change it."""
    from tests.tokenize.documents import big

    return big(tmp_path_factory.mktemp("source") / "big.jsonl", 1.75)


# Imports of the engine, and slow imports of the libraries that read its files.
_ENGINE = "argparse csv gzip hashlib numpy pyarrow.compute pyarrow.csv pyarrow.parquet simdjson tokenizers xxhash"
MODULES = {
    **dict.fromkeys(("encoder", "encoder-0.23"), tuple(_ENGINE.split())),
    **dict.fromkeys(("current", "june-2023"), ("datasets",)),
}


def forks_of(stack):
    """Return a stack's interpreter whose forks run programs."""
    return forking(interpreter(stack), *MODULES[stack])


@pytest.fixture(scope="session")
def engine():
    """Return the newest encoder's interpreter, for runs that get signals."""
    return forks_of("encoder")


def words(*inputs, **flags):
    """Return the arguments of a run; flat files by default."""
    flags = {"format": "bin", **flags}
    options = [f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}") for name, value in flags.items()]
    return [*options, "--", *map(str, inputs)]


@pytest.fixture(scope="session")
def tokenize(engine):
    """Return a function that runs the engine: tokenize(inputs…, tokenizer=…, out=…, FLAG=…); flat files by default.

    The run has to end with a status; None allows any."""

    def run(*inputs, program=RUN, status=0, **flags):
        done = engine.run(program, *words(*inputs, json=True, **flags))
        assert status in (done.returncode, None), done.stderr
        return done

    return run


# Prints the documents of a flat file. The index is read as Megatron's _IndexReader does.
FLAT = """
import json, struct, sys
import numpy as np
stem = sys.argv[1]
with open(stem + ".idx", "rb") as file:
    assert file.read(9) == b"MMIDIDX\\x00\\x00"
    assert struct.unpack("<Q", file.read(8))[0] == 1
    dtype = {8: np.uint16, 4: np.int32}[struct.unpack("<B", file.read(1))[0]]
    sequences, documents = struct.unpack("<QQ", file.read(16))
    start = file.tell()
buffer = memoryview(np.memmap(stem + ".idx", mode="r", order="C"))
lengths = np.frombuffer(buffer, np.int32, sequences, start)
pointers = np.frombuffer(buffer, np.int64, sequences, start + lengths.nbytes)
places = np.frombuffer(buffer, np.int64, documents, start + lengths.nbytes + pointers.nbytes)
assert len(buffer) == start + lengths.nbytes + pointers.nbytes + places.nbytes
assert places.tolist() == list(range(sequences + 1))
tokens = np.memmap(stem + ".bin", dtype=dtype, mode="r")
assert len(tokens) == lengths.sum()
found = [tokens[p // tokens.itemsize : p // tokens.itemsize + n].tolist() for p, n in zip(pointers, lengths)]
print(json.dumps(found))
"""


def in_stack(stack, code, *arguments):
    """Run code with the interpreter of a stack, and return the JSON that it prints."""
    done = forks_of(stack).run("-c", code, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


__all__ = ["ENGINE", "FLAT", "HERE", "RUN", "in_stack", "words"]
