"""Workload `tokenize`: a corpus through `Dataset.map` and a tokenizer, as it is usually written.

Any stack with `datasets` and a tokenizer runs it, also by hand:

    python scripts/workloads/tokenize_corpus.py --corpus results/corpora/binaries --mode shard --shards 4 --work-dir w

`basic` is one `map` over everything. `shard` cuts the dataset into N contiguous shards, maps them in turn and
concatenates the results. `engine` runs `beyond-ram tokenize` with workers (engine.py). It prints the size and resident
memory after every step and emits the same as events. It does not hash the ids, because reading them back would be
measured too: a second run with `--check` does that.

The tokenizer is that of `transformers`; in a stack without it, such as one with a prerelease of tokenizers that
transformers does not support yet, that of `tokenizers` (encoders.py). Mark `baseline` names the encoder.

Not named tokenize.py: a script's own folder would hide the standard library's module of that name.
"""

import argparse
import gc
import hashlib
import json
import multiprocessing
import os
import sys
from pathlib import Path

import encoders
import events
import release

PACKAGES = ["datasets", "transformers", "tokenizers", "pyarrow", "numpy", "pandas", "fsspec", "huggingface-hub", "dill"]
PACKAGES += ["multiprocess"]
CALLS = "tokenizer-calls"
RESULT = "result.json"


def arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True, help="folder with manifest.json")
    parser.add_argument("--tokenizer", type=Path, help="folder with the tokenizer (default: CORPUS/tokenizer)")
    parser.add_argument("--work-dir", type=Path, required=True, help="private folder for the cache and the result")
    parser.add_argument("--mode", choices=("basic", "shard", "engine"), default="basic")
    parser.add_argument("--shards", type=int, default=1, help="how many shards, in mode shard")
    parser.add_argument("--num-files", type=int, help="take the first N files of the corpus (default: all)")
    parser.add_argument("--reader", choices=tuple(READERS), default="from_generator", help="how the text comes in")
    parser.add_argument("--batch-size", type=int, default=1000, help="rows handed to the tokenizer at once")
    parser.add_argument("--writer-batch-size", type=int, default=1000, help="rows kept before they are written")
    parser.add_argument("--num-proc", type=int, default=0, help="worker processes of map; 0 leaves num_proc out")
    parser.add_argument("--remedy", default="none", help="one of the remedies that the program does itself")
    parser.add_argument("--check", action="store_true", help="only count and hash the ids of a finished --work-dir")
    return parser.parse_args(argv)


def documents(files):
    """The documents of the corpus files, in order. `datasets` reads from this generator."""
    for path in files:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)


def from_generator(datasets, files, cache, args):
    """The documents by a generator: rows stay in memory until `writer_batch_size` of them are written."""
    settings = {"cache_dir": str(cache), "writer_batch_size": args.writer_batch_size}
    return datasets.Dataset.from_generator(documents, gen_kwargs={"files": files}, **settings)


def load_dataset(datasets, files, cache, args):
    """The documents by the library's own reader of JSON Lines, which reads a file in blocks."""
    return datasets.load_dataset("json", data_files=files, split="train", cache_dir=str(cache))


READERS = {"from_generator": from_generator, "load_dataset": load_dataset}


def loaded(args, folder):
    """The tokenizer, and a function that returns the ids of texts with it."""
    if encoders.installed("transformers"):
        import transformers

        tokenizer, ids_of = transformers.AutoTokenizer.from_pretrained(str(folder)), ids_as_usual
    else:
        tokenizer, ids_of = encoders.whole(folder), encoders.ids_of_batch
    if args.remedy == "no-tokenizer-cache":
        encoders.without_cache(tokenizer)
    return tokenizer, ids_of


def ids_as_usual(tokenizer, texts):
    """Ids by a tokenizer of transformers.

    Not verbose: the first text longer than model_max_length would set a "has warned" flag inside the tokenizer, which
    changes map's fingerprint, so that a rerun would miss the cached first shard.
    """
    return tokenizer(texts, truncation=False, verbose=False)["input_ids"]


def bytes_under(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def print_memory(title):
    """Print the resident memory under the original's title, and return it."""
    memory = events.own_memory()
    print(f"{title}: {memory.get('rss_bytes', 0) / 1e6:.1f} MB", flush=True)
    return memory


def tokenize(args):
    """Do the work. Returns the objects kept at the end, by name."""
    manifest = json.loads((args.corpus / "manifest.json").read_text(encoding="utf-8"))
    chosen = manifest["files"][: args.num_files]
    if args.num_files and len(chosen) < args.num_files:
        sys.exit(f"--num-files {args.num_files}: {args.corpus} has {len(chosen)} files")
    result = args.work_dir / RESULT
    if args.mode == "engine":
        import engine

        return engine.tokenize(args, chosen, result, PACKAGES)
    return by_map(args, chosen, result)


def by_map(args, chosen, result_file):
    """The modes `basic` and `shard`."""
    events.phase("import")
    import datasets

    if encoders.installed("transformers"):
        import transformers  # noqa: F401
    else:
        import tokenizers  # noqa: F401
    datasets.disable_progress_bar() if hasattr(datasets, "disable_progress_bar") else datasets.disable_progress_bars()
    events.imported(PACKAGES)
    bytes_in = sum(entry["text_bytes"] for entry in chosen)
    events.phase("load tokenizer")
    folder = args.tokenizer or args.corpus / "tokenizer"
    tokenizer, ids_of = loaded(args, folder)
    encode = batch_encoder(args, tokenizer, ids_of, bytes_in)
    encoder = "transformers" if ids_of is ids_as_usual else encoders.call(tokenizer) or "encode_batch"
    events.mark("baseline", encoder=encoder, **events.own_memory())
    events.phase("load")
    cache = args.work_dir / "cache"
    data = READERS[args.reader](datasets, [str(args.corpus / entry["path"]) for entry in chosen], cache, args)
    print(f"DATASET SIZE: {bytes_in / 1e6:.1f} MB, {len(data)} rows", flush=True)
    events.mark("loaded", rows=len(data), bytes_in=bytes_in, **print_memory("RSS AFTER LOADING"))
    count = (lambda: len(tokenizer)) if ids_of is ids_as_usual else (lambda: encoders.entries(folder))
    settings = map_settings(args, datasets, count)
    if args.mode == "basic":
        parts, result = [], mapped(args, data, 0, encode, settings)
        results = [result]
    else:
        parts = [data.shard(num_shards=args.shards, index=i, contiguous=True) for i in range(args.shards)]
        events.mark("sharded", **print_memory("RSS AFTER SHARDING"))
        results = [mapped(args, part, i, encode, settings) for i, part in enumerate(parts)]
        events.phase("concatenate")
        result = datasets.concatenate_datasets(results)
    events.phase("end")
    files = [entry["filename"] for entry in result.cache_files]
    if args.remedy == "keep-in-memory":
        result.save_to_disk(str(args.work_dir / "kept"))
        files = [str(path) for path in sorted((args.work_dir / "kept").glob("*.arrow"))]
    result_file.write_text(json.dumps(files))
    words = sum(entry["words"] for entry in chosen)
    events.mark("work", rows=len(result), bytes_in=bytes_in, words=words, **print_memory("RSS AT END"))
    return {"results": [results, result], "tokenizer": [tokenizer, encode], "dataset": [data, parts]}


def batch_encoder(args, tokenizer, ids_of, bytes_in):
    """The function that `map` calls with each batch. It counts its calls in a file that worker processes share."""
    calls = args.work_dir / CALLS
    calls.touch()
    after_batch = AFTER_BATCH.get(args.remedy, lambda tokenizer: None)
    alone = not args.num_proc  # a worker process sees only its part

    def encode(batch, calls=str(calls)):
        # One byte per call, to count calls of the tokenizer.
        with open(calls, "ab", buffering=0) as tally:
            tally.write(b".")
        if alone:
            # Imported here, because map hashes what the function refers to, including the state of a module.
            import progress

            progress.before(batch["text"], bytes_in)
        columns = {"input_ids": ids_of(tokenizer, batch["text"])}
        after_batch(tokenizer)
        return columns

    return encode


def map_settings(args, datasets, count_entries):
    """The arguments of `map` that the cell sets. Calls `count_entries`, which reads the tokenizer again, only if
    needed."""
    settings = {"batch_size": args.batch_size, "writer_batch_size": args.writer_batch_size}
    settings |= {"num_proc": args.num_proc or None}
    if args.remedy == "ids-int16":
        if (entries := count_entries()) > 1 << 15:
            events.not_applicable(f"the tokenizer has {entries} entries, too many for int16")
        settings["features"] = datasets.Features({"input_ids": datasets.Sequence(datasets.Value("int16"))})
    if args.remedy == "keep-in-memory":
        settings["keep_in_memory"] = True
    return settings


def mapped(args, part, shard, encode, settings):
    """Map one shard, and mark its end."""
    calls, cache = args.work_dir / CALLS, args.work_dir / "cache"
    calls_before, bytes_before = calls.stat().st_size, bytes_under(cache)
    events.phase(f"map {shard}")

    def work():
        return part.map(encode, batched=True, remove_columns=part.column_names, **settings)

    if args.remedy == "process-per-shard":  # the child fills map's cache; its memory ends with it
        child = multiprocessing.get_context("fork").Process(target=work)
        child.start()
        child.join()
        if child.exitcode:
            sys.exit(f"the child process of shard {shard} ended with {child.exitcode}")
    result = work()
    made = calls.stat().st_size - calls_before
    title = f"RSS AFTER SHARDING ITER {shard}" if args.mode == "shard" else "RSS AFTER MAP"
    title += " (from cache)" if not made else ""
    events.mark(
        "shard",
        shard=shard,
        rows=len(result),
        from_cache=not made,
        tokenizer_calls=made,
        cache_bytes_written=bytes_under(cache) - bytes_before,
        **print_memory(title),
    )
    return result


AFTER_BATCH = {
    "gc-each-batch": lambda tokenizer: gc.collect(),
    "trim-each-batch": lambda tokenizer: release.trim(),
    "arrow-release": lambda tokenizer: release.unused_arrow(),
}


def check(args):
    """Count and hash the ids of a finished run, batch by batch, and print them as one JSON object."""
    result = json.loads((args.work_dir / RESULT).read_text())
    if "engine" in result:
        import engine

        print(json.dumps(engine.check(result)))
        return
    import pyarrow as pa

    digest, rows, tokens = hashlib.sha256(), 0, 0
    for name in result:
        with pa.memory_map(name) as source:
            for batch in pa.ipc.open_stream(source):
                column = batch.column(batch.schema.get_field_index("input_ids"))
                ids = column.flatten().cast(pa.int32())
                digest.update(ids.to_numpy(zero_copy_only=True).astype("<i4", copy=False).tobytes())
                rows, tokens = rows + len(column), tokens + len(ids)
    print(json.dumps({"rows": rows, "tokens": tokens, "ids_sha256": digest.hexdigest()}))


def main():
    args = arguments()
    if not (args.corpus / "manifest.json").exists():
        sys.exit(f"--corpus {args.corpus}: no manifest.json there; prepare the corpus first")
    tokenizer = args.tokenizer or args.corpus / "tokenizer"
    if not args.check and not tokenizer.is_dir():
        sys.exit(f"{tokenizer}: no folder with a tokenizer; prepare it first, or name another with --tokenizer")
    args.work_dir.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    return check(args) if args.check else tokenize(args)


if __name__ == "__main__":
    globals().update(events.run(main))  # names at the end, for why.py
