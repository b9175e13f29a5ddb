"""Encode documents of a result again, whole, with the named release only, and compare them with the ids on disk.

The inputs are read again and the ids are read back, so the check covers reading, cutting, encoding and writing.
"""

import csv
import random

import inputs
import sources
from trouble import Refused

SHARE = 0.0001  # default share of the text: the named release takes up to 40 times as long as the fast one
ASKED = 0.05  # share with --verify
LEAST = 1 << 16  # characters to choose where a share above 0 has fewer
UNITS = 64  # one in 64 units is read again, and at least one


class Unit:
    """A finished unit: its record, and functions for the spans of its inputs and for its documents' ids on disk."""

    def __init__(self, record, reading, documents):
        self.record, self.reading, self.documents = record, reading, documents


def choose(units, share, seed):
    """The documents to verify: {unit: {row, …}}.

    Random documents make up `share` of the characters; their sizes are unknown, so each counts as the mean of its unit.
    In addition, the largest documents make up half as much, starting with those that were cut. Few units are chosen,
    because each is read again from its beginning.
    """
    characters = sum(unit.record["characters"] for unit in units)
    wanted = max(share * characters, LEAST if share else 0)
    chosen: dict[int, set[int]] = {}
    units_most = len(units) if share >= ASKED else max(len(units) // UNITS, 1)
    if not wanted:
        return chosen
    large = sorted(([*note, at] for at, unit in enumerate(units) for note in unit.record["large"]), reverse=True)
    left = wanted / 2
    for _cut, size, row, at in large:
        must_compare = share >= ASKED and not chosen  # then the largest cut document is compared, whatever it takes
        if (must_compare or size <= left) and (at in chosen or len(chosen) < units_most):
            chosen.setdefault(at, set()).add(row)
            left -= size
    source = random.Random(seed)
    others = [at for at, unit in enumerate(units) if unit.record["rows"] and at not in chosen]
    picked_units = [*chosen, *source.sample(others, len(others))][:units_most]
    characters_picked = sum(units[at].record["characters"] for at in picked_units)
    for at in picked_units:
        rows = units[at].record["rows"]
        chosen.setdefault(at, set()).update(
            source.sample(range(rows), min(rows, 1 + int(rows * wanted / max(characters_picked, 1))))
        )
    return chosen


def verify(units, chosen, common, budget):
    """Compare the chosen documents. Returns the number compared, and of those that need more than `budget` bytes of
    memory. `common`: the state of the workers.

    Raises Refused at the first document with other ids.
    """
    counts = {"documents": 0, "characters": 0, "too_large": 0}
    config, release = common.config, common.encoder.named
    append = [] if common.encoder.append is None else common.encoder.append.tolist()
    most = budget // release.need_per_byte
    csv.field_size_limit(max(most, sources.HUGE))
    for at, rows in sorted(chosen.items()):
        unit, last = units[at], max(rows, default=-1)
        with unit.reading() as spans:
            pairs = zip(texts(spans, config["column"], rows, most, common.size), unit.documents(), strict=False)
            for row, ((where, text), ids) in enumerate(pairs):
                if row in rows and text is None:
                    counts["too_large"] += 1
                elif row in rows:
                    expected = release.encode([text], config["special"])[0].tolist() + append
                    if expected != ids.tolist():
                        raise Refused(difference(where, expected, ids.tolist()))
                    counts["documents"] += 1
                    counts["characters"] += len(text)
                if row == last:
                    break
            else:
                if rows:
                    raise Refused(f"the inputs hold fewer documents than unit {unit.record['unit']} has")
    return counts


def texts(spans, column, rows, most, size_of):
    """(place, text) of each document; the text is None if the document is not in `rows` or has over `most` bytes in
    its normal form (`size_of`)."""
    row = 0
    for batch in inputs.read(spans, column):
        if isinstance(batch, sources.Stream):
            pieces, size = [], 0
            for piece in batch.pieces:
                size += size_of(piece) if row in rows else 0
                if row in rows and size <= most:
                    pieces.append(piece)
            yield batch.where, "".join(pieces) if row in rows and size <= most else None
            row += 1
        else:
            for at, text in enumerate(batch.texts):
                fits = row in rows and size_of(text) <= most
                yield batch.where(at), text if fits else None
                row += 1


def difference(where, expected, ids):
    """One line about a document with other ids."""
    first = next((at for at, pair in enumerate(zip(expected, ids, strict=False)) if pair[0] != pair[1]), None)
    at = f"token {first} is {ids[first]} and has to be {expected[first]}" if first is not None else "one has more"
    return (
        f"{where}: wrong ids: {len(ids)} on disk, {len(expected)} by the library, {at}. Do not use this output; please "
        "report the tokenizer file and this document to beyond-ram"
    )
