"""The text column of JSON Lines: a line at once, or one of any length as a stream. Standard library and simdjson."""

import json
import re

from trouble import Refused

try:
    import simdjson
except ImportError:  # the same by the standard library, at a third of the speed
    simdjson = None

# A string's characters and escapes, as far as they are complete.
_INSIDE = re.compile(rb'[^"\\]*(?:\\(?:u[0-9a-fA-F]{4}|[^u])[^"\\]*)*')
_LONGEST = 12  # bytes of the longest thing that is taken at once: a pair of surrogates
_SPACE = re.compile(rb"[ \t\r\n]*")
_SCALAR = re.compile(rb"[^,}\]\s]*")
_NESTED = re.compile(rb'["{}\[\]]')
_HIGH_SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")


def _first(pairs):
    """An object of which the first of two equal names counts, as simdjson and the stream have it."""
    found = {}
    for name, value in pairs:
        found.setdefault(name, value)
    return found


class Lines:
    """The texts of single lines. `where` of an error is added by the caller."""

    def __init__(self, column):
        self.column = column
        self.parser = simdjson.Parser() if simdjson else None

    def text(self, line):
        """The text of one line, bytes or a view of them. Raises Refused."""
        if self.parser:
            try:
                found = self.parser.parse(line)[self.column]
                if type(found) is str:
                    return found
            except (ValueError, KeyError, TypeError, RuntimeError):
                pass  # told below, by the standard library
        return self.slow(line)

    def slow(self, line):
        line = bytes(line)
        try:
            row = json.loads(line.decode(), object_pairs_hook=_first)
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
    """The text of one line that comes in chunks of bytes, without ever being held whole."""

    def __init__(self, chunks, column):
        self.chunks, self.column = chunks, column
        self.buffer, self.at = b"", 0

    def more(self):
        """Take another chunk behind what is not read yet. Raises Refused at the line's end."""
        chunk = next(self.chunks, None)
        if chunk is None:
            raise Refused("is not JSON (it ends inside an object)")
        self.buffer = self.buffer[self.at :] + chunk
        self.at = 0

    def peek(self):
        while True:
            self.at = _SPACE.match(self.buffer, self.at).end()
            if self.at < len(self.buffer):
                return self.buffer[self.at : self.at + 1]
            self.more()

    def expect(self, wanted):
        if self.peek() != wanted:
            raise Refused(f"is not JSON ({wanted.decode()!r} is missing)")
        self.at += 1

    def string(self):
        """A string in pieces of text, from behind its opening quote to behind its closing one."""
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
            self.unless_wrong()

    def unless_wrong(self):
        """Take another chunk to go on inside a string, unless what stands there is wrong whatever follows."""
        if len(self.buffer) - self.at > 2 * _LONGEST:
            raise Refused("is not JSON (a backslash before what is none of its escapes)")
        self.more()

    def skip_string(self):
        while True:
            self.at = _INSIDE.match(self.buffer, self.at).end()
            if self.buffer[self.at : self.at + 1] == b'"':
                self.at += 1
                return
            self.unless_wrong()

    def skip(self):
        """Pass over a value."""
        first = self.peek()
        if first == b'"':
            self.at += 1
            return self.skip_string()
        if first not in (b"{", b"["):
            while (end := _SCALAR.match(self.buffer, self.at).end()) == len(self.buffer):
                self.more()
            self.at = end
            return None
        depth = 0
        while True:
            found = _NESTED.search(self.buffer, self.at)
            if not found:
                self.at = len(self.buffer)
                self.more()
                continue
            self.at = found.end()
            if found[0] == b'"':
                self.skip_string()
                continue
            depth += 1 if found[0] in b"{[" else -1
            if not depth:
                return None

    def pieces(self):
        """The text, in pieces. Raises Refused; the rest of the line is read as well."""
        self.expect(b"{")
        names = []
        more = self.peek() != b"}"
        while more:
            self.expect(b'"')
            name = "".join(self.string())
            self.expect(b":")
            if name == self.column and name not in names:
                if self.peek() != b'"':
                    raise Refused(f"column {name!r} has to be text")
                self.at += 1
                yield from self.string()
            else:
                self.skip()
            names.append(name)
            more = self.peek() == b","
            self.at += more
        self.expect(b"}")
        rest = self.buffer[self.at :] + b"".join(self.chunks)
        if rest.strip():
            raise Refused("is not JSON (more follows behind the object)")
        if self.column not in names:
            raise Refused(f"has no column {self.column!r} (there are: {', '.join(map(repr, names[:8])) or 'none'})")


def _whole(buffer, start, end):
    """Where to stop before `end`, so that neither a character nor a pair of surrogates is cut."""
    at = end
    if found := _HIGH_SURROGATE.search(buffer, max(start, end - 6), end):
        slashes = 0
        while found.start() - slashes >= start and buffer[found.start() - slashes] == 0x5C:
            slashes += 1
        at = found.start() if slashes % 2 else end
    back = at
    while back > start and at - back < 4 and buffer[back - 1] & 0xC0 == 0x80:
        back -= 1
    if back > start and buffer[back - 1] >= 0xC0:  # the first byte of a character
        size = 2 if buffer[back - 1] < 0xE0 else 3 if buffer[back - 1] < 0xF0 else 4
        at = back - 1 if at - (back - 1) < size else at
    return at


def _decoded(raw):
    try:
        return json.loads(b'"%b"' % raw) if b"\\" in raw or not raw.isascii() else _plain(raw)
    except UnicodeDecodeError as error:
        raise Refused(f"is not UTF-8 (0x{raw[max(error.start - 1, 0)]:02x})") from None
    except ValueError as error:
        raise Refused(f"is not JSON ({error})") from None


def _plain(raw):
    if min(raw) < 0x20:
        raise Refused("is not JSON (a control character inside a text)")
    return raw.decode()
