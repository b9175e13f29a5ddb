"""Random tokenizer pipelines and texts that try to break cuts. A stack's interpreter runs it.

    python pipelines.py ENGINE FOLDER SEED DOCUMENTS [--through-files] TOKENIZER.json …

It draws every normalizer, pre-tokenizer and model of the library, alone and in sequences, added tokens with every flag,
and post-processors with large ids. It also draws the given tokenizer files, unchanged and with exchanged parts. The
library encodes each document whole, and the engine's rules encode it in pieces of a few characters. With
`--through-files` the engine itself runs, from JSON Lines to files of ids, on documents that are long enough to be cut.
It prints a JSON object with counts, and the first documents with wrong ids.
"""

import argparse
import collections
import contextlib
import copy
import io
import json
import random
import shutil
import sys
from pathlib import Path

SPACE = "\u2581"
FRAGMENTS = (
    " ", "  ", "   ", "\n", "\r\n", "\n\n", "\t", "\u00a0", "\u3000", "\u2028", "\u200b", "\u0085", "\x1c", "\x00",
    "a", "b", "Z", "x1 ", "1x", "0", "12", "1234567 ", "one two three ", "def ", "import ", " the", "THE ", "it's",
    "I'LL", "'s", "'S ", "don't ", "``", "''", '"', "<", ">", "-a", "a- ", "a b", "a\x00 b", "a\u2028 b", "\x01 ",
    "aaaaaaaaaaaaaaaaaaaaaaaa", "                        ", "\n\n\n\n ",
    "\u0301", "e\u0301", "e\u0301 ", "a\u0308\u0323 b", " \u0301", "a \u0301", "e\u0308 ", " \u0308a", "\u00a8 ",
    "\u1161", "\u1100\u1161\u11a8 ", "가 ", "가\n", "한국어 문장 ", "\u1100\u1161 \u11a8", "가\u11a8 ",
    "Σ ", "ΟΔΥΣΣΕΥΣ ", "aΣ aΣ", "İ ", "İ\n", "ǆ ", "ẞ ", "ﬁ ", "ŀ\n", "½ ", "㎏ ", "²", "ＡＢＣ ", "Å\n", "mangé\n",
    "中 ", "中\n", "中文，", "日本語テ ", "が ", "が\n", "か\u3099 ", "русский ", "ё ", "й\n", "и\u0306 ", "é\n", "é ",
    "العربية ", "हिन्दी ", "\u0958 ", "\u0958\n", "😀", "👩\u200d👩\u200d👧 ", "❤\ufe0f ", "\u0600", "x\u0600 ",
    "\ufeff",
    SPACE, SPACE * 2, f"x{SPACE} ", f" {SPACE}x", f"a{SPACE}b a", "Ġ", "Ċ ", "aĠb", "\ue000", "\ufffd", "\U000e0001",
    "\U000323b0's", "\U0001f16c ", "\U000105d2\u0307 ", "\u0c15\u0c4d\u0c3c", "q\u0301\u0d3c", "\u2e52b ",
    "<X>", "<X> ", " <X>", "a <X> b", "[M]x", "<|a|>ab ab", " <y> ", "o<\u00a8>o", "<\u00e9>", "<s>", "</s> ",
    " <s> ", "<mask>", "x <mask> y ", "<|endoftext|>", " <|endoftext|> x ", "[SEP]", " [MASK] ", "<unk>", "<0x41>",
)  # fmt: skip
ADDED = (
    "<X>", "[M]", "<|a|>", "ab", "a b", " a", "b ", "\n\n", "  ", SPACE * 2, f"{SPACE}a", f"a{SPACE}", "\u00e9",
    "\u0301", "<\u00a8>", "A", "THE", "the", " <y> ", ".", "-a", "a-", "\n", "<\u00e9>", SPACE, "e\u0301 ", "ﬁ", "中",
    "<A b>", "a\t", "Ġ", "é ", "<X> ",
)  # fmt: skip
RANGES = (
    (0x20, 0x24F), (0x300, 0x36F), (0x400, 0x52F), (0x900, 0x97F), (0x1100, 0x11FF), (0x1E00, 0x1EFF),
    (0x2000, 0x206F), (0x3040, 0x30FF), (0x4E00, 0x4EFF), (0xAC00, 0xACFF), (0xF900, 0xFAFF), (0x10D40, 0x10D8F),
    (0x1F300, 0x1FAFF), (0x323B0, 0x3347F),
)  # fmt: skip


class Pipelines:
    """Draws tokenizer files. `files`: real ones by name; `patterns`: split patterns that the engine cuts at."""

    def __init__(self, chance, files, patterns):
        self.chance, self.files, self.patterns = chance, files, patterns
        self.names = sorted(files)

    def normalizer(self):
        chance = self.chance
        kinds = [{"type": kind} for kind in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt")]
        flags = {name: chance.random() < 0.5 for name in ("clean_text", "handle_chinese_chars", "lowercase")}
        to_space = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
        prepend = {"type": "Prepend", "prepend": SPACE}
        kinds += [
            {"type": "BertNormalizer", **flags, "strip_accents": chance.choice((None, True, False))},
            {"type": "Strip", "strip_left": chance.random() < 0.5, "strip_right": chance.random() < 0.5},
            to_space,
            prepend,
            {"type": "Sequence", "normalizers": [prepend, to_space]},
            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
            {"type": "Replace", "pattern": {"String": "a"}, "content": "b c"},
            {"type": "ByteLevel"},
        ]
        count = chance.choice((0, 1, 1, 1, 2, 2, 3))
        if not count:
            return None
        some = [chance.choice(kinds) for _ in range(count)]
        return some[0] if count == 1 else {"type": "Sequence", "normalizers": some}

    def pre_tokenizer(self):
        chance = self.chance
        behaviors = ("Isolated", "Removed", "MergedWithNext", "MergedWithPrevious", "Contiguous")

        def split(pattern, behavior="Isolated", invert=False):
            return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}

        def byte_level(use_regex):
            added = chance.random() < 0.2
            return {"type": "ByteLevel", "add_prefix_space": added, "trim_offsets": True, "use_regex": use_regex}

        pattern = {"Regex": chance.choice(self.patterns)}
        kinds = [
            {"type": "Sequence", "pretokenizers": [split(pattern), byte_level(use_regex=False)]},
            byte_level(use_regex=chance.random() < 0.6),
            split(pattern, chance.choice(behaviors), chance.random() < 0.3),
            split({"String": chance.choice(" -a\n.")}, chance.choice(behaviors), chance.random() < 0.3),
            {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": chance.choice(("first", "always", "never")),
             "split": chance.random() < 0.6},
            {"type": "Whitespace"}, {"type": "WhitespaceSplit"}, {"type": "BertPreTokenizer"},
            {"type": "Digits", "individual_digits": chance.random() < 0.5},
            {"type": "Punctuation", "behavior": chance.choice(behaviors)},
            {"type": "UnicodeScripts"}, {"type": "FixedLength", "length": 5},
            {"type": "CharDelimiterSplit", "delimiter": "-"},
        ]  # fmt: skip
        count = chance.choice((0, 1, 1, 1, 2, 2, 3))
        if not count:
            return None
        some = [chance.choice(kinds) for _ in range(count)]
        return some[0] if count == 1 else {"type": "Sequence", "pretokenizers": some}

    def added(self, first):
        """Draw tokens with flags, some with ids that the library replaces."""
        chance = self.chance
        contents = chance.sample(ADDED, chance.choice((0, 0, 1, 1, 2, 3, 5)))
        share = {"single_word": 0.2, "lstrip": 0.2, "rstrip": 0.2, "normalized": 0.4, "special": 0.3}
        return [
            {"id": chance.choice((first + at, first + at, 5)), "content": content}
            | {flag: chance.random() < of_all for flag, of_all in share.items()}
            for at, content in enumerate(contents)
        ]

    def characters(self):
        """Return a model that shows where words begin: a character has another entry inside a word."""
        some = sorted({*"".join(FRAGMENTS), *map(chr, range(33, 0x180))})
        entries = ["[UNK]", *some, *(f"##{one}" for one in some)]
        if self.chance.random() < 0.3:
            vocabulary = {entry: id for id, entry in enumerate(["[UNK]", *some, "one", "two", "the"])}
            return {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}
        return {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 1000, "vocab": {entry: id for id, entry in enumerate(entries)},
        }  # fmt: skip

    def large_ids(self):
        """Return a post-processor whose ids are in no vocabulary."""
        names = {name: {"id": name, "ids": [id], "tokens": [name]} for name, id in (("<b>", 70_000), ("<e>", 3))}
        single = [{"SpecialToken": {"id": "<b>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
        single += [{"SpecialToken": {"id": "<e>", "type_id": 0}}] * self.chance.randrange(2)
        pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}]
        return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": names}

    def draw(self):
        """Draw a tokenizer file, and return its name and content."""
        chance = self.chance
        name = chance.choice(self.names)
        if len(self.files[name]["model"]["vocab"]) > 50_000 and chance.random() < 0.95:
            return self.draw()  # loading it is slow
        spec = copy.deepcopy(self.files[name])
        unchanged = chance.random() < 0.1
        if not unchanged:
            if chance.random() < 0.3:
                spec["model"], spec["added_tokens"], spec["post_processor"] = self.characters(), [], None
            if chance.random() < 0.7:
                spec["normalizer"] = self.normalizer()
            if chance.random() < 0.7:
                spec["pre_tokenizer"] = self.pre_tokenizer()
            if chance.random() < 0.15:
                spec["post_processor"] = self.large_ids()
            if spec["model"]["type"] == "BPE":
                spec["model"]["ignore_merges"] = chance.random() < 0.2
            spec["added_tokens"] = spec["added_tokens"] + self.added(len(spec["model"]["vocab"]))
        return name, spec

    def text(self, fragments):
        chance = self.chance
        parts = chance.choices(FRAGMENTS, k=fragments)
        for at in range(0, fragments, 5):
            parts[at] = chr(chance.randint(*chance.choice(RANGES)))
        return "".join(parts)

    def long_text(self, characters):
        """Return a document that is long enough to be cut, with difficult text around most cuts."""
        parts = [self.text(60) for _ in range(20)]
        size = sum(map(len, parts)) / len(parts)
        return "".join(self.chance.choice(parts) for _ in range(int(characters / size) + 1))


def in_pieces(encoder, rules, cutting, text, chance):
    """Encode a text in small pieces, fed in small parts; return its ids and the number of pieces."""
    cutter, pieces, at = cutting.Cutter(rules, chance.randint(1, 12)), [], 0
    while at < len(text):
        size = chance.randint(1, 30)
        pieces += cutter.feed(text[at : at + size])
        at += size
    pieces.append(cutter.rest())
    before, after = encoder.edges()
    inner = [id for piece in pieces for id in encoder.plain([piece], False)[0].tolist()]
    return [*before.tolist(), *inner, *after.tolist()], len(pieces)


def through_files(engine, path, folder, texts):
    """Run the engine's command on texts; return the ids in its files and the number of documents it cut, or None and
    its message."""
    source, out = folder / "documents.jsonl", folder / "out"
    source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    shutil.rmtree(out, ignore_errors=True)
    messages = io.StringIO()
    with contextlib.redirect_stderr(messages), contextlib.redirect_stdout(io.StringIO()):
        flags = [f"--tokenizer={path}", f"--out={out}", "--format=bin", "--workers=1", "--verify"]
        status = engine.run.main([*flags, str(source)])
    if status:
        return None, messages.getvalue().strip()
    summary = json.loads((out / "summary.json").read_text())
    records = [engine.records.read_record(one) for one in sorted((out / engine.run.WORK).glob("0*[0-9].json"))]
    numbers = engine.outputs.np.fromfile(out / "tokens.bin", summary["dtype"]).tolist()
    ids, at = [], 0
    for lengths in sorted((out / engine.run.WORK).glob("*.lengths")):
        for length in engine.outputs.np.fromfile(lengths, "<i4").tolist():
            ids.append(numbers[at : at + length])
            at += length
    return ids, sum(record["cut"] for record in records)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("engine")
    parser.add_argument("folder", type=Path)
    parser.add_argument("seed", type=int)
    parser.add_argument("documents", type=int)
    parser.add_argument("--through-files", action="store_true")
    parser.add_argument("files", nargs="+", type=Path)
    args = parser.parse_args()
    sys.path.insert(0, args.engine)
    import cutting
    import encoder
    import outputs
    import records
    import run
    from trouble import Refused

    engine = argparse.Namespace(run=run, records=records, outputs=outputs)
    chance = random.Random(args.seed)
    files = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in args.files}
    pipelines = Pipelines(chance, files, list(cutting.PATTERNS))
    counts, wrong = collections.Counter(), []
    path = args.folder / "drawn.json"
    while counts["documents"] < args.documents:
        name, spec = pipelines.draw()
        counts["pipelines"] += 1
        try:
            rules = cutting.rules(spec)
        except cutting.NoCuts:
            rules = None
        if rules is None and (not args.through_files or chance.random() < 0.5):
            continue
        path.write_text(json.dumps(spec), encoding="utf-8")
        try:
            release = encoder.LoadedRelease(path, spec)
            tokenizer, one = release.tokenizer, encoder.Encoder(release)
            one.edges()
        except Refused:
            continue
        counts["tried"] += 1
        counts["cut pipelines"] += rules is not None
        if args.through_files:
            texts = [pipelines.long_text(80_000), *(pipelines.text(30) for _ in range(8)), ""]
            texts = [text for text in texts if encodable(tokenizer, text)]
            ids, cut = through_files(engine, path, args.folder, texts)
            if ids is None:
                wrong.append({"pipeline": name, "refused": cut})
                continue
            counts["cut"] += cut
            results = ((text, tokenizer.encode(text).ids, got) for text, got in zip(texts, ids, strict=True))
        else:
            texts = [pipelines.text(chance.randint(3, 40)) for _ in range(60)]
            texts = [text for text in texts if encodable(tokenizer, text)]
            results = []
            for text in texts:
                got, pieces = in_pieces(one, rules, cutting, text, chance)
                counts["cut"] += pieces > 1
                results.append((text, tokenizer.encode(text).ids, got))
        for text, expected, got in results:
            counts["documents"] += 1
            if got != expected and len(wrong) < 5:
                parts = {part: spec[part] for part in ("normalizer", "pre_tokenizer", "added_tokens")}
                wrong.append({"pipeline": name, **parts, "text": text[:200]})
    print(json.dumps({**counts, "wrong": wrong}, ensure_ascii=False))


def encodable(tokenizer, text):
    """Return whether the library can encode a text; it panics at some."""
    try:
        tokenizer.encode(text)
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return False
    return True


if __name__ == "__main__":
    main()
