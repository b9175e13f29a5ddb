"""A tokenizer file, and the ids of texts by it, as arrays. Imports tokenizers, and numpy once a tokenizer is loaded.

Releases from 1.0 on give an array of ids and nothing else of an encoding; earlier ones lists, by encode_batch_fast.
"""

import ctypes
import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # workers are as many as cores; threads of its own would take theirs
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import json
import textwrap

import tokenizers
from trouble import Refused

# Bytes of memory that encoding a document whole takes at most, per byte of its UTF-8: the most that was measured over
# text, one repeated character and lines of one letter, and some more (docs/tokenize.md).
NEED_ARRAYS, NEED_LISTS = 48, 360
LIBC = ctypes.CDLL(None)
SHORT = 200  # characters of the mean text up to which a batch is faster; another thread does it, with caches of its own


def trim():
    """Give back what lies free in the heap, where the C library can: new objects go into ever more of its gaps, and
    reading a tokenizer file leaves more than it takes."""
    if hasattr(LIBC, "malloc_trim"):
        LIBC.malloc_trim(0)


def gives_arrays():
    """Whether an encoding is its ids and little else."""
    return hasattr(tokenizers.Encoding, "ids_array") and not hasattr(tokenizers.Encoding, "offsets")


def need_per_byte():
    if gives_arrays():
        return NEED_ARRAYS
    return NEED_LISTS if hasattr(tokenizers.Tokenizer, "encode_batch_fast") else 2 * NEED_LISTS  # offsets beside ids


def load(path):
    """The tokenizer of a file, that neither truncates nor pads. Raises Refused where this release cannot."""
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
        if hasattr(tokenizer, "no_truncation"):
            tokenizer.no_truncation()
            tokenizer.no_padding()
        else:
            tokenizer.truncation = tokenizer.padding = None
        for probe in ("", "A probe, 1 \u00e9\n"):
            tokenizer.encode(probe)
    except BaseException as error:  # a panic of the library is no Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        said = textwrap.shorten(str(error), 200, placeholder=" …") or type(error).__name__
        raise Refused(f"tokenizers {tokenizers.__version__} cannot take {path}: {said}") from None
    return tokenizer


def entries(spec):
    """One more than the highest id that a tokenizer file knows."""
    known = spec["model"]["vocab"]
    ids = known.values() if isinstance(known, dict) else range(len(known))
    return 1 + max([-1, *ids, *(entry["id"] for entry in spec.get("added_tokens") or [])])


def id_of(spec, token):
    """The id of an entry by its text. Raises Refused."""
    for entry in spec.get("added_tokens") or []:
        if entry["content"] == token:
            return entry["id"]
    known = spec["model"]["vocab"]
    found = (
        known.get(token) if isinstance(known, dict) else next((i for i, e in enumerate(known) if e[0] == token), None)
    )
    if found is None:
        raise Refused(f"--append {token!r}: the tokenizer has no such entry")
    return found


class Encoder:
    """The ids of texts. `special`: with what the post-processor adds; `append`: an id behind every document."""

    def __init__(self, tokenizer, special=True, append=None):
        import numpy as np

        self.tokenizer, self.special = tokenizer, special

        self.np = np
        self.arrays = gives_arrays()
        self.append = None if append is None else self.np.array([append], self.np.uint32)
        self.around = None

    def encode(self, texts):
        """An array of ids (uint32) per text."""
        found = self.plain(texts, self.special)
        if self.append is not None:
            found = [self.np.concatenate((ids, self.append)) for ids in found]
        return found

    def plain(self, texts, special):
        if not self.arrays:
            encode = getattr(self.tokenizer, "encode_batch_fast", self.tokenizer.encode_batch)  # from 0.20 on
            batch = encode(texts, add_special_tokens=special)
            return [self.np.array(one.ids, self.np.uint32) for one in batch]
        if len(texts) * SHORT > sum(map(len, texts)):
            return [one.ids_array for one in self.tokenizer.encode_batch(texts, add_special_tokens=special)]
        encode = self.tokenizer.encode
        return [encode(text, add_special_tokens=special).ids_array for text in texts]

    def edges(self):
        """What stands before and behind the ids of every document. Raises Refused where that cannot be told."""
        if self.around is None:
            before = after = self.np.empty(0, self.np.uint32)
            if self.special:
                bare, full = (self.plain(["A probe, 1"], special)[0].tolist() for special in (False, True))
                places = [at for at in range(len(full) - len(bare) + 1) if full[at : at + len(bare)] == bare]
                if len(places) != 1:
                    raise Refused("what the post-processor adds cannot be told apart")
                before, after = (
                    self.np.array(full[: places[0]], self.np.uint32),
                    self.np.array(full[places[0] + len(bare) :], self.np.uint32),
                )
            self.around = before, after if self.append is None else self.np.concatenate((after, self.append))
        return self.around


def read_spec(path):
    """What a tokenizer file holds. Raises Refused."""
    try:
        with open(path, encoding="utf-8") as file:
            spec = json.load(file)
        entries(spec)
    except FileNotFoundError:
        raise Refused(f"--tokenizer {path}: no such file") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Refused(f"--tokenizer {path}: no tokenizer.json ({type(error).__name__}: {error})") from None
    return spec
