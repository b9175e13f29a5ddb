"""Documents to tokenize, and the contents of output folders."""

import json
from random import Random

from tests.tokenize.conftest import MANY_SCRIPTS


def some_texts(count=300):
    random = Random(1)
    words = [*MANY_SCRIPTS.split(" "), "def", "return", "<|endoftext|>", "\n", '"', "\\", "\t", "\\n", "\u2028"]
    texts = [" ".join(random.choices(words, k=random.choice((0, 1, 5, 60, 400)))) for _ in range(count)]
    return [*texts, "", " ", "end"]


def big(path, megabytes):
    """Write JSON Lines of very different sizes. The longest is cut by small.py, whose units are 512 KiB."""
    random = Random(3)
    sources = " ".join(some_texts(60)).replace("<|endoftext|>", "")
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps({"text": (sources * 40)[:150_000]}) + "\n")
        while file.tell() < megabytes * 1e6:
            start = random.randrange(len(sources))
            file.write(json.dumps({"text": sources[start : start + random.choice((10, 1000, 30_000))]}) + "\n")
    return path


def json_lines(path, texts):
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    return path


def files_of(out):
    return {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}


def summary(out):
    return json.loads((out / "summary.json").read_text(encoding="utf-8"))
