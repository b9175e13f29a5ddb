"""Whose an output folder is: its manifest, which says what made it, and the lock of each shard."""

import fcntl
import os
import re
import time

from command_line import FORMATS
from records import PARTIAL, digest_of, open_lock, read_record, write_record
from trouble import Refused

WORK = ".beyond-ram-tokenize"
FORM = 7  # version of the layout of the work folder and the output
ENDING = 2.0  # seconds until the workers of a killed run have ended and released its lock


RESULT = re.compile(r"data-\d{6,}\.(arrow|parquet)|tokens(-\d{5}-of-\d{5})?\.(bin|idx)")  # names of files of ids


def shard_of(text):
    number, count = text.split("/")
    return int(number), int(count)


def manifest_of(args, identities, tokenizer, count, version):
    """The inputs, tokenizer, its release and options, which determine the output."""
    import hashlib

    options = {
        "format": args.format,
        "text column": args.text_column,
        "special tokens": not args.no_special_tokens,
        "append": args.append,
        "number of shards": shard_of(args.shard)[1],
    }
    return {
        "form": FORM,
        "tokenizer": hashlib.sha256(tokenizer.read_bytes()).hexdigest(),
        "encoder": f"tokenizers {version}",
        "options": options,
        "units": count,
        "inputs": identities,
    }


def files_of_ids(args, count):
    """The names of the files with ids of all shards, and of their indexes; `count`: the number of units."""
    if args.format != "bin":
        return {data_file(unit, args.format) for unit in range(count)}
    shards = shard_of(args.shard)[1]
    return {f"{flat_stem(shard, shards)}.{end}" for shard in range(1, shards + 1) for end in ("bin", "idx")}


def data_file(unit, form):
    return f"data-{unit:06d}{FORMATS[form]}"


def flat_stem(shard, shards):
    """The name of the flat file of a shard, without its ending."""
    return "tokens" if shards == 1 else f"tokens-{shard:05d}-of-{shards:05d}"


def claim(args, identities, tokenizer, count, version):
    """The manifest of the output, and the lock of this shard. Raises Refused if the folder belongs to another command.

    Replaces an unfinished output of another command without any finished part.
    """
    out, work = args.out, args.out / WORK
    if args.format != "bin" and os.fsencode(out).decode(errors="replace") != str(out):
        raise Refused(f"--out {out}: a name that is not UTF-8, which only --format bin can use; name another folder")
    if out.exists() and not out.is_dir():
        raise Refused(f"--out {out}: has to be a folder")
    if out.exists() and any(out.iterdir()) and not work.is_dir():
        raise Refused(f"--out {out}: not empty, and not made by beyond-ram tokenize; name another folder")
    work.mkdir(parents=True, exist_ok=True)
    if work.is_symlink():
        raise Refused(f"{work}: a link, and has to be a folder; name another --out")
    manifest = manifest_of(args, identities, tokenizer, count, version)
    target = work / "manifest.json"
    # A lock on the folder, because two shards may begin at once.
    with open_lock(work / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in [] if at_work(work) else [*work.glob(f"{PARTIAL}*"), *out.glob(f"{PARTIAL}*")]:
            left.unlink()
        existing = read_record(target)
        parts = {path.name for folder in (out, work) for path in folder.iterdir() if path.suffix != ".lock"}
        if existing is None and parts - {WORK, "lock"}:
            raise Refused(f"{target}: missing or damaged; remove {out} and start again")
        if existing and existing.get("spoiled"):
            raise Refused(f"--out {out}: {existing['spoiled']}; remove it and start again")
        changed = difference(existing, manifest) if existing else ""
        records = [read_record(path) for path in work.glob("*[0-9].json")]
        if changed is None and any(record and record.get("manifest") != digest_of(manifest) for record in records):
            changed = "its finished parts do not belong to its manifest.json"
        # Units within one long line have no documents, and finish at once. A finished shard may have no unit.
        if changed and (
            at_work(work) or any(record is None or record["rows"] or "verified" in record for record in records)
        ):
            raise Refused(
                f"--out {out} was started with other settings: {changed}; name another folder, or remove that one"
            )
        if changed:
            of_work = [path for start in ("[0-9]*", "tokens*", "shard-*.json") for path in work.glob(start)]
            for left in [*of_work, *out.glob("data-[0-9]*")]:
                left.unlink()
        if others := {*filter(RESULT.fullmatch, os.listdir(out))} - files_of_ids(args, count):
            raise Refused(f"{out / min(others)}: not of this result, and readers may take it for a part; remove it")
        if changed is not None:
            write_record(target, manifest)
        mine = open_lock(work / f"shard-{shard_of(args.shard)[0]:05d}.lock")
        until = time.monotonic() + ENDING
        while not locked(mine):
            if time.monotonic() > until:
                raise Refused(f"--out {out}: another run is at work there")
            time.sleep(0.02)
    return manifest, mine


def locked(file):
    """Lock a file until it is closed; return whether that worked."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def at_work(work):
    """Whether another run works on a shard."""
    for path in work.glob("shard-*.lock"):
        with open_lock(path) as lock:
            if not locked(lock):
                return True
    return False


def difference(earlier, now):
    """How this command differs from the one that began a folder; None if it does not."""
    if earlier.get("form") != now["form"]:
        return "by another release of beyond-ram"
    before, after = ({name: state for name, *state in side["inputs"]} for side in (earlier, now))
    for file in {**after, **before}:
        if before.get(file) != after.get(file):
            how = "is not an input now" if file not in after else "has changed" if file in before else "is a new input"
            return f"{file} {how}"
    before, after = ({**side, **side["options"]} for side in (earlier, now))
    for name in ("tokenizer", "encoder", *now["options"]):
        if before.get(name) != after[name]:
            known = name != "tokenizer"  # of a tokenizer only its digest
            return f"{name} was {before.get(name)!r} and is {after[name]!r}" if known else "the tokenizer has changed"
    return None if earlier == now else "the inputs were in another order"
