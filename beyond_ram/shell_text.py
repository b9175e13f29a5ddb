"""Read text as a shell does: words, with what their quotes and escapes mean, and operators."""

import contextlib
import re
from collections.abc import Iterator, Sequence

_BLANKS = re.compile(r"(?:[^\S\n]|\\\n)+")
_OPERATOR = re.compile(r"(?:\d+(?=[<>])|&(?=>))?(<<<|<<-?|>>|<>|>\||[<>]&?|[;&|()\n])")
_DELIMITER = re.compile(r"[^\S\n]*([^\s;&|()<>]+)")
_PLAIN = re.compile(r"[^\s;&|()<>'\"\\$`]+")
_ENDS = re.compile(r"[\s;&|()<>]")
_IN_QUOTES = re.compile(r"[^\"\\$`]+")
_ANSI = re.compile(r"(?:[^'\\]|\\.)*+'", re.DOTALL)


class Word:
    """A word of shell text: where it stands, its value with `\\0` for substitutions, and where these stand."""

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self.value = ""
        self.inner: list[tuple[int, int]] = []


def parts_of(text: str) -> Iterator[Word | str]:
    """The words of shell text, and its operators as text. Raises ValueError."""
    at, delimiters = 0, list[str]()
    while at < len(text):
        if blanks := _BLANKS.match(text, at):
            at = blanks.end()
        elif text.startswith(("<(", ">("), at):
            word = Word(at)
            at = word.end = _read_substitution(text, at, [], word.inner)
            word.value = "\0"
            yield word
        elif operator := _OPERATOR.match(text, at):
            at = operator.end()
            if operator[1] in ("<<", "<<-") and (delimiter := _DELIMITER.match(text, at)):
                at = delimiter.end()
                delimiters.append(re.sub(r"['\"\\]", "", delimiter[1]))
            if operator[1] == "\n":
                at = _after_documents(text, at, delimiters)
                delimiters = []
            yield operator[1]
        elif text[at] == "#":  # a comment, which is read by patterns
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        else:
            word = _read_word(text, at)
            at = word.end
            yield word


def _after_documents(text: str, at: int, delimiters: Sequence[str]) -> int:
    """The place after here-documents, which are read by patterns."""
    for delimiter in delimiters:
        end = re.compile(rf"^\t*{re.escape(delimiter)}$", re.MULTILINE).search(text, at)
        if not end:
            raise ValueError
        at = end.end()
    return at


def _read_word(text: str, at: int) -> Word:
    word, parts = Word(at), list[str]()
    while at < len(text) and not _ENDS.match(text, at):
        at = _read_part(text, at, parts, word.inner)
    word.end, word.value = at, "".join(parts)
    return word


def _read_part(text: str, at: int, parts: list[str], inner: list[tuple[int, int]]) -> int:
    """Read a plain run, a quote, an escape or a substitution, and return the place after it. Raises ValueError."""
    if plain := _PLAIN.match(text, at):
        parts.append(plain[0])
        return plain.end()
    if text[at] == "'":
        end = text.index("'", at + 1)
        parts.append(text[at + 1 : end])
        return end + 1
    if text.startswith("$'", at):
        if not (quote := _ANSI.match(text, at + 2)):
            raise ValueError
        parts.append(_escapes(quote[0][:-1]))
        return quote.end()
    if text[at] == "\\":
        parts.append(text[at + 1 : at + 2].replace("\n", ""))
        return at + 2
    if text[at] == '"' or text.startswith('$"', at):
        return _read_quotes(text, text.index('"', at) + 1, parts, inner)
    return _read_substitution(text, at, parts, inner)


def _read_quotes(text: str, at: int, parts: list[str], inner: list[tuple[int, int]]) -> int:
    while text[at : at + 1] != '"':
        if at >= len(text):
            raise ValueError
        if plain := _IN_QUOTES.match(text, at):
            parts.append(plain[0])
            at = plain.end()
        elif text[at] == "\\":
            escaped = text[at + 1 : at + 2]
            parts.append({"\n": ""}.get(escaped, escaped) if escaped in '"\\$`\n' else f"\\{escaped}")
            at += 2
        else:
            at = _read_substitution(text, at, parts, inner)
    return at + 1


def _read_substitution(text: str, at: int, parts: list[str], inner: list[tuple[int, int]]) -> int:
    """Read `$(…)`, `<(…)`, `${…}` or backticks; any other `$` is itself. Raises ValueError."""
    if text[at] == "`":
        end = re.compile(r"(?:[^`\\]|\\.)*+`", re.DOTALL).match(text, at + 1)
        if not end:
            raise ValueError
        inner.append((at + 1, end.end() - 1))
        parts.append("\0")
        return end.end()
    if text[at + 1 : at + 2] not in ("(", "{"):
        parts.append("$")
        return at + 1
    close, begin = {"(": ")", "{": "}"}[text[at + 1]], at + 2
    at, depth = begin, 1
    while depth:
        if at >= len(text):
            raise ValueError
        sign = text[at]
        if sign in "'\"\\`" or (sign == "$" and text[at + 1 : at + 2] in ("(", "{", "'")):
            at = _read_part(text, at, [], [])
            continue
        depth += {text[begin - 1]: 1, close: -1}.get(sign, 0)
        at += 1
    inner.append((begin, at - 1))
    parts.append("\0")
    return at


def _escapes(text: str) -> str:
    with contextlib.suppress(UnicodeError):
        return text.encode("latin-1", "backslashreplace").decode("unicode_escape")
    return text
