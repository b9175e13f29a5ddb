"""The workers of a shard: how many the memory allows, which unit each has, and what they tell."""

import errno
import selectors
import sys
import time

import inputs
import worker as working
from free_memory import KERNEL, LEAST, SHARE, available, size
from trouble import Refused
from worker_process import Forked, Thread


class Progress:
    """Progress on standard error: one line on a terminal, else a line every 15 s."""

    def __init__(self, total):
        self.total, self.done, self.at_start, self.start = total, 0, 0, time.monotonic()
        self.terminal = sys.stderr.isatty()
        self.every, self.shown_s, self.tokens = 0.5 if self.terminal else 15.0, time.monotonic(), 0

    def due(self):
        return time.monotonic() - self.shown_s >= self.every

    def show(self, memory, workers, last=False):
        self.shown_s = now = time.monotonic()
        spent = max(now - self.start, 1e-9)
        rate = (self.done - self.at_start) / spent
        left = max(self.total - self.done, 0) / rate if rate else 0
        text = (
            f"{min(100 * self.done / max(self.total, 1), 100):3.0f} %  {rate / 1e6:.1f} MB/s"
            f"  {self.tokens / spent / 1e6:.2f} M tokens/s"
            f"  {time.strftime('%H:%M:%S', time.gmtime(left))} left  {memory / 1e6:.0f} MB in {workers} workers"
        )
        if self.terminal:
            sys.stderr.write(f"\r{text}\x1b[K" + ("\n" if last else ""))
        else:
            sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


class Pool:
    """Workers that do units: a thread of this process, and forks of it.

    `task`: a function of a unit that returns its order for a worker. `done`: a function that is called with a finished
    unit and its record.
    """

    alone = False
    """Whether one worker has all the memory."""
    most = 0
    """The sum of the largest resident sizes of the workers, in bytes."""
    cpu_s = 0.0
    """CPU seconds of the workers, without those of this process."""

    def __init__(self, common, copies, progress, task, done):
        self.common, self.copies, self.progress, self.task, self.done = common, copies, progress, task, done
        self.workers: list[Thread] = []
        self.selector = selectors.DefaultSelector()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self.workers:
            self.end(worker)

    def end(self, worker):
        worker.end()
        self.most += worker.most

    def work_off(self, units, requested, place, limit, parent):
        """Do the units {number: spans} with at most `requested` workers.

        `place` is where the thread of this process notes what it reads. `limit` is in bytes, or 0; the process above
        uses `parent` bytes of it. Raises Refused, OSError if the disk is full, and RuntimeError.
        """
        self.units, self.todo = units, list(units)
        self.limit, self.parent = limit, parent
        requested, free = min(requested, len(units)), available()
        self.base = base = working.anonymous("self")
        self.room = int(free * SHARE) - self.copies.room
        if limit:  # the control group may have less left
            self.room = min(limit - parent - base, free - KERNEL) - self.copies.room
        # Another worker has at most a copy of this process's memory.
        self.count = min(requested, (self.room + base) // (base + LEAST))
        if self.count < 1:
            raise Refused(
                f"{size(max(self.room + base + self.copies.room, 0))} of memory are not enough: the tokenizer, one "
                f"worker and its work need {size(base + LEAST + self.copies.room)}"
            )
        if self.count < requested:
            print(f"{self.count} workers instead of {requested}: there is no memory for more", file=sys.stderr)
        budget = (self.room - base * (self.count - 1)) // self.count
        self.large = self.large_parts(budget) if limit else []  # units that need all memory
        if program := self.copies.start():
            self.selector.register(program.replies, selectors.EVENT_READ, self.copies)
        while len(self.workers) < self.count - 1:
            self.workers.append(Forked(self.common, self.selector, self.workers))
        self.workers.insert(0, Thread(self.common, self.selector, place=place))
        for worker in self.workers:
            worker.send({"budget": budget})
            self.give(worker)
        self.loop()
        if self.large:
            while len(self.workers) > 1:
                worker = self.workers.pop()
                self.cpu_s += worker.cpu
                self.end(worker)
            self.todo, self.alone = [unit for unit, _ in self.large], True
            self.workers[0].send({"budget": self.room})
            self.give(self.workers[0])
            self.loop()
        self.cpu_s += sum(worker.cpu for worker in self.workers)

    def large_parts(self, budget):
        """Take the units with a part that needs more than a worker may use off the others. Raises Refused if one needs
        more than there is."""
        large = []
        for unit in self.todo:
            spans = [span for span in self.units[unit] if span[0] not in self.copies.objects]  # looked at later
            needs, where = inputs.needs(spans, self.common.config["column"])
            if needs > self.room:
                raise Refused(
                    f"{where}: reading it needs {size(needs + self.base)} of memory, and {size(self.room + self.base)} "
                    f"are available; {inputs.LARGE}, or give more"
                )
            if needs > budget:
                large.append((unit, needs))
        self.todo = [unit for unit in self.todo if unit not in dict(large)]
        return large

    def give(self, worker):
        """Give a worker the next unit, or let it wait for copies of the unit's objects, and have the next ones made."""
        if self.todo:
            worker.unit = self.todo.pop(0)
            for unit in (worker.unit, *self.todo[:1]):
                self.copies.fetch(unit, self.units[unit])
            self.begin(worker)

    def begin(self, worker):
        if worker.unit not in self.copies.under_way:
            worker.send(self.task(worker.unit))

    def loop(self):
        while any(worker.unit is not None for worker in self.workers):
            self.listen(0.5)
            if self.progress.due():  # reading a worker's memory takes 2 ms
                memory = self.parent + sum(one.memory() for one in self.workers) + self.copies.memory()
                self.progress.show(memory, len(self.workers))

    def listen(self, timeout):
        for key, _ in self.selector.select(timeout):
            worker = key.data
            messages = worker.messages()
            if messages is None:
                why = working.death(worker.status(), worker.place.get(), bool(self.limit))
                raise RuntimeError(f"{why}; the same command goes on where it stopped")
            for message in messages:
                self.on_message(worker, message)

    def on_message(self, worker, message):
        if "copied" in message:
            for waiting in self.workers:
                if waiting.unit == message["copied"]:
                    self.begin(waiting)
        if "refused" in message:
            raise Refused(message["refused"])
        if message.get("no_room"):
            raise OSError(errno.ENOSPC, "a worker found no room")
        if "failed" in message:
            raise RuntimeError(f"a worker failed ({message['failed']}); the same command goes on where it stopped")
        if "at" in message:
            self.progress.done += message["at"]
        if "needs" in message:
            if self.alone or self.count == 1:
                needs = size(message["needs"] + self.base) if message["needs"] else ""
                needs = f"{message['what']} needs {needs} of memory" if needs else "more memory is needed from here on"
                raise Refused(
                    f"{message['where']}: {needs}, and {size(self.room + self.base)} are available: {message['reason']}"
                )
            self.large.append((message["unit"], message["needs"]))
            self.copies.drop(message["unit"])
            worker.unit = None
            self.give(worker)
        if "done" in message:
            unit = message["done"]
            self.copies.drop(unit)
            self.progress.tokens += message["record"]["tokens"]
            # The CPU time of this process is added at the end.
            worker.cpu = 0 if worker.pid == "self" else message["cpu"]
            worker.unit = None
            self.give(worker)
            self.done(unit, message["record"])
