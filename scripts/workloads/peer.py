"""A mode of the workload `tokenize` with another library: a module of `peers`, over the same files.

The peer decides what it keeps between documents, its number of processes, and its output files. Afterwards the ids are
read back and hashed.
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
    """The names of all peers."""
    return sorted(path.stem for path in PEERS.glob("*.py") if path.stem != "how")


def tokenize(args, chosen, result, packages):
    """Run the workload in this mode. Returns the objects that it keeps at its end, by owner."""
    workers = args.num_proc or len(os.sched_getaffinity(0))
    # Before any import, because some libraries read it then. With several workers, each uses one core.
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
    """Count and hash a finished peer's output, document by document."""
    from peers import how as how_module

    module = importlib.import_module(f"peers.{result['peer']}")
    digest, rows, tokens = hashlib.sha256(), 0, 0
    for ids in module.documents(how_module.How(**result["how"])):
        digest.update(ids.astype("<i4").tobytes())
        rows, tokens = rows + 1, tokens + len(ids)
    return {"rows": rows, "tokens": tokens, "ids_sha256": digest.hexdigest()}
