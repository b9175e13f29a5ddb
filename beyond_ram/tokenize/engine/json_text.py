"""The text column of JSON Lines: a whole line, or a long one as a stream. Standard library and simdjson."""

import codecs
import json
import re

from trouble import Refused

try:
    import simdjson
except ImportError:  # the same by the standard library, at a third of the speed
    simdjson = None

_MOST = 1_000  # repetitions of a pattern at once: each takes memory until the match ends
# A string's complete characters and escapes, as they are; and those that JSON knows.
_INSIDE = re.compile(rb'[^"\\]*(?:\\(?:u[0-9a-fA-F]{4}|[^u])[^"\\]*){0,%d}' % _MOST)
_CHARACTERS, _ESCAPE = rb'[^"\\\x00-\x1f]*', rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'
_SKIPPED = re.compile(rb"%s(?:%s%s){0,%d}" % (_CHARACTERS, _ESCAPE, _CHARACTERS, _MOST))
_STRING = rb'"%s(?:%s%s){0,99}"' % (_CHARACTERS, _ESCAPE, _CHARACTERS)
_WORD = rb"(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null|NaN|-?Infinity)"  # as Python's json
_SPACE = rb"[ \t\r\n]*"


def _several(item):
    """A pattern of up to some items, a comma after each."""
    return rb"(?:%s%s%s,){0,%d}" % (_SPACE, item, _SPACE, _MOST)


# Strings and words, of which many are skipped at once.
_SCALAR = rb"(?:%s|%s)" % (_STRING, _WORD)
_MEMBER = rb"%s:%s%s" % (_SPACE, _SPACE, _SCALAR)
_ITEMS, _MEMBERS = re.compile(_several(_SCALAR)), re.compile(_several(_STRING + _MEMBER))
_A_WORD, _WORD_CHARACTERS = re.compile(_WORD), re.compile(rb"[-+.0-9A-Za-z]*")
_SPACES = re.compile(_SPACE)
_DIGITS = re.compile(rb"([0-9]{2})[0-9]+")
_NAME = 80  # characters of a name that an error shows
_NAMES = 8  # names that an error lists
_DEEPEST = 1023  # levels with content, as simdjson
_LONGEST = 12  # bytes of the longest unit of a string: a pair of surrogates
_HIGH_SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")


def _end(pattern, buffer, at):
    """Where the match of a pattern ends that also matches nothing."""
    return pattern.match(buffer, at).end()


def _first(pairs):
    """An object in which the first of two equal names counts, as in simdjson and `Stream`."""
    members: dict[str, object] = {}
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
        if self.parser and line[0] != codecs.BOM_UTF8[0]:  # simdjson skips a byte order mark of any line
            try:
                value = self.parser.parse(line)[self.column]
                if type(value) is str:
                    return value
            except (ValueError, KeyError, TypeError, RuntimeError):
                pass  # the standard library reports it
        line = bytes(line)
        try:
            row = _parsed(line.decode())
        except UnicodeDecodeError as error:
            raise Refused(f"is not UTF-8 (byte {error.start} of the line: 0x{line[error.start]:02x})") from None
        except RecursionError:
            raise Refused("is nested too deeply") from None
        except ValueError as error:
            raise Refused(f"is not JSON ({error})") from None
        if not isinstance(row, dict):
            raise Refused("is no JSON object")
        if self.column not in row:
            raise Refused(_no_column(self.column, list(row)[:_NAMES]))
        text = row[self.column]
        if not isinstance(text, str):
            kind = "null" if text is None else type(text).__name__
            raise Refused(f"column {self.column!r} holds {kind}, and has to be text")
        return text


def _no_column(column, names):
    return f"has no column {column!r} (there are: {', '.join(map(repr, dict.fromkeys(names))) or 'none'})"


class LineStream:
    """The text of one line from chunks of bytes. Nothing else is kept: the rest is checked as it passes.

    The line is checked as strictly as a short one. Pieces yielded before an error belong to an unfinished unit.
    """

    def __init__(self, chunks, column):
        self.chunks, self.column = chunks, column
        self.buffer, self.at = b"", 0
        name = re.escape(column.encode("utf-8", "surrogateescape"))
        self.others = re.compile(_several(rb'"(?!%s")%s"' % (name, _CHARACTERS) + _MEMBER))

    def more(self):
        """Append another chunk to the unread bytes; return whether there was one."""
        chunk = next(self.chunks, None)
        self.buffer = self.buffer[self.at :] + (chunk or b"")
        self.at = 0
        return chunk is not None

    def more_string(self):
        if not self.more():
            raise Refused("is not JSON (it ends inside a string)")

    def string(self):
        """A string in pieces of text, from after its opening quote to after its closing one. Raises Refused."""
        while True:
            end = _end(_INSIDE, self.buffer, self.at)
            done = self.buffer[end : end + 1] == b'"'
            if not done:
                end = _whole(self.buffer, self.at, end)
            if end > self.at:
                yield _decoded(self.buffer[self.at : end])
                self.at = end
            elif not done:
                if len(self.buffer) - self.at > 2 * _LONGEST:
                    raise Refused("is not JSON (an unknown escape)")
                self.more_string()
            if done:
                self.at += 1
                return

    def name(self):
        """The next string; of one longer than the column's name only a part that is longer too."""
        text = ""
        for piece in self.string():
            if len(text) <= max(len(self.column), _NAME):
                text += piece
        return text

    def skip_string(self):
        decode = None
        while True:
            end = _end(_SKIPPED, self.buffer, self.at)
            done = self.buffer[end : end + 1] == b'"'
            passed = self.buffer[self.at : end + done]
            if decode or not passed.isascii():
                decode = decode or codecs.getincrementaldecoder("utf-8")()
                _utf8(decode.decode, passed)
            self.at = end + done
            if done:
                return
            if not passed:
                if len(self.buffer) - end >= _LONGEST // 2 or self.buffer[end : end + 1] not in (b"", b"\\"):
                    raise Refused("is not JSON (an unknown escape or a control character inside a text)")
                self.more_string()

    def skip_word(self):
        """Skip a number or literal; only the beginning of a long row of digits is kept."""
        while (end := _end(_WORD_CHARACTERS, self.buffer, self.at)) == len(self.buffer):
            self.buffer, self.at = _DIGITS.sub(rb"\1", self.buffer[self.at : end]), 0
            if len(self.buffer) > 4 * _LONGEST or not self.more():
                break
            end = len(self.buffer)
        word = self.buffer[self.at : end]
        if not _A_WORD.fullmatch(word):
            raise Refused(f"is not JSON (no value: {word[:20].decode()!r})")
        self.at = end

    def skip_many(self, pattern):
        """Skip values by a pattern; return whether there were any."""
        start, self.at = self.at, _end(pattern, self.buffer, self.at)
        if not (passed := self.buffer[start : self.at]).isascii():
            _utf8(bytes.decode, passed)
        return self.at > start

    def next_byte(self):
        """The next byte that is no space, which stays unread; none at the line's end."""
        while (at := _end(_SPACES, self.buffer, self.at)) == len(self.buffer):
            self.at = at
            if not self.more():
                return b""
        self.at = at
        return self.buffer[at : at + 1]

    def pieces(self):
        """The text, in pieces. Raises Refused."""
        if self.next_byte() != b"{":
            raise Refused("is no JSON object")
        # `closing`: the end of each open object and array; `wanted`: what may follow.
        self.at, closing, wanted, column_read = self.at + 1, bytearray(b"}"), "name or end", False
        names: list[str] = []
        while closing:
            inside, outermost = closing[-1:], len(closing) == 1
            if len(closing) >= _DEEPEST:
                pass
            elif wanted in ("name", "name or end"):
                pattern = self.others if outermost and not column_read else _MEMBERS
                if (not outermost or column_read or len(names) == _NAMES) and self.skip_many(pattern):
                    wanted = "name"
            elif wanted in ("value", "value or end") and inside == b"]" and self.skip_many(_ITEMS):
                wanted = "value"
            byte = self.next_byte()
            if byte == inside and wanted in ("name or end", "value or end", "comma"):
                self.at += 1
                del closing[-1]
                wanted = "comma"
            elif byte == b'"' and wanted in ("name", "name or end"):
                self.at += 1
                if not outermost or column_read:
                    self.skip_string()
                else:
                    name = self.name()
                    if len(names) < _NAMES:
                        names.append(name[:_NAME])
                    column_read = name == self.column
                    if column_read:
                        yield from self.text()
                        wanted = "comma"
                        continue
                self.expect(b":")
                wanted = "value"
            elif byte == b"," and wanted == "comma":
                self.at += 1
                wanted = "name" if inside == b"}" else "value"
            elif byte and wanted in ("value", "value or end"):
                if byte in b"{[":
                    self.at += 1
                    closing += b"}" if byte == b"{" else b"]"
                    wanted = "name or end" if byte == b"{" else "value or end"
                    if len(closing) > _DEEPEST and self.next_byte() != closing[-1:]:
                        raise Refused(f"is not JSON (more than {_DEEPEST:,} levels)")
                    continue
                if byte == b'"':
                    self.at += 1
                    self.skip_string()
                else:
                    self.skip_word()
                wanted = "comma"
            else:
                raise Refused(f"is not JSON ({wanted} expected, and not {byte.decode('latin-1')!r})")
        if byte := self.next_byte():
            raise Refused(f"is not JSON (more data: {byte.decode('latin-1')!r})")
        if not column_read:
            raise Refused(_no_column(self.column, names))

    def expect(self, byte):
        if self.next_byte() != byte:
            raise Refused(f"is not JSON ({byte.decode()!r} expected)")
        self.at += 1

    def text(self):
        """The column's value in pieces."""
        self.expect(b":")
        byte = self.next_byte()
        if byte != b'"':
            kind = {b"n": "null", b"{": "dict", b"[": "list", b"t": "bool", b"f": "bool"}.get(byte, "a number")
            raise Refused(f"column {self.column!r} holds {kind}, and has to be text")
        self.at += 1
        yield from self.string()


def _utf8(decode, raw):
    try:
        decode(raw)
    except UnicodeDecodeError as error:
        raise Refused(f"is not UTF-8 (0x{error.object[error.start]:02x})") from None


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
