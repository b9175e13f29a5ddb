"""Workload `soak`: the same work E times in one process. A warm-up levels off; a leak does not.

One epoch processes every document of the corpus once. `between` is the action after each epoch:

nothing      nothing
reload       load the tokenizer anew
clear-cache  empty its cache of words, by the method of tokenizers 0.21 and later
no-cache     switch that cache off before the first epoch
deepcopy     replace the tokenizer by a deep copy of itself
pickle       replace the tokenizer by itself, pickled and unpickled
workers      two worker processes do the epoch's work, each sent the tokenizer, ended after the epoch
reopen       open the dataset anew
"""

import copy
import json
import multiprocessing
import os
import pickle
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


class Tokenizing:
    """A tokenizer from `tokenizers` or from `transformers`."""

    def __init__(self, args, files):
        self.args, self.files = args, files
        self.folder = args.corpus / "tokenizer"
        self.encoded = {"tokenizers-fast": encoded_fast, "transformers": encoded_as_usual}.get(args.subject, encoded)
        self.tokenizer = self.load()
        if args.between == "no-cache":
            model = encoders.model(self.tokenizer)
            if not hasattr(model, "_resize_cache"):
                events.not_applicable("this release of tokenizers has no way to resize the cache")
            model._resize_cache(0)
            model._clear_cache()

    def load(self):
        if self.args.subject != "transformers":
            import tokenizers

            tokenizer = tokenizers.Tokenizer.from_file(str(self.folder / encoders.FILE))
            if self.args.subject == "tokenizers-fast" and not encoders.call(tokenizer):
                events.not_applicable("this release of tokenizers has no encode_batch_fast, and gives no arrays of ids")
            return tokenizer
        import transformers

        return transformers.AutoTokenizer.from_pretrained(str(self.folder))

    def epoch(self):
        if self.args.between != "workers":
            return sum(self.encoded(self.tokenizer, text) for text in texts(self.files))
        context = multiprocessing.get_context("spawn")
        with context.Pool(2) as pool:
            jobs = [(self.encoded, self.tokenizer, self.files[worker::2]) for worker in range(2)]
            return sum(pool.starmap(in_worker, jobs))

    def between(self):
        what = self.args.between
        if what == "reload":
            self.tokenizer = None
            self.tokenizer = self.load()
        elif what == "clear-cache":
            encoders.clear_cache(self.tokenizer)
        elif what == "deepcopy":
            self.tokenizer = copy.deepcopy(self.tokenizer)
        elif what == "pickle":
            self.tokenizer = pickle.loads(pickle.dumps(self.tokenizer))


class RowReading:
    """A dataset of the corpus, read row by row."""

    def __init__(self, args, files):
        import datasets

        (getattr(datasets, "disable_progress_bar", None) or datasets.disable_progress_bars)()
        self.args, self.datasets, self.folder = args, datasets, str(args.work_dir / "data")
        cache = str(args.work_dir / "cache")
        made = datasets.Dataset.from_generator(rows, gen_kwargs={"files": files}, cache_dir=cache, writer_batch_size=10)
        made.save_to_disk(self.folder)
        self.data = datasets.load_from_disk(self.folder)

    def epoch(self):
        return sum(len(row["text"]) for row in self.data)

    def between(self):
        if self.args.between == "reopen":
            self.data = None
            self.data = self.datasets.load_from_disk(self.folder)


def rows(files):
    for text in texts(files):
        yield {"text": text}


def encoded(tokenizer, text):
    """The number of ids of one text; the ids are not kept."""
    return len(tokenizer.encode(text).ids)


def encoded_fast(tokenizer, text):
    """The same with less work: without offsets (tokenizers 0.20 and later), or as an array."""
    return len(encoders.ids_of_batch(tokenizer, [text])[0])


def encoded_as_usual(tokenizer, text):
    """The same with a tokenizer of transformers."""
    return len(tokenizer(text, verbose=False)["input_ids"])


def in_worker(encoded, tokenizer, files):
    return sum(encoded(tokenizer, text) for text in texts(files))


def work(args):
    events.phase("import")
    if args.subject == "dataset":
        import datasets  # noqa: F401
    elif args.subject == "transformers":
        import transformers  # noqa: F401
    else:
        import tokenizers  # noqa: F401
    events.imported(PACKAGES)
    if (args.between == "reopen") != (args.subject == "dataset") and args.between != "nothing":
        events.not_applicable(f"{args.between} means nothing to {args.subject}")
    events.phase("open")
    chosen = json.loads((args.corpus / "manifest.json").read_text(encoding="utf-8"))["files"][: args.num_files]
    if len(chosen) < args.num_files:
        sys.exit(f"--num-files {args.num_files}: {args.corpus} has {len(chosen)} files")
    files = [str(args.corpus / entry["path"]) for entry in chosen]
    subject = (RowReading if args.subject == "dataset" else Tokenizing)(args, files)
    units = 0
    for epoch in range(args.epochs):
        events.phase(f"epoch {epoch}")
        units += subject.epoch()
        subject.between()
        release.trim()  # the allocator's unused memory varies from epoch to epoch, and is no growth
        events.mark("epoch", epoch=epoch, **events.own_memory())
    events.phase("end")
    bytes_in = args.epochs * sum(entry["text_bytes"] for entry in chosen)
    counted = {"tokens": units} if args.subject != "dataset" else {}
    events.mark("work", rows=args.epochs * len(chosen), bytes_in=bytes_in, **counted)
    return {"dataset" if args.subject == "dataset" else "tokenizer": subject}


def main():
    args = events.arguments(__doc__, corpus=Path, num_files=int, subject=str, between=str, epochs=int)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    return work(args)


if __name__ == "__main__":
    globals().update(events.run(main))  # names at the end, for why.py
