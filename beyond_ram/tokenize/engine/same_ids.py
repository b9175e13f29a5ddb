"""For which tokenizer files and texts two releases of tokenizers give the same ids.

The fast release encodes a text in place of the named one if both hold:

- Each step of the tokenizer file stands below, with the reason why both releases compute the same from characters of
  which they know the same. The reasons come from reading both sources (0.23.3 and 1.0.0rc3), step by step.
- The text has only such characters. `same_ids.json` lists the others for each step: those for which the loaded
  libraries themselves gave different results, among all characters, alone and beside letters, digits, marks, blanks
  and whatever else a step looks at. tests/tokenize/characters.py makes the list.

Unicode never changes the normal form of an assigned character, so the list is short: characters that the older tables
lack. One difference has no proof: the fast release finds entries by digests (docs/tokenize.md, "Exact ids").
"""

import itertools
import json
import math
import re
from pathlib import Path

import cutting

TABLES = Path(__file__).with_name("same_ids.json")

# Both releases apply a step to the characters one after the other, from tables; or, for the normal forms, by the
# algorithm of UAX 15 from classes, decompositions and compositions.
BY_CHARACTER = {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Strip", "Nmt", "BertNormalizer"}
# A pattern of blanks alone that cannot match nothing: leftmost and longest in both engines for regular expressions.
BLANKS = {" {2,}"}
# Runs of characters of one class, or each character of a class alone.
RUNS = {"Whitespace", "WhitespaceSplit", "BertPreTokenizer", "UnicodeScripts", "Punctuation", "Digits"}
# Without tables: by a given character or a number of characters.
CUTS = {"CharDelimiterSplit", "FixedLength"}
# Three splits that the fast release does in one pass.
DEEPSEEK = (
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
)


NEVER = math.inf  # the rank of a pair that no merge joins


class NoProof(Exception):
    """The ids of two releases may differ for a tokenizer file; the text is the reason."""


def characters(spec, fast, named):
    """The ranges of characters, (first, last), of which two releases know different things in the steps of a file.

    Raises NoProof.
    """
    tables = json.loads(TABLES.read_text(encoding="utf-8"))
    if [fast, named] != tables["releases"]:
        raise NoProof(f"tokenizers {' and '.join(tables['releases'])} were compared, not {fast} and {named}")
    try:
        steps = {*_normalizer(spec), *_pre_tokenizer(spec)}
        _model(spec)
        _added_tokens(spec)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise NoProof(f"the file has a step of unknown shape ({type(error).__name__}: {error})") from None
    ranges = sorted({tuple(span) for step in steps for span in tables["steps"][step]})
    for step in cutting.steps(spec.get("normalizer"), "normalizers"):
        put = step.get("prepend") or step.get("content") or ""
        if any(first <= ord(one) <= last for one in put for first, last in ranges):
            raise NoProof(f"the normalizer puts {put!r} into the text")
    return ranges


def _normalizer(spec):
    """The names in the tables of the steps of the normalizer."""
    for step in cutting.steps(spec.get("normalizer"), "normalizers"):
        kind, pattern = step["type"], step.get("pattern") or {}
        if kind in BY_CHARACTER:
            yield kind
        # A text in place of another, from left to right; an empty one would match everywhere or nowhere.
        elif not (kind == "Prepend" and step["prepend"]) and not (
            kind == "Replace" and (pattern.get("String") or pattern.get("Regex") in BLANKS)
        ):
            raise NoProof(f"no proof covers the normalizer {cutting.named(step)}")


def _pre_tokenizer(spec):
    """The names in the tables of the steps of the pre-tokenizer. Each step splits the parts of the one before."""
    steps = cutting.steps(spec.get("pre_tokenizer"), "pretokenizers")
    if [step.get("pattern", {}).get("Regex") for step in steps[:3]] == [*DEEPSEEK]:
        if any(step["behavior"] != "Isolated" or step.get("invert") for step in steps[:3]) or (
            steps[3:] and (len(steps) > 4 or steps[3]["type"] != "ByteLevel" or steps[3].get("use_regex", True))
        ):  # the fast release ignores what follows the three
            raise NoProof("no proof covers this use of DeepSeek's three splits")
        yield "DeepSeek"
        return
    for step in steps:
        kind, pattern = step["type"], step.get("pattern") or {}
        if kind == "Split" and pattern.get("Regex") in cutting.PATTERNS:
            if (step["behavior"], bool(step.get("invert"))) not in (("Isolated", False), ("Removed", True)):
                raise NoProof(f"no proof covers {cutting.named(step)} with behavior {step['behavior']}")
            yield cutting.PATTERNS[pattern["Regex"]]
        elif kind == "ByteLevel":
            if step.get("use_regex", True):
                yield "GPT-2"
        elif kind in RUNS:
            yield kind
        elif kind == "Metaspace":
            # The fast release does the same before it searches added tokens in the normal form.
            if any(token.get("normalized") for token in spec.get("added_tokens") or []):
                raise NoProof("no proof covers Metaspace beside an added token that is searched in its normal form")
            # The named release knows the first word by its place in the text before the normalizer removed some.
            if step.get("prepend_scheme") == "first" and cutting.steps(spec.get("normalizer"), "normalizers"):
                raise NoProof("no proof covers Metaspace before the first word behind a normalizer")
        elif kind not in CUTS and not (kind == "Split" and pattern.get("String")):
            raise NoProof(f"no proof covers the pre-tokenizer {cutting.named(step)}")


def _of_bytes(spec):
    """Whether the model gets a character for each byte."""
    parts = ("normalizer", "normalizers"), ("pre_tokenizer", "pretokenizers")
    return any(step["type"] == "ByteLevel" for part, key in parts for step in cutting.steps(spec.get(part), key))


def _model(spec):
    """Raise NoProof for a model that the releases apply in different ways.

    WordPiece takes the longest entry, WordLevel the whole word. BPE merges the pair of the lowest rank, the leftmost
    first. The algorithms differ, and give the same if ids are unique, which the fast release requires: a merge is then
    known by its result. Unigram adds scores, which the two releases parse differently.
    """
    model = spec["model"]
    kind = model.get("type")
    if kind not in ("BPE", "WordPiece", "WordLevel"):
        raise NoProof(f"no proof covers the model {kind}")
    for flag in ("continuing_subword_prefix", "end_of_word_suffix"):
        if kind == "BPE" and model.get(flag):
            raise NoProof(f"no proof covers {flag} {model[flag]!r}")
    normalizers = cutting.steps(spec.get("normalizer"), "normalizers")
    if kind == "WordPiece" and not any(step.get("clean_text") for step in normalizers):
        raise NoProof("the fast release's WordPiece may skip U+0000, and no normalizer removes it")
    if kind == "BPE" and _of_bytes(spec):
        if any(step["type"] == "Prepend" for step in normalizers):
            raise NoProof("no proof covers Prepend before a model of bytes")
        # An entry of other characters is found by its bytes; an added token is found before, and characters are tried.
        added = {token["content"] for token in spec.get("added_tokens") or [] if not token.get("normalized")}
        others = {*"".join(model["vocab"])} - cutting.symbols().keys()
        for entry in model["vocab"] if others else ():
            raw = not cutting.symbols().keys() >= {*entry} and entry not in added
            if raw and (len(entry) > 1 or entry.isascii()):
                raise NoProof(f"the entry {entry!r} has a character that stands for no byte")


def _added_tokens(spec):
    """Raise NoProof for added tokens that the releases search in different ways.

    Without the flags `single_word` and `rstrip` both take the leftmost, then the longest match, and go on behind it.
    With one first byte for all, the fast release searches what they have in common, and goes on behind each place.
    """
    tokens = [token for token in spec.get("added_tokens") or [] if token["content"]]
    for token in tokens:
        for flag in ("single_word", "rstrip"):
            if token.get(flag):
                raise NoProof(f"no proof covers the added token {token['content']!r} with {flag}")
        if token.get("normalized") and cutting.steps(spec.get("normalizer"), "normalizers"):
            raise NoProof(f"the added token {token['content']!r} is searched in its normal form")
    for normalized in (False, True):
        contents = [one["content"].encode() for one in tokens if bool(one.get("normalized")) == normalized]
        common = contents[0] if contents else b""
        while not all(one.startswith(common) for one in contents):
            common = common[:-1]
        if common[:1] and common[:1] in common[1:]:
            raise NoProof(f"all added tokens begin with {common!r}, which may overlap itself")
    if len({token["content"] for token in tokens}) < len(tokens):
        raise NoProof("an added token is listed twice")
    vocabulary = spec["model"]["vocab"]
    own = [one["id"] for one in tokens if one["content"] not in vocabulary]
    if own != sorted(own):
        raise NoProof("the added tokens are not in the order of their ids")


def of_entries(spec, fast, named, ranges):
    """The characters, (first, last), that two loaded releases take from different entries: those of entries are tried.

    Raises NoProof if an added token gets different ids.
    """
    model, others = spec["model"], Alike(ranges).others
    characters, early = set(), set()
    if model["type"] == "BPE" and _of_bytes(spec):
        single, merges = _single(model["vocab"]), _merges(model)
        ranks = _ranks(merges)
        last = {entry: _last(tuple(entry), ranks) for entry, one in single.items() if entry != one}
        last = {entry: rank for entry, rank in last.items() if rank != NEVER}
        early = {single[entry] for entry in _taken_early(merges, last)}
        characters = {*single.values()}
    added = [token["content"] for token in spec.get("added_tokens") or [] if token["content"]]
    texts = [*added, *sorted(characters)]
    for at, (one, other) in enumerate(zip(fast.encode(texts, False), named.encode(texts, False), strict=True)):
        if one.tolist() != other.tolist() and not others([texts[at]]):
            if at < len(added):
                raise NoProof(f"the added token {texts[at]!r} gets different ids")
            early.add(texts[at])
    if early and cutting.steps(spec.get("normalizer"), "normalizers"):  # it may make them from others
        raise NoProof(f"{len(early)} characters behind a normalizer come from different entries")
    return [(ord(one), ord(one)) for one in sorted(early)]


def _merges(model):
    """The pairs of parts that a model merges, the first one first."""
    return [merge.split(" ") if isinstance(merge, str) else merge for merge in model.get("merges", ())]


def _single(vocabulary):
    """{entry: character} of the entries of one character beyond ASCII, as bytes or as itself."""
    byte_of = cutting.symbols()

    def one_of(first, last):
        return f"[{re.escape(''.join(one for one, byte in byte_of.items() if first <= byte <= last))}]"

    after = one_of(0x80, 0xBF)
    of_bytes = "|".join(
        one_of(*head) + after * size for size, head in enumerate([(0xC2, 0xDF), (0xE0, 0xEF), (0xF0, 0xF4)], 1)
    )
    short = [entry for entry in vocabulary if len(entry) <= 4 and not entry.isascii()]
    entries = [*filter(re.compile(of_bytes).fullmatch, short)]
    raw = "\n".join(entries).translate({ord(one): byte for one, byte in byte_of.items()}).encode("latin-1")
    texts = raw.decode(errors="ignore").split("\n")  # without what is no character
    single = {entry: text for entry, text in zip(entries, texts, strict=False) if text}  # without entries: one text, ""
    return single | {entry: entry for entry in short if len(entry) == 1 and entry not in byte_of}


def _ranks(merges):
    """{pair: rank} of the merges that make up to four bytes. Of equal pairs the last one counts."""
    return {(left, right): rank for rank, (left, right) in enumerate(merges) if len(left) + len(right) <= 4}


def _last(parts, ranks):
    """The highest rank of the merges that make a character of its bytes; NEVER if they do not."""
    last = -1
    while len(parts) > 1:
        of_pairs = [ranks.get(pair, NEVER) for pair in itertools.pairwise(parts)]
        at = of_pairs.index(rank := min(of_pairs))
        last, parts = max(last, rank), (*parts[:at], parts[at] + parts[at + 1], *parts[at + 2 :])
    return last


def _taken_early(merges, last):
    """The entries that the fast release may take at once, although a merge uses them before another makes them.

    It takes a character at once (`fold` of its BPE) if no character beside it could take one of its bytes first. It
    does not look whether the whole character could be merged with another before its bytes are. Training gives no such
    entry. `last`: the entries, and the highest rank of the merges that make each.
    """
    return {part for rank, pair in enumerate(merges) for part in pair if part in last and rank < last[part]}


def _shows(spec):
    """Whether the steps of a file leave characters beyond ASCII as they are, or change them by NFC alone."""
    for step in cutting.steps(spec.get("normalizer"), "normalizers"):
        replaced = (step.get("pattern") or {}).get("String") or ""
        if step["type"] not in ("NFC", "Prepend", "Replace") or not replaced.isascii():
            return False
    for step in cutting.steps(spec.get("pre_tokenizer"), "pretokenizers"):
        if step["type"] not in ("ByteLevel", "Metaspace", "Digits", "Split"):
            return False
        if step["type"] == "Split" and "String" in step["pattern"] and step["behavior"] == "Removed":
            return False
    return True


def suspects(spec, fast, ranges):
    """Whether each id of the fast release may stand for a character of `ranges`, or for a part of one; None if ids do
    not show these characters.

    The first byte of a character is in some entry, which has all of the character, or ends within it. Ids of unknown
    words are suspect too. Each of the characters is tried alone; NFC composes one only to another of them.
    """
    import numpy as np

    model, of_bytes = spec["model"], _of_bytes(spec)
    if not ranges or ranges[0][0] < 0x80 or not _shows(spec):
        return None
    if not of_bytes:  # unknown characters have to stay visible: not dropped, not merged
        unknown = {model.get("unk_token"), *(f"<0x{byte:02X}>" for byte in range(256))}
        merged = any(part in unknown for pair in _merges(model) for part in pair)
        if merged or not (model.get("unk_token") or model.get("byte_fallback")):
            return None
    characters = [chr(code) for first, last in ranges for code in range(first, last + 1)]
    whole = re.compile("[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges) + "]")
    begun = {one.encode()[:size] for one in characters for size in range(1, len(one.encode()))}
    byte_of = {ord(one): byte for one, byte in cutting.symbols().items()} if of_bytes else {}
    # Most entries of a model of bytes have none of these first bytes.
    heads = {one[0] for one in begun}
    plain = "".join(one for one, byte in cutting.symbols().items() if byte not in heads and one != "<")
    possible = re.compile(f"[^{re.escape(plain)}]").search if of_bytes else bool

    def suspect(entry):
        if entry.isascii():
            if len(entry) != 6 or not re.fullmatch("<0x[0-9A-F]{2}>", entry):  # a byte of an unknown character
                return False
            raw = bytes([int(entry[3:5], 16)])
        else:
            text = entry.translate(byte_of)
            if text.isascii():
                return False
            raw = text.encode("latin-1") if byte_of and max(text) < "\u0100" else entry.encode()
        if raw.isascii():
            return False
        return any(raw[-size:] in begun for size in (1, 2, 3)) or whole.search(raw.decode(errors="ignore"))

    table = np.zeros(fast.highest_id(spec) + 1, bool)
    for entry in filter(possible, model["vocab"]):
        if suspect(entry):
            table[model["vocab"][entry]] = True
    if (id := model["vocab"].get(model.get("unk_token"))) is not None:
        table[id] = True
    added = any(whole.search(token["content"]) for token in spec.get("added_tokens") or [])
    shown = fast.encode(characters, False)
    return table if not added and all(table.take(ids).any() for ids in shown) else None


class Alike:
    """Finds texts of which every character is alike in both releases. `ranges`: the others, none of them ASCII;
    `suspects`: their ids.

    Three looks, the cheapest first; docs/tokenize.md has their costs. Most texts have no byte with which one of the
    others begins in UTF-8, or few of them, each before bytes of another character; where this has answered for less
    than half of the texts, it is left out. Most have no id that may stand for one. The last look is at all characters.
    """

    STEP = 1 << 16  # characters at once: their codes stay in the cache of a core
    PLACE = 512  # bytes of a text for which one more place is looked at

    def __init__(self, ranges, suspects=None):
        import numpy as np

        self.np, self.suspects = np, suspects
        self.table = np.zeros(0x110000, bool)
        for first, last in ranges:
            self.table[first : last + 1] = True
        others = map(chr, np.flatnonzero(self.table).tolist())
        self.begun = {one.encode("utf-8", "surrogatepass")[:3] for one in others}
        self.heads = sorted({one[:1] for one in self.begun})
        self.asked = self.answered = 0  # texts of the first look

    def others(self, texts, arrays=None):
        """The numbers of the texts with other characters. `arrays`: their ids by the fast release."""
        wide = [at for at, text in enumerate(texts) if not text.isascii()]
        if len(wide) > 1 and 2 * self.answered >= self.asked:  # one may be large
            raw = [texts[at].encode("utf-8", "surrogatepass") for at in wide]
            joined = b"".join(raw)
            heads = [head for head in self.heads if head in joined]
            left = [at for at, one in zip(wide, raw, strict=True) if self._begins(one, heads)] if heads else []
            self.asked += len(wide)
            self.answered += len(wide) - len(left)
            wide = left
        if wide and arrays and self.suspects is not None:
            # The type by which numpy looks up, or it would convert once more.
            ids = self.np.concatenate([arrays[at] for at in wide], dtype=self.np.intp)
            if not self.suspects.take(ids).any():
                return []
        if not wide or not self._differs("".join([texts[at] for at in wide]) if len(wide) > 1 else texts[wide[0]]):
            return []
        return [at for at in wide if self._differs(texts[at])]

    def _begins(self, raw, heads):
        """Whether one of the others may begin in a text in UTF-8. Few places are looked at."""
        places = 2 + len(raw) // self.PLACE
        for head in heads:
            at = raw.find(head)
            while at >= 0:
                if not places or raw[at : at + 3] in self.begun or raw[at : at + 2] in self.begun:
                    return True
                places -= 1
                at = raw.find(head, at + 1)
        return False

    def _differs(self, text):
        return any(self._part_differs(text[at : at + self.STEP]) for at in range(0, len(text), self.STEP))

    def _part_differs(self, part):
        codes = self.np.frombuffer(part.encode("utf-16-le", "surrogatepass"), self.np.uint16)
        if len(codes) > len(part):  # characters beyond 16 bits
            codes = self.np.frombuffer(part.encode("utf-32-le", "surrogatepass"), self.np.uint32)
        return bool(self.table.take(codes).any())
