"""The text column of JSON Lines: a whole line, or a long one as a stream. Standard library and simdjson."""

import json
import re

from trouble import Refused

try:
    import simdjson
except ImportError:  # the same by the standard library, at a third of the speed
    simdjson = None

# A string's complete characters and escapes.
_INSIDE = re.compile(rb'[^"\\]*(?:\\(?:u[0-9a-fA-F]{4}|[^u])[^"\\]*)*')
_NAME = 1 << 12  # characters of a string that is kept whole, because it may be a column's name
_LONGEST = 12  # bytes of the longest unit of a string: a pair of surrogates
_HIGH_SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")


def _first(pairs):
    """An object in which the first of two equal names counts, as in simdjson and `Stream`."""
    members = {}
    for name, value in pairs:
        members.setdefault(name, value)
    return members


def _parsed(text):
    """A line of JSON. Numbers are checked and their values dropped, because Python refuses to convert very long
    ones."""
    return json.loads(text, object_pairs_hook=_first, parse_int=lambda _: 0, parse_float=lambda _: 0.0)


class Lines:
    """The texts of single lines. Errors lack the place, which the caller adds."""

    def __init__(self, column):
        self.column = column
        self.parser = simdjson.Parser() if simdjson else None

    def text(self, line):
        """The text of one line, bytes or a view of them. Raises Refused."""
        if self.parser:
            try:
                value = self.parser.parse(line)[self.column]
                if type(value) is str:
                    return value
            except (ValueError, KeyError, TypeError, RuntimeError):
                pass  # the standard library reports it below
        return self.slow(line)

    def slow(self, line):
        line = bytes(line)
        try:
            row = _parsed(line.decode())
        except UnicodeDecodeError as error:
            raise Refused(f"is not UTF-8 (byte {error.start} of the line: 0x{line[error.start]:02x})") from None
        except (ValueError, RecursionError) as error:
            raise Refused(f"is not JSON ({error})") from None
        return checked(row, self.column)


def checked(row, column):
    """The text of a row. Raises Refused."""
    if not isinstance(row, dict):
        raise Refused("is no JSON object")
    if column not in row:
        raise Refused(f"has no column {column!r} (there are: {', '.join(map(repr, list(row)[:8])) or 'none'})")
    text = row[column]
    if not isinstance(text, str):
        raise Refused(f"column {column!r} holds {'null' if text is None else type(text).__name__}, and has to be text")
    return text


class Stream:
    """The text of one line from chunks of bytes; long strings are never kept whole.

    The line is checked as strictly as a short one: each string as it passes, and at the end the rest, with an empty
    string for each long one, by the standard library. Pieces yielded before an error belong to an unfinished unit.
    """

    def __init__(self, chunks, column):
        self.chunks, self.column = chunks, column
        self.buffer, self.at = b"", 0
        self.skeleton = []  # the line, with long strings left empty

    def more(self):
        """Append another chunk to the unread bytes. Raises Refused at the line's end."""
        chunk = next(self.chunks, None)
        if chunk is None:
            raise Refused("is not JSON (it ends inside a string)")
        self.buffer = self.buffer[self.at :] + chunk
        self.at = 0

    def string(self):
        """A string in pieces of text, from after its opening quote to after its closing one. Raises Refused."""
        while True:
            end = _INSIDE.match(self.buffer, self.at).end()
            done = self.buffer[end : end + 1] == b'"'
            if not done:
                end = _whole(self.buffer, self.at, end)
            if end > self.at:
                yield _decoded(self.buffer[self.at : end])
                self.at = end
            if done:
                self.at += 1
                return
            if len(self.buffer) - self.at > 2 * _LONGEST:
                raise Refused("is not JSON (an unknown escape)")
            self.more()

    def pieces(self):
        """The text, in pieces. Raises Refused."""
        depth, name, before, column_read = 0, None, b"", False  # before: the last character outside of strings
        while True:
            quote = self.buffer.find(b'"', self.at)
            outside = self.buffer[self.at : None if quote < 0 else quote]
            self.skeleton.append(outside)
            depth += outside.count(b"{") + outside.count(b"[") - outside.count(b"}") - outside.count(b"]")
            before = outside.rstrip()[-1:] or before
            self.at = len(self.buffer) if quote < 0 else quote + 1
            if quote < 0:
                chunk = next(self.chunks, None)
                if chunk is None:
                    break
                self.buffer, self.at = chunk, 0
            elif depth == 1 and before == b":" and name == self.column and not column_read:
                column_read = True
                self.skeleton.append(b'""')
                yield from self.string()
                before = b'"'
            else:
                name = self.short_string()
                before = b'"'
        try:
            row = _parsed(b"".join(self.skeleton).decode())
        except (ValueError, RecursionError) as error:
            raise Refused(f"is not JSON ({error})") from None
        checked(row, self.column)
        if not column_read:
            raise Refused(f"has a column {self.column[:20]!r} that cannot be read in a line of this length")

    def short_string(self):
        """Skip a string; return its text if it is short enough for a name, else None."""
        pieces, size = [], 0
        for piece in self.string():
            size += len(piece)
            if size <= _NAME:
                pieces.append(piece)
        text = "".join(pieces) if size <= _NAME else None
        self.skeleton.append(json.dumps(text or "").encode())
        return text


def _whole(buffer, start, end):
    """The last position up to `end` that splits neither a character nor a surrogate pair."""
    at = end
    if surrogate := _HIGH_SURROGATE.search(buffer, max(start, end - 6), end):
        slashes = 0
        while surrogate.start() - slashes >= start and buffer[surrogate.start() - slashes] == 0x5C:
            slashes += 1
        at = surrogate.start() if slashes % 2 else end
    back = at
    while back > start and at - back < 4 and buffer[back - 1] & 0xC0 == 0x80:
        back -= 1
    if back > start and buffer[back - 1] >= 0xC0:  # the first byte of a character
        size = 2 if buffer[back - 1] < 0xE0 else 3 if buffer[back - 1] < 0xF0 else 4
        at = back - 1 if at - (back - 1) < size else at
    return at


def _decoded(raw):
    try:
        return json.loads(f'"{raw.decode()}"') if b"\\" in raw or not raw.isascii() else _plain(raw)
    except UnicodeDecodeError as error:
        raise Refused(f"is not UTF-8 (0x{raw[max(error.start - 1, 0)]:02x})") from None
    except ValueError as error:
        raise Refused(f"is not JSON ({error})") from None


def _plain(raw):
    if min(raw) < 0x20:
        raise Refused("is not JSON (a control character inside a text)")
    return raw.decode()
