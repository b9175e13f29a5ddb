"""The tokenizer of a corpus: trained on it, copied from a folder, or fetched from the Hub.

    {"train": "characters", "entries": 4102}    the recorded profile: NFKC, Metaspace, BPE over characters
    {"train": "byte-level", "entries": 8192}    BPE over bytes, for text
    {"path": "my-tokenizer"}
    {"hub": "org/name", "revision": null}

    tokenizer.py --spec FILE --corpus results/corpora/NAME --out results/corpora/NAME/tokenizer

makes a folder that `transformers.AutoTokenizer.from_pretrained` opens, with its origin in manifest.json. Training uses
the oldest release of `tokenizers` of all stacks, because newer releases read its files, not the reverse. The same
corpus gives the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import shutil
import sys
import unicodedata
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from random import Random
from typing import Any

from shards import SourceError, empty_folder, exit_with, read_spec, write_json

SPECIAL = {
    "unk_token": "<unk>",
    "pad_token": "<pad>",
    "mask_token": "<mask>",
    "bos_token": "<s>",
    "eos_token": "</s>",
    "cls_token": "<cls>",
}
# Files that AutoTokenizer may need, without weights.
FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "*.model",
    "chat_template.jinja",
    "config.json",
)
# To the trainer, a document without white space is one word, and its time grows with the square of a word's length.
PIECE_CHARACTERS = 512
SAMPLED_FILES = 64
SAMPLE_CHARACTERS = 4_000_000
MAX_LENGTH = 4096


def read_manifest(corpus: Path) -> dict[str, Any]:
    """The manifest of the corpus."""
    try:
        return dict(json.loads((corpus / "manifest.json").read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise SourceError(f"{corpus} is not a finished corpus ({error})") from None


def pieces(corpus: Path, manifest: dict[str, Any]) -> Iterator[str]:
    """About SAMPLE_CHARACTERS of the corpus: pieces from random places of files spread evenly over it.

    Reads only as many documents of each file as its share needs, and keeps one in memory.
    """
    random = Random(0)
    files = manifest["files"]
    chosen = (
        [files[i * len(files) // SAMPLED_FILES] for i in range(SAMPLED_FILES)] if len(files) > SAMPLED_FILES else files
    )
    share = max(SAMPLE_CHARACTERS // len(chosen), PIECE_CHARACTERS)
    for file in chosen:
        missing = share
        with (corpus / file["path"]).open(encoding="utf-8") as lines:
            for line in lines:
                text = json.loads(line)["text"]
                wanted = -(-min(missing, len(text)) // PIECE_CHARACTERS)
                for _ in range(wanted):
                    start = int(random.random() * max(len(text) - PIECE_CHARACTERS + 1, 1))
                    piece = text[start : start + PIECE_CHARACTERS]
                    missing -= len(piece)
                    yield piece
                if missing <= 0:
                    break


def trained(spec: dict[str, Any], corpus: Path, folder: Path) -> dict[str, Any]:
    """Train on a bounded sample of the corpus. Returns notes for the manifest."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    kind, entries, manifest = spec["train"], spec["entries"], read_manifest(corpus)
    tokenizer = Tokenizer(models.BPE(unk_token=SPECIAL["unk_token"]))
    if kind == "characters":
        tokenizer.normalizer = normalizers.NFKC()
        # A piece is not the beginning of a word: Metaspace's leading blank comes after training.
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(add_prefix_space=False)
        tokenizer.decoder = decoders.Metaspace()
        alphabet = ["▁"]
        if manifest["source"] == "binaries":
            # A sample may lack a byte; normalised, the 256 symbols are 255 characters.
            alphabet += sorted(set(unicodedata.normalize("NFKC", "".join(map(chr, range(0x2A00, 0x2B00))))))
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=entries,
        min_frequency=2,
        show_progress=False,
        special_tokens=list(SPECIAL.values()),
        initial_alphabet=alphabet,
    )
    tokenizer.train_from_iterator(pieces(corpus, manifest), trainer)
    if kind == "characters":
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    size = tokenizer.get_vocab_size()
    if size < entries:
        print(f"tokenizer: {size} entries, not {entries}: the corpus has no more pairs to merge", file=sys.stderr)

    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    write_json(folder / "special_tokens_map.json", SPECIAL)
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": MAX_LENGTH,
            "clean_up_tokenization_spaces": False,
            **SPECIAL,
        },
    )
    return {"entries": size, "corpus": manifest["name"], "corpus_sha256": manifest["sha256"]}


def copied(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Copy the tokenizer's files from a folder."""
    source = Path(spec["path"]).expanduser()
    if not source.is_dir():
        raise SourceError(f'"path" is {spec["path"]!r}; it has to be a folder with a tokenizer.json')
    copy_files(source, folder, str(source))
    return {}


def fetched(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Download the tokenizer's files from the Hub, and no others."""
    from hub import endpoint, reason, resolved_commit
    from huggingface_hub import snapshot_download
    from huggingface_hub.utils import disable_progress_bars

    disable_progress_bars()
    identifier = spec["hub"]
    commit = resolved_commit(identifier, spec.get("revision"), "model")
    try:
        source = snapshot_download(identifier, revision=commit, allow_patterns=list(FILES))
    except Exception as error:
        raise SourceError(f"model {identifier!r} cannot be fetched from {endpoint()} ({reason(error)})") from None
    copy_files(Path(source), folder, f"model {identifier!r}")
    return {"endpoint": endpoint(), "commit": commit}


def copy_files(source: Path, folder: Path, where: str) -> None:
    """Copy the files that `FILES` names. Refuses a folder without a readable tokenizer.json."""
    try:
        json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SourceError(f"{where} has no tokenizer.json; save it with a fast tokenizer's save_pretrained") from None
    except (ValueError, RecursionError) as error:
        raise SourceError(f"tokenizer.json of {where} is not JSON ({error})") from None
    for path in sorted({path for pattern in FILES for path in source.glob(pattern)}):
        # The Hub's cache consists of links.
        shutil.copyfile(path.resolve(), folder / path.name)
    if not any((folder / name).exists() for name in ("tokenizer_config.json", "config.json")):
        # transformers 4 opens a tokenizer.json only with the class that reads it.
        write_json(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast"})


def make(spec: dict[str, Any], corpus: Path, folder: Path) -> None:
    """Fill `folder` as `spec` requests."""
    if "train" in spec:
        notes = trained(spec, corpus, folder)
    elif "path" in spec:
        notes = copied(spec, folder)
    else:
        notes = fetched(spec, folder)
    write_json(
        folder / "manifest.json",
        {
            "spec": spec,
            "sha256": hashlib.sha256((folder / "tokenizer.json").read_bytes()).hexdigest(),
            "notes": notes,
            "python": platform.python_version(),
            "libraries": {"tokenizers": metadata.version("tokenizers")},
        },
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Prepares the tokenizer of a corpus.")
    parser.add_argument("--spec", required=True, type=Path, help="JSON file: where the tokenizer comes from")
    parser.add_argument("--corpus", required=True, type=Path, help="folder of the corpus")
    parser.add_argument("--out", required=True, type=Path, help="folder to fill; made where it is not there")
    arguments = parser.parse_args()

    def work() -> None:
        make(read_spec(arguments.spec), arguments.corpus, empty_folder(arguments.out))

    exit_with(work, f"tokenizer of {arguments.corpus.name}")


if __name__ == "__main__":
    main()
