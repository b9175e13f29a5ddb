"""A dataset of the Hugging Face Hub, streamed, so that only used documents are downloaded.

    {"source": "hub", "id": "org/name", "config": null, "split": "train", "revision": null, "text_column": "text",
     "documents": 200, "documents_per_file": 1}

`revision` is a branch, a tag or a commit; the manifest records its commit. `HF_ENDPOINT` and a token come from the
environment, as in the Hub's own client; the token goes nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

from shards import CorpusPlan, Document, SourceError, run

os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")


def endpoint() -> str:
    """The address of the Hub, without a user name or password."""
    from huggingface_hub import constants

    parts = urlsplit(constants.ENDPOINT)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"


def reason(error: BaseException) -> str:
    """The kind and the beginning of an error, on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def resolved_commit(identifier: str, revision: str | None, kind: str = "dataset") -> str:
    """The commit of `revision` (default: the main branch). Refuses if the Hub does not answer."""
    from huggingface_hub import HfApi

    try:
        info = HfApi().repo_info(identifier, revision=revision, repo_type=kind)
    except Exception as error:  # depends on the HTTP library of the client's version
        at = f" at revision {revision!r}" if revision else ""
        raise SourceError(f"{kind} {identifier!r} cannot be read from {endpoint()}{at} ({reason(error)})") from None
    return str(info.sha)


def check(column: str, names: Iterable[str], where: str) -> None:
    """Refuse a dataset that lacks the column of text."""
    if column not in names:
        raise SourceError(f"{where} has no column {column!r} (text_column); it has: {', '.join(names)}")


def documents(
    dataset: Any, column: str, wanted: int | None, where: str, label: str, notes: dict[str, Any]
) -> Iterator[Document]:
    """The first `wanted` rows with text. `notes` counts the others."""
    count = notes["left_out_without_text"] = 0
    rows = iter(dataset)
    while wanted is None or count < wanted:
        try:
            row = next(rows)
        except StopIteration:
            break
        except Exception as error:
            raise SourceError(f"{where} broke off after {count} documents ({reason(error)})") from None
        check(column, row, where)
        text = row[column]
        if not isinstance(text, str | None):
            raise SourceError(f"column {column!r} of {where} holds {type(text).__name__}, not text")
        if text:
            count += 1
            yield Document(text, label)
        else:
            notes["left_out_without_text"] += 1
    if wanted is not None and count < wanted:
        raise SourceError(f'"documents" is {wanted}; {where} has {count}')


def plan(spec: dict[str, Any]) -> CorpusPlan:
    identifier, split = spec["id"], spec.get("split") or "train"
    wanted = spec.get("documents")
    column = spec.get("text_column") or "text"
    commit = resolved_commit(identifier, spec.get("revision"))
    where = f"{identifier} ({split})"

    import datasets

    datasets.disable_progress_bars()
    try:
        dataset = datasets.load_dataset(identifier, spec.get("config"), split=split, revision=commit, streaming=True)
    except Exception as error:
        raise SourceError(f"dataset {identifier!r} cannot be opened ({reason(error)})") from None
    if dataset.column_names:
        check(column, dataset.column_names, where)
        # Images and audio would be downloaded and decoded.
        dataset = dataset.select_columns([column])
    notes: dict[str, Any] = {"endpoint": endpoint(), "commit": commit}
    return CorpusPlan(
        documents(dataset, column, wanted, where, identifier, notes),
        documents_per_file=spec.get("documents_per_file", 1),
        libraries=("datasets", "huggingface_hub", "pyarrow"),
        notes=notes,
        expected=wanted,
    )


if __name__ == "__main__":
    run("hub", plan)
