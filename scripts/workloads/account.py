"""Count the delivered rows of an epoch: which, how often, and by which worker."""

FAULTS = ("rows_twice", "rows_missing", "rows_wrong")


def of_run(epochs):
    """The account of a run from those of its epochs: the last one, with the maximum of each fault over all."""
    return epochs[-1] | {key: max(epoch[key] for epoch in epochs) for key in FAULTS if key in epochs[-1]}


class Account:
    """The rows of an epoch by number, from 0 to `expected` - 1.

    `rows_twice` counts rows that came more than once, each once; `rows_missing` counts rows that never came;
    `rows_wrong` counts deliveries that are no row, or not a whole one. Counts that cannot be made are left out: rows
    may have no numbers or no checksum, or nothing says how many they are (`expected` None).
    """

    def __init__(self, expected, numbered=True, checked=True):
        self.expected, self.numbered, self.checked = expected, numbered and expected is not None, checked
        self.must = 1
        self.begin()

    def begin(self):
        """Begin a new epoch."""
        import numpy

        # How often each row came. No row is delivered 65,536 times, but equal rows may be.
        kind = numpy.uint16 if isinstance(self.must, int) else numpy.uint32
        self.times = numpy.zeros(self.expected if self.numbered else 0, kind)
        self.delivered = self.wrong = 0
        self.workers = {}

    def expect(self, times):
        """Count equal rows, which cannot be distinguished: `times` [expected] is how often each must come."""
        self.must, self.times = times, self.times.astype(times.dtype)

    row_bytes = None
    """Bytes of a row; None if unknown."""

    def so_far(self):
        """The rows delivered so far, and their bytes if known."""
        rows = {"rows_delivered": self.delivered}
        return rows | {"bytes_in": self.row_bytes * self.delivered} if self.row_bytes else rows

    def add(self, rows, worker, numbers=(), wrong=0):
        """Add a delivery of `rows` rows from a worker: the numbers of whole rows, and how many are `wrong`."""
        self.delivered += rows
        self.wrong += wrong
        self.workers[worker] = self.workers.get(worker, 0) + rows
        if not len(numbers) or not self.numbered:
            return
        import numpy

        numbers = numpy.asarray(numbers, numpy.int64)
        if numbers.min() < 0 or numbers.max() >= self.expected:
            valid = (numbers >= 0) & (numbers < self.expected)
            self.wrong += int((~valid).sum())
            numbers = numbers[valid]
        numpy.add.at(self.times, numbers, 1)

    def totals(self):
        """The account for an event, in rows."""
        counts = {"rows_delivered": self.delivered, "rows_per_worker": dict(sorted(self.workers.items()))}
        if self.expected is not None:
            counts["rows_expected"] = self.expected
        if self.numbered:
            counts["rows_twice"] = int((self.times > self.must).sum())
            counts["rows_missing"] = int((self.must - self.times.clip(max=self.must)).sum())
        if self.checked:
            counts["rows_wrong"] = self.wrong
        return counts
