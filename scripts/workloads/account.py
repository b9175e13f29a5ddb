"""The one account of rows: which came in an epoch, how often, and through whom."""

FAULTS = ("rows_twice", "rows_missing", "rows_wrong")


def of_run(epochs):
    """The account of a run from those of its epochs: the last one, with the most that went wrong in any."""
    return epochs[-1] | {key: max(epoch[key] for epoch in epochs) for key in FAULTS if key in epochs[-1]}


class Account:
    """The rows of an epoch by their numbers, from 0 to `expected` less one.

    `rows_twice` are rows that came more than once, each counted once however often it came; `rows_missing` those that
    never came; `rows_wrong` what was delivered and is no row, or not whole. What cannot be counted is left out: rows
    may have no numbers or no checksum, or their number may be unknown (`expected` None).
    """

    def __init__(self, expected, numbered=True, checked=True):
        self.expected, self.numbered, self.checked = expected, numbered, checked
        self.must = None
        self.begin()

    def expect(self, times):
        """Counts rows that cannot be told apart because they are equal: `times` [expected] is how often each must
        come."""
        import numpy

        self.must, self.times = times, self.times.astype(numpy.uint32)

    def begin(self):
        """A new epoch."""
        import numpy

        # A row is not delivered 65,536 times, but rows that are equal may be.
        kind = numpy.uint16 if self.must is None else numpy.uint32
        self.times = {} if self.expected is None else numpy.zeros(self.expected, kind)
        self.delivered = self.wrong = 0
        self.workers = {}

    def add(self, rows, worker, numbers=(), wrong=0):
        """So many rows from a worker: the numbers of those that are whole, and how many are `wrong`."""
        self.delivered += rows
        self.wrong += wrong
        self.workers[worker] = self.workers.get(worker, 0) + rows
        if not len(numbers):
            return
        if self.expected is None:
            for number in numbers:
                self.times[int(number)] = self.times.get(int(number), 0) + 1
            return
        import numpy

        numbers = numpy.asarray(numbers, numpy.int64)
        if numbers.min() < 0 or numbers.max() >= self.expected:
            valid = (numbers >= 0) & (numbers < self.expected)
            self.wrong += int((~valid).sum())
            numbers = numbers[valid]
        numpy.add.at(self.times, numbers, 1)

    def totals(self):
        """The account, for an event, in rows."""
        counts = {"rows_delivered": self.delivered, "rows_per_worker": dict(sorted(self.workers.items()))}
        if self.expected is not None:
            counts["rows_expected"] = self.expected
        if self.numbered:
            bounded, must = self.expected is not None, 1 if self.must is None else self.must
            counts["rows_twice"] = (
                int((self.times > must).sum()) if bounded else sum(n > 1 for n in self.times.values())
            )
            if bounded:
                counts["rows_missing"] = int((must - self.times.clip(max=must)).sum())
        if self.checked:
            counts["rows_wrong"] = self.wrong
        return counts
