"""`beyond-ram init`: a config for a folder of your own text and a tokenizer."""

import argparse
import csv
import json
import re
from pathlib import Path
from typing import Any

from ..shipped import FILES
from ..text import did_you_mean

# Text that a first config takes, so that its corpus is made in a minute; and its files.
_MOST_BYTES, _FILES = 500_000_000, 16
_TEXT = "text"
# The name of a repository on the Hub. Old ones have no owner.
_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "init",
        help="a config from a folder of text and a tokenizer",
        description="Writes a config that tokenises your text with one stack, over three sizes of input: memory "
        "against input, why it grows, and the report. It says how to run it.",
    )
    parser.add_argument("folder", type=Path, help="text, JSON Lines, CSV (also .gz, .zst), Parquet or Arrow")
    parser.add_argument(
        "--tokenizer", default="byte-level",
        help="a folder with tokenizer.json, the name of one on the Hub, or `byte-level`: trained on the text (default)",
    )  # fmt: skip
    parser.add_argument("--stack", default="current", help="a stack of envs/ (default: current)")
    parser.add_argument("--out", type=Path, default=Path("beyond-ram.yaml"), help="(default: beyond-ram.yaml)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the config, which `beyond-ram run` checks. Raises ValueError, FileExistsError."""
    import yaml

    from ..files import write
    from ..stacks.locks import has_package

    if arguments.out.exists():
        raise FileExistsError(f"{arguments.out} is there already; name another with --out")
    stacks = sorted(file.stem for file in (FILES / "envs").glob("*.in"))
    if arguments.stack not in stacks:
        hint = did_you_mean(arguments.stack, stacks)
        raise ValueError(f"--stack {arguments.stack}: no such stack in envs/{hint} (there are: {', '.join(stacks)})")
    if not has_package(FILES / "envs" / f"{arguments.stack}.txt", "datasets"):
        raise ValueError(f"--stack {arguments.stack}: it has no datasets, which reads and maps the text; name another")
    tokenizer = _tokenizer(arguments.tokenizer)
    files, left_out = _files(arguments.folder)
    documents, column = _look(files)
    per_file = max(1, documents // _FILES)
    count = -(-documents // per_file)
    sizes = sorted({max(1, count // 4), max(1, count // 2), count})
    name = re.findall(r"[^\W_]+", arguments.folder.absolute().name.lower())
    config = {
        "defaults": "none",
        "results": f"results-{'-'.join(name) or 'mine'}",
        "corpora": {
            "mine": {
                "source": "files", "glob": [str(file) for file in files], "text_column": column,
                "documents_per_file": per_file, "tokenizer": tokenizer,
            }
        },
        "experiments": {
            "growth": {
                "workload": "tokenize", "repeats": 3, "why": True,
                "matrix": {"stack": [arguments.stack], "corpus": ["mine"], "num_files": sizes, "batch_size": [100]},
            }
        },
    }  # fmt: skip
    head = f"# {documents:,} documents of {arguments.folder}" + (f"; {left_out:,} files left out" if left_out else "")
    text = yaml.safe_dump(config, sort_keys=False)
    write(arguments.out, f"{head}. docs/configuration.md has what else there is.\n{text}")
    print(head.removeprefix("# "))
    if "hub" in tokenizer:
        print(f"no folder {tokenizer['hub']} here, so the tokenizer is the one of this name on the Hub")
    print(f"{arguments.out} is written. Run it: beyond-ram run --configfile {arguments.out}")
    return 0


def _files(folder: Path) -> tuple[list[Path], int]:
    """The first files with text, up to a bounded size, and how many are left out. Raises ValueError."""
    from ..experiment import inputs
    from ..experiment.corpora import FORMATS

    if not folder.is_dir():
        why = f"{folder} is a file; name its folder" if folder.is_file() else f"there is no folder {folder}"
        raise ValueError(f"{why}: `beyond-ram init FOLDER` takes one with text")
    existing = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith(".")]
    taken: list[Path] = []
    taken_bytes = 0
    for path in existing:
        size = path.stat().st_size
        if inputs.format_of(path.name) and size and (not taken or taken_bytes + size <= _MOST_BYTES):
            taken.append(path.resolve())
            taken_bytes += size
    if not taken:
        raise ValueError(f"{folder}: no file with text in it; it has to end in {', '.join(FORMATS)}")
    return taken, len(existing) - len(taken)


def _look(files: list[Path]) -> tuple[int, str]:
    """Number of documents in the files, and their text column. Raises ValueError."""
    documents, column = 0, _TEXT
    for file in files:
        rows, columns = _rows(file)
        documents += rows
        if columns and _TEXT not in columns:
            column = next(iter(columns))
    if not documents:
        raise ValueError(f"{files[0]}: no document in this file, nor in the others")
    return documents, column


def _rows(file: Path) -> tuple[int, list[str]]:
    """Number of documents in a file, and its text columns, the longest first; none for a file that is one document."""
    from ..experiment import inputs

    ending = inputs.ending(file.name)
    if ending in (".txt", ".text"):
        return 1, []
    try:
        if ending in (".parquet", ".arrow", ".feather", ".ipc"):
            return _table(file, ending)
        with inputs.opened(str(file)) as lines:
            head = next(lines, b"").decode("utf-8-sig")
            count = sum(1 for line in lines if line.strip())
        if ending in (".csv", ".tsv"):
            return count, next(csv.reader([head], delimiter="\t" if ending == ".tsv" else ","))
        row = json.loads(head)
        return count + 1, _longest(row if isinstance(row, dict) else {})
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(f"{file}: cannot be read ({' '.join(str(error).split())[:200]})") from None


def _table(file: Path, ending: str) -> tuple[int, list[str]]:
    import pyarrow as pa
    import pyarrow.dataset as ds

    data = ds.dataset(file, format="parquet" if ending == ".parquet" else "ipc")
    names = [one.name for one in data.schema if pa.types.is_string(one.type) or pa.types.is_large_string(one.type)]
    first = data.head(1, columns=names).to_pylist()
    return data.count_rows(), _longest(first[0] if first else dict.fromkeys(names, ""))


def _longest(row: dict[str, Any]) -> list[str]:
    """The columns of text, the one with the longest value first."""
    texts = {name: value for name, value in row.items() if isinstance(value, str)}
    return sorted(texts, key=lambda name: -len(texts[name]))


def _tokenizer(given: str) -> dict[str, Any]:
    if given in ("byte-level", "characters"):
        return {"train": given, "entries": 4000}
    path = Path(given).expanduser()
    if path.name == "tokenizer.json" and path.is_file():
        path = path.parent
    if path.is_dir():
        from ..tokenize.formats import tokenizer_file

        return {"path": str(tokenizer_file(str(path)).parent.absolute())}
    if not _HUB_NAME.fullmatch(given):
        raise ValueError(f"--tokenizer {given}: no such folder, and no name on the Hub, such as OWNER/NAME")
    return {"hub": given}
