"""Measures what `beyond-ram tokenize` keeps of its encoder's speed, and what a second worker gives.

.stacks/encoder/bin/python docs/ceiling.py --tokenizer tokenizer.json --out FOLDER [--turns N] INPUT…

Four lines of CSV are written per turn: the engine and its ceiling, with one worker and with two. The ceiling is the
same encoder over the same documents, held in memory, in the same batches and by as many processes; the ids are read
as an array and dropped. The engine reads the same units, encodes them, writes `bin` and joins its parts. Either
begins anew in each turn, so that it meets every document, and every word, once; unit by unit they take turns, in an
order that is drawn. Loading the tokenizer and planning are not in it.
"""

import argparse
import csv
import itertools
import multiprocessing
import random
import sys
import time
from pathlib import Path

ENGINE = Path(__file__).resolve().parents[1] / "beyond_ram" / "tokenize" / "engine"


class Worker:
    """One worker of the engine, or of its ceiling, in a process of its own."""

    def __init__(self, way, common, units, args, fork):
        self.way, self.common, self.units, self.args = way, common, units, args
        self.pipe, theirs = fork.Pipe()
        self.process = fork.Process(target=self.run, args=(theirs,))
        self.process.start()

    def run(self, pipe):
        """Take units, and answer with (tokens, CPU-seconds) of each."""
        import worker as working

        one = working.Worker(self.common, lambda **_: None, working.Place())
        one.allow(1 << 32)
        while (unit := pipe.recv()) is not None:
            held = self.documents(unit) if self.way == "ceiling" else None
            pipe.send(None)
            pipe.recv()  # the word to begin, for all workers at once
            cpu = time.process_time()
            if held is None:
                tokens = one.unit(unit, self.units[unit], str(self.part(unit)), {})[0]["tokens"]
            else:
                tokens = sum(ids.size for texts in held for ids in one.encoder.encode(texts))
            pipe.send((tokens, time.process_time() - cpu))
            del held

    def documents(self, unit):
        import inputs
        import sources

        batches = []
        for batch in inputs.read(self.units[unit], self.args.column, sources.HUGE):
            batches.append(["".join(batch.pieces)] if isinstance(batch, sources.Stream) else batch.texts)
        return batches

    def part(self, unit):
        return self.args.out / f"{unit}.bin"


class Way:
    """The engine, or its ceiling: some workers, and what they have taken so far."""

    def __init__(self, way, common, units, args, count, fork):
        import numpy as np
        import outputs

        self.way, self.tokens, self.cpu, self.took = way, 0, 0.0, 0.0
        self.workers = [Worker(way, common, units, args, fork) for _ in range(count)]
        self.append, self.digest = outputs.append, outputs.Digest(np.dtype(common.dtype))

    def do(self, group, joined):
        for unit, one in zip(group, self.workers, strict=True):
            one.pipe.send(unit)
        for one in self.workers:
            one.pipe.recv()
        began = time.monotonic()
        for one in self.workers:
            one.pipe.send(None)
        for one in self.workers:
            tokens, cpu = one.pipe.recv()
            self.tokens, self.cpu = self.tokens + tokens, self.cpu + cpu
        if self.way == "engine":
            cpu = time.process_time()
            for unit, one in zip(group, self.workers, strict=True):
                self.append(joined, one.part(unit), self.digest)
                one.part(unit).unlink()
            self.cpu += time.process_time() - cpu
        self.took += time.monotonic() - began

    def end(self):
        for one in self.workers:
            one.pipe.send(None)
            one.process.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("inputs", nargs="+", metavar="INPUT")
    parser.add_argument("--tokenizer", required=True)
    parser.add_argument("--out", required=True, type=Path, help="a folder for parts, which are removed")
    parser.add_argument("--column", default="text")
    parser.add_argument("--turns", type=int, default=5, help="of all units")
    args = parser.parse_args()
    sys.path.insert(0, str(ENGINE))
    import inputs
    import inventory
    import sources
    import worker as working

    sources.HEAP.settle(tight=False)
    config = {"tokenizer": args.tokenizer, "special": True, "append": None, "column": args.column, "format": "bin"}
    config |= {"named": None, "limited": False}
    common = working.Common(config)
    units, _ = inputs.plan(inventory.Inventory(args.inputs, args.out).files)
    args.out.mkdir(parents=True, exist_ok=True)
    lines = csv.writer(sys.stdout)
    lines.writerow(["turn", "workers", "way", "units", "tokens", "cpu_s", "duration_s"])
    chance, fork = random.Random(11), multiprocessing.get_context("fork")
    for turn, count in itertools.product(range(args.turns + 1), (1, 2)):
        groups = [range(len(units))[at : at + count] for at in range(0, len(units) - count + 1, count)]
        ways = [Way(way, common, units, args, count, fork) for way in ("engine", "ceiling")]
        with (args.out / "joined").open("wb") as joined:
            for group in groups:
                for way in chance.sample(ways, 2):
                    way.do(group, joined)
        for way in ways:
            way.end()
            if turn:  # the first is for page cache and clocks
                took = f"{way.cpu:.3f}", f"{way.took:.3f}"
                lines.writerow([turn, count, way.way, len(groups) * count, way.tokens, *took])
        assert ways[0].tokens == ways[1].tokens, "they did not do the same"
        sys.stdout.flush()
        for left in args.out.iterdir():
            left.unlink()
    args.out.rmdir()
    return 0


if __name__ == "__main__":
    sys.exit(main())
