"""Tokenizers of model families, trained once a session, and the interpreters of the two stacks that encode."""

import functools
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from beyond_ram.tokenize import encoders
from beyond_ram.tokenize.encoders import ENGINE
from tests.conftest import interpreter, once

HERE = Path(__file__).parent
STACKS = ("encoder", "encoder-0.23")
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


@pytest.fixture(scope="session")
def cache(families: dict[str, Path], shared: Path) -> Callable[[str], Path]:
    """A user's cache, in which is kept what the two stacks take otherwise for a family: seconds each, asked once."""

    def of(family: str) -> Path:
        def ask(folder: Path) -> None:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("XDG_CACHE_HOME", str(folder))
                encoders.choose(families[family])

        return once(shared / f"cache-{family}", ask)

    return of


@pytest.fixture(scope="session")
def exact(families: dict[str, Path], cache: Callable[[str], Path]) -> Callable[[str], dict[str, Any] | None]:
    """The other stack and the code points with which it is asked, for a family."""

    @functools.cache
    def of(family: str) -> dict[str, Any] | None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_CACHE_HOME", str(cache(family)))
            return encoders.choose(families[family]).exact

    return of


@pytest.fixture(scope="session")
def differing(exact: Callable[[str], dict[str, Any] | None]) -> Callable[[str], set[int]]:
    """The code points that the two stacks take otherwise, for a family; none where only one takes it."""

    def codes(family: str) -> set[int]:
        ranges = (exact(family) or {"codes": ()})["codes"]
        return {code for first, last in ranges for code in range(first, last + 1)}

    return codes


Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def ask(families: dict[str, Path]) -> Iterator[Ask]:
    """Ask one of the stacks for the ids of a text: ask(stack, family, text, piece, chunk)."""
    names = list(families)
    running = {
        stack: subprocess.Popen(
            [interpreter(stack), HERE / "ids_of.py", ENGINE, *families.values()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for stack in STACKS
    }

    def asking(stack: str, family: str, text: str, piece: int = 1 << 30, chunk: int = 1 << 30) -> dict[str, Any]:
        asked = {"tokenizer": names.index(family), "text": text, "piece": piece, "chunk": chunk}
        process = running[stack]
        assert process.stdin and process.stdout
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        found: dict[str, Any] = json.loads(process.stdout.readline())
        return found

    yield asking
    for process in running.values():
        process.stdin.close()  # type: ignore[union-attr]
        process.wait(20)


Tokenize = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def tokenize(python: Path) -> Tokenize:
    """Run the engine: tokenize(inputs…, tokenizer=…, out=…, and flags as words); flat files unless told otherwise."""

    def run(*inputs: Path | str, tokenizer: Path, out: Path, **flags: Any) -> "subprocess.CompletedProcess[str]":
        command = [str(python), str(ENGINE / "run.py"), f"--tokenizer={tokenizer}", f"--out={out}"]
        for name, value in {"format": "bin", **flags}.items():
            command.append(f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}"))
        command += ["--", *map(str, inputs)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)

    return run


def in_stack(python: Path, code: str, *arguments: object) -> Any:
    """What a piece of code prints as JSON, run by an interpreter."""
    done = subprocess.run(
        [str(python), "-c", code, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


__all__ = ["ENGINE", "HERE", "Ask", "Tokenize", "in_stack"]
