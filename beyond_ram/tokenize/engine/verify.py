"""Encode documents of a result again, whole, with the library alone, and compare them with the ids on disk.

The inputs are read again and the ids are read back, so the check covers reading, cutting, encoding and writing.
"""

import csv
import random

import inputs
from trouble import Refused

SHARE = 0.002  # of the text, where the user asks for nothing
ASKED = 0.05  # with --verify
LEAST = 1 << 17  # characters, however small the share
UNITS = 64  # one in 64 units is read again, and at least one


class Unit:
    """A finished unit: its record, the spans of its inputs, and a function that yields its documents' ids from disk."""

    def __init__(self, record, spans, documents):
        self.record, self.spans, self.documents = record, spans, documents


def choose(units, share, seed):
    """The documents to verify: {unit: {row, …}}.

    Random ones make up `share` of the characters; their sizes are not known, so each counts with the mean of its unit.
    Half as much goes to the largest documents beside them, those that were cut first. Few units are chosen, because
    each is read again from its beginning.
    """
    characters = sum(unit.record["characters"] for unit in units)
    wanted, chosen = max(share * characters, LEAST if share else 0), {}
    units_most = len(units) if share >= ASKED else max(len(units) // UNITS, 1)
    if not wanted:
        return chosen
    large = sorted(([*note, at] for at, unit in enumerate(units) for note in unit.record["large"]), reverse=True)
    left = wanted / 2
    for _cut, size, row, at in large:
        asked_for = share >= ASKED and not chosen  # then the largest that was cut is compared, whatever it takes
        if (asked_for or size <= left) and (at in chosen or len(chosen) < units_most):
            chosen.setdefault(at, set()).add(row)
            left -= size
    source = random.Random(seed)
    others = [at for at, unit in enumerate(units) if unit.record["rows"] and at not in chosen]
    picked = [*chosen, *source.sample(others, len(others))][:units_most]
    held = sum(units[at].record["characters"] for at in picked)
    for at in picked:
        rows = units[at].record["rows"]
        chosen.setdefault(at, set()).update(
            source.sample(range(rows), min(rows, 1 + int(rows * wanted / max(held, 1))))
        )
    return chosen


def verify(units, chosen, tokenizer, config, append, budget, need):
    """Compare the chosen documents; how many were compared, and how many take more than `budget` bytes of memory.

    Raises Refused at the first document with other ids.
    """
    counts = {"documents": 0, "characters": 0, "too_large": 0}
    csv.field_size_limit(max(budget // need, inputs.HUGE))
    for at, rows in sorted(chosen.items()):
        unit, last = units[at], max(rows, default=-1)
        pairs = zip(texts(unit.spans, config["column"], rows, budget // need), unit.documents(), strict=False)
        for row, ((where, text), ids) in enumerate(pairs):
            if row in rows and text is None:
                counts["too_large"] += 1
            elif row in rows:
                expected = tokenizer.encode(text, add_special_tokens=config["special"]).ids + append
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


def texts(spans, column, rows, most):
    """(place, text) of each document; the text is None of those that are not in `rows` or have over `most` bytes."""
    row = 0
    for batch in inputs.read(spans, column):
        if isinstance(batch, inputs.Stream):
            held, size = [], 0
            for piece in batch.pieces:
                size += len(piece.encode("utf-8", "replace")) if row in rows else 0
                if row in rows and size <= most:
                    held.append(piece)
            yield batch.where, "".join(held) if row in rows and size <= most else None
            row += 1
        else:
            for at, text in enumerate(batch.texts):
                fits = row in rows and len(text.encode("utf-8", "replace")) <= most
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
