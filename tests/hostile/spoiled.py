"""Strategies of hypothesis that spoil files."""

import copy
import json

from hypothesis import strategies as st

PLANTED = ["", " ", "\n", "\x00", "../..", "/etc/passwd", "-x", "é", "\u2028", "\x1b[31m", "a" * 5000, "1" * 5000]
NUMBERS = [0, -1, 2**63, 10**400, 0.5, float("nan"), float("inf"), -1e308]
ODD_TEXT = st.sampled_from(PLANTED) | st.text(max_size=20)
ODD_LEAF = st.none() | st.booleans() | st.sampled_from(NUMBERS) | st.integers() | st.floats() | ODD_TEXT
ODD = st.recursive(
    ODD_LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD_TEXT, inner, max_size=3), max_leaves=8
)
BETWEEN = [b"\x00", b"\xff", b"\n", b",", b'"', b"\xed\xa0\x80", b"[" * 3000, b"9" * 5000, b"NaN", b": "]


@st.composite
def bytes_of(draw, sound):
    """A file that is cut, or has bytes changed, left out, doubled, inserted or shifted."""
    content = bytearray(sound)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(content)))
        end = min(len(content), at + draw(st.sampled_from([0, 1, 2, 8, 100, 10_000])))
        match draw(st.sampled_from(["cut", "change", "leave out", "double", "insert", "shift"])):
            case "cut":
                del content[at:]
            case "change":
                content[at:end] = draw(st.binary(min_size=end - at, max_size=end - at)) if end - at < 200 else b""
            case "leave out":
                del content[at:end]
            case "double":
                content[at:at] = content[at:end]
            case "insert":
                content[at:at] = draw(st.sampled_from(BETWEEN))
            case "shift":
                content[at:end] = bytes((byte + 1) % 256 for byte in content[at:end])
    return bytes(content)


@st.composite
def value_of(draw, sound):
    """A sound value of JSON with some of its parts replaced, left out or added."""
    whole = [copy.deepcopy(sound)]
    for _ in range(draw(st.integers(1, 3))):
        parent = whole
        key = 0
        while isinstance(parent[key], dict | list) and parent[key] and draw(st.integers(0, 3)):
            parent = parent[key]
            key = draw(st.sampled_from(list(parent) if isinstance(parent, dict) else range(len(parent))))
        match draw(st.sampled_from(["replace", "leave out", "add"])):
            case "leave out" if parent is not whole:
                del parent[key]
            case "add" if isinstance(parent[key], dict):
                parent[key][draw(ODD_TEXT)] = draw(ODD)
            case "add" if isinstance(parent[key], list):
                parent[key].append(draw(ODD))
            case _:
                parent[key] = draw(ODD)
    return whole[0]


@st.composite
def json_of(draw, sound):
    """A JSON file with a spoiled value or spoiled bytes."""
    if draw(st.integers(0, 3)):
        return json.dumps(draw(value_of(sound))).encode()
    return draw(bytes_of(json.dumps(sound).encode()))


@st.composite
def json_lines_of(draw, sound):
    """The same for a file with a value on each line."""
    if draw(st.integers(0, 3)):
        lines = list(sound)
        at = draw(st.integers(0, len(lines) - 1))
        lines[at] = draw(value_of(lines[at]))
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    return draw(bytes_of(b"".join(json.dumps(line).encode() + b"\n" for line in sound)))
