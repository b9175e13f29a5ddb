"""Tokenizers of model families, trained once a session, and the interpreters of the two stacks that encode."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from beyond_ram.tokenize.encoders import ENGINE
from tests.conftest import interpreter, once

HERE = Path(__file__).parent
RUN = HERE / "small.py"
MANY_SCRIPTS = (
    "Größe naïve Ελληνικά Σίσυφος ΟΔΥΣΣΕΥΣ русский текст и ещё слова 中文字符，测试。 日本語テキスト "
    "العربية עברית हिन्दी 한국어 문장 e\u0301 a\u0308\u0323 ﬁ ² ½ ㎏ 😀👩\u200d👩\u200d👧 İstanbul ǆ ẞ "
    "\u00a0\u3000 ＡＢＣ １２３ it's I'LL don't 1234567 3.14\r\n"
)


def training_texts() -> list[str]:
    """Sources of Python's own library, and a little of many scripts."""
    folder = Path(json.__file__).parents[1]
    sources = [folder / f"{name}.py" for name in ("argparse", "ast", "inspect", "typing", "pathlib", "tarfile")]
    return [path.read_text(encoding="utf-8") for path in sources] + [MANY_SCRIPTS] * 20


@pytest.fixture(scope="session")
def python() -> Path:
    """The interpreter of the newest encoder."""
    return interpreter("encoder")


@pytest.fixture(scope="session")
def families(shared: Path) -> dict[str, Path]:
    """A tokenizer.json of each family."""

    def train(folder: Path) -> None:
        (folder / "texts").write_text(json.dumps(training_texts()), encoding="utf-8")
        command = [interpreter("encoder-0.23"), HERE / "families.py", folder / "texts", folder]
        subprocess.run(command, check=True, timeout=300)

    return {path.stem: path for path in sorted(once(shared / "families", train).glob("*.json"))}


Tokenize = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def tokenize(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tokenize]:
    """Run the engine: tokenize(inputs…, tokenizer=…, out=…, and flags as words); flat files unless told otherwise."""
    files = [str(tmp_path_factory.mktemp("engine") / name) for name in ("stdout", "stderr")]
    with subprocess.Popen(
        [python, HERE / "forks.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:

        def run(
            *inputs: Path | str, tokenizer: Path, out: Path, program: Path = RUN, **flags: Any
        ) -> "subprocess.CompletedProcess[str]":
            words = [str(program), f"--tokenizer={tokenizer}", f"--out={out}"]
            for name, value in {"format": "bin", **flags}.items():
                words.append(f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}"))
            words += ["--json", "--", *map(str, inputs)]
            for file in files:
                Path(file).write_text("")
            assert server.stdin and server.stdout
            server.stdin.write(json.dumps([words, str(Path.cwd()), dict(os.environ), files]) + "\n")
            server.stdin.flush()
            status = int(server.stdout.readline())
            return subprocess.CompletedProcess(words, status, *(Path(file).read_text() for file in files))

        yield run
        assert server.stdin
        server.stdin.close()


def in_stack(python: Path, code: str, *arguments: object) -> Any:
    """What a piece of code prints as JSON, run by an interpreter."""
    done = subprocess.run(
        [str(python), "-c", code, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


__all__ = ["ENGINE", "HERE", "RUN", "Tokenize", "in_stack"]
