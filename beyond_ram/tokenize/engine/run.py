"""Tokenise files into flat ids with bounded memory, on all cores, in the inputs' order.

Run by the interpreter of a stack with tokenizers, pyarrow, numpy and xxhash, which `beyond-ram tokenize` chooses. By
hand:

    python beyond_ram/tokenize/engine/run.py data/ --tokenizer tokenizer.json --out tokens

Only the inputs determine the units of work. A worker writes a finished unit, then its record. A unit with a record is
not repeated, so the same command continues after a kill and gives the same bytes.
"""

import argparse
import fcntl
import functools
import json
import os
import shutil
import stat
import sys
import time
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start a thread for every core
# Else streams of pyarrow take its own allocator, which reserves 1 GiB of addresses; these count against a limit.
os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"

import command_line
import inputs
import inventory
import sources
import stores
import worker as working
from claim import WORK, claim, data_file, flat_stem, shard_of
from free_memory import KEPT_SHARE, LEAST, SHARE, available, size
from pool import Pool, Progress
from records import PARTIAL, digest_of, open_lock, read_record, unlinked, write_json, write_record
from trouble import NO_ROOM, Refused, out_of_memory


def arguments(argv=None):
    parser = argparse.ArgumentParser(prog="beyond-ram tokenize", description=__doc__.splitlines()[0])
    command_line.add_to(parser)
    parser.add_argument("--stores", metavar="PYTHON")  # an interpreter with fsspec, for inputs that are addresses
    parser.add_argument("--named", metavar="FOLDER")  # packages with the release of tokenizers whose ids count
    args = parser.parse_args(argv)
    args.out, args.memory_limit = Path(args.out), args.memory_limit or 0
    return args


def size_on_disk(path):
    """The bytes of a regular file; 0 for what is none, or is gone: workers still write and remove files."""
    try:
        of = os.stat(path)
    except FileNotFoundError:
        return 0
    return of.st_size if stat.S_ISREG(of.st_mode) else 0


def printable(text):
    """A text on one line, with escapes for control characters and for bytes that are not UTF-8."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


class TokenizeRun:
    """One command: the units of one shard of the inputs."""

    def __init__(self, args, place, pool_class):
        self.args, self.place, self.pool_class = args, place, pool_class
        # With a limit, the parent is this program too.
        self.parent = working.anonymous(os.getppid()) if args.memory_limit else 0
        self.shard, self.shards = shard_of(args.shard)
        self.stem = flat_stem(self.shard, self.shards)
        tokenizer = Path(args.tokenizer).expanduser()
        self.tokenizer = tokenizer / "tokenizer.json" if tokenizer.is_dir() else tokenizer

    def prepare(self):
        limit, own = self.args.memory_limit, working.anonymous("self") + self.parent
        listing = stores.ObjectListing(self.args.stores, limit and max(limit - own, 1))
        try:
            listed = inventory.Inventory(self.args.inputs, self.args.out, listing)
        finally:
            listing.end()
        own = working.anonymous("self") + self.parent
        if limit and limit < own + LEAST:
            raise Refused(f"{size(limit)} of memory are not enough: what plans the work has {size(own)} already")
        self.objects = listed.objects
        self.identities = [
            stores.identity(file, self.objects[file]) if file in self.objects else inventory.identity(file)
            for file in listed.files
        ]
        empty = sum(not size for _, size, *_ in self.identities)
        skipped = dict(sorted((+listed.left_out).items()))
        self.counted = {"files_read": len(listed.files), "files_empty": empty, "files_skipped": skipped}
        self.load()
        if limit:
            working.bound(working.data_bytes() + limit - self.parent - working.anonymous("self"))
        self.units, self.weights = inputs.plan(listed.files, self.args.text_column, self.objects)
        if not self.units:
            raise Refused("the inputs hold no rows")
        version = self.common.encoder.named.version
        self.manifest, self.lock = claim(self.args, self.identities, self.tokenizer, len(self.units), version)
        self.manifest_digest = digest_of(self.manifest)
        self.work = self.args.out / WORK
        first, last = (len(self.units) * k // self.shards for k in (self.shard - 1, self.shard))
        self.mine = range(first, last)
        prefix = f"{self.shard:05d}"
        self.copies = stores.Copies(self.args.stores, self.objects, self.work, prefix, self.workers_requested + 1)

    def load(self):
        """Load the tokenizer before numpy and pyarrow, because loading takes several times the memory that it keeps."""
        self.workers_requested = self.args.workers or len(os.sched_getaffinity(0))
        little = self.workers_requested * sources.Heap.KEPT > available() * KEPT_SHARE
        sources.HEAP.settle(tight=bool(self.args.memory_limit) or little)
        config = {
            "tokenizer": str(self.tokenizer),
            "special": not self.args.no_special_tokens,
            "append": self.args.append,
            "column": self.args.text_column,
            "format": self.args.format,
            "limited": bool(self.args.memory_limit),
            "named": self.args.named,
        }
        self.common = working.Common(config)
        self.dtype = self.common.dtype
        import outputs  # and with it numpy

        self.outputs = outputs

    # Paths
    def record(self, unit):
        return self.work / f"{unit:06d}.json"

    def path(self, unit):
        if self.args.format == "bin":
            return self.work / f"{unit:06d}.bin"
        return self.args.out / data_file(unit, self.args.format)

    def lengths(self, unit):
        return self.work / f"{unit:06d}.bin.lengths"

    def done_record(self, shard=None):
        return self.work / f"shard-{shard or self.shard:05d}.json"

    def flat(self):
        """The flat file of this shard: at its final place if it was finished before, else in the work folder."""
        name = f"{self.stem}.bin"
        return self.args.out / name if (self.args.out / name).exists() else self.work / name

    def run(self):
        self.prepare()
        with self.lock, self.copies:
            self.examine()
            if not self.todo and (record := self.finished()):
                print(f"this was done before: {record['rows']:,} documents, all files as recorded", file=sys.stderr)
                if self.args.verify or self.args.verify_share:
                    self.withdraw()
                    print(self.conclude(record), file=sys.stderr)
            else:
                self.do()
            for unit in self.mine if self.args.format == "bin" else ():
                self.path(unit).unlink(missing_ok=True)  # a part that was appended before a kill
            with open_lock(self.work / "lock") as lock:  # two shards may end at once
                fcntl.flock(lock, fcntl.LOCK_EX)
                return self.join()

    # Existing parts
    def read(self, path):
        """A record of a part that belongs to this manifest; None if it is missing, damaged or of another one."""
        record = read_record(path)
        return record if record and record.get("manifest") == self.manifest_digest else None

    def examine(self):
        """Read the records of finished units whose files match them. Sets `todo` to the other units."""
        self.records = {unit: self.read(self.record(unit)) for unit in self.mine}
        self.digest = self.outputs.Digest(self.dtype)
        self.merged = {"units": self.mine.start, "bytes": 0}
        if self.args.format == "bin":
            self.examine_flat(self.read(self.work / f"{self.stem}.merged") or self.merged)
        for unit in range(self.merged["units"], self.mine.stop):
            record = self.records[unit]
            if record and not (self.outputs.intact(self.path(unit), record["file"]) and self.has_lengths(unit)):
                self.records[unit] = None
        self.todo = [unit for unit in self.mine if self.records[unit] is None]

    def examine_flat(self, state):
        """Compare the flat file with the units' records, and note up to which unit they agree."""
        flat = self.flat()
        if not flat.is_file():
            return
        for unit in range(self.mine.start, state["units"]):
            record, start = self.records[unit], self.merged["bytes"]
            if not record or not self.has_lengths(unit):
                return
            if self.outputs.file_digest(flat, start, record["file"][0]) != record["file"]:
                return
            self.merged = {"units": unit + 1, "bytes": start + record["file"][0]}

    def has_lengths(self, unit):
        """Whether the lengths of a unit's documents match the record, if its format has a file for them."""
        return self.args.format != "bin" or self.outputs.intact(self.lengths(unit), self.records[unit]["lengths"])

    def finished(self):
        """The record of this shard if all its files match it, else None. `examine` has read the ids already."""
        record = self.read(self.done_record())
        for name, (length, digest) in (record or {"files": {}})["files"].items():
            file = self.args.out / name
            if not file.is_file() or file.stat().st_size != length:
                return None
            if name.endswith(".idx") and not self.outputs.intact(file, [length, digest]):
                return None
        return record

    def withdraw(self):
        """Remove the files that mark a result as complete, before it is made or checked again."""
        for name in ("summary.json", "state.json", "dataset_info.json", f"{self.stem}.idx"):
            if self.todo or name == "summary.json":
                (self.args.out / name).unlink(missing_ok=True)
        self.done_record().unlink(missing_ok=True)

    def do(self):
        if self.args.named:
            print(self.common.explained(), file=sys.stderr, flush=True)
        self.withdraw()
        weights = self.weights
        self.progress = Progress(sum(weights[unit] for unit in self.mine))
        self.progress.done = self.progress.at_start = sum(weights[unit] for unit in self.mine if self.records[unit])
        finished = len(self.mine) - len(self.todo)
        if finished:
            print(f"{finished} of {len(self.mine)} parts were done before", file=sys.stderr)
        self.open_joined()
        with self.pool_class(self.common, self.copies, self.progress, self.task, self.unit_done) as self.pool:
            if self.todo:
                units = {unit: self.units[unit] for unit in self.todo}
                self.pool.work_off(units, self.workers_requested, self.place, self.args.memory_limit, self.parent)
        self.finish()

    def task(self, unit):
        """The order of a unit for a worker."""
        return {
            "unit": unit,
            "spans": self.units[unit],
            "path": str(self.path(unit)),
            "record": str(self.record(unit)),
            "manifest": self.manifest_digest,
            "copies": self.copies.made.get(unit, {}),
        }

    def unit_done(self, unit, record):
        self.records[unit] = record
        self.merge()

    def no_room(self):
        """An error for a full disk: the size that the result needs."""
        folders = (self.args.out, self.work)
        paths = (path for folder in folders if folder.is_dir() for path in folder.iterdir())
        sizes = (size_on_disk(path) for path in paths if not path.name.startswith(PARTIAL))
        written, disk = sum(sizes), shutil.disk_usage(self.args.out)
        share = self.progress.done / max(self.progress.total, 1)
        needs = f"about {size(written / share)}" if share else f"more than {size(written)}"
        return (
            f"--out {self.args.out}: the disk is full: the result needs {needs}, and {size(written + disk.free)} can "
            "be had there; the same command goes on where it stopped"
        )

    # Joining
    def open_joined(self):
        """Open the flat file, truncated to its recorded size, and the digest."""
        if self.args.format != "bin":
            return
        flat = self.work / f"{self.stem}.bin"
        if (done := self.flat()) != flat:
            done.replace(flat)
        self.open_flat = open(os.open(flat, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o666), "ab")
        self.open_flat.truncate(self.merged["bytes"])
        self.digest.file("bin", flat)

    def merge(self):
        """Add finished units to the digest and the flat file, in order.

        A flat part is removed after the record lists it as part of the flat file.
        """
        state = self.merged
        while state["units"] < self.mine.stop and self.records[state["units"]]:
            unit = state["units"]
            state["units"] = unit + 1
            if self.args.format != "bin":
                self.digest.file(self.args.format, self.path(unit))
                continue
            length, digest = self.records[unit]["file"]
            if self.outputs.append(self.open_flat, self.path(unit), self.digest) != digest:
                raise RuntimeError(f"{self.path(unit)} was changed after it was written; run the same command again")
            state["bytes"] += length
            write_record(self.work / f"{self.stem}.merged", {**state, "manifest": self.manifest_digest})
            self.path(unit).unlink()

    def finish(self):
        self.unchanged()
        self.merge()
        records = [self.records[unit] for unit in self.mine]
        record = {"rows": sum(one["rows"] for one in records), "tokens": sum(one["tokens"] for one in records)}
        record |= {"by_named": sum(one["by_named"] for one in records)}
        record |= {"digest": self.digest.hexdigest(), "files": {}}
        if self.args.format == "bin":
            self.open_flat.close()
            index, lengths = self.work / f"{self.stem}.idx", [self.lengths(unit) for unit in self.mine]
            self.outputs.write_index(unlinked(index), lengths, record["rows"], self.dtype)
            length = self.merged["bytes"]
            record["files"] = {
                f"{self.stem}.bin": [length, record["digest"]],
                index.name: self.outputs.file_digest(index),
            }
            for name in record["files"]:
                (self.work / name).replace(self.args.out / name)
        else:
            record["files"] = {self.path(unit).name: self.records[unit]["file"] for unit in self.mine}
        verified = self.conclude(record)
        if self.progress.terminal:
            self.progress.show(0, 0, last=True)
        spent = time.monotonic() - self.progress.start
        cpu = self.pool.cpu_s + sum(os.times()[:2])
        print(
            f"{record['rows']:,} documents, {record['tokens']:,} tokens in {spent:.1f} s and {cpu:.1f} CPU-seconds; "
            f"resident memory, files included, at most {self.most() / 1e6:.0f} MB; {verified}",
            file=sys.stderr,
        )

    def most(self):
        """The sum of the largest resident sizes of all processes, with pages of files and shared ones in each."""
        pids = ["self", *([os.getppid()] if self.args.memory_limit else []), *self.copies.pids]
        return sum(working.status(pid, "VmHWM:") for pid in pids) + self.pool.most

    def unchanged(self):
        """Raise Refused if an input has changed since the start: its documents may be a mixture."""
        for file, *before in self.identities:
            if file in self.objects:  # looked at when its copy was made
                continue
            try:
                same = inventory.status(file) == before
            except OSError:
                same = False
            if not same:
                spoiled = f"{file} was changed while it was read"
                write_record(self.work / "manifest.json", {**self.manifest, "spoiled": spoiled})
                raise Refused(f"{spoiled}; remove {self.args.out} and start again")

    def conclude(self, record):
        """Verify a share of this shard's documents and record the result; return it in words.

        Raises Refused for wrong ids.
        """
        import verify

        share = self.args.verify_share
        share = (verify.ASKED if self.args.verify else verify.SHARE) if share is None else share / 100
        units, start = [], 0
        for unit in self.mine:
            one = self.records[unit]
            where, lengths = self.path(unit), None
            if self.args.format == "bin":
                where, lengths = self.flat(), self.lengths(unit)
            documents = functools.partial(
                self.outputs.documents_of, self.args.format, where, self.dtype, lengths, start
            )
            reading = functools.partial(self.copies.reading, unit, self.units[unit])
            units.append(verify.Unit(one, reading, documents))
            start += one["file"][0]
        room = self.args.memory_limit - self.parent if self.args.memory_limit else int(available() * SHARE)
        room -= working.anonymous("self") + self.copies.room
        if self.args.memory_limit:  # verification reads in this process what workers have read
            bound = self.args.memory_limit - self.parent - self.common.base - self.copies.room
            working.bound(working.data_bytes() + bound)
        counts = verify.verify(units, verify.choose(units, share, record["digest"]), self.common, room)
        write_record(self.done_record(), {**record, "verified": counts, "manifest": self.manifest_digest})
        too_large = f", {counts['too_large']:,} not: they need more memory than is free" if counts["too_large"] else ""
        return f"{counts['documents']:,} encoded again and compared{too_large}"

    def join(self):
        """Join the shards after the last one is done; return the exit status."""
        records = {shard: self.read(self.done_record(shard)) for shard in range(1, self.shards + 1)}
        missing = [str(shard) for shard, record in records.items() if record is None]
        if missing:
            some = ", ".join(missing[:10]) + (f" and {len(missing) - 10:,} more" if len(missing) > 10 else "")
            print(f"shards {some} of {self.shards} are left; the last one joins them", file=sys.stderr)
            return 0
        names = [name for record in records.values() for name in record["files"] if not name.endswith(".idx")]
        for shard, record in records.items():
            for name in record["files"] if shard != self.shard else ():
                if not self.outputs.intact(self.args.out / name, record["files"][name]):
                    for wrong in (self.args.out / "summary.json", self.done_record(shard)):
                        wrong.unlink(missing_ok=True)
                    raise RuntimeError(f"{name} is missing or damaged; `--shard {shard}/{self.shards}` makes it again")
        done = list(records.values())
        digest = self.outputs.joined(shard["digest"] for shard in done)
        if self.args.format == "datasets":
            self.outputs.write_datasets(self.args.out, names, digest)
        summary = {
            "format": self.args.format,
            "dtype": self.dtype.name if self.args.format == "bin" else "int32",
            "documents": sum(shard["rows"] for shard in done),
            "tokens": sum(shard["tokens"] for shard in done),
            "digest": f"xxh3-128:{digest}",
            "encoder": self.manifest["encoder"],
            "encoded_by": self.encoded_by(done),
            "tokenizer_sha256": self.manifest["tokenizer"],
            "special_tokens": not self.args.no_special_tokens,
            "append": self.args.append,
            "verified": {key: sum(shard["verified"][key] for shard in done) for key in done[0]["verified"]},
            **self.counted,
            "files": names,
        }
        if self.args.sha256:
            files = [self.args.out / name for name in names]
            summary["ids_sha256"] = self.outputs.sha256(self.args.format, files, self.dtype)
        write_json(self.args.out / "summary.json", summary)
        if self.args.json:
            print(json.dumps({key: value for key, value in summary.items() if key != "files"}))
        else:
            print(self.result(summary))
        return 0

    def encoded_by(self, done):
        """The number of documents that each release encoded, at least in part."""
        encoder, documents = self.common.encoder, sum(shard["rows"] for shard in done)
        by_named = sum(shard["by_named"] for shard in done) if encoder.fast else documents
        counts = {encoder.named.version: by_named}
        if encoder.fast:
            counts = {encoder.fast.version: documents - by_named} | counts
        return {f"tokenizers {version}": count for version, count in counts.items()}

    def result(self, summary):
        """The result in a line."""
        documents, tokens, files = (
            f"{(n := summary[name]):,} {word}{'s' if n != 1 else ''}"
            for name, word in (("documents", "document"), ("tokens", "token"), ("files_read", "file"))
        )
        line = f"{self.args.out}: {documents}, {tokens} as {summary['dtype']}, from {files}"
        if summary["files_empty"]:
            line += f" ({summary['files_empty']:,} of them empty)"
        if skipped := summary["files_skipped"]:
            reasons = sorted(skipped.items(), key=lambda one: one[0].startswith("."))  # reasons, then endings
            line += "; not read: " + ", ".join(f"{count:,} {reason}" for reason, count in reasons[:12])
            if rest := sum(count for _, count in reasons[12:]):
                line += f" and {rest:,} others"
        return printable(line)


def main(argv=None, pool_class=Pool):
    args, place = arguments(argv), working.Place()
    if not args.memory_limit:
        return command(args, place, pool_class)
    return working.in_child(lambda: command(args, place, pool_class), place)


def command(args, place, pool_class):
    run = None
    try:
        run = TokenizeRun(args, place, pool_class)
        return run.run()
    except Refused as error:
        message, status = str(error), 2
    except RuntimeError as error:
        message, status = str(error), 1
    except OSError as error:
        message, status = f"{error}; the same command goes on where it stopped", 1
        if run and error.errno in NO_ROOM and args.out.exists():
            message = run.no_room()
    except KeyboardInterrupt:
        message, status = "stopped; the same command goes on where it stopped", 130
    except BaseException as error:
        if not out_of_memory(error):
            raise
        message, status = "the memory is not enough; the same command goes on where it stopped", 1
    print(printable(f"beyond-ram: {message}"), file=sys.stderr)
    return status


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    # Exit at once: a worker thread may still encode a large document.
    os._exit(status)
