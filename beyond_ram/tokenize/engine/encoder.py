"""A tokenizer file, and the ids of texts by it, as arrays. Imports tokenizers, and numpy once a tokenizer is loaded.

Releases from 1.0 on return only an array of ids; earlier ones return lists, by encode_batch_fast. Two releases can be
loaded at once: the named one, whose ids count, and a faster one for texts of which both give the same (`same_ids.py`).
"""

import collections
import importlib
import os
import sys

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # there is a worker per core already
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["RUST_BACKTRACE"] = "0"  # a backtrace takes memory: where there is none, it waits for itself forever

import json
import textwrap
import unicodedata

import tokenizers
from trouble import Refused

# Bytes of addresses to encode a whole document, per byte of its normal form (`Size`): above the largest measured value
# over texts of 1 to 4 bytes a character, one word or many, before and after a power of two (docs/tokenize.md).
NEED_ARRAYS, NEED_UNIGRAM, NEED_LISTS = 88, 128, 600
SHORT = 200  # mean characters of the texts up to which a batch is faster; it runs in another thread with its own caches


def library_of(folder):
    """The package tokenizers of another environment, given by its folder of packages, beside that of this one."""
    own = _of_tokenizers()
    for name in own:
        del sys.modules[name]
    sys.path.insert(0, folder)
    try:
        return importlib.import_module("tokenizers")
    finally:
        sys.path.remove(folder)
        for name in _of_tokenizers():
            del sys.modules[name]
        sys.modules.update(own)


def _of_tokenizers():
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "tokenizers"}


class Size:
    """The bytes of a text that the model gets, at most, if its normalizers are Unicode's or put `▁` for a blank."""

    STEP = 1 << 16  # characters at once: a character becomes up to 18

    def __init__(self, spec):
        self.grows = bool(spec.get("normalizer")) or "Metaspace" in json.dumps(spec.get("pre_tokenizer"))

    def __call__(self, text):
        if not self.grows:
            return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
        parts = (text[at : at + self.STEP].replace(" ", "\u2581") for at in range(0, len(text), self.STEP))
        return sum(len(unicodedata.normalize("NFKD", part).encode("utf-8", "replace")) for part in parts)


class LoadedRelease:
    """A tokenizer file as a release of tokenizers loads it, without truncation and padding.

    `arrays`: whether an encoding consists of its ids and little else; `need_per_byte`: the maximum bytes of addresses
    to encode a whole document, per byte of its normal form. Raises Refused if the release cannot take the file.
    """

    def __init__(self, path, spec, library=tokenizers):
        self.version = library.__version__
        self.arrays = hasattr(library.Encoding, "ids_array") and not hasattr(library.Encoding, "offsets")
        self._check_ids(spec)
        try:
            self.tokenizer = tokenizer = library.Tokenizer.from_file(str(path))
            if hasattr(tokenizer, "no_truncation"):
                tokenizer.no_truncation()
                tokenizer.no_padding()
            else:
                tokenizer.truncation = tokenizer.padding = None
            for probe in ("", "A probe, 1 \u00e9\n"):
                tokenizer.encode(probe)
        except BaseException as error:  # a panic of the library is not an Exception
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            reason = textwrap.shorten(str(error), 200, placeholder=" …") or type(error).__name__
            raise Refused(f"tokenizers {self.version} cannot take {path}: {reason}") from None
        if self.arrays:
            self.need_per_byte = NEED_UNIGRAM if spec["model"].get("type") == "Unigram" else NEED_ARRAYS
        else:
            self.need_per_byte = NEED_LISTS if hasattr(tokenizer, "encode_batch_fast") else 2 * NEED_LISTS  # offsets

    def _check_ids(self, spec):
        """Raise Refused if this release encodes at random: 1.0 does if two vocabulary entries have the same id."""
        ids = [id for _, id in vocabulary(spec)] if self.arrays else ()
        if len({*ids}) < len(ids):
            twice = next(id for id, count in collections.Counter(ids).items() if count > 1)
            raise Refused(
                f"tokenizers {self.version} encodes at random, because two vocabulary entries have id {twice}"
            )

    def encode(self, texts, special):
        """An array of ids (uint32) per text."""
        if not self.arrays:
            import numpy as np

            encode = getattr(self.tokenizer, "encode_batch_fast", self.tokenizer.encode_batch)  # from 0.20 on
            return [np.array(one.ids, np.uint32) for one in encode(texts, add_special_tokens=special)]
        if len(texts) * SHORT > sum(map(len, texts)):
            return [one.ids_array for one in self.tokenizer.encode_batch(texts, add_special_tokens=special)]
        encode = self.tokenizer.encode
        return [encode(text, add_special_tokens=special).ids_array for text in texts]

    def token_of(self, id):
        """The entry of an id; None without one."""
        if hasattr(self.tokenizer, "id_to_token"):
            return self.tokenizer.id_to_token(id)
        return next(iter(self.tokenizer.decode_tokens([id])), None)

    def highest_id(self, spec):
        """The highest id that this can give, post-processor included.

        The library ignores ids of `added_tokens` that contradict its vocabulary, and assigns new ones after the
        vocabulary. So every id that it may have chosen is looked up.
        """
        highest = max((id for _, id in vocabulary(spec)), default=-1)
        added = [token["id"] for token in spec.get("added_tokens") or []]
        first_free = (len(spec["model"]["vocab"]), highest + 1, max(added, default=-1) + 1)
        candidates = {*added, *(first + step for first in first_free for step in range(len(added)))}
        existing = [id for id in candidates if id < 1 << 32 and self.token_of(id) is not None]
        return max([0, highest, *existing, *special_ids(spec.get("post_processor"))])

    def id_of(self, spec, token):
        """The id of an entry. Raises Refused."""
        if hasattr(self.tokenizer, "token_to_id"):
            id = self.tokenizer.token_to_id(token)
        else:
            alone = self.tokenizer.encode(token, add_special_tokens=False).ids
            candidates = [*alone[: len(alone) == 1], *(id for entry, id in vocabulary(spec) if entry == token)]
            id = next((one for one in candidates if self.token_of(one) == token), None)
        if id is None:
            raise Refused(f"--append {token!r}: the tokenizer has no such entry")
        return id


def vocabulary(spec):
    """(entry, id) of the model in a tokenizer file."""
    entries = spec["model"]["vocab"]
    return entries.items() if isinstance(entries, dict) else ((entry[0], id) for id, entry in enumerate(entries))


def special_ids(part):
    """The ids in a post-processor, at any depth: values of `ids`, and pairs of a token and its id."""
    if isinstance(part, dict):
        return [id for key, value in part.items() for id in (value if key == "ids" else special_ids(value))]
    if isinstance(part, list):
        if len(part) == 2 and isinstance(part[0], str) and isinstance(part[1], int):
            return [part[1]]
        return [id for one in part for id in special_ids(one)]
    return []


class Encoder:
    """The ids of texts, as the release `named` gives them.

    `special`: with the post-processor's ids; `append`: an id after every document; `fast`: another release, for the
    texts of which `alike` knows that both give the same ids.
    """

    def __init__(self, named, special=True, append=None, fast=None, alike=None):
        import numpy as np

        self.named, self.fast, self.alike, self.special = named, fast, alike, special
        self.np = np
        self.append = None if append is None else self.np.array([append], self.np.uint32)
        self.around = None

    @property
    def need_per_byte(self):
        """The bytes per byte of a text that the fast release takes, or the only one."""
        return (self.fast or self.named).need_per_byte

    def encode(self, texts, allow=None):
        """An array of ids (uint32) per text."""
        arrays = self.plain(texts, self.special, allow)
        if self.append is not None:
            arrays = [self.np.concatenate((ids, self.append)) for ids in arrays]
        return arrays

    def plain(self, texts, special, allow=None):
        """The same without the id after each document. `allow`: called with the number of a text before the named
        release encodes it, if there is a fast one."""
        if not self.fast:
            return self.named.encode(texts, special)
        arrays = self.fast.encode(texts, special)
        for at in self.alike.others(texts, arrays):
            if allow:
                allow(at)
            arrays[at] = self.named.encode([texts[at]], special)[0]
        return arrays

    def edges(self):
        """The ids before and after the ids of every document. Raises Refused if they are ambiguous."""
        if self.around is None:
            before = after = self.np.empty(0, self.np.uint32)
            if self.special:
                bare, full = (self.plain(["A probe, 1"], special)[0].tolist() for special in (False, True))
                places = [at for at in range(len(full) - len(bare) + 1) if full[at : at + len(bare)] == bare]
                if len(places) != 1:
                    raise Refused("the post-processor's ids cannot be separated from the text's")
                before, after = (
                    self.np.array(full[: places[0]], self.np.uint32),
                    self.np.array(full[places[0] + len(bare) :], self.np.uint32),
                )
            self.around = before, after if self.append is None else self.np.concatenate((after, self.append))
        return self.around


def read_spec(path):
    """The content of a tokenizer file. Raises Refused."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if text.startswith("\ufeff"):
            raise Refused(f"--tokenizer {path}: begins with a byte order mark; save it as UTF-8 without one")
        spec = json.loads(text)
        del text
        for _entry, id in vocabulary(spec):
            id + 0
        for token in spec.get("added_tokens") or []:
            token["id"] + len(token["content"])
        dropout = spec["model"].get("dropout")
    except FileNotFoundError:
        raise Refused(f"--tokenizer {path}: no such file") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Refused(f"--tokenizer {path}: no tokenizer.json ({type(error).__name__}: {error})") from None
    if dropout:
        raise Refused(
            f"--tokenizer {path}: its model drops merges at random (dropout {dropout}), so ids would change from run "
            "to run; set dropout to null"
        )
    return spec
