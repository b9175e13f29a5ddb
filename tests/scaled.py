"""Results with any number of runs, without measuring: copies of real runs under other cells."""

import json
from itertools import cycle, islice

from beyond_ram.records import cell_runs
from beyond_ram.records.run_files import RUN_FILES

SAMPLES, EVENTS, RECORD = RUN_FILES


class Source:
    """The folder of a real run, held in memory."""

    def __init__(self, folder, lines=None):
        """Read a run. With `lines` its samples are cut or repeated to that number, and time goes on."""
        self.record, self.events = cell_runs.record(folder), (folder / EVENTS).read_bytes()
        head, *samples = (folder / SAMPLES).read_text().splitlines()
        last_s = max(float(line.partition(",")[0]) for line in samples) + 0.005
        if lines is not None:
            rounds = -(-lines // len(samples))
            samples = [_later(line, turn * last_s) for turn in range(rounds) for line in samples][:lines]
            self.record["sampler"] |= {"lines": lines}
        self.samples = "".join(f"{line}\n" for line in (head, *samples)).encode()

    def write(self, runs, cell):
        """Write the folder of a run of a cell, and return its run.json."""
        folder = runs / cell.path
        folder.mkdir(parents=True)
        (folder / SAMPLES).write_bytes(self.samples)
        (folder / EVENTS).write_bytes(self.events)
        record = self.record | {"cell": cell.parameters()}
        (folder / RECORD).write_text(json.dumps(record, indent=2) + "\n")
        return folder / RECORD


def _later(line, seconds):
    at, comma, rest = line.partition(",")
    return f"{float(at) + seconds:.4f}{comma}{rest}"


def copies(sources, runs, cells):
    """Write a run for each cell, from each source in turn, and return their run.json files."""
    wanted = list(cells)
    return [source.write(runs, cell) for source, cell in zip(islice(cycle(sources), len(wanted)), wanted, strict=True)]
