"""Measures what `beyond-ram tokenize` keeps of its encoder's speed, and what a second worker gives.

.stacks/encoder/bin/python docs/ceiling.py --tokenizer tokenizer.json --out FOLDER [--turns N] INPUT…

Four lines of CSV are written per turn: the engine and its ceiling, with one worker and with two. The ceiling is the
same encoder over the same documents, held in memory, in the same batches and on as many threads; the ids are read as an
array and dropped. The engine reads the same units, encodes them and writes `bin`, in the same process; unit by unit
they take turns, in an order that is drawn. Planning, starting and joining are not in it.
"""

import argparse
import csv
import itertools
import random
import sys
import threading
import time
from pathlib import Path

ENGINE = Path(__file__).resolve().parents[1] / "beyond_ram" / "tokenize" / "engine"


class Documents:
    """The batches of texts of a unit, in memory."""

    def __init__(self, worker, spans, column):
        import inputs

        self.batches = []
        for batch in inputs.read(spans, column, inputs.HUGE):
            texts = ["".join(batch.pieces)] if isinstance(batch, inputs.Stream) else batch.texts
            self.batches.append(texts)
        self.worker = worker

    def encode(self):
        return sum(ids.size for texts in self.batches for ids in self.worker.encoder.encode(texts))


def together(tasks):
    """(CPU-seconds of the process, seconds) of some calls, a thread each; what they returned."""
    found = [None] * len(tasks)

    def call(at, task):
        found[at] = task()

    threads = [threading.Thread(target=call, args=one) for one in enumerate(tasks)]
    cpu, began = time.process_time(), time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.process_time() - cpu, time.monotonic() - began, found


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("inputs", nargs="+", metavar="INPUT")
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--out", required=True, type=Path, help="a folder for parts, which are removed")
    parser.add_argument("--column", default="text")
    parser.add_argument("--turns", type=int, default=5, help="of all units")
    args = parser.parse_args()
    sys.path.insert(0, str(ENGINE))
    import worker as working

    working.settle()
    config = {
        "tokenizer": args.tokenizer, "special": True, "append": None, "column": args.column, "format": "bin",
        "exact": None, "threads": 2,
    }  # fmt: skip
    common = working.Common(config)
    import inputs

    units, _ = inputs.plan(inputs.found(args.inputs))
    args.out.mkdir(parents=True, exist_ok=True)
    workers = [working.Worker(common, lambda **_: None) for _ in range(2)]
    for one in workers:
        one.allow(1 << 32)
    lines = csv.writer(sys.stdout)
    lines.writerow(["turn", "workers", "way", "units", "tokens", "cpu_s", "duration_s"])
    chance = random.Random(11)

    def parts(group):
        def done(number, unit, one):
            path = args.out / f"{number}.bin"
            record, _ = one.unit(number, unit, str(path))
            for left in args.out.glob(f"{number}.bin*"):
                left.unlink()
            return record["tokens"]

        return [lambda u=u, w=w: done(u, units[u], w) for u, w in zip(group, workers, strict=False)]

    for turn, count in itertools.product(range(args.turns + 1), (1, 2)):
        sums = {way: [0, 0, 0.0, 0.0] for way in ("engine", "ceiling")}
        for group in [range(len(units))[at : at + count] for at in range(0, len(units) - count + 1, count)]:
            held = [Documents(w, units[u], args.column) for u, w in zip(group, workers, strict=False)]
            ways = {"engine": parts(group), "ceiling": [one.encode for one in held]}
            for way in chance.sample(list(ways), 2):
                cpu, took, tokens = together(ways[way])
                sums[way] = [a + b for a, b in zip(sums[way], (len(tokens), sum(tokens), cpu, took), strict=True)]
        assert sums["engine"][:2] == sums["ceiling"][:2], "they did not do the same"
        if turn:  # the first is for page cache, words and clocks
            for way, found in sums.items():
                lines.writerow([turn, count, way, *found[:2], *(f"{value:.3f}" for value in found[2:])])
            sys.stdout.flush()
    args.out.rmdir()
    return 0


if __name__ == "__main__":
    sys.exit(main())
