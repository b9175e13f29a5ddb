"""A mode of the workload `tokenize` that is somebody else's: a module of `peers`, over the same files.

What a peer holds between documents, in how many processes, and in which files it leaves the ids is its own.
They are read back afterwards, and hashed.
"""

import hashlib
import importlib
import json
import os
from pathlib import Path

import events
import release

PEERS = Path(__file__).resolve().parent / "peers"


def names():
    """The peers that there are."""
    return sorted(path.stem for path in PEERS.glob("*.py") if path.stem != "how")


def tokenize(args, chosen, result, packages):
    """The workload in this mode; returns what it keeps at its end, by owner."""
    workers = args.num_proc or len(os.sched_getaffinity(0))
    # Before any library is imported: some read it then. A worker of several uses one core.
    os.environ["RAYON_NUM_THREADS"] = str(workers)
    os.environ["POLARS_MAX_THREADS"] = str(workers)
    events.phase("import")
    from peers import how as how_module

    module = importlib.import_module(f"peers.{args.mode}")
    release.imported((*packages, *module.LIBRARIES))
    out = args.work_dir / "cache" / args.mode
    out.mkdir(parents=True)
    files = [str((args.corpus / entry["path"]).resolve()) for entry in chosen]
    tokenizer = (args.tokenizer or args.corpus / "tokenizer").resolve()
    documents = [entry["documents"] for entry in chosen]
    how = how_module.How(files, documents, str(tokenizer), str(out.resolve()), workers, args.batch_size)
    events.mark("baseline", encoder=args.mode, **events.own_memory())
    events.phase("map 0")
    try:
        module.tokenize(how)
    except how_module.NotApplicableError as reason:
        events.not_applicable(str(reason))
    written = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    made = {"shard": 0, "rows": sum(documents), "from_cache": False, "tokenizer_calls": 0}
    events.mark("shard", **made, cache_bytes_written=written, **events.own_memory())
    result.write_text(json.dumps({"peer": args.mode, "how": vars(how)}))
    bytes_in = sum(entry["text_bytes"] for entry in chosen)
    events.mark("work", rows=sum(documents), bytes_in=bytes_in, **events.own_memory())
    return {"peer": [module]}


def check(result):
    """Count and hash what a finished peer has left, document by document."""
    from peers import how as how_module

    module = importlib.import_module(f"peers.{result['peer']}")
    digest, rows, tokens = hashlib.sha256(), 0, 0
    for ids in module.documents(how_module.How(**result["how"])):
        digest.update(ids.astype("<i4").tobytes())
        rows, tokens = rows + 1, tokens + len(ids)
    return {"rows": rows, "tokens": tokens, "ids_sha256": digest.hexdigest()}
