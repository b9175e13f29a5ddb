"""The code points that two releases of tokenizers take otherwise, for one tokenizer file.

    python beyond_ram/tokenize/engine/differ.py tokenizer.json OTHER_PYTHON

Run by the interpreter of one release; OTHER_PYTHON is that of the other. Prints one JSON object: `version` of the
other, and `codes`, ranges of code points [first, last]. Each code point is encoded in places where a step of a
tokenizer may treat it by what Unicode says of it: alone, within and after letters, digits, blanks, punctuation and
marks, before an apostrophe, and twice. A pair that one release composes and the other does not is known by its first
half.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import encoder
import numpy as np
import xxhash
from trouble import Refused

# Planes that Unicode gives to characters; neither surrogates nor private ones, of which nothing is ever said.
PLANES = ((0x0, 0xD800), (0xF900, 0x40000), (0xE0000, 0xE1000))
PLACES = "{0}'s a{0}b {0}1{0}1 .{0}. \n{0} {0}{0}\u0301 e\u0301{0}\u0316 '{0} \u03a3{0}\u03a3"
AT_ONCE = 256
# Every byte is an entry, and nothing is merged: ids are the bytes of the decomposed text.
BYTES = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTES += [byte for byte in range(256) if byte not in BYTES]
SHOWN = [*BYTES[:188], *range(256, 256 + 68)]
DECOMPOSED = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [],
    "normalizer": {"type": "NFD"},
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
    "post_processor": None,
    "decoder": None,
    "model": {"type": "BPE", "vocab": {chr(c): byte for byte, c in zip(BYTES, SHOWN, strict=True)}, "merges": []},
}


def characters():
    return np.concatenate([np.arange(first, last, dtype="<u4") for first, last in PLANES])


def bare():
    """A tokenizer that gives the bytes of the decomposed text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        path.write_text(json.dumps(DECOMPOSED), encoding="utf-8")
        return encoder.Encoder(encoder.load(path), special=False)


def digests(path):
    """64 bits of the ids of every code point in all PLACES, and of its canonical decomposition."""
    codes = characters()
    found = np.empty((2, len(codes)), "<u8")
    for row, one, places in ((0, encoder.Encoder(encoder.load(path), special=False), PLACES), (1, bare(), "{0}")):
        for at in range(0, len(codes), AT_ONCE):
            texts = [places.format(chr(code)) for code in codes[at : at + AT_ONCE].tolist()]
            found[row, at : at + len(texts)] = [xxhash.xxh3_64_intdigest(ids.tobytes()) for ids in one.encode(texts)]
    return found


def first_halves(composed):
    """The first code point of what each of these is composed of; nothing of those that are not composed here."""
    one = bare()
    for code in composed:
        yield ord(bytes(one.encode([chr(code)])[0].tolist()).decode()[0])


def ranges(codes):
    found = []
    for code in sorted(codes):
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def main():
    path, *other = sys.argv[1:]
    try:
        if not other:
            found = digests(path)
            print(json.dumps({"version": encoder.tokenizers.__version__}), flush=True)
            sys.stdout.buffer.write(found.tobytes())
            return
        # One behind the other: their memory does not add up.
        asked = subprocess.run([other[0], __file__, path], stdout=subprocess.PIPE, check=False)
        version, _, digests_there = asked.stdout.partition(b"\n")
        said = json.loads(version or "{}")
        if "cannot" in said or asked.returncode:
            raise Refused(said.get("cannot") or f"{other[0]} ended with {asked.returncode}")
        here = digests(path)
        differ = here != np.frombuffer(digests_there, "<u8").reshape(here.shape)
        codes = {*characters()[differ.any(axis=0)].tolist(), *first_halves(characters()[differ[1]].tolist())}
        print(json.dumps({"version": said["version"], "codes": ranges(codes)}))
    except Refused as error:
        print(json.dumps({"cannot": str(error)}))


if __name__ == "__main__":
    main()
