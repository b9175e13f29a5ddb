"""Texts that two releases of tokenizers take otherwise: which they are, and their ids by the other release.

`Differing` knows the code points (differ.py). `Older` is a process of the other release's interpreter, which runs this
file. Over its standard input and output go a JSON line, then bytes: texts as UTF-8 there, ids as uint32 back.
"""

import json
import subprocess
import sys

import numpy as np

AT_ONCE = 1 << 16  # characters that are looked through at once
SPANS = 6


class Differing:
    """Finds texts with one of some code points, given as ranges [first, last].

    Most texts have none, so a few spans of UTF-16 are looked for first: a part of the time of looking each one up.
    """

    def __init__(self, ranges):
        self.last = ranges[-1][1]
        self.table = np.zeros(self.last + 2, bool)
        units = []
        for first, last in ranges:
            self.table[first : last + 1] = True
            units.append([unit(first), unit(last)])
        while len(units) > SPANS:
            at = min(range(1, len(units)), key=lambda at: units[at][0] - units[at - 1][1])
            units[at - 1 : at + 1] = [[units[at - 1][0], units[at][1]]]
        self.spans = [(np.uint16(first), np.uint16(last - first)) for first, last in units]
        self.in_ascii = ranges[0][0] < 128

    def which(self, texts):
        """The places of the texts that hold one."""
        some = [at for at, text in enumerate(texts) if self.in_ascii or not text.isascii()]
        if not some or not self.holds("".join([texts[at] for at in some])):
            return ()
        return [at for at in some if self.holds(texts[at])]

    def may_hold(self, text):
        units = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), "<u2")
        return any((units - first <= length).any() for first, length in self.spans)

    def holds(self, text):
        if text.isascii() and not self.in_ascii:
            return False
        for at in range(0, len(text), AT_ONCE):
            some = text[at : at + AT_ONCE]
            if self.may_hold(some):
                codes = np.frombuffer(some.encode("utf-32-le", "surrogatepass"), "<u4")
                if self.table[np.minimum(codes, self.last + 1)].any():
                    return True
        return False


def unit(code):
    """The first of a code point's one or two units of UTF-16."""
    return code if code < 0x10000 else 0xD800 + ((code - 0x10000) >> 10)


class Older:
    """The other release, as a process; it ends with this one."""

    def __init__(self, python, tokenizer):
        self.process = subprocess.Popen([python, __file__, tokenizer], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.cpu = 0.0
        self.answer()

    def plain(self, text, special):
        """The ids of a text. Raises ValueError where it is not taken, RuntimeError where the process has ended."""
        raw = text.encode()
        try:
            self.process.stdin.write(json.dumps({"bytes": len(raw), "special": special}).encode() + b"\n" + raw)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # said by what follows
        said = self.answer()
        ids = np.frombuffer(self.process.stdout.read(4 * said["ids"]), "<u4")
        if len(ids) < said["ids"]:
            self.ended()
        self.cpu = said["cpu"]
        return ids

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.ended()
        said = json.loads(line)
        if "error" in said:
            raise ValueError(said["error"])
        return said

    def ended(self):
        raise RuntimeError(f"the process of the other release of tokenizers ended with {self.process.wait()}")


def main():
    import os

    import encoder
    import worker

    worker.end_with_parent()
    worker.settle()
    out = sys.stdout.buffer
    one = encoder.Encoder(encoder.load(sys.argv[1]))
    encoder.trim()
    out.write(b"{}\n")
    out.flush()
    while line := sys.stdin.buffer.readline():
        asked = json.loads(line)
        text = sys.stdin.buffer.read(asked["bytes"]).decode()
        try:
            ids = one.plain([text], asked["special"])[0].astype("<u4", copy=False)
            said = {"ids": len(ids), "cpu": sum(os.times()[:2])}
        except Exception as error:
            ids, said = None, {"error": " ".join(str(error).split())}
        out.write(json.dumps(said).encode() + b"\n")
        if ids is not None:
            out.write(ids)
        out.flush()


if __name__ == "__main__":
    main()
