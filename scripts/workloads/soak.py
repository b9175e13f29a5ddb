"""Workload `soak`: the same work E times in one process. A warm-up levels off; a leak does not.

One epoch tokenises every document of the corpus once.
"""

import argparse
import json
import os
import sys
from pathlib import Path

import encoders
import events
import release

PACKAGES = ("datasets", "transformers", "tokenizers", "pyarrow", "numpy", "pandas", "fsspec", "huggingface-hub")


def texts(files):
    """Read document by document, without keeping the corpus."""
    for path in files:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)["text"]


def encoded(tokenizer, text):
    """The number of ids of one text; the ids are not kept."""
    return len(tokenizer.encode(text).ids)


def encoded_as_usual(tokenizer, text):
    """The same with a tokenizer of transformers."""
    return len(tokenizer(text, verbose=False)["input_ids"])


def loaded(subject, folder):
    """The tokenizer of a subject, and the function that encodes a text with it."""
    if subject == "transformers":
        import transformers

        return transformers.AutoTokenizer.from_pretrained(str(folder)), encoded_as_usual
    import tokenizers

    return tokenizers.Tokenizer.from_file(str(folder / encoders.FILE)), encoded


def work(args):
    events.phase("import")
    if args.subject == "transformers":
        import transformers  # noqa: F401
    else:
        import tokenizers  # noqa: F401
    events.imported(PACKAGES)
    events.phase("open")
    chosen = json.loads((args.corpus / "manifest.json").read_text(encoding="utf-8"))["files"][: args.num_files]
    if len(chosen) < args.num_files:
        sys.exit(f"--num-files {args.num_files}: {args.corpus} has {len(chosen)} files")
    files = [str(args.corpus / entry["path"]) for entry in chosen]
    tokenizer, encode = loaded(args.subject, args.corpus / "tokenizer")
    tokens = 0
    for epoch in range(args.epochs):
        events.phase(f"epoch {epoch}")
        tokens += sum(encode(tokenizer, text) for text in texts(files))
        release.trim()  # the allocator's unused memory varies from epoch to epoch, and is no growth
        events.mark("epoch", epoch=epoch, **events.own_memory())
    events.phase("end")
    bytes_in = args.epochs * sum(entry["text_bytes"] for entry in chosen)
    events.mark("work", rows=args.epochs * len(chosen), bytes_in=bytes_in, tokens=tokens)
    return {"tokenizer": tokenizer}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, kind in {"work-dir": Path, "corpus": Path, "num-files": int, "subject": str, "epochs": int}.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    args = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    return work(args)


if __name__ == "__main__":
    globals().update(events.run(main))  # names at the end, for why.py
