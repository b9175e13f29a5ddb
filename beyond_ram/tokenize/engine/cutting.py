"""Where a document may be cut so that its pieces have the ids of the whole. Standard library only.

A cut is before a blank (or a line break) that follows a letter. `rules` reads a tokenizer file and shows, step by step,
that nothing crosses such a place: no added token holds or looks over it, the normalizer changes either side alone, and
then either the pre-tokenizer begins a new word there, or no entry of a BPE vocabulary holds a letter before a blank.
Where a step is not known here, nothing is shown, and nothing is cut.
"""

import functools
import re
import unicodedata

# Letters that Unicode has had since long, none of them joined by what follows them, of categories Lu, Ll and Lo.
LETTERS = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u0400-\u0481\u048a-\u0513"  # Latin, Cyrillic
LETTERS += "\u4e00-\u9fa5\u3041-\u3094\u30a1-\u30fa\uac00-\ud7a3"  # Han, Hiragana, Katakana, Hangul
BLANKS = " \n\r\t"
SPACE = "\u2581"
PIECE = 1 << 15
"""Characters of a piece: enough that a piece costs little, few enough that it takes little."""

# Split patterns in which no match goes on from a letter to a blank, and none looks back. Written as tokenizer.json has
# them. GPT-2's is built into ByteLevel.
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


class NotShown(Exception):
    """It cannot be shown that the pieces would have the ids of the whole; the text is the reason."""


class Rules:
    """Where a tokenizer's documents may be cut: after one of `letters`, before one of `blanks`.

    `eaten`: the blank at a cut goes, because the normalizer puts one before every piece; then a letter has to follow.
    """

    def __init__(self, letters, blanks, eaten, why):
        self.letters, self.blanks, self.eaten, self.why = letters, blanks, eaten, why

    @functools.cached_property
    def pattern(self):
        """Matches the blank at a place to cut. It takes 10 ms to compile, which few inputs need."""
        ahead = "(?=[A-Za-z])" if self.eaten else ""
        return re.compile(f"(?<=[{self.letters}])[{re.escape(self.blanks)}]{ahead}")


def rules(spec):
    """The rules for a tokenizer file. Raises NotShown."""
    walk = _Walk(spec)
    walk.normalizer(spec.get("normalizer"))
    walk.pre_tokenizer(spec.get("pre_tokenizer"))
    walk.model()
    walk.post_processor(spec.get("post_processor"))
    walk.added()
    if not walk.blanks:
        raise NotShown("no kind of blank is left before which it could be cut")
    return Rules(walk.letters, "".join(sorted(walk.blanks)), walk.eaten, walk.why)


class _Walk:
    """A place after a letter and before a blank, on its way through the steps of a tokenizer."""

    def __init__(self, spec):
        self.spec = spec
        self.letters, self.blanks = LETTERS, set(BLANKS)
        self.shown = {blank: blank for blank in BLANKS}  # what a blank has become
        self.eaten = False
        self.kept = True  # whether letters are as they came
        self.begins = False  # whether a new word begins at the blank
        self.why = ""

    def only(self, *blanks):
        self.blanks &= set(blanks)

    def steps(self, part, key):
        if part and part["type"] == "Sequence":
            return [inner for one in part[key] for inner in self.steps(one, key)]
        return [part] if part else []

    def normalizer(self, part):
        for step in self.steps(part, "normalizers"):
            kind = step["type"]
            if kind in ("NFC", "NFD", "NFKC", "NFKD"):
                continue  # an ASCII character joins nothing before it
            if kind in ("Lowercase", "StripAccents", "BertNormalizer", "Nmt", "Precompiled"):
                # By character, or by grapheme: one ends after a letter that a blank follows.
                self.kept = False
                if kind == "Precompiled":
                    self.only(" ")
            elif kind == "Replace":
                self.replace(step["pattern"], step["content"])
            elif kind == "Prepend":
                if step["prepend"] not in (SPACE, " ") or self.shown[" "] != " ":
                    raise NotShown(f"the normalizer puts {step['prepend']!r} before every piece")
                self.eaten, self.prepended = True, step["prepend"]
                self.only(" ")
            elif kind == "Strip" and not step["strip_left"]:
                continue  # a piece ends with a letter, or is the last
            else:
                raise NotShown(f"the normalizer {kind} is not known to leave such places alone")
        if self.eaten and self.shown[" "] != self.prepended:
            raise NotShown("the blank that is put before every piece is not the one that stands between words")

    def replace(self, pattern, content):
        text = pattern.get("String")
        if text == " " and len(content) == 1:
            for blank in self.blanks:
                self.shown[blank] = content if self.shown[blank] == " " else self.shown[blank]
        elif text and not re.search(f"[{LETTERS}{re.escape(BLANKS)}{SPACE}]", text + content):
            return
        elif pattern.get("Regex") in (" {2,}", r"\s{2,}", " +", r"\s+") and content in (" ", SPACE) and not self.eaten:
            self.only(" ")
            if self.shown[" "] != " ":
                raise NotShown("the normalizer replaces blanks twice")
            if content == SPACE:
                raise NotShown("the normalizer replaces several blanks otherwise than one")
        else:
            raise NotShown(f"the normalizer replaces {text or pattern.get('Regex')!r}")

    def pre_tokenizer(self, part):
        for step in self.steps(part, "pretokenizers"):
            kind = step["type"]
            if kind == "ByteLevel":
                if step.get("add_prefix_space"):
                    self.only(" ")
                    self.no_prepending("ByteLevel")
                if step.get("use_regex", True):
                    self.word(BLANKS, "ByteLevel begins a word there")
            elif kind == "Split":
                self.split(step)
            elif kind == "Metaspace":
                self.metaspace(step)
            elif kind in ("BertPreTokenizer", "WhitespaceSplit", "Whitespace"):
                self.word(BLANKS, f"{kind} ends a word there")
            elif kind in ("Punctuation", "Digits"):
                continue  # neither a letter nor a blank
            else:
                raise NotShown(f"the pre-tokenizer {kind} is not known to leave such places alone")

    def word(self, blanks, why):
        """A pre-tokenizer begins a new word before these blanks; not before what a normalizer made of others."""
        if self.eaten:
            raise NotShown("a word would begin at a blank that the normalizer puts there")
        if not self.begins:
            self.blanks &= {blank for blank in blanks if self.shown[blank] == blank}
            self.begins, self.why = True, why

    def no_prepending(self, who):
        if self.eaten:
            raise NotShown(f"both the normalizer and {who} put a blank before a text")

    def split(self, step):
        pattern, behavior = step["pattern"], step["behavior"]
        regex = pattern.get("Regex")
        if regex in PATTERNS and (behavior, bool(step.get("invert"))) in (("Isolated", False), ("Removed", True)):
            self.word(BLANKS, f"the split pattern of {PATTERNS[regex]} begins a word there")
        elif pattern.get("String") and not (set(pattern["String"]) & {self.shown[blank] for blank in self.blanks}):
            if re.search(f"[{LETTERS}]", pattern["String"]):
                raise NotShown(f"the pre-tokenizer splits at {pattern['String']!r}")
        else:
            raise NotShown(f"the pre-tokenizer splits by {regex or pattern.get('String')!r}, which is not known here")

    def metaspace(self, step):
        if step.get("replacement") != SPACE:
            raise NotShown("Metaspace puts another character than usual for a blank")
        self.no_prepending("Metaspace") if step.get("prepend_scheme", "always") != "never" else None
        if self.begins:  # by the words of another
            return
        self.only(" ")
        if self.shown[" "] not in (" ", SPACE):
            raise NotShown("the normalizer makes something else of a blank")
        self.shown[" "] = SPACE
        if step.get("split", True) and not self.eaten:
            self.begins, self.why = True, "Metaspace begins a word there"

    def model(self):
        model = self.spec["model"]
        kind = model.get("type")
        if kind not in ("BPE", "WordPiece", "WordLevel", "Unigram"):
            raise NotShown(f"the model {kind} is not known")
        if model.get("dropout"):
            raise NotShown("the model drops merges at random")
        if self.begins:
            return
        if kind != "BPE":
            raise NotShown(f"{kind} works on the whole document, because no pre-tokenizer begins words")
        if model.get("ignore_merges") or model.get("end_of_word_suffix") or model.get("continuing_subword_prefix"):
            raise NotShown("the model treats ends of words apart")
        if not self.kept:
            raise NotShown("the normalizer changes letters, and no pre-tokenizer begins words")
        self.only(" ")
        blank = self.shown[" "]
        crossing = re.compile(f"[{LETTERS}]{re.escape(blank)}")
        vocabulary = model["vocab"]
        over = next((entry for entry in vocabulary if crossing.search(entry)), None)
        if over is not None:
            raise NotShown(f"the vocabulary has {over!r}, which goes on from a letter to a blank")
        if blank not in vocabulary:
            raise NotShown("the vocabulary has no blank")
        # Unknown characters side by side may become one, so a letter has to be known.
        known = [one for one in vocabulary if len(one) == 1 and re.fullmatch(f"[{LETTERS}]", one)]
        if not known:
            raise NotShown("the vocabulary has no letter")
        self.letters = "".join(map(re.escape, known))
        self.why = "no entry of the vocabulary goes on from a letter to a blank"

    def post_processor(self, part):
        for step in self.steps(part, "processors"):
            if step["type"] not in ("TemplateProcessing", "BertProcessing", "RobertaProcessing", "ByteLevel"):
                raise NotShown(f"the post-processor {step['type']} is not known to leave ids alone")

    def added(self):
        for entry in self.spec.get("added_tokens") or []:
            text = entry["content"] + "\0" + unicodedata.normalize("NFKC", entry["content"])
            text = text.replace(SPACE, " ")
            for blank in set(self.blanks):
                if re.search(f"[{LETTERS}]{re.escape(blank)}", text):
                    raise NotShown(f"the added token {entry['content']!r} goes on from a letter to a blank")
            if entry.get("rstrip") and re.search(f"[{LETTERS}](\0|$)", text):
                raise NotShown(f"the added token {entry['content']!r} takes blanks behind it")
            if entry.get("single_word") and text[:1] in BLANKS:
                raise NotShown(f"the added token {entry['content']!r} looks at what is before it")
            if self.eaten and re.match(r"[A-Za-z]", text):
                raise NotShown(f"the added token {entry['content']!r} may begin where a blank is put")


class Cutter:
    """Cuts a text that comes in pieces of any size. Give it all, then `rest`."""

    def __init__(self, rules, piece=PIECE):
        self.rules, self.piece = rules, piece
        self.parts, self.held, self.seen, self.tail = [], 0, 0, ""

    def feed(self, text):
        """Take more text; yield what can be encoded alone."""
        self.parts.append(text)
        self.held += len(text)
        if self.held <= self.piece:
            return
        if self.seen and not self.rules.pattern.search(self.tail + text, 1):
            self.seen, self.tail = self.held, (self.tail + text)[-2:]
            return
        whole = "".join(self.parts)
        start = 0
        while len(whole) - start > self.piece:
            # What was searched before has no place to cut; two characters of it may be part of one.
            found = self.rules.pattern.search(whole, max(start + self.piece, self.seen - 2, 1))
            if not found:
                self.seen, self.tail = len(whole) - start, whole[-2:]
                break
            yield whole[start : found.start()]
            start, self.seen = found.end() if self.rules.eaten else found.start(), 0
        self.parts, self.held = [whole[start:]], len(whole) - start

    def rest(self):
        """What is left at the document's end."""
        whole = "".join(self.parts)
        self.parts, self.held, self.seen = [], 0, 0
        return whole
