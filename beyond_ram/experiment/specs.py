"""Specs: the settings of the programs that make corpora, tokenizers, token datasets and repositories, a JSON file each.

They are files because an argument of a command is limited to 128 KiB, and a list of patterns may need more.
"""

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..files import DamagedError, read_json
from ..files import write as write_file
from .model import Config

FOLDER = "specs"
_ORDER = "order.json"


def order_seed(results: str) -> int:
    """The seed that orders the runs. A results folder keeps its seed; a new folder draws one."""
    try:
        return int(read_json(Path(results, FOLDER, _ORDER), "seed")["seed"])
    except (DamagedError, TypeError, ValueError):
        return secrets.randbits(32)


def write(config: Config, merged: Mapping[str, Any], order_seed: int) -> None:
    """Write every spec to RESULTS/specs/KIND/NAME.json, with the merged config and the seed of the order."""
    specs: dict[str, dict[str, Any]] = {
        "corpora": {name: corpus.spec() for name, corpus in config.corpora.items()},
        "tokenizers": {name: corpus.tokenizer.spec() for name, corpus in config.corpora.items()},
        "tokens": {name: dataset.spec() for name, dataset in config.tokens.items()},
        "repositories": {name: repository.spec() for name, repository in config.repositories.items()},
    }
    for kind, by_name in specs.items():
        for name, spec in by_name.items():
            _write(Path(config.results, FOLDER, kind, f"{name}.json"), spec)
    _write(Path(config.results, FOLDER, "config.json"), merged)
    _write(Path(config.results, FOLDER, _ORDER), {"seed": order_seed})


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, json.dumps(value, indent=1, sort_keys=True) + "\n")
