"""Where to cut a long document, so that the joined ids of its pieces are the ids of the whole.

A cut is between a letter and a blank: "… word| next …". `rules` reads a tokenizer file and accepts only steps on short
lists. Each list entry has its proof beside it. A file with any other step gets no cuts (`NoCuts`), and its long
documents are encoded whole. Standard library only.

The proof follows the library's pipeline. Write the document as u + v, where u ends with the letter and v begins with
the blank.

1. *Added tokens* are searched first, leftmost and longest. `added_tokens` ensures that no match contains both the
   letter and the blank, and that no flag of a match looks or reaches across them. So u and v have the same matches.
2. *Normalizer*. Every accepted step satisfies step(u + v) = step(u) + step(v), keeps the letter a letter, and turns the
   blank into one known character (`normalizer`).
3. *Pre-tokenizer*. Either it begins a word at the blank, whatever the other side is (`pre_tokenizer`): then every model
   sees the same words. Or it does not split there, and the model is BPE with a vocabulary in which no entry contains
   such a letter followed by such a blank (`model`). A BPE merge makes an entry of the vocabulary, so no merge crosses
   the cut, and merges on one side do not depend on the other side.
4. *Post-processor*. Only those that put constant ids around the text (`post_processor`).
"""

import functools
import re
import string
import unicodedata

# Letters before a cut. All are of category L since Unicode 3.2, and starters that never compose with the character
# before them, so NFC does not change them. The other normalization forms do not change letters without a decomposition,
# and no later version of Unicode adds one. Other normalizers are trusted only with ASCII letters, of which they change
# at most the case. tests/tokenize/engine/test_cutting.py checks this against Python's Unicode tables.
ASCII = "A-Za-z"
LETTERS = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u0400-\u0481\u048a-\u04ce\u04d0-\u04f5"  # Latin, Cyrillic
LETTERS += "\u4e00-\u9fa5\u3041-\u3094\u30a1-\u30fa\uac00-\ud7a3"  # Han, Hiragana, Katakana, Hangul syllables
BLANKS = " \n"
SPACE = "\u2581"
PIECE = 1 << 15
"""Characters of a piece: enough that a piece costs little, few enough that it takes little memory."""


@functools.cache
def undecomposed():
    """A character class of LETTERS that no normalization form changes. Building it takes 20 ms."""
    letters = re.findall(f"[{LETTERS}]", "".join(map(chr, range(0x10000))))
    return "".join(letter for letter in letters if unicodedata.normalize("NFKD", letter) == letter)


# Normalizers that change each character independently, or are a Unicode normalization form. A blank is a starter that
# composes with nothing and decomposes into nothing, so a normalization form never crosses the place before one (UAX 15,
# section 9.1), and the ASCII letter before it is neither composed nor changed. Lowercase of a final sigma depends on
# other characters of the word, but a letter or a blank ends the search for them. The value of each normalizer says at
# which letters a cut is allowed.
ALL, UNDECOMPOSED, ONLY_ASCII = range(3)
ALONE = {"NFC": ALL, "NFD": UNDECOMPOSED, "NFKC": UNDECOMPOSED, "NFKD": UNDECOMPOSED}
ALONE |= dict.fromkeys(("Lowercase", "StripAccents", "BertNormalizer"), ONLY_ASCII)

# Split patterns, as tokenizer.json writes them. In each, no alternative matches a letter followed by a blank, every
# character is matched by some alternative, nothing looks behind, and the one look-ahead, `(?!\S)`, tests the character
# after a run of blanks. So a match ends at every cut, the next begins there, and neither depends on the other side.
# GPT-2's pattern is built into ByteLevel.
_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LETTERS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PATTERNS = {
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": "GPT-2",
    rf"{_CONTRACTIONS}|{_LETTERS}|\p{{N}}{{1,3}}|{_REST}": "Llama 3",
    rf"{_CONTRACTIONS}|{_LETTERS}|\p{{N}}|{_REST}": "Qwen 2",
    _O200K: "o200k",
    _O200K.replace(r"\p{N}{1,3}", r"\p{N}").replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", ""): "Tekken",
}
# Pre-tokenizers that remove white space, so that a word begins after the blank.
AT_BLANKS = {"BertPreTokenizer", "WhitespaceSplit", "Whitespace"}
# Pre-tokenizers that look only at the characters of each word: harmless after the step that begins words.
WITHIN_WORDS = {"ByteLevel", "Digits", "Punctuation", "Split"}
POST_PROCESSORS = {"TemplateProcessing", "BertProcessing", "RobertaProcessing", "ByteLevel"}


class NoCuts(Exception):
    """Documents of this tokenizer are not cut; the text is the reason."""


class Rules:
    """Places where documents may be cut: after one of `letters`, before one of `blanks`.

    `letters`: a character class of a regular expression. `drop_blank`: the piece omits the blank, because the
    normalizer puts one before every piece; then an ASCII letter must follow. `why`: the reason in words.
    """

    def __init__(self, letters, blanks, drop_blank, why):
        self.letters, self.blanks, self.drop_blank, self.why = letters, blanks, drop_blank, why

    @functools.cached_property
    def pattern(self):
        """Matches the blank at a cut. It takes 10 ms to compile, so only a long document compiles it."""
        ahead = "(?=[A-Za-z])" if self.drop_blank else ""
        return re.compile(f"(?<=[{self.letters}])[{re.escape(self.blanks)}]{ahead}")


def rules(spec):
    """The rules for a tokenizer file, given as the parsed JSON. Raises NoCuts."""
    walk = _Walk(spec)
    try:
        walk.normalizer()
        walk.pre_tokenizer()
        walk.model()
        walk.post_processor()
        walk.added_tokens()
    except (KeyError, TypeError, AttributeError) as error:
        raise NoCuts(f"the file has a step of unknown shape ({type(error).__name__}: {error})") from None
    return Rules(walk.letters, walk.blanks, walk.drop_blank, walk.why)


def steps(part, key):
    """The steps of a part, with sequences flattened."""
    if not part:
        return []
    return [inner for one in part[key] for inner in steps(one, key)] if part["type"] == "Sequence" else [part]


class _Walk:
    """Follows a cut through the steps of a tokenizer file."""

    def __init__(self, spec):
        self.spec = spec
        self.narrow, self.letters, self.blanks = ALL, LETTERS, BLANKS
        self.shown = ""  # the character that the normalizer substitutes for a space, if any
        self.drop_blank = False
        self.word_begins = False
        self.why = ""

    def normalizer(self):
        for step in steps(self.spec.get("normalizer"), "normalizers"):
            kind = step["type"]
            if kind in ALONE:
                self.narrow = max(self.narrow, ALONE[kind])
            elif kind == "Replace" and step["pattern"] == {"String": " "} and step["content"] == SPACE:
                self.shown, self.blanks = SPACE, " "
            elif kind == "Prepend" and step["prepend"] == SPACE and not self.drop_blank:
                self.drop_blank = True
            else:
                raise NoCuts(f"no proof covers the normalizer {named(step)}")
        if self.narrow:
            self.letters = ASCII if self.narrow == ONLY_ASCII else undecomposed()
        if self.drop_blank and not self.shown:
            raise NoCuts("the normalizer puts a character before every piece that does not stand between words")

    def pre_tokenizer(self):
        for step in steps(self.spec.get("pre_tokenizer"), "pretokenizers"):
            kind = step["type"]
            if self.word_begins:
                if kind not in WITHIN_WORDS or self.shown:
                    raise NoCuts(f"no proof covers the pre-tokenizer {named(step)} behind another")
            elif kind == "Metaspace":
                self.metaspace(step)
            elif not self.looks_elsewhere(step):
                self.begin_words(step)

    def looks_elsewhere(self, step):
        """Whether a step splits only at characters other than letter and blank, and so not at a cut.

        Both sides of the cut are then within one part, and where the step splits depends only on such characters and
        their neighbours.
        """
        if step["type"] == "Split":
            at = step["pattern"].get("String", "")
            elsewhere = len(at) == 1 and at not in (self.shown or BLANKS) and not re.match(f"[{LETTERS}]", at)
            return elsewhere and not step.get("invert")
        return step["type"] in ("Digits", "Punctuation")

    def begin_words(self, step):
        kind, what = step["type"], named(step)
        if kind == "Split" and step["pattern"].get("Regex") in PATTERNS:
            if (step["behavior"], bool(step.get("invert"))) not in (("Isolated", False), ("Removed", True)):
                raise NoCuts(f"no proof covers {what} with behavior {step['behavior']}")
            what = f"the split pattern of {PATTERNS[step['pattern']['Regex']]}"
        elif kind == "ByteLevel" and step.get("use_regex", True):
            if step.get("add_prefix_space"):  # a piece that begins with a space gets none
                self.blanks = " "
        elif kind not in AT_BLANKS:
            raise NoCuts(f"no proof covers the pre-tokenizer {what}")
        if self.shown:
            raise NoCuts(f"the normalizer replaces the blanks at which {what} would begin words")
        self.word_begins, self.why = True, f"{what} begins a word at the blank"

    def metaspace(self, step):
        """A piece begins with the space that Metaspace replaces, so `prepend_scheme` puts none before it."""
        if step["replacement"] != SPACE or self.drop_blank:
            raise NoCuts("no proof covers this use of Metaspace")
        self.shown, self.blanks = SPACE, " "
        if step.get("split", True):
            self.word_begins, self.why = True, "Metaspace begins a word at the space"

    def model(self):
        model = self.spec["model"]
        if model.get("dropout"):
            raise NoCuts("the model drops merges at random")
        if self.word_begins:
            return
        if model.get("type") != "BPE":
            raise NoCuts("no pre-tokenizer begins words at blanks, and the model is not BPE")
        if not self.shown:
            raise NoCuts("no pre-tokenizer begins words at blanks")
        if self.narrow == ONLY_ASCII:  # a letter with an entry may become one without
            raise NoCuts("the normalizer may change letters, and no pre-tokenizer begins words at blanks")
        if model.get("ignore_merges") or model.get("end_of_word_suffix") or model.get("continuing_subword_prefix"):
            raise NoCuts("the model treats the ends of words apart, and no pre-tokenizer begins words at blanks")
        vocabulary = model["vocab"]
        if len({*vocabulary.values()}) < len(vocabulary):  # merges use ids
            raise NoCuts("two vocabulary entries have the same id")
        crossing = re.compile(f"[{LETTERS}]{SPACE}")
        if (entry := next(filter(crossing.search, vocabulary), None)) is not None:
            raise NoCuts(f"the vocabulary entry {entry!r} goes on from a letter to a blank")
        # Neighbouring characters without an entry may become one id, so both sides of a cut need an entry.
        letter = re.compile(f"[{self.letters}]")
        self.letters = "".join(one for one in vocabulary if len(one) == 1 and letter.match(one))
        if SPACE not in vocabulary or not self.letters:
            raise NoCuts("the vocabulary has no entry for the blank, or for no letter")
        self.why = "no vocabulary entry goes on from a letter to a blank"

    def post_processor(self):
        for step in steps(self.spec.get("post_processor"), "processors"):
            if step["type"] not in POST_PROCESSORS:
                raise NoCuts(f"no proof covers the post-processor {step['type']}")
            if step["type"] == "TemplateProcessing" and sum("Sequence" in piece for piece in step["single"]) != 1:
                raise NoCuts("the post-processor does not put the text in once")

    def added_tokens(self):
        """Check that matches in the document are those in its pieces.

        - No match contains the letter and the blank: no content has such a pair. A content that is normalized before
          the search is printable ASCII, so its normal form has a blank exactly where the content has one.
        - Flags: `lstrip` and `rstrip` extend over white space, `single_word` looks at one neighbour. With punctuation
          at both ends, a match neither ends at the letter nor begins at the blank, and white space that it extends over
          ends at the letter or begins with the blank.
        - If the blank is dropped, no match may begin at it or after it: the blank that the normalizer puts in its place
          would be lost.
        """
        for token in self.spec.get("added_tokens") or []:
            content, name = token["content"], f"the added token {token['content']!r}"
            flags = [flag for flag in ("single_word", "lstrip", "rstrip") if token.get(flag)]
            if re.search(f"[{LETTERS}][{BLANKS}{SPACE}]", content):
                raise NoCuts(f"{name} goes on from a letter to a blank")
            if token.get("normalized") and not re.fullmatch("[ -~]*", content):
                raise NoCuts(f"{name} is searched in its normal form")
            enclosed = content[:1] in string.punctuation and content[-1:] in string.punctuation
            if (flags or self.drop_blank) and not (enclosed and content and not re.search(rf"\s|{SPACE}", content)):
                raise NoCuts(f"{name} may match beside a cut{' with ' + ', '.join(flags) if flags else ''}")


@functools.cache
def symbols():
    """The byte that each character of a byte-level vocabulary stands for (GPT-2)."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in shown]
    return dict(zip(map(chr, (*shown, *range(256, 256 + len(rest)))), (*shown, *rest), strict=True))


def named(step):
    """A step in words."""
    kind = step["type"]
    pattern = step.get("pattern")
    return f"{kind} of {next(iter(pattern.values()))!r}" if pattern else kind


class Cutter:
    """Cuts a text that comes in parts of any size: `feed` it all, then take the `rest`."""

    def __init__(self, rules, piece=PIECE):
        self.rules, self.piece = rules, piece
        self.parts, self.held, self.searched, self.tail = [], 0, 0, ""

    def feed(self, text):
        """Add text; yield pieces that can be encoded independently."""
        self.parts.append(text)
        self.held += len(text)
        if self.held <= self.piece:
            return
        if self.searched and not self.rules.pattern.search(self.tail + text, 1):
            self.searched, self.tail = self.held, (self.tail + text)[-2:]
            return
        whole = "".join(self.parts)
        start = 0
        while len(whole) - start > self.piece:
            # The text searched before has no cut, but its last two characters may be part of one.
            cut = self.rules.pattern.search(whole, max(start + self.piece, self.searched - 2, 1))
            if not cut:
                self.searched, self.tail = len(whole) - start, whole[-2:]
                break
            yield whole[start : cut.start()]
            start, self.searched = cut.end() if self.rules.drop_blank else cut.start(), 0
        self.parts, self.held = [whole[start:]], len(whole) - start

    def rest(self):
        """The rest of the document."""
        whole = "".join(self.parts)
        self.parts, self.held, self.searched = [], 0, 0
        return whole
